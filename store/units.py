"""Durations, sizes and moments as people write them in site files."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd])")
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([KMGT]i?B)")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z)?")


def duration(text: str) -> float | None:
    """Seconds of `15s`, `30m`, `1.5h` or `2d`; None for anything else."""
    match = _DURATION.fullmatch(text)
    return float(match[1]) * _SECONDS[match[2]] if match else None


def size(text: str) -> int | None:
    """Bytes of `64GB` (powers of 1000) or `64GiB` (powers of 1024); None for anything else."""
    match = _SIZE.fullmatch(text)
    return math.floor(float(match[1]) * _BYTES[match[2]]) if match else None


def moment(text: str) -> float | None:
    """Epoch seconds of a date (its first moment in UTC) or of `2026-06-23T06:00Z`; None for anything else."""
    if not _MOMENT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
