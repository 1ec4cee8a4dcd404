"""From the raw end of a call to one masked answer a command, each failure by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sweeprules.collectors.transport.command import Answer, Command, Reply
from sweeprules.collectors.transport.framing import Frame, Framed, parse
from sweeprules.collectors.transport.mask import masked
from sweeprules.collectors.transport.shell import MAX_STDERR
from sweeprules.collectors.transport.watch import Stop
from sweeprules.engine.observation import Failure

NOISE_LIMIT = 1024 * 1024
"""Bytes that a login may print outside frames before the call is stopped."""
TOTAL_LIMIT = 256 * 1024 * 1024
"""Bytes of one call that are held in memory at most, whatever the batch asks for."""

# At the end of a line: a file that is named like it does not count.
_FORK = re.compile(
    rb"(?im)\b(?:fork|fork system call failed|fork failed|can(?:no|')t fork)(?:: retry)?"
    rb"(?:: resource temporarily unavailable|: no child processes|: cannot allocate memory)\s*$|\bcan(?:no|')t fork\s*$"
)
_HOST_KEY = re.compile(rb"Host key verification failed|HOST IDENTIFICATION HAS CHANGED|host key is known for")
_AUTH = re.compile(rb"Permission denied|Too many authentication failures|no more authentication methods")
_KILLED = (124, 137)
"""What `timeout -k` ends with: the limit, and the limit of a program that would not stop."""


@dataclass(frozen=True, slots=True)
class Raw:
    """How a call ended: its streams, the status of what carried it, and what stopped it from this side.

    `failure` and `detail` are set where the carrier itself says what went wrong (a library's exception).
    """

    stdout: bytes
    stderr: bytes
    exit: int | None
    stop: Stop
    started_at: float
    duration: float
    failure: Failure = Failure.NONE
    detail: str = ""


def limits(batch: Sequence[Command]) -> tuple[int, int]:
    """The bytes of stdout and of stderr that a call of `batch` may print in all."""
    out = sum(command.max_bytes + 256 for command in batch) + NOISE_LIMIT
    err = len(batch) * (MAX_STDERR + 256) + NOISE_LIMIT
    return min(out, TOTAL_LIMIT), min(err, TOTAL_LIMIT)


def reply(raw: Raw, batch: Sequence[Command], word: str) -> Reply:
    """The answers of a framed batch, its first and last frame being the clock's."""
    framed = parse(raw.stdout, raw.stderr, word, len(batch))
    cause = _call_failure(raw, framed)
    clock = _clock(framed.frames[-1]) or _clock(framed.frames[0])
    noise = masked(framed.noise)
    answers = []
    running = _running(framed)
    for at in range(1, len(batch) - 1):
        failure, detail = _failure(raw, framed.frames[at], running == at, cause)
        answers.append(_answer(raw, framed.frames[at], batch[at], failure, detail, noise if at == 1 else b"", clock))
    return Reply(tuple(answers))


def one_line(text: bytes) -> str:
    """The last line that says anything, masked, printable, at most 300 characters."""
    lines = [line for line in masked(text).decode("utf-8", "replace").splitlines() if line.strip()]
    last = "".join(char if char.isprintable() else "?" for char in lines[-1].strip()) if lines else ""
    return last if len(last) <= 300 else last[:297] + "..."


def _answer(
    raw: Raw, frame: Frame, command: Command, failure: Failure, detail: str, noise: bytes, clock: float | None
) -> Answer:
    cut = max(0, len(frame.stdout) - command.max_bytes)
    if frame.opened and failure is not Failure.NONE:
        cut = max(cut, 1)
    return Answer(
        started_at=raw.started_at,
        duration=raw.duration,
        exit=frame.exit,
        stdout=masked(_kept(frame.stdout, command)),
        stderr=masked(frame.stderr),
        noise=noise,
        cut=cut,
        failure=failure,
        detail=detail,
        remote_clock=clock,
    )


def _kept(stdout: bytes, command: Command) -> bytes:
    if command.keep == "end":
        return stdout[max(0, len(stdout) - command.max_bytes) :]
    return stdout[: command.max_bytes]


def _clock(frame: Frame) -> float | None:
    text = frame.stdout.strip()
    return float(text) if frame.exit == 0 and re.fullmatch(rb"[0-9]{9,11}", text) else None


def _running(framed: Framed) -> int | None:
    """The command that was started and not finished, if any."""
    return next((at for at, frame in enumerate(framed.frames) if frame.opened and frame.exit is None), None)


def _failure(raw: Raw, frame: Frame, running: bool, cause: tuple[Failure, str]) -> tuple[Failure, str]:
    if frame.exit is not None:
        if frame.exit in _KILLED and frame.limit:
            return Failure.TIMEOUT, f"the login ended it after {frame.limit} s (exit {frame.exit})"
        if frame.exit != 0 and _FORK.search(frame.stderr):
            return Failure.FORK, one_line(frame.stderr)
        return Failure.NONE, ""
    if running and raw.stop is Stop.COMMAND:
        return Failure.TIMEOUT, "it did not end within its time, so the call was ended"
    return cause


def _call_failure(raw: Raw, framed: Framed) -> tuple[Failure, str]:
    """Why the commands without a whole frame have none."""
    said = one_line(raw.stderr) if not any(frame.opened for frame in framed.frames) else one_line(framed.noise)
    ended = raw.detail or said or f"the call ended with exit {raw.exit} and said nothing"
    if raw.failure is not Failure.NONE:
        return raw.failure, ended
    if raw.stop is Stop.DEADLINE:
        return Failure.DEADLINE, "the time was up before it was answered"
    if _FORK.search(raw.stderr):
        return Failure.FORK, _line_with(_FORK, raw.stderr)
    if any(frame.opened for frame in framed.frames):
        return _unfinished(raw, ended)
    return _unopened(raw, ended)


def _unfinished(raw: Raw, ended: str) -> tuple[Failure, str]:
    if raw.stop is Stop.COMMAND:
        return Failure.UNFRAMED, "the call was ended with the command before it, which did not end within its time"
    if raw.stop is Stop.FLOOD:
        return Failure.UNFRAMED, "the login printed more than was asked for, so the call was ended"
    return Failure.UNFRAMED, f"the call broke off: {ended}"


def _unopened(raw: Raw, ended: str) -> tuple[Failure, str]:
    if raw.stop is Stop.START:
        said = f": {ended}" if raw.stderr else ""
        return Failure.CONNECT, f"no answer of a shell within {raw.duration:.0f} s{said}"
    if raw.stop is Stop.FLOOD:
        return Failure.UNFRAMED, "the login printed more than any banner, so the call was ended"
    if raw.exit in (254, 127):
        return Failure.FORK, ended
    if raw.exit != 255:
        return Failure.UNFRAMED, f"the login's shell ran nothing: {ended}"
    if _HOST_KEY.search(raw.stderr):
        return Failure.HOST_KEY, _line_with(_HOST_KEY, raw.stderr)
    if _AUTH.search(raw.stderr):
        return Failure.AUTH, _line_with(_AUTH, raw.stderr)
    return Failure.CONNECT, ended


def _line_with(pattern: re.Pattern[bytes], text: bytes) -> str:
    lines = [line for line in text.splitlines() if pattern.search(line)]
    return one_line(lines[-1] if lines else text)
