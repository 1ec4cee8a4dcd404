"""The candidates for the cause in one stretch of a log: exceptions, fault lines, C++ stacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.causes import Cause, Causes, Standing, decode, joined, merge
from sweeprules.collectors.logs.completion import Completion, read_completion
from sweeprules.collectors.logs.fallout import death_report, is_fallout, is_quiet, without_prose
from sweeprules.collectors.logs.lines import Chunk, Line
from sweeprules.collectors.logs.moments import moment
from sweeprules.collectors.logs.scan import Matcher, match_line
from sweeprules.collectors.logs.traces import START, WRAPPERS, Raised, rank_of

SURVIVED = 3
"""Rows of results behind an error after which it counts as survived: the program went on."""
MAX_LINES = 512
"""Lines that are looked at for one pattern in one reading, from its beginning and from its end."""
_MESSAGE = 300
_WORK = re.compile(r"WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)")
_SUMMARY = (b"Root Cause (first observed failure)", b"ChildFailedError")
_NATIVE = b"(most recent call first)"
_RAISED_FROM = re.compile(r"Exception raised from (?P<function>[\w:~<>]+) at ")
_STORE = re.compile(r"^(?:send|recv)[A-Z]\w*$")
# The blanks are few by count: without a bound, a line of nothing else would take the square of its length.
_BAR = re.compile(r"\s{0,8}\d{1,3}%\|[^|]{0,400}\|[^\[\]]{0,80}(?:\[[^\]]{0,200}\])?")
_THROWN = "terminate called after throwing an instance of"
_WHAT = re.compile(r"(?:\[(?:rank|default)\d{1,9}\]:)?\s{0,8}what\(\):\s{0,8}(?P<what>.+)")
_NEXT = 4
"""Lines behind a C++ exception within which it says what it is: other processes write between."""
_ENDED = b"CANCELLED AT"
_WALL = re.compile(r"CANCELLED AT \S+ DUE TO ")


def read_causes(
    chunk: Chunk,
    raised: Sequence[Raised],
    matchers: Sequence[Matcher],
    path: str,
    zone: ZoneInfo,
    until: float | None = None,
    before: Completion | None = None,
) -> Causes:
    """The candidates in a chunk of the log at `path`, of which `raised` are the tracebacks.

    `until` is when the file was last written (epoch seconds): it gives dates without a year theirs. `before` is what
    earlier readings told of the end of the work.
    """
    survived = max((_followed_from(chunk, one) for one in matchers if _shows_results(one)), default=-1)
    reader = _Reader(chunk, raised, matchers, path, zone, until)
    found = (*reader.exceptions(), *reader.faults(survived), *reader.native())
    ended = next(_lines(chunk, _ENDED), None)
    return Causes(
        path,
        joined(found, survived),
        survived,
        None if ended is None else ended.position,
        ended is not None and _WALL.search(ended.text) is not None,
        any(chunk.text.find(mark, chunk.begin) >= 0 for mark in _SUMMARY),
        read_completion(chunk, before),
    )


def read_on(
    kept: Mapping[str, Any] | None,
    chunk: Chunk,
    raised: Sequence[Raised],
    matchers: Sequence[Matcher],
    path: str,
    zone: ZoneInfo,
    until: float | None = None,
) -> Causes:
    """As `read_causes`, joined with what an earlier sweep kept of the same log by `encode`; None before the first."""
    if not kept:
        return read_causes(chunk, raised, matchers, path, zone, until)
    before = decode(kept)
    return merge(before, read_causes(chunk, raised, matchers, path, zone, until, before.completion))


class _Reader:
    """Reads the candidates of one chunk."""

    def __init__(
        self,
        chunk: Chunk,
        raised: Sequence[Raised],
        matchers: Sequence[Matcher],
        path: str,
        zone: ZoneInfo,
        until: float | None,
    ) -> None:
        self.chunk = chunk
        self.raised = raised
        self.fault = [one for one in matchers if one.pattern.kind == "fault"]
        self.benign = [one for one in matchers if one.pattern.kind == "benign"]
        self.path = path
        self.zone = zone
        self.until = until
        self._whats: dict[int, str] | None = None

    def exceptions(self) -> Iterator[Cause]:
        """Tracebacks that are no wrapper, no fallout and nothing that the policy calls benign."""
        for one in self.raised:
            text = one.line.text
            head = one.head or one.line
            if one.type in WRAPPERS or is_fallout(text) or is_quiet(head.text.partition(START)[0]):
                continue
            if any(match_line(matcher, text) is not None for matcher in self.benign):
                continue
            time = self._time(text)
            yield Cause(
                *self._kind(text, one),
                self.path,
                one.line.position,
                one.rank,
                self._time(head.text) if time is None else time,
                Standing.REPORT if death_report(text) else Standing.OWN,
            )

    def _kind(self, text: str, one: Raised) -> tuple[str, str]:
        named = self._named(text)
        return (one.type, one.message) if named is None else (named[0], text[:_MESSAGE])

    def _named(self, text: str) -> tuple[str, int] | None:
        """The fault pattern whose match begins last in a line: exceptions name what they wrap behind themselves."""
        found = [(place, one.pattern.name) for one in self.fault if (place := _place(one, text)) is not None]
        if not found:
            return None
        place, name = max(found, key=lambda pair: (pair[0], pair[1]))
        return name, place

    def faults(self, survived: int) -> Iterator[Cause]:
        """Lines that match a fault pattern: the first ones, and the first ones that no results follow."""
        seen: set[int] = set()
        for matcher in self.fault:
            literal = matcher.pattern.literal.encode()
            for low in (None, survived):
                for line in _lines(self.chunk, literal, low):
                    if line.position in seen:
                        continue
                    cause = self._fault(line)
                    if cause is not None:
                        seen.add(line.position)
                        yield cause
                if survived < self.chunk.start:
                    break

    def _fault(self, line: Line) -> Cause | None:
        text = without_prose(line.text)
        named = self._named(text)
        if named is None or is_fallout(text) or is_quiet(text[: named[1]]) or self._is_code(line):
            return None
        work = _WORK.search(text)
        number = rank_of(text)
        return Cause(
            named[0],
            self._told(line, text)[:_MESSAGE],
            self.path,
            line.position,
            number,
            self._time(text),
            Standing.REPORT if death_report(text) else Standing.OWN,
            f"{work['op']} {work['seq']}" if work is not None and work["seq"] else "",
            () if number is None else (number,),
        )

    def _told(self, line: Line, text: str) -> str:
        """The line; of a C++ exception with what it says of itself, which stands on one of the next lines."""
        if _THROWN not in text:
            return text.strip()
        if self._whats is None:
            self._whats = dict(_whats(self.chunk))
        what = self._whats.get(line.position)
        return f"{text.strip()}: {what}" if what else text.strip()

    def _is_code(self, line: Line) -> bool:
        """True for a line of source code, or of a frame, between the heading of a traceback and its end."""
        for one in self.raised:
            if one.head is not None and one.head.position < line.position < one.line.position:
                return re.search(r'(?:^|[\]:)] ?)\s{4}|File "', line.text) is not None
        return False

    def native(self) -> Iterator[Cause]:
        """C++ stacks, which stand for a crash without a traceback; those of a store whose server went are fallout."""
        for line in _lines(self.chunk, _NATIVE):
            found = _RAISED_FROM.search(line.text)
            if found is None or is_quiet(line.text[: found.start()]) or is_fallout(line.text):
                continue
            if _STORE.match(found["function"].rpartition("::")[2]) is None:
                yield Cause(
                    "c10::Error",
                    line.text[:_MESSAGE].strip(),
                    self.path,
                    line.position,
                    time=self._time(line.text),
                    standing=Standing.NATIVE,
                )

    def _time(self, text: str) -> float | None:
        return moment(_BAR.sub("", text), self.zone, self.until)


def _whats(chunk: Chunk) -> Iterator[tuple[int, str]]:
    """The places of C++ exceptions, the first ones, and what they say of themselves."""
    at = chunk.text.find(_THROWN.encode(), chunk.begin)
    for _ in range(MAX_LINES):
        if at < 0:
            return
        low, high = chunk.bounds(at)
        for line in islice(chunk.lines(high), _NEXT):
            if what := _WHAT.match(line.text):
                yield chunk.position(low), what["what"]
                break
        at = chunk.text.find(_THROWN.encode(), high)


def _place(matcher: Matcher, text: str) -> int | None:
    at = text.rfind(matcher.pattern.literal)
    if at < 0 or matcher.regex is None:
        return at if at >= 0 else None
    found = matcher.regex.search(text)
    return None if found is None else int(found.start())


def _lines(chunk: Chunk, literal: bytes, low: int | None = None) -> Iterator[Line]:
    """At most `MAX_LINES` lines that hold a literal, from the place `low` of the file on."""
    at = chunk.text.find(literal, chunk.begin)
    if low is not None:
        # The plain text is never longer than the file, so that a place in it is never too far on.
        at = chunk.text.find(literal, max(chunk.begin, _plain(chunk, low)))
    for _ in range(MAX_LINES):
        if at < 0:
            return
        begin, end = chunk.bounds(at)
        line = chunk.line(begin, end)
        if line is not None:
            yield line
        at = chunk.text.find(literal, max(end, at + 1))


def _plain(chunk: Chunk, position: int) -> int:
    """The byte of the plain text that stands at a place of the file."""
    low, high = 0, len(chunk.text)
    while low < high:
        middle = (low + high) // 2
        if chunk.position(middle) < position:
            low = middle + 1
        else:
            high = middle
    return low


def _shows_results(matcher: Matcher) -> bool:
    """True for rows of results. Frames of a bar, whose fields are n and m alone, may run on in another process."""
    return matcher.pattern.kind == "progress" and set(matcher.pattern.fields) != {"n", "m"}


def _followed_from(chunk: Chunk, matcher: Matcher) -> int:
    """Where the last but two of the rows of a pattern that differ begins; -1 when there are fewer."""
    literal = matcher.pattern.literal.encode()
    end = len(chunk.text)
    value: object = None
    places: list[int] = []
    for _ in range(MAX_LINES):
        at = chunk.text.rfind(literal, chunk.begin, end)
        if at < 0:
            break
        low, high = chunk.bounds(at)
        end = low
        line = chunk.line(low, high)
        fields = None if line is None else match_line(matcher, line.text)
        if line is None or fields is None:
            continue
        row = _row(fields, line.text)
        if row == value:
            places[-1] = line.position
        elif len(places) == SURVIVED:
            break
        else:
            value = row
            places.append(line.position)
    return places[-1] if len(places) == SURVIVED else -1


def _row(fields: Mapping[str, object], text: str) -> object:
    return tuple(sorted(fields.items())) if fields else text
