"""Tests on counts that are only known between two ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any as Anything
from typing import NamedTuple

from sweeprules.engine.facts import Interval
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, of


class _Range(NamedTuple):
    low: float
    high: float


# Over this width a set test on an interval is not settled member by member; it is then unknown, never wrong.
_ENUMERATED = 256


def compare_interval(op: str, left: Anything, rights: Sequence[Anything], possible: bool) -> Truth:
    """True when every value in the interval passes, false when none does, else unknown.

    With `possible` it is true as soon as some value would pass, and then never unknown. An end may be open.
    """
    if op in ("in", "not_in"):
        every, some = _member(left, rights[0])
        if op == "not_in":
            every, some = not some, not every
    else:
        ranges = [_range(side) for side in (left, *rights)]
        if op not in _TESTS or any(r is None for r in ranges):
            return _unlike(op)
        every, some = _TESTS[op](*ranges)
    if every:
        return TRUE
    return of(some) if possible or not some else UNKNOWN


def _unlike(op: str) -> Truth:
    return {"eq": FALSE, "ne": TRUE}.get(op, UNKNOWN)


def _range(value: Anything) -> _Range | None:
    if isinstance(value, Interval):
        return _Range(value.sure, math.inf if value.possible is None else value.possible)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _Range(value, value)
    return None


Both = tuple[bool, bool]
"""Holds of every value, holds of some value."""


def _lt(left: _Range, right: _Range) -> Both:
    return left.high < right.low, left.low < right.high


def _le(left: _Range, right: _Range) -> Both:
    return left.high <= right.low, left.low <= right.high


def _gt(left: _Range, right: _Range) -> Both:
    return _lt(right, left)


def _ge(left: _Range, right: _Range) -> Both:
    return _le(right, left)


def _eq(left: _Range, right: _Range) -> Both:
    single = left.low == left.high == right.low == right.high
    overlap = left.low <= right.high and right.low <= left.high
    # Counts are whole numbers: 2.5 lies between two of them.
    fraction = any(r.low == r.high and r.low % 1 for r in (left, right))
    return single, overlap and (single or not fraction)


def _ne(left: _Range, right: _Range) -> Both:
    every, some = _eq(left, right)
    return not some, not every


def _between(left: _Range, low: _Range, high: _Range) -> Both:
    above, below = _ge(left, low), _le(left, high)
    if low.low != low.high or high.low != high.high:
        return above[0] and below[0], above[1] and below[1]
    # Both ends must be met by one and the same whole number.
    first, last = max(left.low, low.low), min(left.high, high.low)
    return above[0] and below[0], first <= last if left.low == left.high else _whole(first, last)


def _whole(first: float, last: float) -> bool:
    return last == math.inf or math.floor(last) >= math.ceil(first)


_TESTS: dict[str, Callable[..., Both]] = {
    "lt": _lt,
    "le": _le,
    "gt": _gt,
    "ge": _ge,
    "eq": _eq,
    "ne": _ne,
    "between": _between,
}


def _member(left: Anything, right: Anything) -> Both:
    span = _range(left)
    members = [r for r in map(_range, right if isinstance(right, tuple) else ()) if r is not None]
    if span is None:
        return False, False
    some = any(_eq(span, m)[1] for m in members)
    if span.high - span.low > _ENUMERATED:
        return False, some
    values = range(int(span.low), int(span.high) + 1)
    return bool(members) and all(any(_eq(_Range(v, v), m)[0] for m in members) for v in values), some
