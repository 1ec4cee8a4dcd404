"""The ways to a cluster, end to end: fabric, local, a live ControlMaster; two sweeps at once; the deadline."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.integration.e2e.product import Product, Sweep
from tests.integration.e2e.truth import truth
from tests.testbed.jobs import Submitted
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins


def hold_right(sweep: Sweep, slurm: Slurm) -> None:
    """A complete sweep that has every active job of Slurm's in Slurm's state."""
    assert (sweep.status, sweep.complete, sweep.cluster["queue"]) == (0, True, "ok"), sweep.cluster
    now = truth(slurm)
    assert now.active() <= set(sweep.links)
    wrong = {job for job in now.active() if sweep.state(job) != now.states[job]}
    # A job may have come to its end, or started, between the sweep and the look.
    assert {job for job in wrong if truth(slurm).states[job] == now.states[job]} <= {
        job for job in wrong if sweep.state(job) == "PENDING" and now.states[job] == "RUNNING"
    }


def test_fabric_sees_what_openssh_sees(slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path) -> None:
    product = Product(tmp_path, None, reach={"via": "fabric"})
    (product.home / ".ssh").mkdir(mode=0o700)
    shutil.copy(logins.config(), product.home / ".ssh" / "config")
    connections = logins.connections()
    sweep = product.sweep()
    hold_right(sweep, slurm)
    assert sweep.cluster["login"] == "login01"
    assert logins.connections() == connections + 1  # one kept connection carries all round trips
    assert sweep.entry(standard_jobs["running"])["last_output_age_s"] is not None


def test_fabric_takes_the_next_login(slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path) -> None:
    product = Product(tmp_path, None, reach={"via": "fabric"})
    (product.home / ".ssh").mkdir(mode=0o700)
    shutil.copy(logins.config(), product.home / ".ssh" / "config")
    with logins.refusing("login01"):
        sweep = product.sweep()
    hold_right(sweep, slurm)
    assert sweep.cluster["login"] == "login02"


def test_local_needs_nothing_but_the_commands(slurm: Slurm, standard_jobs: Submitted, tmp_path: Path) -> None:
    local = {"via": "local", "host": None, "fallbacks": None}
    sweep = Product(tmp_path, None, reach=local, env={"SLURM_CONF": str(slurm.layout.slurm_conf)}).sweep()
    hold_right(sweep, slurm)


def test_a_live_control_master_carries_the_sweep(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path
) -> None:
    product = Product(tmp_path, logins, mux=True)
    assert logins.ssh("login01", "true", mux=True).returncode == 0
    try:
        connections, sessions = logins.connections(), logins.sessions("login01")
        sweep = product.sweep()
        assert logins.connections() == connections
        assert logins.sessions("login01") > sessions
    finally:
        logins.close_masters()
    hold_right(sweep, slurm)


def test_a_master_that_hangs_does_not_hold_the_sweep(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path
) -> None:
    product = Product(tmp_path, logins, mux=True)
    assert logins.ssh("login01", "true", mux=True).returncode == 0
    try:
        with logins.hanging("login01"):
            sweep = product.sweep("--deadline", "60s")
    finally:
        logins.close_masters()
    hold_right(sweep, slurm)
    assert sweep.cluster["login"] == "login02"


def test_of_two_sweeps_at_once_the_second_says_so_and_does_nothing(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path
) -> None:
    product = Product(tmp_path, logins)
    with logins.hanging("login01"):  # so that the first is still at work
        first = product.start()
        lock = product.state / "lock"
        end = time.monotonic() + 20
        while not (lock.exists() and lock.stat().st_size):
            assert time.monotonic() < end and first.poll() is None
            time.sleep(0.02)
        sessions = logins.sessions()
        second = product.run(*product.argv()[1:])
        assert (second.status, second.stdout) == (0, "")
        assert f"another sweep is running (process {first.pid}" in second.stderr
        assert first.poll() is None and logins.sessions() == sessions
        out, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert b'"complete": true' in out or b'"complete":true' in out
    hold_right(product.sweep(), slurm)


def test_the_deadline_ends_a_sweep_whose_login_hangs(logins: Logins, tmp_path: Path) -> None:
    product = Product(tmp_path, logins, reach={"fallbacks": [], "connect_timeout": "60s", "command_timeout": "60s"})
    with logins.hanging("login01"):
        sweep = product.sweep("--deadline", "8s")
    assert sweep.seconds < 20
    assert (sweep.status, sweep.complete) == (3, False)
    assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("unreachable", "unknown")
    assert "cluster-unreachable" in sweep.cluster_flags


def test_the_deadline_cuts_a_command_that_hangs(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path: Path
) -> None:
    product = Product(tmp_path, logins, reach={"fallbacks": []})
    hold_right(product.sweep(), slurm)
    with slurm.slurmdbd_hanging():
        sweep = product.sweep("--deadline", "8s")
    assert sweep.seconds < 20
    assert (sweep.status, sweep.complete) == (3, False)
    assert sweep.cluster["status"] in ("partial", "unreachable")
    assert sweep.ended() <= set(truth(slurm).exits)
