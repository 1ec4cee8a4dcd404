"""Log bytes to lines: split at newlines and carriage returns, colours and prefixes taken off, times read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_RAY = re.compile(r"^\((?P<name>[A-Za-z_][\w.:<>-]*) pid=\d+(?:, ip=[\da-f.:]+)?\)\s?")
_BREAK = re.compile(rb"\r\n|\n|\r")
_TIME = re.compile(
    r"(?<!\d)(?P<d>\d{4}[-/]\d\d[-/]\d\d)[ T](?P<t>\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?P<z>Z|[+-]\d\d:?\d\d)?"
)
MAX_LINE = 16_384
"""Characters of one line that are looked at; a longer one is a dump, not a message."""
TIME_WITHIN = 120


@dataclass(frozen=True, slots=True)
class Line:
    """One line without colours or Ray's prefix; `position` is the byte offset of its first byte in the file."""

    text: str
    position: int


def split_lines(data: bytes, start: int, *, whole_start: bool = True) -> Iterator[Line]:
    """The lines of a stretch of a file that begins at byte `start`.

    `whole_start` says that `start` begins a line; otherwise the first, broken one is dropped. Blank lines are left
    out, and so is a last line without an end only if it is blank.
    """
    at = 0
    broken = not whole_start
    for found in _BREAK.finditer(data):
        if not broken:
            yield from _line(data[at : found.start()], start + at)
        broken = False
        at = found.end()
    if not broken:
        yield from _line(data[at:], start + at)


def _line(raw: bytes, position: int) -> Iterator[Line]:
    text = _ANSI.sub("", raw[: 4 * MAX_LINE].decode("utf-8", "replace"))[:MAX_LINE]
    text = _RAY.sub("", text).rstrip()
    if text.strip():
        yield Line(text, position)


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
