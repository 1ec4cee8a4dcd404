"""One test of a value against its right sides: three-valued and strictly typed.

A boolean is never a number, a text never equals a number, integers and floats compare exactly. Equality of unlike types
is false; any other test of unlike types is unknown, since the fact is not what its field says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any as Anything

from sweeprules.engine.evaluate.intervals import compare_interval
from sweeprules.engine.evaluate.texts import BadPatternError, matcher, matches
from sweeprules.engine.facts import Absent, FactValue, Interval, Unknown, Value
from sweeprules.engine.language.ast import Compare, Pattern
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, negate, of


class OpenList(tuple[Value, ...]):
    """A list with members that are sure and perhaps more: a rule that would add one is unknown."""

    __slots__ = ()


def compare(
    test: Compare, left: FactValue, rights: Sequence[FactValue], patterns: Mapping[str, Pattern] | None = None
) -> Truth:
    """The truth of one test.

    An unknown side makes it unknown, an absent side false (`ne` and `not_in` included). `known` and `unknown` are
    never unknown themselves; of an absent value only `absent: true` and `known: true` hold.
    """
    if test.default is not None and isinstance(left, Unknown | Absent):
        left = test.default.value
    if test.op in _STATES:
        return _STATES[test.op](left, test.wanted)
    if isinstance(left, Unknown):
        return UNKNOWN
    if isinstance(left, Absent) or any(isinstance(r, Absent) for r in rights):
        return FALSE
    if any(isinstance(r, Unknown) for r in rights) or not (_finite(left) and all(map(_finite, rights))):
        return UNKNOWN
    if isinstance(left, Interval) or any(isinstance(r, Interval) for r in rights):
        return compare_interval(test.op, left, rights, test.possible)
    return _known(test, left, rights, patterns or {})


def _known_is(left: FactValue, wanted: bool) -> Truth:
    return of((not isinstance(left, Unknown)) is wanted)


def _unknown_is(left: FactValue, wanted: bool) -> Truth:
    if isinstance(left, Absent):
        return FALSE
    return of(isinstance(left, Unknown) is wanted)


def _absent_is(left: FactValue, wanted: bool) -> Truth:
    if isinstance(left, Unknown):
        return UNKNOWN
    return of(isinstance(left, Absent) is wanted)


_STATES: dict[str, Callable[[FactValue, bool], Truth]] = {
    "known": _known_is,
    "unknown": _unknown_is,
    "absent": _absent_is,
}


def _finite(value: Anything) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _known(test: Compare, left: Anything, rights: Sequence[Anything], patterns: Mapping[str, Pattern]) -> Truth:
    op = test.op
    if op in ("eq", "in"):
        return _equal(op, left, rights[0], test.fold)
    if op in ("ne", "not_in"):
        return negate(_equal("eq" if op == "ne" else "in", left, rights[0], test.fold))
    if op == "between":
        return min(_ordered("ge", left, rights[0], test.fold), _ordered("le", left, rights[1], test.fold))
    if op in _ORDER:
        return _ordered(op, left, rights[0], test.fold)
    if op == "matches":
        return of(matches(patterns[rights[0]], left)) if isinstance(left, str) else UNKNOWN
    if op == "contains":
        return _contains(left, (rights[0],), test.fold)
    if op == "contains_any":
        members = (rights[0],) if isinstance(rights[0], str) else rights[0]
        return _contains(left, members, test.fold)
    return _text(op, left, rights[0], test.fold)


def _equal(op: str, left: Anything, right: Anything, fold: bool) -> Truth:
    if op == "eq":
        if isinstance(left, OpenList) or isinstance(right, OpenList):
            return UNKNOWN
        return of(same(left, right, fold))
    if not isinstance(right, tuple):
        return UNKNOWN
    if any(same(left, r, fold) for r in right):
        return TRUE
    return UNKNOWN if isinstance(right, OpenList) else FALSE


def same(left: Anything, right: Anything, fold: bool = False) -> bool:
    """Strict equality: of one type, integers and floats by exact value, lists by their members in order."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold() == right.casefold() if fold else left == right
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(a, b, fold) for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(v, right[k], fold) for k, v in left.items())
    return is_number(left) and is_number(right) and left == right


def is_number(value: object) -> bool:
    """An integer or a float; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_ORDER: dict[str, Callable[[Anything, Anything], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _ordered(op: str, left: Anything, right: Anything, fold: bool) -> Truth:
    if isinstance(left, str) and isinstance(right, str):
        return of(_ORDER[op](left.casefold(), right.casefold()) if fold else _ORDER[op](left, right))
    if is_number(left) and is_number(right):
        return of(_ORDER[op](left, right))
    return UNKNOWN


def _contains(left: Anything, wanted: Anything, fold: bool) -> Truth:
    if not isinstance(wanted, tuple):
        return UNKNOWN
    if isinstance(left, str):
        return max((_text("contains", left, w, fold) for w in wanted), default=FALSE)
    if not isinstance(left, tuple | Mapping):
        return UNKNOWN
    if any(same(member, w, fold) for w in wanted for member in left):
        return TRUE
    return UNKNOWN if isinstance(left, OpenList) or isinstance(wanted, OpenList) else FALSE


def _text(op: str, left: Anything, wanted: Anything, fold: bool) -> Truth:
    if not isinstance(left, str) or not isinstance(wanted, str):
        return UNKNOWN
    try:
        return of(matcher(op, wanted, fold)(left))
    except BadPatternError:
        return UNKNOWN
