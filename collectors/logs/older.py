"""More of a log than its end: where a first look shows too little for the rules' windows, the login searches it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sweeprules.collectors.logs import ask
from sweeprules.collectors.logs.facts import AT_MOST, FoundLog, complaint
from sweeprules.collectors.logs.lines import Chunk, Pieces
from sweeprules.collectors.prior import LogMemo
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import Reason, Unknown
from sweeprules.engine.observation import Failure, Observation

MOST_JOBS = 40
"""Logs that are searched in one sweep of a cluster, one after another; the others wait for the next.

Were each search to last its whole time, all of them would take two thirds of the time of a sweep.
"""
MOST_READ = 8 * 1024**3
"""Bytes that the searches of one sweep go through in all: a file system that many share is not read out."""
LARGEST = 4 * 1024**3
"""Of a larger log only a longer end is read."""
MOST_KEPT = 96 * 1024 * 1024
"""Bytes that all searches of one call bring back."""

_AT = re.compile(rb"(\d{1,15}):")


@dataclass(frozen=True, slots=True)
class Lack:
    """A log of which too little was seen: where it is, and the byte from which on it was read.

    `literals` mark the lines that are wanted; without any, a longer end of the log is read.
    """

    job_id: str
    log: FoundLog
    start: int
    literals: tuple[str, ...]

    @property
    def searched(self) -> bool:
        """True when the login searches the log, instead of sending a longer end of it."""
        return bool(self.literals) and self.start <= LARGEST


@dataclass(frozen=True, slots=True)
class Older:
    """What was read of a log before byte `until`; `searched` says that only matching lines came, each with its place.

    `start` is where the bytes begin that came whole (of no meaning for a search).
    """

    until: int
    searched: bool
    start: int
    observation: Observation


def lacks(memo: LogMemo | None, start: int, points: int, need: int) -> bool:
    """True when a log has to be looked through: fewer points than needed, older bytes unread, and not done before.

    `start` is the byte from which on this sweep read it, `need` the longest window of the rules in points.
    """
    if points >= need or start <= 0:
        return False
    return memo is None or not (memo.searched or memo.from_start)


def older_commands(wanted: Sequence[Lack]) -> tuple[tuple[Lack, ...], tuple[Command, ...]]:
    """Which logs are looked through in this sweep, the smallest first, and the command of each: one round trip."""
    taken: list[Lack] = []
    through = 0
    for lack in sorted(wanted, key=lambda one: (one.log.stat.size, one.job_id)):
        through += lack.log.stat.size if lack.searched else AT_MOST
        if len(taken) == MOST_JOBS or through > MOST_READ:
            break
        taken.append(lack)
    each = min(ask.SEARCH_BYTES, MOST_KEPT // max(1, len(taken)))
    return tuple(taken), tuple(_command(lack, each) for lack in taken)


def _command(lack: Lack, each: int) -> Command:
    if lack.searched:
        return ask.search(lack.log.path, lack.literals, each)
    start = max(0, lack.start - AT_MOST)
    return Command(("tail", "-c", f"+{start + 1}", "--", lack.log.path), max_bytes=lack.start - start)


def older_read(taken: Sequence[Lack], observed: Sequence[Observation]) -> Mapping[str, Older]:
    """The answers to `older_commands`, by job id."""
    return MappingProxyType(
        {
            lack.job_id: Older(lack.start, lack.searched, max(0, lack.start - AT_MOST), one)
            for lack, one in zip(taken, observed, strict=False)
        }
    )


def read_older(
    wanted: Sequence[Lack], call: Callable[[Sequence[Command]], tuple[Observation, ...]]
) -> tuple[Mapping[str, Older], tuple[Observation, ...]]:
    """Looks through the logs of `wanted` in one round trip; none when there is nothing to ask."""
    taken, commands = older_commands(wanted)
    observed = call(commands) if commands else ()
    return older_read(taken, observed), observed


def was_looked_through(older: Older) -> bool:
    """True when a search ran, to its end or until its time was up: it is not sent again."""
    return older.observation.answered or older.observation.failure is Failure.TIMEOUT


def older_pieces(older: Older) -> tuple[tuple[bytes, int], ...] | Unknown:
    """The lines that stand before `until`, with their places in the file; unknown when they could not be read.

    What a search had brought before its time was up counts; it is a part of the whole either way. A search that was
    cut and brought nothing from before `until` does not tell that nothing is there.
    """
    observation = older.observation
    if observation.failure not in (Failure.NONE, Failure.TIMEOUT):
        return Unknown(Reason.READ_FAILED, observation.detail or str(observation.failure))
    if older.searched:
        return _searched(older)
    if not observation.answered or (observation.exit != 0 and not observation.cut):
        return Unknown(Reason.READ_FAILED, complaint(observation))
    data = observation.stdout[: older.until - older.start]
    begin = 0 if older.start == 0 else data.find(b"\n") + 1
    return ((data[begin:], older.start + begin),) if begin < len(data) and (begin or older.start == 0) else ()


def _searched(older: Older) -> tuple[tuple[bytes, int], ...] | Unknown:
    observation = older.observation
    # A search runs to its own end, however much is dropped: no cut explains a failure.
    if observation.answered and observation.exit not in (0, 1):
        return Unknown(Reason.READ_FAILED, complaint(observation))
    lines = observation.stdout.split(b"\n")
    # The first line may have lost its beginning, and its place with it; the last one may still be written.
    whole = lines[1 if observation.cut else 0 : -1]
    found = ((line, _AT.match(line)) for line in whole)
    placed = ((line[at.end() :], int(at[1])) for line, at in found if at is not None)
    before = tuple((line, place) for line, place in placed if place < older.until)
    if not before and not observation.answered:
        return Unknown(Reason.READ_FAILED, observation.detail or "the search did not end in its time")
    if not before and observation.cut:
        return Unknown(Reason.CUT, "the newest matches left no room for older ones")
    return before


def with_older(pieces: Iterable[tuple[bytes, int]], data: bytes, start: int, *, whole_start: bool) -> Chunk:
    """The end of a log with what was found before it, as one chunk for the readers of metrics.

    `data` begins at byte `start`; `whole_start` says that this begins a line. A line that reaches from before it into
    it is read once, whole where a piece holds it.
    """
    before = [(piece, at) for piece, at in pieces if at < start]
    if not before:
        return Chunk(data, start, whole_start=whole_start)
    last, place = before[-1]
    reach = place + len(last) - start
    if reach == 0:
        return Pieces([*before[:-1], (last + data, place)])
    begin = reach if reach > 0 else 0 if whole_start else _first_break(data)
    return Pieces([*before, (data[begin:], start + begin)])


def _first_break(data: bytes) -> int:
    """Behind the first line break; all of it when there is none."""
    found = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
    return min(found) + 1 if found else len(data)
