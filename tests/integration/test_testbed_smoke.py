"""The test bed does what its names say: otherwise no test that stands on it proves anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.testbed.jobs import Jobs, Submitted
from tests.testbed.layout import LOGINS, TestbedError
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import CONNECT_TIMEOUT, Logins

QUEUE = ("squeue", "-u", "alice")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bound the time of what a test waits for, generously: the machine may be busy."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def test_squeue_over_each_login_node(slurm: Slurm, logins: Logins) -> None:
    before = slurm.job_info_calls()
    for host in LOGINS:
        done = logins.ssh(host, *QUEUE)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[:2] == ["JOBID", "PARTITION"]
        assert logins.sessions(host) >= 1
    assert slurm.job_info_calls() == before + len(LOGINS)


def test_both_users_get_in_and_are_themselves(logins: Logins) -> None:
    assert logins.ssh("login01", "id -un").stdout == "alice\n"
    assert logins.ssh("login01", "id -un", user="bob").stdout == "bob\n"


def test_jump_host_leads_to_another_login(logins: Logins) -> None:
    before = logins.connections("login01")
    assert logins.ssh("jump01", "echo $LOGIN_NODE").stdout == "login02\n"
    assert logins.connections("login01") == before + 1


def test_control_master_keeps_one_connection(logins: Logins) -> None:
    before = logins.connections("login03")
    for _ in range(3):
        assert logins.ssh("login03", "true", mux=True).returncode == 0
    assert logins.connections("login03") == before + 1
    logins.close_masters()


@pytest.mark.parametrize(
    ("host", "status", "says", "most"),
    [
        ("refuse01", 255, "Connection refused", 5),
        ("hang01", 255, "timed out during banner exchange", CONNECT_TIMEOUT + 5),
        ("noise01", 255, "kex_exchange_identification", 5),
        ("drip01", 255, "kex_exchange_identification", 10),
        ("rotated01", 255, "REMOTE HOST IDENTIFICATION HAS CHANGED", 5),
        ("forkfail01", 254, "fork: Resource temporarily unavailable", 30),
    ],
)
def test_bad_host_fails_as_named(logins: Logins, host: str, status: int, says: str, most: float) -> None:
    with within(most):
        done = logins.ssh(host, "echo", "hello")
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr


def test_motd_comes_before_the_data(logins: Logins) -> None:
    done = logins.ssh("motd01", "echo", "hello")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[-1] == "hello" and len(lines) == 4


def test_login_that_can_not_fork_for_a_while(logins: Logins) -> None:
    with logins.cannot_fork("login01"), within(30):
        done = logins.ssh("login01", "echo", "hello")
        assert (done.returncode, done.stdout) == (254, "")
    assert logins.ssh("login01", "echo", "hello").stdout == "hello\n"


def test_login_that_hangs_for_a_while(logins: Logins) -> None:
    logins.ssh("login02", "true", mux=True)
    with logins.hanging("login02"):
        with within(CONNECT_TIMEOUT + 5):
            assert logins.ssh("login02", "true").returncode == 255
        with pytest.raises(TestbedError, match="no end within"):
            logins.ssh("login02", "true", mux=True, deadline=2)  # the live master hangs with it
        assert logins.ssh("login01", "true").returncode == 0
    assert logins.ssh("login02", "true").returncode == 0
    logins.close_masters()


def test_login_that_refuses_for_a_while(logins: Logins) -> None:
    with logins.refusing("login04"):
        assert "Connection refused" in logins.ssh("login04", "true").stderr
    assert logins.ssh("login04", "true").returncode == 0


def test_login_that_is_noisy_for_a_while(logins: Logins) -> None:
    with logins.noisy("login01"):
        assert logins.ssh("login01", "echo", "hello").stdout.startswith("***")
    assert logins.ssh("login01", "echo", "hello").stdout == "hello\n"


def test_slurmctld_killed_and_back(slurm: Slurm) -> None:
    calls = slurm.job_info_calls()
    with slurm.slurmctld_killed():
        assert slurm.daemons()["slurmctld"] is None
        done = slurm.run("squeue")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Unable to contact slurm controller" in done.stderr
        lying = slurm.run("squeue", "--json")  # the trap of 22.05: success, and nobody's jobs
        assert lying.returncode == 0 and '"jobs": [' in lying.stdout
    assert slurm.run("squeue").returncode == 0
    assert slurm.job_info_calls() == calls + 1


def test_slurmctld_hangs_and_recovers(slurm: Slurm) -> None:
    with slurm.slurmctld_hanging(), within(4 * slurm.layout.message_timeout + 5):
        done = slurm.run("squeue")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Socket timed out" in done.stderr
    assert slurm.run("squeue").returncode == 0


def test_slurmdbd_killed_and_back(slurm: Slurm) -> None:
    with slurm.slurmdbd_killed():
        assert slurm.run("sacct").returncode == 1
        assert slurm.run("squeue").returncode == 0
    assert slurm.run("sacct").returncode == 0


def test_slurmdbd_hangs_and_recovers(slurm: Slurm) -> None:
    with slurm.slurmdbd_hanging():
        with pytest.raises(TestbedError, match="no end within"):
            slurm.run("sacct", deadline=2)
        assert slurm.run("squeue").returncode == 0
    assert slurm.run("sacct").returncode == 0


def test_munge_hangs_and_recovers(slurm: Slurm) -> None:
    with slurm.munge_hanging(), pytest.raises(TestbedError, match="no end within"):
        slurm.run("squeue", deadline=2)
    assert slurm.run("squeue").returncode == 0


def test_a_user_without_jobs_is_a_true_drain(slurm: Slurm, logins: Logins) -> None:
    done = logins.ssh("login01", "squeue", "-h", "-u", "bob", user="bob")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_standard_jobs_settle(standard_jobs: Submitted, jobs: Jobs) -> None:
    rows = jobs.accounted()
    assert len(rows[standard_jobs["array"]]) == 8
    assert {row.exit_code for row in rows[standard_jobs["oom"]]} == {"0:125"}
    assert {row.exit_code for row in rows[standard_jobs["nodir"]]} == {"0:53"}
    assert standard_jobs["hold"] not in rows


def test_log_of_a_steady_job_grows_and_can_be_aged(jobs: Jobs, standard_jobs: Submitted) -> None:
    log = jobs.log(standard_jobs["running"])
    size = log.stat().st_size
    time.sleep(2.5)
    assert log.stat().st_size > size
    jobs.age_log(standard_jobs["silent2"], 7200)
    assert 7190 < time.time() - jobs.log(standard_jobs["silent2"]).stat().st_mtime < 7300


def test_mismatched_log_is_not_where_scontrol_says(slurm: Slurm, jobs: Jobs, standard_jobs: Submitted) -> None:
    job = standard_jobs["outnodes"]
    shown = slurm.must("scontrol", "show", "job", job)
    assert jobs.log(job).exists()
    assert f"StdOut={jobs.log(job)}\n" not in shown
