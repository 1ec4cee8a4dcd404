"""Values as people read them. Cluster text is only shortened here; who prints it must quote it for its medium."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sweeprules.engine.facts import Absent, FactValue, Interval, Unknown

_LONGEST = 120
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def humanise(value: FactValue, kind: str = "") -> str:
    """A fact's value in words: `2h10m`, `64 GB`, `2026-07-08T10:00:00Z`, `? (cut)`, `—`; `kind` is its type."""
    if isinstance(value, Unknown):
        return f"? ({value.reason})"
    if isinstance(value, Absent):
        return "—"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value, kind)
    if isinstance(value, Interval):
        return f"at least {value.sure}" if value.possible is None else f"{value.sure} to {value.possible}"
    return shortened(_text(value))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """At most `longest` characters, with an ellipsis where something was left out."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _text(value: FactValue) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(humanise(v) for v in value[:20]) + (", …]" if len(value) > 20 else "]")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {humanise(v)}" for k, v in list(value.items())[:20]) + "}"
    return str(value)


def _number(value: float, kind: str) -> str:
    if kind == "duration":
        return duration(value)
    if kind == "bytes":
        return _size(value)
    if kind == "time":
        return _time(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """The two largest units that are not zero: `2d3h`, `1h30m`, `45s`; under a minute one decimal."""
    sign, rest = ("-", -seconds) if seconds < 0 else ("", seconds)
    if round(rest, 1) < 60:
        return f"{sign}{round(rest, 1):g}s"
    left, parts = round(rest), []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts[:2])


def _size(value: float) -> str:
    index = 0
    while abs(value) >= 1000 and index < len(_SIZES) - 1:
        value, index = value / 1000, index + 1
    return f"{value:.3g} {_SIZES[index]}"


def _time(value: float) -> str:
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{value:.6g}"
