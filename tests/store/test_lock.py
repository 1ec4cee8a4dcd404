"""One sweep at a time; a dead one holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sweeprules.store.errors import StoreError
from sweeprules.store.lock import Held, Lock, take_lock

HOLDER = """
import sys, time
from pathlib import Path
from sweeprules.store.lock import take_lock
print(type(take_lock(Path(sys.argv[1]), 5.0)).__name__, flush=True)
time.sleep(60)
"""


def holder(state: Path) -> subprocess.Popen[str]:
    """Another process that has the lock once this returns."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(state)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "Lock"
    return process


def test_a_second_sweep_learns_who_runs(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        try:
            assert take_lock(tmp_path, 9.0) == Held(str(tmp_path / "lock"), process.pid, 5.0)
        finally:
            process.kill()


def test_a_killed_sweep_leaves_the_lock_free(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    lock = take_lock(tmp_path, 9.0)
    assert isinstance(lock, Lock)
    lock.release()


def test_the_lock_is_free_after_release(tmp_path: Path) -> None:
    first = take_lock(tmp_path / "new", 1.0)
    assert isinstance(first, Lock)
    with first:
        assert isinstance(take_lock(tmp_path / "new", 2.0), Held)
    first.release()
    second = take_lock(tmp_path / "new", 3.0)
    assert isinstance(second, Lock)
    second.release()


def test_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = take_lock(tmp_path, 1.0)
    assert isinstance(lock, Lock)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False) as child:
        try:
            lock.release()
            again = take_lock(tmp_path, 2.0)
            assert isinstance(again, Lock)
            again.release()
        finally:
            child.kill()


@pytest.mark.parametrize("note", [b"", b"nonsense", b"[]", b'{"pid": "x"}', b"\xff" * 2000])
def test_a_holder_without_a_readable_note(tmp_path: Path, note: bytes) -> None:
    lock = take_lock(tmp_path, 1.0)
    assert isinstance(lock, Lock)
    with lock:
        (tmp_path / "lock").write_bytes(note)
        assert take_lock(tmp_path, 2.0) == Held(str(tmp_path / "lock"), None, None)


def test_a_state_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="the lock could not be opened"):
        take_lock(tmp_path / "file", 1.0)
