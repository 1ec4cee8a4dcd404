"""Nothing of a test bed is left behind: not after an ordinary end, and not after its owner was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.bed import clear_stale, own_bed, take_down
from tests.testbed.layout import load_layout, make_layout, new_root
from tests.testbed.processes import alive, marked, wait_until
from tests.testbed.ssh import Logins

REPO = Path(__file__).resolve().parents[2]
OWNER = """
import sys, time
from tests.testbed.bed import own_bed
bed = own_bed()
bed.logins.up()
print(bed.layout.root, flush=True)
time.sleep(600)
"""


@pytest.mark.sshd
def test_nothing_is_left_after_close() -> None:
    bed = own_bed()
    bed.logins.up()
    assert bed.logins.ssh("login01", "true", mux=True).returncode == 0
    pids = [pid for pid in bed.logins.daemons().values() if pid is not None]
    assert len(pids) == 7
    bed.close()
    assert not bed.layout.root.exists()
    assert not any(alive(pid) for pid in pids)
    assert marked(bed.layout.root) == ()


@pytest.mark.slurm
def test_nothing_of_slurm_is_left_after_close() -> None:
    bed = own_bed("tacc")
    bed.slurm.up()
    pids = [pid for pid in bed.slurm.daemons().values() if pid is not None]
    assert len(pids) == 8
    bed.close()
    assert not any(alive(pid) for pid in pids)
    assert marked(bed.layout.root) == ()
    assert list(Path("/sys/fs/cgroup").glob(f"*/slurm_{bed.layout.node_prefix}*")) == []


@pytest.mark.sshd
def test_nothing_is_left_after_the_owner_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], cwd=REPO, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        root = Path(owner.stdout.readline().strip())
        layout = load_layout(root)
        assert layout is not None
        pids = [pid for pid in Logins(layout).daemons().values() if pid is not None]
        assert len(pids) == 7
        owner.send_signal(signal.SIGKILL)
    wait_until("the watchdog to clear up", lambda: not root.exists(), deadline=30)
    assert not any(alive(pid) for pid in pids)


@pytest.mark.sshd
def test_what_a_dead_owner_left_is_cleared_by_the_next() -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    layout = make_layout(new_root(), owner_pid=dead.pid)
    Logins(layout).up()
    pids = [pid for pid in Logins(layout).daemons().values() if pid is not None]
    assert layout.root in clear_stale()
    assert not layout.root.exists()
    assert not any(alive(pid) for pid in pids)


@pytest.mark.sshd
def test_a_pid_that_another_program_has_by_now_is_left_alone() -> None:
    layout = make_layout(new_root(), owner_pid=os.getpid())
    with subprocess.Popen(["sleep", "60"]) as stranger:
        layout.pid_file("sshd-login01").write_text(f"{stranger.pid}\n")
        assert Logins(layout).daemons()["login01"] is None
        take_down(layout, remove=True)
        assert alive(stranger.pid)
        stranger.kill()
