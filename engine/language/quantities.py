"""Durations, sizes and times as they are written in YAML."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(s|m|h|d)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(B|kB|KB|MB|GB|TB|PB|KiB|MiB|GiB|TiB|PiB)\Z")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?\Z")

DURATION_FORM = "a duration such as 90s, 30m, 6h or 2d"
SIZE_FORM = "a size such as 500MB, 64GB or 2GiB"
TIME_FORM = "a time such as 2026-07-12 or 2026-07-12T06:00Z"


def duration(text: str) -> float | None:
    """Seconds of `90s`, `30m`, `6h`, `2d` or `1.5h`; None when it is no duration."""
    match = _DURATION.match(text)
    return _whole(float(match.group(1)) * _SECONDS[match.group(2)]) if match else None


def size(text: str) -> int | None:
    """Bytes of `64GB` (powers of 1000) or `2GiB` (powers of 1024); None when it is no size."""
    match = _SIZE.match(text)
    if not match:
        return None
    unit = match.group(2)
    factor = 1 if unit == "B" else (1024 if "i" in unit else 1000) ** _POWERS[unit[0]]
    return int(float(match.group(1)) * factor)


def time(text: str) -> float | None:
    """Epoch seconds of a date (its first moment in UTC) or an RFC 3339 time with its zone; None when it is neither."""
    if not _TIME.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return _whole((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def _whole(number: float) -> float:
    """An int where nothing is lost, so that 15m is 900 and not 900.0 in every printed form."""
    return int(number) if number == int(number) else number
