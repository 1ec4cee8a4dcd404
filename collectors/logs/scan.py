"""What the lines of a log mean by the policy's patterns: counts, last matches, and if only heartbeats came since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import re2

from sweeprules.collectors.logs.lines import Line, printed_time
from sweeprules.collectors.prior import LineMemo
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Pattern

_TEXT = 300


@dataclass(frozen=True, slots=True)
class Matcher:
    """One pattern ready to run: the literal is looked for first, the regex (re2, linear time) only where it is."""

    pattern: Pattern
    regex: Any


def prepare(patterns: Mapping[str, Pattern]) -> tuple[Matcher, ...]:
    """The matchers of a policy's patterns, in name order. A regex that re2 refuses is the loader's to refuse."""
    options = re2.Options()
    options.log_errors = False
    return tuple(
        Matcher(pattern, re2.compile(pattern.regex, options) if pattern.regex else None)
        for _, pattern in sorted(patterns.items())
    )


def possible(matchers: Sequence[Matcher], lines: Sequence[Line]) -> tuple[Matcher, ...]:
    """The matchers whose literal is anywhere in these lines: most are in no line, and cost one look instead of many."""
    text = "\n".join(line.text for line in lines)
    return tuple(matcher for matcher in matchers if matcher.pattern.literal in text)


@dataclass(frozen=True, slots=True)
class Match:
    """The last match of a pattern in what was read."""

    line: Line
    time: float | None
    fields: Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Scan:
    """One reading of a log. `counts` are of lines from `counted_from` on; `first` and `last` of all that was read.

    `heartbeats_only` is None when nothing was read; `progressed` says that a progress line was among what was read.
    """

    counts: Mapping[str, int]
    first: Mapping[str, Match]
    last: Mapping[str, Match]
    last_time: float | None
    heartbeats_only: bool | None
    progressed: bool
    lines: int


@dataclass(slots=True)
class _Tally:
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, Match] = field(default_factory=dict)
    last: dict[str, Match] = field(default_factory=dict)
    since_progress: int = 0
    other_since_progress: int = 0
    progressed: bool = False


def scan(lines: Sequence[Line], matchers: Sequence[Matcher], zone: ZoneInfo, counted_from: int = 0) -> Scan:
    """Runs every pattern over every line; a line may match several."""
    tally = _Tally()
    for line in lines:
        _feed(line, matchers, zone, counted_from, tally)
    only = bool(tally.since_progress) and not tally.other_since_progress
    return Scan(
        MappingProxyType(tally.counts),
        MappingProxyType(tally.first),
        MappingProxyType(tally.last),
        _last_time(lines, zone),
        only if lines else None,
        tally.progressed,
        len(lines),
    )


def _feed(line: Line, matchers: Sequence[Matcher], zone: ZoneInfo, counted_from: int, tally: _Tally) -> None:
    kinds = set()
    for matcher in matchers:
        fields = _match(matcher, line.text)
        if fields is None:
            continue
        name = matcher.pattern.name
        kinds.add(matcher.pattern.kind)
        match = Match(line, printed_time(line.text, zone), fields)
        tally.first.setdefault(name, match)
        tally.last[name] = match
        if line.position >= counted_from:
            tally.counts[name] = tally.counts.get(name, 0) + 1
    if "progress" in kinds:
        tally.progressed, tally.since_progress, tally.other_since_progress = True, 0, 0
        return
    tally.since_progress += 1
    tally.other_since_progress += "benign" not in kinds


def _match(matcher: Matcher, text: str) -> Mapping[str, int | float | str] | None:
    if matcher.pattern.literal and matcher.pattern.literal not in text:
        return None
    if matcher.regex is None:
        return {}
    found = matcher.regex.search(text)
    if found is None:
        return None
    groups = found.groupdict()
    values = ((name, _typed(groups.get(name), kind)) for name, kind in matcher.pattern.fields.items())
    return {name: value for name, value in values if value is not None}


def _typed(text: str | None, kind: str) -> int | float | str | None:
    if text is None:
        return None
    if kind == "text":
        return text[:_TEXT]
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        return None


def _last_time(lines: Sequence[Line], zone: ZoneInfo) -> float | None:
    for line in reversed(lines):
        moment = printed_time(line.text, zone)
        if moment is not None:
            return moment
    return None


def carry(prior: Mapping[str, LineMemo], reading: Scan) -> Mapping[str, LineMemo]:
    """The counts of the whole attempt so far: what was kept, plus what this reading counted anew."""
    carried = dict(prior)
    for name, match in reading.last.items():
        before = prior.get(name, LineMemo())
        carried[name] = LineMemo(before.count + reading.counts.get(name, 0), match.time or before.time, match.fields)
    return MappingProxyType(carried)


def line_counts(lines: Mapping[str, LineMemo], patterns: Iterable[Pattern], kind: str) -> Mapping[str, Value]:
    """Pattern -> count, of one kind, those that never matched left out."""
    names = {pattern.name for pattern in patterns if pattern.kind == kind}
    return MappingProxyType({name: lines[name].count for name in sorted(names) if name in lines and lines[name].count})
