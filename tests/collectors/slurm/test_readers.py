"""The readers against what 22.05, 24.11 and 26.05 really print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.collectors.slurm import ask
from sweeprules.collectors.slurm.rows import Answer
from sweeprules.collectors.slurm.sacct import failed_step, read_accounting, read_stdout
from sweeprules.collectors.slurm.scontrol import keeps_stdout, read_job, read_ping, read_reservations, read_version
from sweeprules.collectors.slurm.squeue import read_paths, read_queue
from sweeprules.engine.facts import ABSENT, Absent, Unknown
from sweeprules.engine.observation import Observation
from tests.collectors.slurm.fake import MARKS, observation

DATA = Path(__file__).parent / "data"
VERSIONS = ("22.05", "24.11", "26.05")
RECORDED = ("22.05", "24.11")


def recorded(version: str, name: str, argv: tuple[str, ...] = ("x",)) -> Observation:
    """One recorded answer."""
    folder = DATA / version
    stderr = folder / f"{name}.err"
    exits = json.loads((folder / "exits.json").read_text()) if (folder / "exits.json").exists() else {}
    text = stderr.read_text() if stderr.exists() else ""
    code = exits.get(name, 1 if text and "Invalid user:" not in text else 0)
    return observation(argv, (folder / f"{name}.out").read_bytes(), code=code, stderr=text)


def queue(version: str) -> Answer:
    return read_queue(recorded(version, "squeue", ask.squeue("alice", MARKS).argv), MARKS, "UTC")


def accounting(version: str) -> Answer:
    return read_accounting(recorded(version, "sacct", ask.sacct("alice", MARKS, 3).argv), MARKS, "UTC")


def named(answer: Answer, name: str) -> dict[str, object]:
    """The facts of the one job of that name."""
    found = [row.facts for row in answer.rows.values() if row.facts["name"] == name]
    assert len(found) == 1, name
    return dict(found[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_queue_is_read_whole(version):
    answer = queue(version)
    assert answer.ok
    assert answer.why == ""
    assert answer.job_lines == len(answer.rows) > 10
    assert not [
        (row.job_id, field, value)
        for row in answer.rows.values()
        for field, value in row.facts.items()
        if isinstance(value, Unknown)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_accounting_is_read_whole(version):
    answer = accounting(version)
    assert answer.ok
    assert len(answer.rows) > 25
    assert not [
        (row.job_id, field, value)
        for row in answer.rows.values()
        for field, value in row.facts.items()
        if isinstance(value, Unknown)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_running_job_has_started_and_has_no_exit(version):
    facts = named(queue(version), "rl__qwen3_grpo")
    assert facts["state"] == "RUNNING"
    assert facts["started"] >= facts["submitted"] > 1_796_000_000
    assert facts["elapsed"] > 60
    assert facts["time_limit"] == 12 * 3600
    assert facts["dependency"] is ABSENT
    assert facts["nodes"] == 1
    assert len(facts["node_list"]) == 1
    of_accounting = named(accounting(version), "rl__qwen3_grpo")
    assert of_accounting["exit"] is ABSENT
    assert of_accounting["ended"] is ABSENT


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pending_job_has_not_started_whatever_squeue_expects(version):
    facts = named(queue(version), "eval-begin")
    assert (facts["state"], facts["started"], facts["state_reason"]) == ("PENDING", ABSENT, "BeginTime")


@pytest.mark.parametrize("version", VERSIONS)
def test_dependencies_are_ids(version):
    waiting = [row.facts for row in queue(version).rows.values() if row.facts["state_reason"] == "Dependency"]
    assert len(waiting) == 1
    (awaited,) = waiting[0]["dependency"]
    assert queue(version).rows[awaited].facts["name"] == waiting[0]["name"]
    assert len(named(queue(version), "rl__chain_depnever")["dependency"]) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_held_and_dependent_jobs_are_not_in_accounting(version):
    rows = accounting(version).rows
    missing = {row.facts["name"] for job_id, row in queue(version).rows.items() if job_id not in rows}
    assert {"pretokenize", "eval-begin", "rl__chain_depnever", "rl__chain_walltime"} <= missing


@pytest.mark.parametrize(
    ("name", "state", "exit_text"),
    [
        ("sft__delphi_midtrain_27", "FAILED", "1:0"),
        ("sft__segv", "FAILED", "0:11"),
        ("sft__oom", "OUT_OF_MEMORY", "0:125"),
        ("eval-badwd", "FAILED", "0:53"),
        ("eval-deadline", "DEADLINE", "1:0"),
        ("eval-a1-math500", "CANCELLED", "0:0"),
        ("rl__chain_a3", "TIMEOUT", "0:0"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_ends_and_exits(version, name, state, exit_text):
    facts = named(accounting(version), name)
    assert (facts["state"], facts["exit"]) == (state, exit_text)
    code, signal = exit_text.split(":")
    assert (facts["exit_code"], facts["exit_signal"]) == (int(code), int(signal))
    assert isinstance(facts["ended"], int | float)


@pytest.mark.parametrize("version", VERSIONS)
def test_who_cancelled_it(version):
    assert named(accounting(version), "eval-a1-math500")["cancelled_by"] == "5001"
    assert named(accounting(version), "sft__oom")["cancelled_by"] is ABSENT


@pytest.mark.parametrize("version", VERSIONS)
def test_array_tasks_and_components(version):
    rows = accounting(version).rows
    tasks = {row.job_id: row.facts for row in rows.values() if row.facts["name"] == "datagen__mix_chunks"}
    assert sorted(tasks) == [f"11_{task}" for task in range(8)]
    assert tasks["11_5"]["array_id"] == "11"
    assert tasks["11_5"]["array_index"] == 5
    assert tasks["11_5"]["exit"] == "3:0"
    components = {
        row.job_id: row.facts["het_index"]
        for row in queue(version).rows.values()
        if row.facts["name"] == "rl__het" and row.facts["state"] == "RUNNING"
    }
    assert sorted(components.values()) == [0, 1]
    assert all("+" in job_id for job_id in components)


@pytest.mark.parametrize("version", VERSIONS)
def test_hostile_names_come_back_as_they_are(version):
    names = {row.facts["name"] for row in accounting(version).rows.values()}
    assert {"rl__a|b c", "rl__new\nline", "rl__tab\there", "rl__x JobState=FAILED StdOut=/etc/passwd"} <= names


@pytest.mark.parametrize("version", RECORDED)
def test_a_masked_failure_shows_in_the_steps(version):
    answer = accounting(version)
    row = next(row for row in answer.rows.values() if failed_step(answer.steps.get(row.job_id, ())) == "0 FAILED 7:0")
    assert row.facts["state"] == "COMPLETED"
    assert row.facts["exit"] == "0:0"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wall_or_a_cancellation_is_no_failed_step(version):
    answer = accounting(version)
    for name in ("rl__chain_a3", "eval-a1-math500", "sft__done"):
        row = next(row for row in answer.rows.values() if row.facts["name"] == name)
        assert failed_step(answer.steps.get(row.job_id, ())) is ABSENT


@pytest.mark.parametrize("version", VERSIONS)
def test_paths_of_running_jobs_are_as_submitted(version):
    paths = read_paths(recorded(version, "squeue_paths"))
    running = next(row for row in queue(version).rows.values() if row.facts["name"] == "rl__qwen3_grpo")
    assert paths[running.job_id].endswith("/%x-%j.out")


def test_accounting_has_paths_from_24_on():
    assert isinstance(read_stdout(recorded("22.05", "sacct_paths"), MARKS, "UTC"), Unknown)
    paths = read_stdout(recorded("24.11", "sacct_paths"), MARKS, "UTC")
    assert paths["11_5"].endswith("%A_%a.out")
    assert [keeps_stdout(version) for version in ("22.05.8", "23.11.4", "24.05.1", "24.11.5", "26.05")] == [
        False, False, True, True, True,
    ]  # fmt: skip
    assert keeps_stdout(Unknown("not-read"))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_controller_shows_one_job(version):
    shown = read_job(recorded(version, "job_running"), "5", "UTC")
    assert shown.verdict == "there"
    assert shown.row is not None
    assert shown.row.facts["state"] == "RUNNING"
    assert shown.row.facts["user"] == "alice"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_imitates_fields_changes_no_state(version):
    shown = read_job(recorded(version, "job_spoof"), "20", "UTC")
    assert shown.verdict == "there"
    assert shown.row is not None
    assert shown.row.facts["state"] == "COMPLETED"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_with_a_newline_is_one_job(version):
    shown = read_job(recorded(version, "job_newline"), "17", "UTC")
    assert shown.row is not None
    assert shown.row.state == "COMPLETED"


def test_a_name_that_imitates_the_whole_record_is_not_believed():
    real = (DATA / "22.05" / "job_running.out").read_text()
    stretch = real[real.index(" UserId=") : real.index(" Command=")].replace("RUNNING", "COMPLETED")
    forged = real.replace("JobName=rl__qwen3_grpo", f"JobName=x{stretch}")
    shown = read_job(observation(("scontrol",), forged), "5", "UTC")
    assert (shown.verdict, shown.row) == ("unread", None)
    assert "more than one way" in shown.why


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_id_is_gone_and_an_outage_is_not(version):
    assert read_job(recorded(version, "job_unknown"), "999999", "UTC").verdict == "gone"
    dead = observation(("scontrol",), code=1, stderr="slurm_load_jobs error: Unable to contact slurm controller")
    assert read_job(dead, "999999", "UTC").verdict == "unread"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_user_that_does_not_exist_is_no_empty_queue(version):
    answer = read_queue(recorded(version, "squeue_nobody"), MARKS, "UTC")
    assert not answer.ok
    assert "Invalid user: nosuchuser" in answer.why


@pytest.mark.parametrize("version", RECORDED)
def test_a_user_without_jobs_has_an_empty_queue(version):
    answer = read_queue(recorded(version, "squeue_bob"), MARKS, "UTC")
    assert answer.ok
    assert answer.job_lines == 0
    assert read_accounting(recorded(version, "sacct_bob"), MARKS, "UTC").ok


@pytest.mark.parametrize("version", VERSIONS)
def test_ping_and_version(version):
    assert read_ping(recorded(version, "ping")) is True
    assert str(read_version(recorded(version, "version"))).startswith(version)


def test_a_dead_controller_says_so():
    down = "Slurmctld(primary) at vm is DOWN\n****\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n"
    assert read_ping(observation(("scontrol", "ping"), down, code=1)) is False
    backup = "Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n"
    assert read_ping(observation(("scontrol", "ping"), backup, code=1)) is True
    assert isinstance(read_ping(observation(("scontrol", "ping"), "", code=1)), Unknown)


def test_reservations():
    line = (
        "ReservationName=maint StartTime=1796067641 EndTime=1796073641 Duration=01:40:00 Nodes=n[1-4] NodeCnt=4 "
        "CoreCnt=32 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,ALL_NODES TRES=cpu=32 State=INACTIVE\n"
    )
    (one,) = read_reservations(observation(("scontrol",), line), "UTC")
    assert one == {
        "name": "maint",
        "flags": ("MAINT", "IGNORE_JOBS", "ALL_NODES"),
        "from": 1796067641,
        "to": 1796073641,
        "partition": "",
    }
    assert read_reservations(observation(("scontrol",), "No reservations in the system\n"), "UTC") == ()
    assert isinstance(read_reservations(observation(("scontrol",), "garbage\n"), "UTC"), Unknown)
    refused = observation(("scontrol",), code=1, stderr="slurm_load_reservations error: Access denied")
    assert isinstance(read_reservations(refused, "UTC"), Unknown)


def test_absent_is_not_unknown_for_what_never_was():
    facts = named(accounting("22.05"), "eval-deadline")
    assert isinstance(facts["started"], Absent)
