"""Times as log records print them, those without a year among them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import printed_time

_CLOCK = r"(?P<t>\d\d:\d\d:\d\d)"
_YEARLESS = (
    # glog: a letter for the level, then month and day without anything between; the month has one digit or two.
    re.compile(rf"\b[DIWEF](?P<m>\d{{1,2}})(?P<d>\d\d) {_CLOCK}", re.ASCII),
    re.compile(rf"(?<![\d/-])(?P<m>\d\d)[-/](?P<d>\d\d) {_CLOCK}", re.ASCII),
)
_UNDERSCORED = re.compile(rf"(?<!\d)(?P<date>\d{{4}}-\d\d-\d\d)_{_CLOCK}", re.ASCII)
_WITHIN = 200
_AHEAD = timedelta(days=1)
"""A record may be so much later than the time by which its year is found: clocks and zones differ."""


def moment(text: str, zone: ZoneInfo, until: float | None) -> float | None:
    """The time that a record prints near its start, epoch seconds; None without any.

    A date without a year is of the last year in which it lies before `until` (epoch seconds, such as the file's
    last write); without `until` such a date tells nothing.
    """
    printed = printed_time(text, zone)
    if printed is not None:
        return printed
    found = _UNDERSCORED.search(text, 0, _WITHIN)
    if found is not None:
        return _epoch(f"{found['date']}T{found['t']}", zone)
    if until is None or until <= 0:
        return None
    for pattern in _YEARLESS:
        found = pattern.search(text, 0, _WITHIN)
        if found is not None:
            return _of_year(int(found["m"]), int(found["d"]), found["t"], zone, until)
    return None


def _of_year(month: int, day: int, clock: str, zone: ZoneInfo, until: float) -> float | None:
    try:
        last = datetime.fromtimestamp(until, zone) + _AHEAD
    except (OverflowError, ValueError, OSError):
        return None
    # A leap day may be up to eight years back.
    for year in range(last.year, last.year - 9, -1):
        found = _epoch(f"{year:04d}-{month:02d}-{day:02d}T{clock}", zone)
        if found is not None and found <= last.timestamp():
            return found
    return None


def _epoch(text: str, zone: ZoneInfo) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
