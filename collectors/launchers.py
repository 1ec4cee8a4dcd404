"""Launchers' logs: which submission they tell of, and which refusals the scheduler gave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs import ask
from sweeprules.collectors.logs.find import Listing, Stats, read_listing, read_stats
from sweeprules.collectors.logs.lines import Line, printed_time, split_lines
from sweeprules.collectors.logs.locate import UNPRINTABLE
from sweeprules.collectors.logs.rounds import LogMarks
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown, Value
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord

NEWEST = 8
"""Launchers' logs that are read of one directory: the newest."""
TAIL = 64 * 1024
MAX_REFUSALS = 50
_JOB_LOG = re.compile(r"[_.\-]\d+(?:_\d+)?\.(?:out|err)\Z")
_TEXT_LOG = re.compile(r"\.(?:log|out|txt|err)\Z")
_SUBMITTED = re.compile(r"\bSubmitted batch job (\d+)\b")
_REFUSED = "Batch job submission failed"
_ERROR = "sbatch: error: "
_LOST = re.compile(r"timed out|unable to contact|zero bytes|connection refused", re.IGNORECASE)
"""A submission that lost contact, in lines that do not say that it failed; nothing tells whether it was accepted."""


@dataclass(frozen=True, slots=True)
class LauncherLog:
    """One launcher's log of the window: its newest lines, when it was last written, and the jobs that it names."""

    path: str
    mtime: float
    lines: tuple[Line, ...]
    job_ids: frozenset[str]
    observation: Observation


@dataclass(frozen=True, slots=True)
class Launchers:
    """What the record's log directories gave. `asked` is False when the record names none; `why` when some failed."""

    asked: bool
    logs: tuple[LauncherLog, ...] = ()
    why: str = ""

    def of_job(self, job_id: str) -> LauncherLog | None:
        """The newest launcher's log that names a job."""
        return next((log for log in self.logs if job_id in log.job_ids), None)


def listing_commands(record: ClusterRecord) -> tuple[Command, ...]:
    """One listing, newest first, of each log directory of the record."""
    return tuple(ask.listing(path, newest_first=True) for path in record.paths.get("logs", ()))


def newest_paths(record: ClusterRecord, listings: Sequence[Observation]) -> tuple[tuple[str, ...], str]:
    """The newest files that look like launchers' logs, and why some directory could not be listed."""
    paths: list[str] = []
    why = ""
    for directory, observation in zip(record.paths.get("logs", ()), listings, strict=False):
        listing = read_listing(observation)
        if not isinstance(listing, Listing):
            why = why or f"{directory}: {listing.detail}"
            continue
        names = [name for name in listing.names if _TEXT_LOG.search(name) and not _JOB_LOG.search(name)]
        paths.extend(f"{directory.rstrip('/')}/{name}" for name in names[:NEWEST] if UNPRINTABLE not in name)
    return tuple(dict.fromkeys(paths)), why


def tail_commands(paths: Sequence[str], marks: LogMarks) -> tuple[Command, ...]:
    """Stat and end of each, in one call."""
    if not paths:
        return ()
    stat = ask.stat(tuple(paths), marks.record, marks.field)
    return (stat, *(ask.last_bytes(path, TAIL) for path in paths))


def read_launchers(
    paths: Sequence[str], observed: Sequence[Observation], marks: LogMarks, since: float, why: str
) -> Launchers:
    """The logs written since `since`, newest first; one that could not be read may hold what is sought."""
    if not paths:
        return Launchers(True, why=why)
    stats = read_stats(observed[0], marks.record, marks.field)
    logs = [_log(path, one, stats, since) for path, one in zip(paths, observed[1:], strict=False)]
    found = sorted((log for log in logs if log is not None), key=lambda log: (-log.mtime, log.path))
    known = {log.path for log in found} | stats.missing
    known |= {path for path, stat in stats.there.items() if stat.mtime < since}
    lost = [path for path in paths if path not in known]
    return Launchers(True, tuple(found), why or (f"{lost[0]} could not be looked at" if lost else ""))


def _log(path: str, observation: Observation, stats: Stats, since: float) -> LauncherLog | None:
    stat = stats.there.get(path)
    failed = not observation.answered or (observation.exit != 0 and not observation.cut)
    if stat is None or stat.mtime < since or failed:
        return None
    start = max(0, stat.size - len(observation.stdout))
    lines = tuple(split_lines(observation.stdout, start, whole_start=start == 0))
    ids = frozenset(found[1] for line in lines for found in _SUBMITTED.finditer(line.text))
    return LauncherLog(path, stat.mtime, lines, ids, observation)


def refusals(launchers: Launchers, record: ClusterRecord, zone: ZoneInfo) -> FactValue:
    """`submit_refusals`: {text, time, log}, newest last, with those that lost contact and were perhaps accepted.

    Absent when the record names no log directory.
    """
    if not launchers.asked:
        return ABSENT
    if launchers.why and not launchers.logs:
        return Unknown(Reason.READ_FAILED, launchers.why)
    texts = (_REFUSED, *(refusal.text for refusal in record.refusals))
    found = [one for log in reversed(launchers.logs) for one in _refused(log, texts, zone)]
    if not found and launchers.why:
        return Unknown(Reason.READ_FAILED, launchers.why)
    return tuple(found[-MAX_REFUSALS:])


def _refused(log: LauncherLog, texts: Sequence[str], zone: ZoneInfo) -> Iterable[Value]:
    """A line without a time of its own counts at the file's last write: no earlier time is known of it."""
    for line in log.lines:
        if any(text in line.text for text in texts) or _LOST.search(line.text.partition(_ERROR)[2]):
            moment = printed_time(line.text, zone)
            record: Mapping[str, Value] = {
                "text": line.text[:300],
                "time": log.mtime if moment is None else moment,
                "log": log.path,
            }
            yield MappingProxyType(dict(record))


def refusal_means(launchers: Launchers, record: ClusterRecord) -> FactValue:
    """What the refusal that was seen means here, by the record; that of its first entry when none was seen."""
    for log in launchers.logs:
        for line in reversed(log.lines):
            for refusal in record.refusals:
                if refusal.text in line.text:
                    return refusal.means
    return record.refusals[0].means if record.refusals else ABSENT


def launcher_log(launchers: Launchers, job_id: str) -> FactValue:
    """The path of the launcher's log that names a job; absent when none that was read does."""
    log = launchers.of_job(job_id.partition("_")[0].partition("+")[0])
    if log is not None:
        return log.path
    return Unknown(Reason.READ_FAILED, launchers.why) if launchers.why else ABSENT
