"""A job's log, found or not, as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sweeprules.collectors.gaps import Moved
from sweeprules.collectors.logs.candidates import read_on
from sweeprules.collectors.logs.causes import Causes, encode
from sweeprules.collectors.logs.failure import first_error_facts
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.lines import Chunk, Line, printed_time
from sweeprules.collectors.logs.scan import Matcher, Scan, carry, line_counts, match_line, scan
from sweeprules.collectors.logs.traces import Raised, tracebacks
from sweeprules.collectors.prior import LineMemo, LogMemo
from sweeprules.collectors.slurm.rows import first_line
from sweeprules.engine.facts import ABSENT, Absent, FactValue, Interval, Reason, Unknown
from sweeprules.engine.observation import Observation

FIRST_SIGHT = 64 * 1024
"""Bytes of a log's end that are read at least (design 3: a bounded tail at first sight)."""
EMPTY = Unknown(Reason.NOT_READ, "the log is empty")
AT_MOST = 2 * 1024 * 1024
"""Bytes that are read of one log in one sweep (domain page 11)."""

CLOCKS_DIFFER = 300.0
"""Seconds that a file server's clock may be ahead of a login's; beyond them no age can be told."""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A log that is there: where, by which place (`scheduler workdir listing accounting`), and its stat."""

    path: str
    source: str
    stat: FileStat
    clock: float | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class Tail:
    """What was read of a log: from byte `start` on, in `observation`."""

    start: int
    observation: Observation


Location = FoundLog | Absent | Unknown


@dataclass(frozen=True, slots=True)
class LogReading:
    """The facts of one log, what the next sweep starts from, and the errors that were seen."""

    facts: Mapping[str, FactValue]
    memo: LogMemo | None = None
    quotes: Mapping[str, str] = field(default_factory=dict)
    """The line behind a fact, by the fact's name without its last part (`lines.NAME`), or its whole name."""
    raised: tuple[Raised, ...] = ()
    progressed: bool = False
    causes: Causes | None = None
    """What went wrong by this log alone; None when it was not read."""
    whole: bool = False
    """True when every byte of the log was looked at for what went wrong, in this sweep or an earlier one."""
    moved: tuple[Moved, ...] = ()
    """The signs of progress that are new since the last sweep."""
    breaks: tuple[tuple[int, str], ...] = ()
    """Where saving and evaluation begin, as (position, phase)."""
    gap: bool = False
    """True when bytes between the last sweep and this one were not read."""


def window(stat: FileStat, memo: LogMemo | None, started: float | None) -> tuple[int, int]:
    """Where to read from, and how many bytes at most: all that is new, the last 64 KiB at least, 2 MiB at most."""
    new_from = memo.offset if memo is not None and continues(memo, stat, started) else max(0, stat.size - FIRST_SIGHT)
    start = min(new_from, max(0, stat.size - FIRST_SIGHT))
    start = max(start, stat.size - AT_MOST)
    return start, stat.size - start


def continues(memo: LogMemo, stat: FileStat, started: float | None) -> bool:
    """True when the file is the one that was read before, of the same attempt, and was not cut short since."""
    same = (memo.device, memo.inode) == (stat.device, stat.inode) and stat.size >= memo.offset
    return same and (memo.started is None or started is None or abs(memo.started - started) < 1)


def log_facts(
    location: Location,
    tail: Tail | None,
    matchers: Sequence[Matcher],
    zone: ZoneInfo,
    memo: LogMemo | None,
    started: float | None,
) -> LogReading:
    """All `log.*` facts, `lines.*`, `fault_lines`, `benign_lines`, `heartbeats_only` and `first_error.*` of one job."""
    if not isinstance(location, FoundLog):
        return LogReading(MappingProxyType(_nowhere(location, matchers)))
    facts = _stat_facts(location)
    data = _data(location, tail)
    if tail is None or isinstance(data, Unknown):
        why = data if isinstance(data, Unknown) else Unknown(Reason.NOT_READ)
        return LogReading(MappingProxyType(facts | _unread(why, matchers)), memo)
    kept = memo if memo is not None and continues(memo, location.stat, started) else None
    return _read(location, tail, data, matchers, zone, kept, started, facts)


def _nowhere(location: Absent | Unknown, matchers: Sequence[Matcher]) -> dict[str, FactValue]:
    names = ("path", "source", "exists", "size", "cut", "mtime", "last_time")
    return {**{f"log.{name}": location for name in names}, "log_age": location, **_unread(location, matchers)}


def _unread(why: Absent | Unknown, matchers: Sequence[Matcher]) -> dict[str, FactValue]:
    facts: dict[str, FactValue] = dict.fromkeys(
        ("fault_lines", "benign_lines", "heartbeats_only", "elastic_summary"), why
    )
    for matcher in matchers:
        names = ("count", "time", *matcher.pattern.fields)
        facts |= {f"lines.{matcher.pattern.name}.{name}": why for name in names}
    if isinstance(why, Unknown):
        facts["log.last_time"] = facts["log.cut"] = why
    return facts


def _stat_facts(found: FoundLog) -> dict[str, FactValue]:
    return {
        "log.path": found.path,
        "log.source": found.source,
        "log.exists": True,
        "log.size": found.stat.size,
        "log.mtime": found.stat.mtime,
        "log_age": _age(found),
    }


def _age(found: FoundLog) -> FactValue:
    """Seconds since the last output; a file that is a little ahead of the login's clock was written just now."""
    if found.clock is None:
        return Unknown(Reason.READ_FAILED, "the clock of the login was not read with the file")
    age = found.clock - found.stat.mtime
    if age < -CLOCKS_DIFFER:
        return Unknown(Reason.READ_FAILED, f"the file is {-age:.0f} s ahead of the login's clock")
    return max(0.0, age)


def _data(found: FoundLog, tail: Tail | None) -> bytes | Unknown:
    if tail is None:
        return Unknown(Reason.NOT_READ)
    observation = tail.observation
    if not observation.answered:
        return Unknown(Reason.READ_FAILED, observation.detail or str(observation.failure))
    if observation.exit != 0 and not observation.cut:
        return Unknown(Reason.READ_FAILED, complaint(observation))
    return observation.stdout


def complaint(observation: Observation) -> str:
    """What a command that failed said first, at most 200 characters; its exit when it said nothing."""
    return first_line(observation.stderr.decode("utf-8", "replace")) or f"exit {observation.exit}"


def _read(
    found: FoundLog,
    tail: Tail,
    data: bytes,
    matchers: Sequence[Matcher],
    zone: ZoneInfo,
    kept: LogMemo | None,
    started: float | None,
    facts: dict[str, FactValue],
) -> LogReading:
    counted_from = kept.offset if kept else 0
    chunk = Chunk(data, tail.start, whole_start=tail.start in (0, counted_from))
    reading = scan(chunk, matchers, zone, counted_from)
    gap = tail.start > counted_from
    from_start = tail.start == 0 or (kept is not None and kept.from_start and not gap)
    clean = _clean(reading, kept, gap=gap, whole=tail.start == 0)
    carried = carry(kept.lines if kept else {}, reading)
    raised = tuple(tracebacks(chunk))
    before = kept.causes if kept is not None and not gap else {}
    causes = read_on(before, chunk, raised, matchers, found.path, zone, found.stat.mtime)
    whole = tail.start == 0 or (from_start and bool(before))
    facts |= {
        "log.cut": gap or tail.observation.cut > 0,
        "log.last_time": _last_time(reading, data),
        "heartbeats_only": _heartbeats(reading, clean, data),
        **_pattern_facts(carried, matchers, whole=from_start),
        **first_error_facts((causes,), whole=whole),
    }
    until = _read_until(data, tail.start, reading)
    stat = found.stat
    searched = kept is not None and kept.searched and not gap
    memo = LogMemo(
        found.path, found.source, stat.device, stat.inode, until, started, carried, from_start,
        heartbeats=clean, searched=searched, causes=encode(causes),
        numbers=kept.numbers if kept is not None else {},
    )  # fmt: skip
    quotes = _quotes(reading, matchers)
    return LogReading(
        MappingProxyType(facts),
        memo,
        quotes,
        raised,
        reading.progressed,
        causes,
        whole,
        reading.moved,
        reading.breaks,
        gap,
    )


def _clean(reading: Scan, kept: LogMemo | None, *, gap: bool, whole: bool) -> bool | None:
    """That no other than benign lines came since the last progress; None where its place was not read."""
    if reading.progressed or whole or not reading.clean:
        return reading.clean
    if kept is None or gap or kept.heartbeats is None:
        return None
    return kept.heartbeats


def _heartbeats(reading: Scan, clean: bool | None, data: bytes) -> FactValue:
    if reading.heartbeats_only is None:
        return _no_line(data)
    if not reading.heartbeats_only or clean is False:
        return False
    if clean is None:
        return Unknown(Reason.CUT, "only heartbeats stand in what was read, and the last progress before it")
    return True


def _no_line(data: bytes) -> Unknown:
    return Unknown(Reason.CUT, "what was read is a part of one line") if data.strip() else EMPTY


def _quotes(reading: Scan, matchers: Sequence[Matcher]) -> dict[str, str]:
    quotes = {f"lines.{name}": match.line.text for name, match in reading.last.items()}
    for kind in ("fault", "benign"):
        names = {matcher.pattern.name for matcher in matchers if matcher.pattern.kind == kind}
        found = [match.line for name, match in reading.last.items() if name in names]
        if found:
            quotes[f"{kind}_lines"] = max(found, key=lambda line: line.position).text
    return quotes


def _read_until(data: bytes, start: int, reading: Scan) -> int:
    """Where the next sweep counts on: behind the last whole line, or behind an unfinished one that already matched."""
    whole = start + max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    counted = any(match.line.position >= whole for match in reading.last.values())
    return start + len(data) if counted else whole


def _last_time(reading: Scan, data: bytes) -> FactValue:
    if reading.last_time is not None:
        return reading.last_time
    if reading.heartbeats_only is None:
        return _no_line(data)
    return Unknown(Reason.NOT_READ, "no line at the end of the log carries a time")


def _pattern_facts(lines: Mapping[str, LineMemo], matchers: Sequence[Matcher], *, whole: bool) -> dict[str, FactValue]:
    """The counts of each pattern: exact when every byte was read, else at least what was seen, with an open end."""
    patterns = [matcher.pattern for matcher in matchers]
    facts: dict[str, FactValue] = {
        "fault_lines": line_counts(lines, patterns, "fault"),
        "benign_lines": line_counts(lines, patterns, "benign"),
    }
    for pattern in patterns:
        seen = lines.get(pattern.name, LineMemo())
        never: FactValue = ABSENT if whole else Unknown(Reason.CUT, "only the end of the log was read")
        untold: FactValue = Unknown(Reason.NOT_READ, "the line carries no time") if seen.count else never
        facts[f"lines.{pattern.name}.count"] = seen.count if whole else Interval(seen.count, None)
        facts[f"lines.{pattern.name}.time"] = untold if seen.time is None else seen.time
        for name in pattern.fields:
            facts[f"lines.{pattern.name}.{name}"] = seen.fields.get(name, ABSENT if seen.count else never)
    return facts


def more_faults(
    facts: Mapping[str, FactValue], lines: Sequence[Line], matchers: Sequence[Matcher], zone: ZoneInfo
) -> dict[str, tuple[FactValue, str]]:
    """The job's fault facts with what `lines` of another file add, each with the last line that tells it.

    Nothing when they hold no fault.
    """
    before = facts.get("fault_lines")
    counts = dict(before) if isinstance(before, Mapping) else {}
    added: dict[str, tuple[FactValue, str]] = {}
    last = Line("", -1)
    for matcher in matchers:
        if matcher.pattern.kind != "fault":
            continue
        name = matcher.pattern.name
        found = [(line, fields) for line in lines if (fields := match_line(matcher, line.text)) is not None]
        if not found:
            continue
        known = facts.get(f"lines.{name}.count")
        total = len(found) + (known.sure if isinstance(known, Interval) else known if isinstance(known, int) else 0)
        counts[name] = total
        line, fields = found[-1]
        last = max(last, line, key=lambda one: one.position)
        # Of the other file only the lines near the last output were read.
        told: dict[str, FactValue] = {"count": Interval(total, None)}
        moment = printed_time(line.text, zone)
        if moment is not None:
            told["time"] = moment
        told |= fields
        added |= {f"lines.{name}.{part}": (value, line.text) for part, value in told.items()}
    return {**added, "fault_lines": (MappingProxyType(counts), last.text)} if added else {}
