"""Reads the logs of many jobs in few calls: stat, then tails and listings, then what the listings found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sweeprules.collectors.logs import ask
from sweeprules.collectors.logs.facts import FIRST_SIGHT, FoundLog, Location, Tail, window
from sweeprules.collectors.logs.find import Listing, Stats, read_listing, read_stats
from sweeprules.collectors.logs.locate import Candidate, Wanted, after_listing, after_stat, found
from sweeprules.collectors.prior import LogMemo
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import NOT_READ, Absent, Unknown
from sweeprules.engine.observation import Observation

PER_CALL = 300
"""Running logs that are read in one round trip (design 3)."""
MAX_LISTINGS = 100
"""Directories that are listed in one sweep for logs that are not where they should be."""

Ask = Callable[[Sequence[Command]], tuple[Observation, ...]]


@dataclass(frozen=True, slots=True)
class LogMarks:
    """The separators of `stat` records."""

    record: str
    field: str


@dataclass(frozen=True, slots=True)
class Logs:
    """By job id: where its log is, or why that is not known, and what was read of it."""

    locations: Mapping[str, Location]
    tails: Mapping[str, Tail]
    observations: tuple[Observation, ...] = ()


def stat_command(wanted: Iterable[Wanted], marks: LogMarks) -> tuple[Command, ...]:
    """One `stat` of every candidate; nothing when there is none."""
    paths = dict.fromkeys(candidate.path for want in wanted for candidate in want.candidates)
    return (ask.stat(tuple(paths), marks.record, marks.field),) if paths else ()


def read_logs(
    wanted: Sequence[Wanted],
    stats: Stats | None,
    memos: Mapping[str, LogMemo],
    started: Mapping[str, float | None],
    call: Ask,
    marks: LogMarks,
) -> Logs:
    """The logs of `wanted` in two calls, and one more for each further 300 (that order is the order of reading).

    `stats` is the answer to `stat_command`; `started` the start of each job's attempt, which ends what a memo knows.
    """
    looked = {want.job_id: after_stat(want, stats) for want in wanted}
    missing = [want for want in wanted if looked[want.job_id] is None]
    located: dict[str, Location] = {job_id: where for job_id, where in looked.items() if where is not None}
    reader = _Reader(memos, started, call)
    listings = reader.tails_and_listings(located, _directories(missing))
    named = {want.job_id: after_listing(want, listings) for want in missing}
    candidates = {job_id: where for job_id, where in named.items() if isinstance(where, Candidate)}
    located |= {job_id: where for job_id, where in named.items() if isinstance(where, Absent | Unknown)}
    if candidates:
        located |= reader.named(candidates, marks)
    return Logs(MappingProxyType(located), MappingProxyType(reader.tails), tuple(reader.observations))


def _directories(missing: Sequence[Wanted]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for want in missing for path in want.directories))[:MAX_LISTINGS]


class _Reader:
    """Makes the calls and keeps what came back."""

    def __init__(self, memos: Mapping[str, LogMemo], started: Mapping[str, float | None], call: Ask) -> None:
        self.memos = memos
        self.started = started
        self.call = call
        self.tails: dict[str, Tail] = {}
        self.observations: list[Observation] = []

    def tails_and_listings(
        self, located: Mapping[str, Location], directories: Sequence[str]
    ) -> dict[str, Listing | Unknown]:
        found_logs = {job_id: where for job_id, where in located.items() if isinstance(where, FoundLog)}
        self.tails |= {job_id: _nothing(where) for job_id, where in found_logs.items() if not where.stat.size}
        logs = [(job_id, where) for job_id, where in found_logs.items() if where.stat.size]
        listings: dict[str, Listing | Unknown] = {}
        for at in range(0, max(len(logs), 1), PER_CALL):
            part = logs[at : at + PER_CALL]
            asked = directories if at == 0 else ()
            batch = (*(ask.listing(path) for path in asked), *(self._tail(job_id, where) for job_id, where in part))
            if not batch:
                continue
            observed = self._ask(batch)
            listings |= {path: read_listing(one) for path, one in zip(asked, observed, strict=False)}
            for (job_id, where), one in zip(part, observed[len(asked) :], strict=False):
                self.tails[job_id] = Tail(self._window(job_id, where)[0], one)
        return listings

    def named(self, candidates: Mapping[str, Candidate], marks: LogMarks) -> dict[str, Location]:
        """Stat and end of the files that listings named, 300 a call; where a file is short, all of it was read."""
        located: dict[str, Location] = {}
        ids = list(candidates)
        for at in range(0, len(ids), PER_CALL):
            part = ids[at : at + PER_CALL]
            paths = tuple(dict.fromkeys(candidates[job_id].path for job_id in part))
            batch = (
                ask.stat(paths, marks.record, marks.field),
                *(ask.last_bytes(candidates[job_id].path, FIRST_SIGHT) for job_id in part),
            )
            observed = self._ask(batch)
            stats = read_stats(observed[0], marks.record, marks.field)
            for job_id, one in zip(part, observed[1:], strict=False):
                located[job_id] = where = found(candidates[job_id], stats)
                if isinstance(where, FoundLog):
                    self.tails[job_id] = Tail(max(0, where.stat.size - len(one.stdout)), one)
        return located

    def _tail(self, job_id: str, where: FoundLog) -> Command:
        start, size = self._window(job_id, where)
        return ask.tail(where.path, start, size)

    def _window(self, job_id: str, where: FoundLog) -> tuple[int, int]:
        return window(where.stat, self.memos.get(job_id), self.started.get(job_id))

    def _ask(self, batch: Sequence[Command]) -> tuple[Observation, ...]:
        observed = self.call(batch)
        self.observations.extend(observed)
        return observed


def _nothing(where: FoundLog) -> Tail:
    """What is in a file without a byte, known without opening it: a pipe or a device would be read without end."""
    return Tail(0, replace(where.observation, exit=0, stdout=b"", stderr=b"", cut=0))


def unread(job_ids: Iterable[str], why: str) -> dict[str, Location]:
    """The same reason for many jobs whose logs were not looked at."""
    return {job_id: Unknown(NOT_READ.reason, why) for job_id in job_ids}
