"""A question for a login node and the answer to it, before either belongs to a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sweeprules.engine.observation import Failure

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
"""Room for the queue of 3,000 jobs with every field, ten times over."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command as an argument list; `items` reach `xargs -0` by standard input, each ended by a NUL.

    `timeout` is in seconds, None means the cluster's `command_timeout`. `max_bytes` bounds stdout: what is printed
    beyond it is dropped where it is printed, and the command ends early with SIGPIPE (exit 141). `keep` says which end
    stays: with `end` the command runs to its own end, and the first bytes are the ones that are dropped.
    """

    argv: tuple[str, ...]
    items: tuple[str, ...] = ()
    timeout: float | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    keep: Literal["start", "end"] = "start"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one command; the fields mean what they mean in `Observation`.

    `cut` is a lower bound: the bytes that were seen to exist beyond `max_bytes`. All answers of one call share
    `started_at`, `duration` and `remote_clock`; text outside every frame is `noise` of the first one.
    """

    started_at: float
    duration: float
    exit: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    noise: bytes = b""
    cut: int = 0
    failure: Failure = Failure.NONE
    detail: str = ""
    remote_clock: float | None = None

    @property
    def answered(self) -> bool:
        """True when the frame is whole."""
        return self.failure is Failure.NONE and self.exit is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answers of one call, one a command and in their order."""

    answers: tuple[Answer, ...]

    @property
    def failure(self) -> Failure:
        """`NONE` when any command was answered, else why the first was not."""
        if any(answer.answered for answer in self.answers):
            return Failure.NONE
        return self.answers[0].failure if self.answers else Failure.NONE

    @property
    def detail(self) -> str:
        """One line for people about `failure`."""
        return self.answers[0].detail if self.answers and self.failure is not Failure.NONE else ""


class Transport(Protocol):
    """Runs a batch on one login in one round trip.

    `deadline` is in seconds of `time.monotonic()`; the call has returned by then, but for the second that ending a
    stubborn process may take. A login that fails is a value in the reply, never an exception; a command that is not
    allowed raises `CommandRefusedError` before anything is sent.
    """

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply: ...

    def close(self) -> None: ...


def unsent(batch: Sequence[Command], failure: Failure, detail: str, started_at: float, duration: float = 0.0) -> Reply:
    """The reply of a call in which no command was answered, for one and the same reason."""
    answer = Answer(started_at=started_at, duration=duration, failure=failure, detail=detail)
    return Reply(tuple(answer for _ in batch))
