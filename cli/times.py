"""Times and durations on the command line."""

from __future__ import annotations

from typing import Any

import click

LAST_SWEEP = "last-sweep"


def instant(text: str) -> float | None:
    """Epoch seconds of an RFC 3339 time with its zone, or of a date (its first moment in UTC); else None."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC) if len(text) == len("2026-07-11") else found
    return found.timestamp() if found.tzinfo is not None else None


class Duration(click.ParamType[Any]):
    """`90s`, `20m`, `3h`, `2d` as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from sweeprules.store.units import duration

        if isinstance(value, int | float):
            return float(value)
        seconds = duration(str(value))
        if seconds is None or seconds <= 0:
            self.fail(f"{value!r} is not a duration; write 90s, 20m, 3h or 2d", param, ctx)
        return seconds


class Moment(click.ParamType[Any]):
    """A time with its zone (`2026-07-11T00:00:00Z`), or a date, as epoch seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        epoch = instant(str(value))
        if epoch is None:
            self.fail(f"{value!r} is not a time; write 2026-07-11T00:00:00Z", param, ctx)
        return epoch


class Since(click.ParamType[Any]):
    """`last-sweep`, a duration before now (as negative seconds), or a time."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        from sweeprules.store.units import duration

        text = str(value)
        if text == LAST_SWEEP:
            return LAST_SWEEP
        seconds = duration(text)
        if seconds is not None and seconds > 0:
            return -seconds
        epoch = instant(text)
        if epoch is None or epoch <= 0:
            self.fail(f"{value!r} is neither last-sweep, nor a duration such as 3h, nor a time with a zone", param, ctx)
        return epoch
