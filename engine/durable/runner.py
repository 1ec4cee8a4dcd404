"""The sweep's end of the durable-rules child: start it, talk to it with a deadline, and turn its end into a value."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Literal

from sweeprules.engine.durable.wire import HEADER, MAX_FRAME, request

FAULTS = ("", "wrong", "slow", "crash")
Kind = Literal["unavailable", "crash", "timeout", "garbage", "engine"]
WINDOW = 3
"""Requests that may wait in the pipe while one is worked on, so that neither side waits for the other."""


@dataclass(frozen=True, slots=True)
class DurableFailure:
    """How the durable-rules child failed: not to be had, crashed, out of time, garbage, or an error of the engine."""

    kind: Kind
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class ChildLostError(Exception):
    """Raised inside the runner when the child can not go on; carries the failure as a value."""

    def __init__(self, kind: Kind, detail: str) -> None:
        self.failure = DurableFailure(kind, detail)
        super().__init__(str(self.failure))


class Child:
    """One durable-rules process, used for a whole sweep. `deadline` is seconds from now until all of it must be done.

    A context manager: leaving it ends the process. Every method raises `ChildLostError` and nothing else.
    """

    def __init__(self, deadline: float, fault: str = "", command: tuple[str, ...] = ()) -> None:
        if fault not in FAULTS:
            raise ChildLostError("engine", f"unknown fault {fault!r}; expected one of wrong, slow, crash")
        self._until = time.monotonic() + deadline
        argv = command or (sys.executable, "-P", "-m", "sweeprules.engine.durable.child")
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
        except OSError as error:
            raise ChildLostError("unavailable", f"the child could not be started: {error.strerror}") from None
        self._inbox = bytearray()
        self._outbox: deque[memoryview] = deque()
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout):
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._fault = fault
        self._hello = request({"op": "hello", "fault": fault, "alarm": int(deadline) + 5})
        self._greeted = False

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def greet(self) -> None:
        """Wait until the child is up; the first request does it too, so that its start overlaps with other work."""
        if self._greeted:
            return
        first = self._next_reply()
        if first.get("error") == "unavailable":
            raise ChildLostError("unavailable", f"durable-rules can not be imported: {first.get('detail')}")
        self._greeted = True
        for reply in self.stream([self._hello]):
            _good(reply)

    def allow(self, deadline: float) -> None:
        """Give a child that is kept over many checks `deadline` seconds from now for the next one."""
        self.greet()
        self._until = time.monotonic() + deadline
        # The child's own alarm is set by its greeting.
        self.ask({"op": "hello", "fault": self._fault, "alarm": int(deadline) + 5})

    def ask(self, head: dict[str, object], body: str = "") -> dict[str, Any]:
        """Send one request and wait for its reply; an error reply is raised as `engine`."""
        (reply,) = self.stream([request(head, body)])
        return _good(reply)

    def stream(self, requests: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """Send framed requests, a few ahead of the replies, and yield the replies in order (error replies too)."""
        self.greet()
        pending = 0
        for framed in requests:
            self._outbox.append(memoryview(framed))
            pending += 1
            if pending > WINDOW:
                yield self._next_reply()
                pending -= 1
            else:
                self._pump(0.0)
        while pending:
            yield self._next_reply()
            pending -= 1

    def _next_reply(self) -> dict[str, Any]:
        while (payload := self._take()) is None:
            self._pump(self._left())
        try:
            reply = json.loads(payload)
        except ValueError:
            raise ChildLostError("garbage", "a reply is not JSON") from None
        if not isinstance(reply, dict):
            raise ChildLostError("garbage", "a reply is not an object")
        return reply

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise ChildLostError("timeout", "the deadline passed")
        return left

    def _take(self) -> bytes | None:
        if len(self._inbox) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._inbox)
        if size > MAX_FRAME:
            raise ChildLostError("garbage", f"a reply of {size} bytes")
        if len(self._inbox) < HEADER.size + size:
            return None
        payload = bytes(self._inbox[HEADER.size : HEADER.size + size])
        del self._inbox[: HEADER.size + size]
        return payload

    def _pump(self, timeout: float) -> None:
        """Move what can be moved either way, waiting at most `timeout` seconds."""
        writing = self._stdin in self._selector.get_map()
        if self._outbox and not writing:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        elif writing and not self._outbox:
            self._selector.unregister(self._stdin)
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._stdin:
                self._write()
            else:
                self._read()

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._outbox[0][: 1 << 16])
        except BlockingIOError:
            return
        except OSError:
            raise self._ended() from None
        rest = self._outbox.popleft()[sent:]
        if rest:
            self._outbox.appendleft(rest)

    def _read(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return
        if not data:
            raise self._ended()
        self._inbox += data

    def _ended(self) -> ChildLostError:
        try:
            code = self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return ChildLostError("garbage", "the child closed its pipe and went on")
        if code >= 0:
            return ChildLostError("crash", f"the child ended with status {code}")
        with contextlib.suppress(ValueError):
            return ChildLostError("crash", f"the child was ended by {signal.Signals(-code).name}")
        return ChildLostError("crash", f"the child was ended by signal {-code}")

    def close(self) -> None:
        """End the child; never waits longer than a few seconds, never raises."""
        self._selector.close()
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _good(reply: dict[str, Any]) -> dict[str, Any]:
    if "error" in reply:
        raise ChildLostError("engine", f"{reply['error']}: {reply.get('detail', '')}")
    return reply


def available(deadline: float = 10.0) -> tuple[bool, str]:
    """Whether durable-rules can be had here, and why not in words; tried in a child, never in this process."""
    try:
        with Child(deadline) as child:
            child.greet()
    except ChildLostError as lost:
        return False, lost.failure.detail
    return True, ""
