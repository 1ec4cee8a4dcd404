"""Log bytes to lines: split at newlines, carriage returns and holes, colours and prefixes taken off, times read."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from zoneinfo import ZoneInfo

_ANSI = re.compile(rb"(\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_]))")
_RAY = re.compile(rb"\((?P<name>[A-Za-z_][\w.:<>-]*) pid=\d+(?:, ip=[\da-f.:]+)?\)[ \t]?")
# Where a text can be cut in two without cutting a code: the second half of a code's end is the one escape within it.
_CUT = re.compile(rb"\x1b[^\\]")
_BLOCK = 128 * 1024
"""Bytes whose colours are taken off at once: few enough that memory is used again, not asked for anew."""
# A log that was cut short under its writer begins with a hole, which reads as NULs.
# The set of first bytes stands first so that the engine skips the text between two breaks some five times faster.
_BREAK = re.compile(rb"[\r\n\x00](?:(?<!\x00)|\x00{15,})(?:[\r\n]|\x00{16,})*")
_TIME = re.compile(
    r"(?<!\d)(?P<d>\d{4}[-/]\d\d[-/]\d\d)[ T](?P<t>\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?P<z>Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_BLANK = " \t\v\f\x00"
_BLANK_BYTES = _BLANK.encode()
MAX_LINE = 16_384
"""Bytes of one line that are looked at; a longer one is a dump, not a message."""
TIME_WITHIN = 120


@dataclass(frozen=True, slots=True)
class Line:
    """One line without colours or Ray's prefix; `position` is the byte offset of its first byte in the file."""

    text: str
    position: int


class Chunk:
    """A stretch of a file, without its colours, in which only the lines that are asked for are made.

    It begins at byte `start`; `whole_start` says that this begins a line, otherwise the first, broken one is left out.
    """

    def __init__(self, data: bytes, start: int, *, whole_start: bool = True) -> None:
        self.start = start
        self.size = len(data)
        self._kept = array("Q")
        self._removed = array("Q")
        self._breaks: tuple[list[int], list[int]] | None = None
        self.text = self._plain(data)
        self.begin = 0
        if not whole_start:
            found = _BREAK.search(self.text)
            self.begin = found.end() if found else len(self.text)

    def _plain(self, data: bytes) -> bytes:
        if b"\x1b" not in data:
            return data
        texts: list[bytes] = []
        low = size = 0
        while low < len(data):
            cut = _CUT.search(data, low + _BLOCK)
            high = cut.start() if cut else len(data)
            # Text and code in turn: the sums of their lengths tell where each code stood.
            parts = _ANSI.split(data[low:high])
            text = b"".join(parts[::2])
            if len(parts) > 1:
                self._tell(parts, size)
            texts.append(text)
            low, size = high, size + len(text)
        return b"".join(texts)

    def _tell(self, parts: list[bytes], size: int) -> None:
        lengths = list(map(len, parts))
        lengths[0] += size
        lengths[1] += self._removed[-1] if self._removed else 0
        self._kept.extend(accumulate(lengths[:-1:2]))
        self._removed.extend(accumulate(lengths[1::2]))

    def position(self, at: int) -> int:
        """The place in the file of byte `at` of the plain text: that of the colour before it, if there is one."""
        before = bisect_right(self._kept, at - 1)
        return self.start + at + (self._removed[before - 1] if before else 0)

    def bounds(self, at: int) -> tuple[int, int]:
        """Where the line that holds byte `at` begins and ends, without its break."""
        if self._breaks is None:
            found = list(_BREAK.finditer(self.text, self.begin))
            self._breaks = [one.end() for one in found], [one.start() for one in found]
        ends, starts = self._breaks
        place = bisect_right(ends, at)
        low = ends[place - 1] if place else self.begin
        return low, starts[place] if place < len(starts) else len(self.text)

    def raw(self, low: int, high: int) -> bytes:
        """The bytes of the line between two places, without Ray's prefix."""
        raw = self.text[low : min(high, low + MAX_LINE)]
        if raw.startswith(b"("):
            prefix = _RAY.match(raw)
            return raw[prefix.end() :] if prefix else raw
        return raw

    def line(self, low: int, high: int) -> Line | None:
        """The line between two places; None when it is blank."""
        text = self.raw(low, high).decode("utf-8", "replace").rstrip()
        return Line(text, self.position(low)) if text.strip(_BLANK) else None

    def spans(self, low: int | None = None) -> Iterator[tuple[int, int]]:
        """Where the lines from a place on begin and end, the blank ones left out; no line is made."""
        at = self.begin if low is None else low
        for found in _BREAK.finditer(self.text, at):
            if self.text[at : min(found.start(), at + MAX_LINE)].strip(_BLANK_BYTES):
                yield at, found.start()
            at = found.end()
        if self.text[at : at + MAX_LINE].strip(_BLANK_BYTES):
            yield at, len(self.text)

    def lines(self, low: int | None = None) -> Iterator[Line]:
        """The lines from a place on, the blank ones left out."""
        at = self.begin if low is None else low
        for found in _BREAK.finditer(self.text, at):
            line = self.line(at, found.start())
            at = found.end()
            if line is not None:
                yield line
        last = self.line(at, len(self.text))
        if last is not None:
            yield last

    def backwards(self, most: int) -> Iterator[Line]:
        """At most `most` lines from the end on, the newest first, the blank ones left out."""
        at = len(self.text)
        while most > 0 and at >= self.begin:
            low, high = self.bounds(at)
            line = self.line(low, high)
            if line is not None:
                most -= 1
                yield line
            at = low - 1


class Pieces(Chunk):
    """Stretches of one file with what lies between them left out, read as one chunk: positions are still the file's.

    `pieces` are bytes and where they begin, the lowest first; each is whole lines, but the last may go on.
    """

    def __init__(self, pieces: Iterable[tuple[bytes, int]], *, whole_start: bool = True) -> None:
        self._parts: list[Chunk] = []
        self._places: list[int] = []
        texts: list[bytes] = []
        size = 0
        for data, start in pieces:
            part = Chunk(data, start)
            self._parts.append(part)
            self._places.append(size)
            texts.append(part.text)
            size += len(part.text) + 1
        super().__init__(b"\n".join(texts), self._parts[0].start if self._parts else 0, whole_start=whole_start)
        self.size = sum(part.size for part in self._parts)

    def _plain(self, data: bytes) -> bytes:
        # Each part is plain already; what is left of a broken colour must not swallow the next part.
        return data

    def position(self, at: int) -> int:
        """The place in the file of byte `at` of the joined text."""
        if not self._parts:
            return self.start + at
        number = bisect_right(self._places, at) - 1
        part = self._parts[number]
        return part.position(min(at - self._places[number], len(part.text)))


def split_lines(data: bytes, start: int, *, whole_start: bool = True) -> Iterator[Line]:
    """The lines of a stretch of a file that begins at byte `start`; see `Chunk`."""
    return Chunk(data, start, whole_start=whole_start).lines()


def printed_time(text: str, zone: ZoneInfo) -> float | None:
    """The time stamp near the start of a line, epoch seconds; one without an offset is in `zone`. None without any."""
    found = _TIME.search(text, 0, TIME_WITHIN)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{found['d'].replace('/', '-')}T{found['t']}{found['z'] or ''}")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
