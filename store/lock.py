"""One sweep at a time for each state folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sweeprules.store.errors import StoreError, reason
from sweeprules.store.files import PRIVATE_FILE, make_private_dir

_NOTE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Held:
    """Another process holds the lock. `pid` and `since` (epoch seconds) are its own note; None when it left none."""

    path: str
    pid: int | None
    since: float | None


class Lock:
    """The lock, held until `release`, the end of its `with` block, or the end of the process, however that ends."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    def release(self) -> None:
        """Give the lock up; a second call does nothing. The file stays: removing it would let two holders in."""
        if self._handle >= 0:
            # Unlocked by name: a child that is just being started may hold a copy of the handle for a moment.
            with contextlib.suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_UN)
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def take_lock(state: Path, now: float) -> Lock | Held:
    """The state folder's lock, or who holds it; never waits.

    The kernel drops the lock (flock) with the process that holds it, so that a killed sweep leaves nothing to clear.
    Raises `StoreError` when the lock file can not be made.
    """
    path = state / "lock"
    try:
        make_private_dir(state)
        # Not inheritable: a child that outlives the sweep must not keep the lock.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise StoreError(
            str(path), f"the lock could not be opened: {reason(error)}", "name another folder with --state"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note = _read_note(handle)
        os.close(handle)
        return Held(str(path), *note)
    except OSError as error:
        os.close(handle)
        raise StoreError(
            str(path), f"can not be locked: {reason(error)}", "use a state folder on a local disk"
        ) from error
    with contextlib.suppress(OSError):
        # Only a note for people: a full disk must not stop a sweep here.
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "since": now}).encode(), 0)
    return Lock(path, handle)


def _read_note(handle: int) -> tuple[int | None, float | None]:
    try:
        note = json.loads(os.pread(handle, _NOTE_LIMIT, 0))
        return int(note["pid"]), float(note["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, None
