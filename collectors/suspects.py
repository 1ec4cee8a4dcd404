"""The second look at suspects: what Ray's workers wrote near the time at which the job fell silent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs import ask
from sweeprules.collectors.logs.candidates import read_causes
from sweeprules.collectors.logs.causes import Causes
from sweeprules.collectors.logs.facts import FoundLog, Location, complaint
from sweeprules.collectors.logs.find import FileStat, Listing, Stats, read_listing, read_stats
from sweeprules.collectors.logs.lines import Chunk, Line, split_lines
from sweeprules.collectors.logs.locate import UNPRINTABLE, usable
from sweeprules.collectors.logs.moments import moment as record_time
from sweeprules.collectors.logs.rounds import LogMarks
from sweeprules.collectors.logs.scan import Matcher
from sweeprules.collectors.logs.traces import tracebacks
from sweeprules.collectors.slurm.jobs import Job
from sweeprules.collectors.slurm.text import parse_id
from sweeprules.collectors.trials.steps import Steps
from sweeprules.engine.facts import Reason, Unknown
from sweeprules.engine.observation import Observation

NEAR = 900.0
"""Seconds around the last output within which a worker's line counts (domain page 3.1: near the last output)."""
MAX_FILES = 16
TAIL = 64 * 1024
MAX_DIRECTORIES = 50
_WORKER = re.compile(r".*_ray(?:w|head).*\.out|ray_head_(?P<node>.+)\.log", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WorkerLog:
    """One worker's log of a job: its end as read, and its stat. `why` is what kept it from being read, else None."""

    path: str
    stat: FileStat
    start: int
    observation: Observation

    @property
    def why(self) -> Unknown | None:
        one = self.observation
        if one.answered and (one.exit == 0 or one.cut):
            return None
        told = complaint(one) if one.answered else one.detail or str(one.failure)
        return Unknown(Reason.READ_FAILED, f"{self.path}: {told}")


@dataclass(frozen=True, slots=True)
class Workers:
    """What was read of the workers of a job. `missing` is why there may be logs that were not found, else None."""

    logs: tuple[WorkerLog, ...] = ()
    missing: Unknown | None = None

    @property
    def why(self) -> Unknown | None:
        """Why not all that its workers wrote was read, None where it was."""
        return self.missing or next((log.why for log in self.logs if log.why is not None), None)


NO_WORKERS = Workers()


@dataclass(frozen=True, slots=True)
class _Sought:
    job: Job
    found: FoundLog | None
    directories: tuple[str, ...]


def read_workers(
    suspects: Sequence[Job], locations: Mapping[str, Location], marks: LogMarks
) -> Steps[Mapping[str, Workers]]:
    """What the workers of each suspect wrote, by job id, in two rounds: listings, then stat and ends."""
    sought = [_sought(job, locations.get(job.job_id)) for job in suspects]
    directories = tuple(dict.fromkeys(path for one in sought for path in one.directories))[:MAX_DIRECTORIES]
    listings: dict[str, Listing | Unknown] = {}
    if directories:
        listed = yield tuple(ask.listing(path, newest_first=True) for path in directories)
        listings = {path: read_listing(one) for path, one in zip(directories, listed, strict=False)}
    paths = {one.job.job_id: _paths(one, listings) for one in sought}
    every = tuple(dict.fromkeys(path for found in paths.values() for path in found[:MAX_FILES]))
    logs: dict[str, WorkerLog] = {}
    if every:
        ended = yield (ask.stat(every, marks.record, marks.field), *(ask.last_bytes(path, TAIL) for path in every))
        logs = dict(_logs(every, ended[1:], read_stats(ended[0], marks.record, marks.field)))
    return {one.job.job_id: _workers(one, paths[one.job.job_id], logs, listings) for one in sought}


def _workers(
    one: _Sought, paths: Sequence[str], logs: Mapping[str, WorkerLog], listings: Mapping[str, Listing | Unknown]
) -> Workers:
    found = tuple(logs[path] for path in paths if path in logs)
    unlisted = next((why for path in one.directories if (why := _unlisted(path, listings)) is not None), None)
    if unlisted is None and len(found) < len(paths):
        unlisted = Unknown(Reason.NOT_READ, f"of {len(paths)} logs of workers {len(found)} were looked at")
    return Workers(found, unlisted)


def _unlisted(path: str, listings: Mapping[str, Listing | Unknown]) -> Unknown | None:
    """Why a directory may hold a log that was not seen."""
    listing = listings.get(path)
    if listing is None:
        return Unknown(Reason.NOT_READ, f"{path} was not looked into for logs of workers")
    if isinstance(listing, Unknown):
        return Unknown(listing.reason, f"{path}: {listing.detail}")
    return None if listing.whole else Unknown(Reason.CUT, f"the listing of {path} was cut")


def _sought(job: Job, where: Location | None) -> _Sought:
    found = where if isinstance(where, FoundLog) else None
    workdir = job.facts.get("workdir")
    places = [str(PurePosixPath(found.path).parent)] if found else []
    if isinstance(workdir, str):
        places.append(workdir)
    return _Sought(job, found, tuple(dict.fromkeys(path for path in places if usable(path))))


def _paths(one: _Sought, listings: Mapping[str, Listing | Unknown]) -> tuple[str, ...]:
    paths: list[str] = []
    for directory in one.directories:
        listing = listings.get(directory)
        names = listing.names if isinstance(listing, Listing) else ()
        paths.extend(f"{directory.rstrip('/')}/{name}" for name in names if _is_workers(name, one.job))
    return tuple(dict.fromkeys(paths))


def _is_workers(name: str, job: Job) -> bool:
    """True for a worker's log that names this job: by its id, or a head's log by one of its nodes."""
    found = _WORKER.fullmatch(name)
    if found is None or UNPRINTABLE in name:
        return False
    nodes = job.facts.get("node_list")
    if found["node"] is not None:
        return isinstance(nodes, tuple) and found["node"].partition(".")[0] in nodes
    parsed = parse_id(job.job_id)
    ids = {job.job_id, job.raw_id, str(parsed.base) if parsed else ""} - {""}
    return any(re.search(rf"(?<!\d){re.escape(job_id)}(?!\d)", name) for job_id in ids)


def _logs(paths: Sequence[str], observed: Sequence[Observation], stats: Stats) -> Iterable[tuple[str, WorkerLog]]:
    for path, one in zip(paths, observed, strict=False):
        stat = stats.there.get(path)
        if stat is not None:
            yield path, WorkerLog(path, stat, max(0, stat.size - len(one.stdout)), one)


def lines_near(log: WorkerLog, moment: float, zone: ZoneInfo) -> list[Line]:
    """The lines within `NEAR` of `moment`; one without a time of its own has that of the line before it.

    Lines before any time are taken when the file was last written near that moment. None of a log that was not read.
    """
    near: list[Line] = []
    current = abs(log.stat.mtime - moment) <= NEAR
    for line in split_lines(log.observation.stdout, log.start, whole_start=log.start == 0):
        printed = record_time(line.text, zone, log.stat.mtime)
        if printed is not None:
            current = abs(printed - moment) <= NEAR
        if current:
            near.append(line)
    return near


def causes_near(log: WorkerLog, moment: float, matchers: Sequence[Matcher], zone: ZoneInfo) -> Causes:
    """What went wrong in a worker's log within `NEAR` of `moment`, to be weighed beside the job's own log."""
    chunk = Chunk(log.observation.stdout, log.start, whole_start=log.start == 0)
    read = read_causes(chunk, tracebacks(chunk), matchers, log.path, zone, log.stat.mtime)
    near = {line.position for line in lines_near(log, moment, zone)}
    return replace(read, found=tuple(cause for cause in read.found if cause.position in near))
