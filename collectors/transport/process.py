"""One child process with a deadline and bounded output, of which nothing is left behind."""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sweeprules.collectors.transport.watch import Stop, Watch

CHUNK = 65536
STOP_GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL, and for pipes to drain after their owner is gone."""

_RUNNING: set[int] = set()
"""Children whose output is read now, by their process ids."""

Spawn = Callable[[Sequence[str], Mapping[str, str]], "subprocess.Popen[bytes]"]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process left: its status (negative for a signal), the bytes of both streams, why it was stopped."""

    exit: int | None
    stdout: bytes
    stderr: bytes
    stop: Stop
    duration: float


def spawn(argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts `argv` in a session of its own, all three streams piped. Raises `OSError`."""
    return subprocess.Popen(
        list(argv),
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(child: subprocess.Popen[bytes], text: bytes, watch: Watch, limits: tuple[int, int]) -> Ended:
    """Feeds `text` to `child` and reads both streams, each up to its limit in bytes, until they end or `watch` does.

    A stream that exceeds its limit stops the process (`Stop.FLOOD`). When this returns the process is gone, and so is
    everything of its session that held its streams or ran on when it was stopped.
    """
    started = time.monotonic()
    _RUNNING.add(child.pid)
    pump = _Pump(child, text, watch, limits)
    try:
        stop = pump.run()
        status = _finish(child, pump, stop)
    finally:
        pump.close()
        if child.returncode is None:
            _kill(child.pid, signal.SIGKILL)
            child.wait()
        _RUNNING.discard(child.pid)
    return Ended(status, bytes(pump.stdout), bytes(pump.stderr), stop, time.monotonic() - started)


class _Pump:
    """Moves bytes between the three pipes of a child and memory."""

    def __init__(self, child: subprocess.Popen[bytes], text: bytes, watch: Watch, limits: tuple[int, int]) -> None:
        self.child = child
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._left = memoryview(text)
        self._watch = watch
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for stream, events in (
            (child.stdin, selectors.EVENT_WRITE),
            (child.stdout, selectors.EVENT_READ),
            (child.stderr, selectors.EVENT_READ),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, events)

    def run(self) -> Stop:
        """Pumps until both outputs end; or tells which limit ended it."""
        gone_at: float | None = None
        while self.reading():
            moment, stop = self._watch.until()
            now = time.monotonic()
            if now >= moment:
                return stop
            if gone_at is not None and now >= gone_at + STOP_GRACE:
                return Stop.NONE
            busy = self.step(min(moment - now, STOP_GRACE / 2))
            if len(self.stdout) > self._limits[0] or len(self.stderr) > self._limits[1]:
                return Stop.FLOOD
            # A child that is gone may have left its pipes to a process that never ends them.
            if not busy and gone_at is None and self.child.poll() is not None:
                gone_at = now
        return Stop.NONE

    def step(self, timeout: float) -> bool:
        """Moves what is ready within `timeout`; False when nothing was."""
        ready = self._selector.select(timeout)
        for key, _ in ready:
            stream = key.fileobj
            if stream is self.child.stdin:
                self._write(self.child.stdin)
            elif stream is self.child.stdout:
                self._watch.feed(self._read(self.child.stdout, self.stdout))
            else:
                self._read(self.child.stderr, self.stderr)
        return bool(ready)

    def drain(self, seconds: float) -> None:
        """Takes what is still in the pipes, within the limits, for at most `seconds`."""
        until = time.monotonic() + seconds
        while self.reading() and time.monotonic() < until:
            if len(self.stdout) > self._limits[0] or len(self.stderr) > self._limits[1]:
                return
            self.step(0.02)

    def close(self) -> None:
        self._selector.close()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def reading(self) -> bool:
        """True while an output stream has not ended."""
        return any(key.events & selectors.EVENT_READ for key in self._selector.get_map().values())

    def _write(self, stream: IO[bytes] | None) -> None:
        if stream is None:
            return
        try:
            sent = os.write(stream.fileno(), self._left[:CHUNK])
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._left)
        self._left = self._left[sent:]
        if not self._left:
            self._selector.unregister(stream)
            with contextlib.suppress(OSError):
                stream.close()

    def _read(self, stream: IO[bytes] | None, into: bytearray) -> bytes:
        if stream is None:
            return b""
        try:
            chunk = os.read(stream.fileno(), CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if chunk:
            into += chunk
        else:
            self._selector.unregister(stream)
        return chunk


def _finish(child: subprocess.Popen[bytes], pump: _Pump, stop: Stop) -> int | None:
    if stop is Stop.NONE and not _waited(child, STOP_GRACE):
        stop = Stop.DEADLINE
    if stop is Stop.NONE:
        if pump.reading():
            _kill(child.pid, signal.SIGKILL)
        return child.returncode
    _kill(child.pid, signal.SIGTERM)
    pump.drain(STOP_GRACE)
    _kill(child.pid, signal.SIGKILL)
    pump.drain(STOP_GRACE / 5)
    return child.returncode if _waited(child, STOP_GRACE) else None


def _waited(child: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(leader: int, number: signal.Signals) -> None:
    """Signals the group of `leader` and whoever left it for a group of their own, as `timeout` does."""
    for member in _members(leader):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, number)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


@atexit.register
def _end_all() -> None:
    """A sweep that is told to end leaves no command behind: its threads end with it, what they started would not."""
    for leader in tuple(_RUNNING):
        _kill(leader, signal.SIGKILL)


def _members(session: int) -> list[int]:
    """Processes of a session where /proc tells; elsewhere none: macOS has no `timeout` that would leave a group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        # After the name in parentheses: state, parent, group, session.
        if len(fields) > 3 and fields[3] == str(session):
            found.append(int(folder.name))
    return found
