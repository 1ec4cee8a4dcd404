"""Gathering: what is believed of the queue when logins, controllers and accounting fail in turn."""

from __future__ import annotations

import pytest

from sweeprules.collectors.cluster import because, status
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.engine.facts import ABSENT, Completeness, Unknown
from sweeprules.engine.observation import Failure
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, Login, job
from tests.collectors.slurm.sweeps import reason, sweep
from tests.collectors.slurm.test_readers import DATA

DEAD = (1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")
HUNG = (1, "", "slurm_load_jobs error: Socket timed out on send/recv operation\n")
NO_DB = (1, "", "sacct: error: Sending PersistInit msg: Connection refused\nsacct: error: Problem talking\n")
FOUR = [job(str(number), name=f"rl__{number}") for number in (1, 2, 3, 4)]


def test_a_queue_with_jobs():
    done = sweep(FakeSession(FOUR))
    assert status(done.gathered) == "swept"
    assert done.cluster.get("queue") == "ok"
    assert done.cluster.get("empty_answers") == 0
    assert done.cluster.get("squeue_ok") is True
    assert done.cluster.get("controller_up") is True
    assert done.cluster.get("scheduler_version") == "22.05.8"
    assert done.job_ids == ["1", "2", "3", "4"]
    assert done.cluster.relations["jobs"].completeness is Completeness.WHOLE


def test_every_command_is_allowed():
    session = FakeSession(FOUR, {"/w/rl__1-1.out": FakeFile(b"x\n")}, version="24.11.5")
    first = sweep(session)
    again = FakeSession([job("1", "FAILED", exit="1:0")], controller_up=True)
    sweep(again, first.prior)
    allowed = AllowList()
    for call in (*session.calls, *again.calls):
        for command in call:
            allowed.check(command)


# ---------------------------------------------------------------- drains, false and true


def test_s01_a_true_drain_is_believed():
    before = sweep(FakeSession(FOUR)).prior
    ended = [job(one.id, "COMPLETED", name=one.name) for one in FOUR]
    done = sweep(FakeSession(ended), before)
    assert done.cluster.get("queue") == "empty"
    assert done.cluster.get("empty_answers") == 0
    assert status(done.gathered) == "swept"


def test_a_first_sweep_of_an_empty_cluster_has_nothing_to_prove():
    assert sweep(FakeSession([])).cluster.get("queue") == "empty"


@pytest.mark.parametrize("answer", [DEAD, HUNG, (0, "", "squeue: error: Invalid user: alice\n"), (0, "motd\n", "")])
def test_s02_an_errored_queue_is_unknown_and_its_jobs_stand_by_accounting(answer):
    logins = {"login01": Login(broken={"squeue": answer}), "login02": Login(broken={"squeue": answer})}
    done = sweep(FakeSession(FOUR, logins=logins))
    assert isinstance(done.cluster.get("queue"), Unknown)
    assert done.cluster.get("empty_answers") == 2
    assert done.cluster.get("logins_tried") == ("login01", "login02")
    assert status(done.gathered) == "partial"
    assert "queue" in because(done.gathered)
    assert [done.job(one.id).get("state") for one in FOUR] == ["RUNNING"] * 4
    assert {done.job(one.id).get("state_source") for one in FOUR} == {"sacct"}
    assert done.cluster.relations["jobs"].completeness is Completeness.PARTIAL


def test_an_empty_answer_that_accounting_contradicts_is_no_drain():
    silent = {"squeue": (0, "", "")}
    done = sweep(FakeSession(FOUR, logins={"login01": Login(broken=silent), "login02": Login(broken=silent)}))
    assert isinstance(done.cluster.get("queue"), Unknown)
    assert "have not ended" in because(done.gathered)
    assert done.cluster.get("empty_answers") == 2
    assert [done.job(one.id).get("state") for one in FOUR] == ["RUNNING"] * 4


def test_an_empty_answer_without_accounting_is_no_drain():
    broken = {"sacct": NO_DB}
    done = sweep(FakeSession([], logins={"login01": Login(broken=broken), "login02": Login(broken=broken)}))
    assert isinstance(done.cluster.get("queue"), Unknown)
    assert done.cluster.get("sacct_ok") is False


def test_s03_a_saturated_login_is_passed_over_and_counted():
    logins = {"login01": Login(Failure.FORK), "login02": Login()}
    done = sweep(FakeSession(FOUR, logins=logins))
    assert done.cluster.get("queue") == "ok"
    assert done.cluster.get("login") == "login02"
    assert done.cluster.get("empty_answers") == 1
    assert status(done.gathered) == "swept"


def test_another_login_with_jobs_settles_an_empty_answer():
    logins = {"login01": Login(broken={"squeue": (0, "", "")}), "login02": Login()}
    done = sweep(FakeSession(FOUR, logins=logins))
    assert done.cluster.get("queue") == "ok"
    assert done.cluster.get("empty_answers") == 1
    assert done.job_ids == ["1", "2", "3", "4"]


def test_s04_an_unreachable_cluster_says_nothing_of_its_jobs():
    before = sweep(FakeSession(FOUR)).prior
    down = {"login01": Login(Failure.CONNECT), "login02": Login(Failure.CONNECT)}
    session = FakeSession(FOUR, logins=down)
    done = sweep(session, before)
    assert status(done.gathered) == "unreachable"
    assert done.cluster.get("reachable") is False
    assert reason(done.cluster.get("queue")) == "read-failed"
    assert {reason(done.job(one.id).get("state")) for one in FOUR} == {"vanished"}
    assert len(session.attempts) == 2
    assert "login02" in because(done.gathered)
    assert [memo.state for memo in done.prior.jobs.values()] == ["RUNNING"] * 4


def test_s06_queue_and_accounting_both_dead_keep_the_rows():
    before = sweep(FakeSession(FOUR)).prior
    broken = Login(broken={"squeue": HUNG, "sacct": NO_DB})
    done = sweep(FakeSession(FOUR, logins={"login01": broken, "login02": broken}), before)
    assert status(done.gathered) == "partial"
    assert {reason(done.job(one.id).get("state")) for one in FOUR} == {"vanished"}
    assert done.cluster.relations["jobs"].completeness is Completeness.UNKNOWN


# ---------------------------------------------------------------- sources that differ


def test_s08_gone_at_the_second_look_is_failed():
    first = [job("71", sacct_state="FAILED", exit="1:0", ended=NOW - 120)]
    done = sweep(FakeSession(first, later=[job("71", "FAILED", exit="1:0", ended=NOW - 120)]))
    one = done.job("71")
    assert (one.get("state"), one.get("exit"), one.get("state_other")) == ("FAILED", "1:0", ABSENT)


def test_s08_still_running_at_the_second_look_is_no_verdict():
    done = sweep(FakeSession([job("71", sacct_state="FAILED", exit="1:0", ended=NOW - 120)]))
    one = done.job("71")
    assert reason(one.get("state")) == "disagree"
    assert one.get("state_other") == "sacct FAILED"
    assert status(done.gathered) == "swept"


def test_an_end_that_accounting_has_not_heard_of_is_the_controllers_word():
    text = (DATA / "22.05" / "job_array.out").read_text()
    late = job("11_5", queued=False, sacct_state="RUNNING", ended=None)
    session = FakeSession([late, *FOUR])
    session.shown["11_5"] = text
    one = sweep(session).job("11_5")
    assert (one.get("state"), one.get("state_source")) == ("FAILED", "scontrol")
    assert one.get("state_other") == "sacct RUNNING"
    assert isinstance(one.get("ended"), int | float)
    assert reason(one.get("exit")) == "not-read"


def test_s08_a_requeued_job_runs():
    requeued = job("71", started=NOW - 60, sacct_state="FAILED", exit="1:0", ended=NOW - 120)
    assert sweep(FakeSession([requeued])).job("71").get("state") == "RUNNING"
    renewed = job("71", submitted=NOW - 100, sacct_submitted=NOW - 7200, sacct_state="REQUEUED", ended=NOW - 200)
    assert sweep(FakeSession([renewed])).job("71").get("state") == "RUNNING"


def test_completing_is_running_until_accounting_ends_it():
    one = sweep(FakeSession([job("5", "COMPLETING", sacct_state="RUNNING")])).job("5")
    assert (one.get("state"), one.get("phase")) == ("RUNNING", "teardown")
    ended = sweep(FakeSession([job("5", "COMPLETING", sacct_state="COMPLETED", ended=NOW - 5)])).job("5")
    assert (ended.get("state"), ended.get("state_source")) == ("COMPLETED", "sacct")


def test_a_suspended_job_runs_and_says_so():
    one = sweep(FakeSession([job("3", "SUSPENDED")])).job("3")
    assert (one.get("state"), one.get("suspended"), one.get("state_raw")) == ("RUNNING", True, "SUSPENDED")


def test_a_word_that_is_new_is_unknown_and_keeps_the_queue_from_being_empty():
    done = sweep(FakeSession([job("9", "HIBERNATING", queued=False)]))
    assert reason(done.job("9").get("state")) == "new-state:HIBERNATING"
    assert isinstance(done.cluster.get("queue"), Unknown)


# ---------------------------------------------------------------- jobs that are gone


def test_a_held_job_that_was_cancelled_is_found_by_its_id():
    held = job("8", "PENDING", reason="JobHeldUser", accounted=False)
    before = sweep(FakeSession([held, *FOUR])).prior
    cancelled = job("8", "CANCELLED", started=None)
    done = sweep(FakeSession(FOUR, ended_later=[cancelled]), before)
    assert done.job("8").get("state") == "CANCELLED"


def test_a_job_that_never_started_and_that_nobody_knows_is_gone_for_three_sweeps():
    held = job("8", "PENDING", reason="JobHeldUser", accounted=False)
    prior = sweep(FakeSession([held, *FOUR])).prior
    for _ in range(3):
        done = sweep(FakeSession(FOUR), prior)
        assert done.job("8").get("state") == "GONE"
        assert done.job("8").get("state_reason") == "cancelled-before-start?"
        prior = done.prior
    assert "8" not in sweep(FakeSession(FOUR), prior).job_ids


def test_without_a_healthy_controller_it_is_not_gone():
    held = job("8", "PENDING", reason="JobHeldUser", accounted=False)
    before = sweep(FakeSession([held, *FOUR])).prior
    done = sweep(FakeSession(FOUR, controller_up=False), before)
    assert reason(done.job("8").get("state")) == "vanished"


def test_a_job_that_ran_and_that_nobody_knows_stays_unknown():
    before = sweep(FakeSession(FOUR)).prior
    done = sweep(FakeSession(FOUR[1:]), before)
    assert reason(done.job("1").get("state")) == "vanished"
    assert done.job("1").get("name") == "rl__1"
    again = sweep(FakeSession(FOUR[1:]), done.prior)
    assert reason(again.job("1").get("state")) == "vanished"


def test_a_drain_with_a_vanished_job_is_not_believed():
    before = sweep(FakeSession(FOUR)).prior
    ended = [job(one.id, "COMPLETED", name=one.name) for one in FOUR[1:]]
    done = sweep(FakeSession(ended), before)
    assert isinstance(done.cluster.get("queue"), Unknown)
    assert "not proved terminal" in because(done.gathered)
    assert done.cluster.get("empty_answers") == 1


# ---------------------------------------------------------------- history and round trips


def test_an_end_is_judged_once():
    before = sweep(FakeSession(FOUR)).prior
    ended = [job("1", "FAILED", exit="1:0", name="rl__1"), *FOUR[1:]]
    first = sweep(FakeSession(ended), before)
    assert first.job("1").judged
    assert not sweep(FakeSession(ended), first.prior).job("1").judged


def test_an_end_that_a_partial_sweep_saw_is_judged_again():
    ended = [job("1", "FAILED", exit="1:0", name="rl__1"), *FOUR[1:]]
    hung = Login(broken={"squeue": HUNG})
    first = sweep(FakeSession(ended, logins={"login01": hung}))
    assert sweep(FakeSession(ended), first.prior).job("1").judged


def test_the_same_inputs_give_the_same_facts():
    ended = [job("1", "FAILED", exit="1:0", name="rl__1"), *FOUR[1:]]
    first, second = sweep(FakeSession(ended)), sweep(FakeSession(ended))
    assert first.joined == second.joined
    assert first.prior == second.prior


@pytest.mark.parametrize(("count", "trips"), [(0, 1), (10, 4), (301, 4), (302, 5), (901, 6)])
def test_round_trips(count, trips):
    jobs = [job(str(number), name="rl__x", workdir=f"/w{number}", stdout="/l/%j.out") for number in range(1, count + 1)]
    files = {f"/l/{number}.out": FakeFile(b"Step Progress: 1/9\n", inode=number) for number in range(1, count + 1)}
    if count:
        # One log is not at its path, so that a listing has to find it.
        files["/w1/x_1.out"] = files.pop("/l/1.out")
    session = FakeSession(jobs, files)
    done = sweep(session)
    assert len(session.calls) == trips
    if count:
        assert done.job("1").get("log.path") == "/w1/x_1.out"
        assert all(done.job(one.id).get("log.exists") is True for one in jobs)


def test_the_window_reaches_back_to_the_last_good_sweep():
    first = sweep(FakeSession(FOUR))
    session = FakeSession(FOUR)
    sweep(session, first.prior, now=NOW + 3 * 3600)
    (window,) = {command.argv[6] for command in session.calls[0] if "-S" in command.argv}
    assert window == "now-4hours"
