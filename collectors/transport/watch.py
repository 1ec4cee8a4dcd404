"""When to give up on a call, and which of its limits it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.framing import Progress

START_GRACE = 10.0
"""Seconds from a connection to the first marker: a loaded login's start files. A shell that can not fork tells so
within 15 s of its start, and the usual connect timeout comes on top."""
COMMAND_GRACE = 5.0
"""Seconds beyond a command's timeout, so that a login which keeps it itself can do so first."""


class Stop(StrEnum):
    """Why a call was ended from this side; `NONE` when it ended by itself."""

    NONE = ""
    DEADLINE = "deadline"
    START = "start"
    COMMAND = "command"
    FLOOD = "flood"


class Watch:
    """Follows the markers of one call and knows how long it may be silent. Times are of `time.monotonic()`.

    `batch` is what is framed, `word` the nonce; a command without a timeout is bound by `deadline` alone.
    """

    def __init__(
        self,
        batch: Sequence[Command],
        word: str,
        deadline: float,
        connect_timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = [command.timeout for command in batch]
        self._progress = Progress(word)
        self._deadline = deadline
        self._clock = clock
        self._since = clock()
        self._start = self._since + connect_timeout + START_GRACE

    def feed(self, chunk: bytes) -> None:
        """Takes the next piece of standard output."""
        if self._progress.feed(chunk):
            self._since = self._clock()

    def until(self) -> tuple[float, Stop]:
        """The moment up to which to wait for more, and the limit that it is."""
        if not self._progress.opened:
            moment, stop = self._start, Stop.START
        else:
            at = self._progress.closed
            limit = self._limits[at] if at < len(self._limits) else 0.0
            moment = self._deadline if limit is None else self._since + limit + COMMAND_GRACE
            stop = Stop.COMMAND
        return (self._deadline, Stop.DEADLINE) if self._deadline <= moment else (moment, stop)
