"""What the lines of a log mean by the policy's patterns: counts, last matches, and if only heartbeats came since."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import re2

from sweeprules.collectors.gaps import Moved
from sweeprules.collectors.logs.lines import MAX_LINE, Chunk, Line, printed_time
from sweeprules.collectors.prior import LineMemo
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Pattern

_TEXT = 300
TIMED = 500
"""Lines from the end on in which the last printed time is looked for."""
EVENTS = 512
"""Signs of progress of one pattern, from the end on, that are kept as events."""
_BREAKS = (
    (b"Started: 'save_checkpoint", "checkpoint"),
    (b"Started: 'save_hf", "checkpoint"),
    (b"Saving model checkpoint to", "checkpoint"),
    (b"Started: 'eval", "eval"),
    (b"***** Running Evaluation *****", "eval"),
)
_BAR_CLOCK = re.compile(rb"\[(?:(\d{1,4}):)?(\d\d):(\d\d)<")
_RICH_CLOCK = re.compile(rb"[ \t](?:(\d{1,4}):)?(\d\d?):(\d\d)[ \t]+(?:[\d:]+|-:--:--)[ \t]*$")
_BEFORE = 600
"""Bytes before a line in which the bar that it was printed over is looked for."""


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
    `clean` says that no other than benign lines stand behind the last progress, one that is still being written left
    out. `moved` are the new signs of progress in the order of the log: a bar that is drawn again where it stands is
    none.
    """

    counts: Mapping[str, int]
    first: Mapping[str, Match]
    last: Mapping[str, Match]
    last_time: float | None
    heartbeats_only: bool | None
    progressed: bool
    clean: bool = True
    moved: tuple[Moved, ...] = ()
    breaks: tuple[tuple[int, str], ...] = ()
    """Where saving and evaluation begin, as (position, phase), in the order of the log."""


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
        tally.clean(),
        tuple(sorted(tally.moved, key=lambda one: one.position)),
        phase_breaks(chunk),
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
        self.moved: list[Moved] = []

    def run(self, matcher: Matcher) -> None:
        """Looks for one pattern."""
        name, kind = matcher.pattern.name, matcher.pattern.kind
        count = 0
        first = last = None
        newest: deque[tuple[int, int]] = deque(maxlen=EVENTS)
        for low, high in self._candidates(matcher):
            last = (low, high)
            first = first or last
            new = self.chunk.position(low) >= self.counted_from
            count += new
            if kind == "progress":
                self.progress = max(self.progress, low)
                if new:
                    newest.append(last)
            elif kind == "benign":
                self.benign.add(low)
        if first is not None and last is not None:
            self.first[name], self.last[name] = self._match(matcher, *first), self._match(matcher, *last)
        if count:
            self.counts[name] = count
        self.moved.extend(self._moves(matcher, newest))

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

    def _moves(self, matcher: Matcher, places: Iterable[tuple[int, int]]) -> Iterator[Moved]:
        far: int | None = None
        for low, high in places:
            text = self.chunk.raw(low, high).decode("utf-8", "replace").rstrip()
            now = _far(match_line(matcher, text) or {})
            if now is not None and now == far:
                continue
            far = now
            clock = bar_clock(self.chunk.text, low, high)
            yield Moved(matcher.pattern.name, far, printed_time(text, self.zone), clock, self.chunk.position(low))

    def heartbeats_only(self) -> bool:
        """True when every line behind the last progress line is benign, and there is one."""
        spans = self.chunk.spans(self._behind())
        first = next(spans, None)
        return first is not None and first[0] in self.benign and all(low in self.benign for low, _ in spans)

    def clean(self) -> bool:
        """True when no whole line but benign ones stands behind the last progress."""
        size = len(self.chunk.text)
        return all(low in self.benign or high == size for low, high in self.chunk.spans(self._behind()))

    def _behind(self) -> int:
        return self.chunk.begin if self.progress < 0 else self.chunk.bounds(self.progress)[1]


def phase_breaks(chunk: Chunk) -> tuple[tuple[int, str], ...]:
    """Where the trainer says that it begins to save or to evaluate, the newest of each wording."""
    found: list[tuple[int, str]] = []
    for literal, phase in _BREAKS:
        at = chunk.text.rfind(literal, chunk.begin)
        for _ in range(EVENTS):
            if at < 0:
                break
            found.append((chunk.position(at), phase))
            at = chunk.text.rfind(literal, chunk.begin, at)
    return tuple(sorted(found))


def _far(fields: Mapping[str, int | float | str]) -> int | None:
    value = fields.get("step", fields.get("n"))
    return value if isinstance(value, int) else None


def bar_clock(text: bytes, low: int, high: int) -> float | None:
    """Seconds that a progress bar says it has run: the bar of this line, or the one that the line was printed over."""
    own = text[low : min(high, low + MAX_LINE)]
    found = list(_BAR_CLOCK.finditer(own)) or list(_RICH_CLOCK.finditer(own.rstrip()))
    if not found and b"%|" not in own:
        found = list(_BAR_CLOCK.finditer(text, max(0, low - _BEFORE), low))
    if not found:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found[-1].groups())
    return float(hours * 3600 + minutes * 60 + seconds)


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
