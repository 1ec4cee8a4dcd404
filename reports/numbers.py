"""Numbers as table cells show them: three significant digits, no exponent at the sizes that training prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from sweeprules.engine.facts import Absent, FactValue, Interval, Reason, Unknown
from sweeprules.reports.clean import one_line
from sweeprules.reports.words import NOT_EMITTED, UNREAD

_SMALLEST = 1e-6
_LARGEST = 1e9
_DIGITS = 3
_LEAST_PERCENT = 0.1
NAN = "NaN"


def number(value: float) -> str:
    """`0.412`, `-0.0031`, `0.00002`, `1234`: three significant digits from 1e-6 to 1e9, an exponent beyond."""
    if isinstance(value, int):
        return str(value) if abs(value) < _LARGEST else f"{Decimal(value):.2e}"
    if not math.isfinite(value):
        return NAN if math.isnan(value) else f"{value:+}"
    if value == 0:
        return "0"
    size = abs(value)
    if not _SMALLEST <= size < _LARGEST:
        return f"{value:.2e}"
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(size)))
    shown = f"{value:.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if decimals else shown


def signed(value: float) -> str:
    """A change, always with its sign; none at all is `±0`."""
    return "±0" if value == 0 else ("+" if value > 0 else "") + number(value)


def percent(ratio: float) -> str:
    """A ratio of 0 to 1 as `21%`, under ten as `4.2%`: what is begun is never 0%, what is not whole never 100%."""
    if not math.isfinite(ratio):
        return NAN
    value = 100 * ratio
    if 0 < value < _LEAST_PERCENT:
        return f"<{_LEAST_PERCENT}%"
    if abs(value) < 10:
        return number(round(value, 1)) + "%"
    return f"{min(round(value), 99) if value < 100 else round(value)}%"


def about(count: float) -> str:
    """A count of any size in few characters: `842`, `~3.1k`, `~2.4M`."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(count) >= size and math.isfinite(count):
            return f"~{number(round(count / size, 1))}{letter}"
    return number(count)


def is_number(value: FactValue) -> bool:
    """True for a number that was read, finite or not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def was_printed(value: FactValue) -> bool:
    """True for a number that a run printed, one that is none among them: NaN is what it printed, not what is unread."""
    return is_number(value) or (isinstance(value, Unknown) and value.reason == Reason.NAN)


def cell(value: FactValue, show: Callable[[float], str] = number) -> str:
    """A fact as a table cell: `?` could not be read, `—` is not there, `NaN` was read and is no number."""
    match value:
        case Unknown(reason=Reason.NAN):
            return NAN
        case Unknown():
            return UNREAD
        case Absent():
            return NOT_EMITTED
        case Interval(sure=sure, possible=possible):
            return f"{show(sure)} to {UNREAD if possible is None else show(possible)}"
        case str():
            return one_line(value, 120)
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return show(value)
        case _:
            return UNREAD


def pair(done: FactValue, planned: FactValue, show: Callable[[float], str] = number) -> str:
    """`140/300`; `140/?` when the total could not be read, `140` when there is none, `—` when nothing is done yet."""
    if isinstance(done, Absent):
        return NOT_EMITTED
    first = cell(done, show)
    if isinstance(planned, Absent) or (isinstance(done, Unknown) and isinstance(planned, Unknown)):
        return first
    return f"{first}/{cell(planned, show)}"
