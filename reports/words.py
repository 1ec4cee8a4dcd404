"""Values as people read them: ages, durations, sizes, times, and the three ways of not having a value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sweeprules.engine.facts import Absent, FactValue, Interval, Unknown

MARKS = {"critical": "●", "warning": "▲", "info": "○"}
"""A sign for each severity, so that colour is never the only one."""
NOT_EMITTED = "—"
UNREAD = "?"


def duration(seconds: float) -> str:
    """`45s`, `12m`, `3h05m`, `2d04h`: the two largest units, rounded down."""
    whole = int(seconds)
    if whole < 0:
        return "-" + duration(-whole)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


_PATH = 40


def command(text: str) -> str:
    """A command as people know it: without the environment it was given, and without its formats."""
    words = text.split(" ")
    while words and (words[0] == "env" or "=" in words[0]):
        words.pop(0)
    if words[-2:-1] == ["--"]:
        words.remove("--")
        words[-1] = "…/" + words[-1].rpartition("/")[2] if len(words[-1]) > _PATH else words[-1]
    return " ".join(
        words[: next((i for i, word in enumerate(words) if word in ("-o", "--") or "=" in word), len(words))]
    )


def size(count: float) -> str:
    """Bytes with a binary unit: `512 B`, `1.5 KiB`, `2.0 GiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"


def instant(epoch: float) -> str:
    """RFC 3339 in UTC, whole seconds; a time that no calendar holds is shown as its number."""
    try:
        return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{epoch:.0f}"


def age(value: FactValue) -> str:
    """How long ago, for a table cell: `3m ago`; `?` when unread, `—` when there is nothing to be read."""
    if isinstance(value, Unknown):
        return UNREAD
    if isinstance(value, Absent):
        return NOT_EMITTED
    return f"{duration(float(value))} ago" if isinstance(value, int | float) else UNREAD


def typed(value: FactValue, kind: str) -> str:
    """A fact as people read it; `kind` is its type in the catalogue (duration, time, bytes, ...)."""
    if isinstance(value, Unknown):
        return f"unknown: {value.reason}" + (f" ({value.detail})" if value.detail else "")
    if isinstance(value, Absent):
        return "absent" + (f" ({value.reason})" if value.reason else "")
    if isinstance(value, Interval):
        return f"{value.sure} to {'?' if value.possible is None else value.possible}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _NUMBERS.get(kind, _plain)(value)
    if isinstance(value, tuple):
        return ", ".join(typed(v, "text") for v in value) or "(none)"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={typed(v, 'text')}" for k, v in value.items()) or "(none)"
    return value


def _plain(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_NUMBERS = {"duration": duration, "bytes": size, "time": instant}
