"""Progress bars as tqdm draws them, told apart by their description; and where lines of a long text begin and end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sweeprules.collectors.logs.lines import Chunk

LONGEST = 256 * 1024
"""Bytes of a line of metrics that are read."""
_NEAR = 4096
TRIES = 400
"""Frames that are looked at, from the end on, until one can be read."""

_BAR = rb"(?:\d{1,3}%\|[^|\r\n]*\|[ \t]*)?"
_COUNT = rb"(?P<n>\d[\d,]{0,14})[ \t]*/[ \t]*(?P<m>\d[\d,]{0,14})[ \t]*(?:\[(?P<t>[^\]\r\n]{0,120})|(?=[\r\n]))"
_OPEN = rb"(?P<i>\d[\d,]{0,14})(?:it|[a-z]{1,12})[ \t]*\["
_FRAME = re.compile(rb":?[ \t]*" + _BAR + rb"(?:" + _COUNT + rb"|" + _OPEN + rb")")
_BARE = re.compile(rb"[ \t]*\d{1,3}%\|[^|\r\n]*\|[ \t]*" + _COUNT)


@dataclass(frozen=True, slots=True)
class Frame:
    """One drawing of a bar: `n` of `m` (None where it draws no total), at byte `at` of the chunk's plain text.

    `moved` is False for a bar that has not moved since it was begun: it shows no rate yet.
    """

    n: int
    m: int | None
    at: int
    moved: bool = True


def line_start(text: bytes, at: int, begin: int = 0) -> int:
    """Where the line that holds byte `at` begins, `LONGEST` bytes back at most."""
    for reach in (_NEAR, LONGEST):
        low = max(begin, at - reach)
        newline = text.rfind(b"\n", low, at)
        place = max(newline, text.rfind(b"\r", max(low, newline), at))
        if place >= 0:
            return place + 1
        if low == begin:
            return begin
    return max(begin, at - LONGEST)


def line_end(text: bytes, at: int) -> int:
    """Where the line that holds byte `at` ends, its break left out; `LONGEST` bytes on at most."""
    size = len(text)
    for reach in (_NEAR, LONGEST):
        high = min(size, at + reach)
        newline = text.find(b"\n", at, high)
        place = text.find(b"\r", at, newline if newline >= 0 else high)
        if place < 0:
            place = newline
        if place >= 0:
            return place
        if high == size:
            return size
    return min(size, at + LONGEST)


def last_frame(chunk: Chunk, description: bytes, low: int | None = None) -> Frame | None:
    """The newest frame of the bar with this description that can be read; None without any."""
    begin = chunk.begin if low is None else low
    at = chunk.text.rfind(description, begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        frame = _FRAME.match(chunk.text, at + len(description))
        if frame is not None:
            if frame["i"] is not None:
                return Frame(count(frame["i"]), None, at)
            return Frame(count(frame["n"]), count(frame["m"]), at, b"<?" not in (frame["t"] or b""))
        at = chunk.text.rfind(description, begin, at)
    return None


def bare_frame(text: bytes, low: int, high: int) -> Frame | None:
    """The newest frame between two places of a bar without a description, such as the training bar of a trainer."""
    at = text.rfind(b"%|", low, high)
    for _ in range(TRIES):
        if at < 0:
            return None
        start = line_start(text, at, low)
        frame = _BARE.match(text, start)
        if frame is not None:
            return Frame(count(frame["n"]), count(frame["m"]), start, b"<?" not in (frame["t"] or b""))
        at = text.rfind(b"%|", low, start)
    return None


def count(digits: bytes | str) -> int:
    """A whole number, with or without commas between the thousands."""
    return int(digits.replace(b",", b"") if isinstance(digits, bytes) else digits.replace(",", ""))
