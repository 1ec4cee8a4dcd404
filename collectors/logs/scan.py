"""What the lines of a log mean by the policy's patterns: counts, last matches, and if only heartbeats came since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import re2

from sweeprules.collectors.logs.lines import Chunk, Line, printed_time
from sweeprules.collectors.prior import LineMemo
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Pattern

_TEXT = 300
TIMED = 500
"""Lines from the end on in which the last printed time is looked for."""


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


def scan(chunk: Chunk, matchers: Sequence[Matcher], zone: ZoneInfo, counted_from: int = 0) -> Scan:
    """What every pattern finds in a chunk; a line may match several. Only lines that hold a literal are made."""
    tally = _Tally(chunk, zone, counted_from)
    for matcher in matchers:
        tally.run(matcher)
    empty = next(chunk.lines(), None) is None
    return Scan(
        MappingProxyType(tally.counts),
        MappingProxyType(tally.first),
        MappingProxyType(tally.last),
        next(
            (moment for line in chunk.backwards(TIMED) if (moment := printed_time(line.text, zone)) is not None), None
        ),
        None if empty else tally.heartbeats_only(),
        tally.progress >= 0,
    )


class _Tally:
    """Counts the matches of one chunk; places are those in its plain text."""

    def __init__(self, chunk: Chunk, zone: ZoneInfo, counted_from: int) -> None:
        self.chunk = chunk
        self.zone = zone
        self.counted_from = counted_from
        self.counts: dict[str, int] = {}
        self.first: dict[str, Match] = {}
        self.last: dict[str, Match] = {}
        self.progress = -1
        self.benign: set[int] = set()

    def run(self, matcher: Matcher) -> None:
        """Looks for one pattern."""
        name, kind = matcher.pattern.name, matcher.pattern.kind
        count = 0
        first = last = None
        for low, high in self._candidates(matcher):
            last = (low, high)
            first = first or last
            count += self.chunk.position(low) >= self.counted_from
            if kind == "progress":
                self.progress = max(self.progress, low)
            elif kind == "benign":
                self.benign.add(low)
        if first is not None and last is not None:
            self.first[name], self.last[name] = self._match(matcher, *first), self._match(matcher, *last)
        if count:
            self.counts[name] = count

    def _candidates(self, matcher: Matcher) -> Iterator[tuple[int, int]]:
        """Where the lines that match begin and end."""
        chunk, literal = self.chunk, matcher.pattern.literal.encode()
        at = chunk.text.find(literal, chunk.begin)
        while at >= 0:
            low, high = chunk.bounds(at)
            if _matches(matcher, chunk.raw(low, high), literal):
                yield low, high
            at = chunk.text.find(literal, max(high, at + 1)) if high < len(chunk.text) else -1

    def _match(self, matcher: Matcher, low: int, high: int) -> Match:
        line = Line(self.chunk.raw(low, high).decode("utf-8", "replace").rstrip(), self.chunk.position(low))
        return Match(line, printed_time(line.text, self.zone), match_line(matcher, line.text) or {})

    def heartbeats_only(self) -> bool:
        """True when every line behind the last progress line is benign, and there is one."""
        start = self.progress
        after = sum(low > start for low in self.benign)
        if not after:
            return False
        low = self.chunk.begin if start < 0 else self.chunk.bounds(start)[1]
        return sum(1 for line in self.chunk.text[low:].splitlines() if line.strip()) == after


def _matches(matcher: Matcher, raw: bytes, literal: bytes) -> bool:
    raw = raw.rstrip()
    if literal not in raw or not raw:
        return False
    return matcher.regex is None or matcher.regex.search(raw) is not None


def match_line(matcher: Matcher, text: str) -> Mapping[str, int | float | str] | None:
    """The typed fields of a line that matches; None for one that does not."""
    if matcher.pattern.literal not in text:
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
