"""Kills sweeps with SIGKILL at a chosen stage, and tells which stage each kill really hit."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.integration.e2e.product import Product
from tests.testbed.ssh import Logins

STAGES = ("before", "gathering", "evaluating", "keeping")
_LAST_WORD = b"looked closer"
"""The sweep's own last word of progress before it judges what it gathered."""
POLL = 0.002


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds from the start of one undisturbed sweep to the end of each stage."""

    ends: Mapping[str, float]

    def window(self, stage: str) -> tuple[float, float]:
        at = STAGES.index(stage)
        return (0.0 if at == 0 else self.ends[STAGES[at - 1]]), self.ends[stage]


@dataclass(frozen=True, slots=True)
class Killed:
    """One sweep that was killed: the stage in which it was, or "ended" when it was quicker."""

    stage: str
    after: float


class Watched:
    """A running sweep with its progress read from a terminal."""

    def __init__(self, product: Product, logins: Logins) -> None:
        self._product, self._logins = product, logins
        self._sessions = logins.sessions()
        self._store: tuple[object, ...] | None = None
        self._said = b""
        self._terminal, worker = os.openpty()
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            product.argv(), env=product.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=worker,
            start_new_session=True,
        )  # fmt: skip
        os.close(worker)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def stage(self) -> str:
        """The stage now, by what can be seen from outside: sshd's log, the progress, the state folder."""
        while select.select([self._terminal], [], [], 0)[0]:
            try:
                read = os.read(self._terminal, 4096)
            except OSError:  # nobody holds the other end any more
                break
            if not read:
                break
            self._said += read
        if _LAST_WORD in self._said:
            found = _fingerprint(self._product.state)
            # Opening a store may write to it; from here on only keeping does.
            self._store = found if self._store is None else self._store
            return "keeping" if found != self._store else "evaluating"
        return "gathering" if self._logins.sessions() > self._sessions else "before"

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._terminal)


def timeline(product: Product, logins: Logins) -> Timeline:
    """Watch one sweep to its end."""
    watched = Watched(product, logins)
    ends: dict[str, float] = {}
    stage = STAGES[0]
    try:
        while watched.process.poll() is None:
            now = watched.stage()
            for passed in STAGES[STAGES.index(stage) : STAGES.index(now)]:
                ends[passed] = watched.seconds
            stage = now
            time.sleep(POLL)
        assert watched.process.returncode == 0
        # A stage too short to be seen ends with the one before it.
        for name in STAGES:
            ends.setdefault(name, watched.seconds)
    finally:
        watched.close()
    return Timeline(ends)


def kill_in(stage: str, product: Product, logins: Logins, times: Timeline, dice: random.Random) -> Killed:
    """Start a sweep and kill it at a random moment of `stage`: wait for its beginning, then for part of its length."""
    watched = Watched(product, logins)
    begin, end = times.window(stage)
    try:
        while watched.process.poll() is None and STAGES.index(watched.stage()) < STAGES.index(stage):
            time.sleep(POLL)
        wait = watched.seconds + dice.random() * max(end - begin, 0.01)
        while watched.process.poll() is None and watched.seconds < wait:
            time.sleep(POLL)
        running = watched.process.poll() is None
        watched.process.send_signal(signal.SIGKILL)
        after = watched.seconds
        watched.process.wait()
        dead = watched.process.returncode == -signal.SIGKILL
        return Killed(watched.stage() if running and dead else "ended", after)
    finally:
        watched.close()


def survivors(product: Product) -> set[int]:
    """The processes of this product's sweeps that still live, by the home folder in their environment."""
    mark = f"HOME={product.home}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in environment:
            found.add(int(folder.name))
    return found


def _fingerprint(state: Path) -> tuple[tuple[str, int, int], ...]:
    """The files of a state folder but for the lock and the database's shared memory."""
    found = []
    for path in state.rglob("*"):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        if path.is_file() and path.name != "lock" and not path.name.endswith("-shm"):
            found.append((str(path.relative_to(state)), stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(found))
