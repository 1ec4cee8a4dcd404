"""Arithmetic on values: exact on integers, and unknown rather than wrong."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.facts import ABSENT, Absent, FactValue, Interval, Reason, Unknown

Number = int | float


def calculate(op: str, args: Sequence[FactValue]) -> FactValue:
    """The result of one operation of a `calc`.

    An absent operand makes it absent, an unknown one unknown with that operand's reason. Division by zero, overflow
    and what is no finite number are unknown `calc`; an operand that is no number is unknown `malformed`.
    """
    for arg in args:
        if isinstance(arg, Absent):
            return ABSENT
    for arg in args:
        if isinstance(arg, Unknown):
            return arg
    if any(isinstance(arg, Interval) for arg in args):
        return _on_intervals(op, args)
    numbers = [arg for arg in args if isinstance(arg, int | float) and is_number(arg)]
    if len(numbers) != len(args):
        return Unknown(Reason.MALFORMED, f"{op} of what is no number")
    try:
        result = _OPERATIONS[op](*numbers)
    except (ZeroDivisionError, OverflowError) as error:
        return Unknown(Reason.CALC, str(error))
    if isinstance(result, float) and not math.isfinite(result):
        return Unknown(Reason.CALC, "no finite number")
    return result


def round_half_up(value: Number) -> int:
    """The nearest whole number; a half goes up, also below zero (-2.5 is -2)."""
    low = math.floor(value)
    return low + 1 if value - low >= 0.5 else low


def _least(*args: Number) -> Number:
    return min(args)


def _greatest(*args: Number) -> Number:
    return max(args)


def _total(*args: Number) -> Number:
    return sum(args)


def _difference(left: Number, right: Number) -> Number:
    return left - right


_OPERATIONS: dict[str, Callable[..., Number]] = {
    "+": operator.add,
    "-": _difference,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "min": _least,
    "max": _greatest,
    "abs": abs,
    "sum": _total,
    "round_half_up": round_half_up,
}


def _on_intervals(op: str, args: Sequence[FactValue]) -> FactValue:
    # A sum of counts is a count; the other operations on an interval have no ends that a count can hold.
    ends = [_ends(arg) for arg in args]
    if op in ("+", "sum") and None not in ends:
        pairs = [e for e in ends if e is not None]
        highs = [high for _, high in pairs if high is not None]
        return Interval(sum(low for low, _ in pairs), sum(highs) if len(highs) == len(pairs) else None)
    return Unknown(Reason.CALC, f"{op} of a count that is only known between two ends")


def _ends(value: FactValue) -> tuple[int, int | None] | None:
    if isinstance(value, Interval):
        return value.sure, value.possible
    if isinstance(value, int) and not isinstance(value, bool):
        return value, value
    return None
