"""The truth of the leaves that durable-rules is not asked: name patterns, quantifiers, and what they hold inside.

Like `values`, a second reading of the language: it shares the types of values with the native evaluator, no test.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import re2

from sweeprules.engine.durable.values import Here, Many, Values, total
from sweeprules.engine.evaluate.compare import OpenList
from sweeprules.engine.facts import NOT_READ, Absent, FactValue, Interval, Ref, Subject, Unknown
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Compare,
    Condition,
    Flagged,
    Not,
    Policy,
    Quantified,
    RuleIs,
    Signalled,
    Test,
)
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth


class Findings(Protocol):
    """What was found so far: flags, rules and signals on subjects, and why operands can not be told."""

    def flagged(self, flag: str, subject: Subject) -> Truth:
        """The greatest truth of the rules that raise a flag on a subject."""

    def ruled(self, rule: str, ref: Ref) -> Truth:
        """The truth of a rule on a subject."""

    def signalled(self, signal: str, subject: Subject) -> Truth | None:
        """The truth of a signal on a subject; None where it is absent."""

    def blocked(self, condition: AtLeast, here: Here) -> Truth:
        """Whether an operand can not be told for a reason that is not ignored."""


class Lowering:
    """Truths of conditions on one world."""

    def __init__(self, values: Values, found: Findings) -> None:
        self.values = values
        self._found = found

    def truth(self, condition: Condition, here: Here) -> Truth:
        """The truth of a condition on what is at hand."""
        match condition:
            case Test():
                return self.test(condition.compare, self.values.path(condition.path, here), here)
            case All():
                return min(self.truth(item, here) for item in condition.items)
            case Any():
                return max(self.truth(item, here) for item in condition.items)
            case Not():
                return Truth(2 - self.truth(condition.item, here))
            case Flagged():
                return self._found.flagged(condition.flag, here.item) if isinstance(here.item, Subject) else UNKNOWN
            case RuleIs():
                found = self._found.ruled(condition.id, here.item.ref) if isinstance(here.item, Subject) else UNKNOWN
                return TRUE if found is condition.wanted else FALSE
            case Quantified():
                return self._quantified(condition, here)
            case AtLeast():
                return self._at_least(condition, here)

    # ------------------------------------------------------------ quorums

    def _at_least(self, condition: AtLeast, here: Here) -> Truth:
        """A quorum inside a quantifier, or one that decides a field."""
        truths = [TRUE]
        if condition.n is not None:
            truths.append(self._quorum(self._operands(condition, here), self.values.right(condition.n, here)))
        if condition.evaluable is not None:
            truths.append(self.test(condition.evaluable, self.evaluable(condition, here), here))
        if condition.ignoring:
            truths.append(self._found.blocked(condition, here))
        return min(truths)

    def _quorum(self, operands: Sequence[Truth | None], n: FactValue) -> Truth:
        if isinstance(n, Unknown):
            return UNKNOWN
        if not isinstance(n, int | float):
            return FALSE
        sure = operands.count(TRUE)
        return TRUE if sure >= n else UNKNOWN if sure + operands.count(UNKNOWN) >= n else FALSE

    def _operands(self, condition: AtLeast, here: Here) -> list[Truth | None]:
        return [self._operand(operand, here) for operand in condition.of]

    def _operand(self, operand: Condition | Signalled, here: Here) -> Truth | None:
        if not isinstance(operand, Signalled):
            return self.truth(operand, here)
        return self._found.signalled(operand.name, here.item) if isinstance(here.item, Subject) else UNKNOWN

    def evaluable(self, condition: AtLeast, here: Here) -> int:
        """How many operands are true or false."""
        return sum(truth in (TRUE, FALSE) for truth in self._operands(condition, here))

    # ------------------------------------------------------------ tests

    def test(self, compare: Compare, left: FactValue, here: Here) -> Truth:
        """One test of a value."""
        if compare.default is not None and isinstance(left, Unknown | Absent):
            left = compare.default.value
        if compare.op in ("known", "unknown", "absent"):
            return _presence(compare, left)
        rights = [self.values.right(right, here) for right in compare.rights]
        if isinstance(left, Unknown):
            return UNKNOWN
        if isinstance(left, Absent) or any(isinstance(right, Absent) for right in rights):
            return FALSE
        if any(isinstance(right, Unknown) or _endless(right) for right in (left, *rights)):
            return UNKNOWN
        return _decide(self.values.policy, compare, left, rights)

    # ------------------------------------------------------------ quantifiers

    def _quantified(self, condition: Quantified, here: Here) -> Truth:
        if condition.which in ("count", "sum"):
            compare = condition.compare
            return UNKNOWN if compare is None else self.test(compare, self.counted(condition, here), here)
        found = self.values.many(condition.of, here.item)
        if isinstance(found, Unknown):
            return UNKNOWN
        if isinstance(found, Absent):
            return FALSE
        chosen = list(self._chosen(condition, found, here))
        everyone = condition.which == "every"
        truths = [self._member(condition, sure, inner, everyone) for sure, inner in chosen]
        if found.open:
            return min((UNKNOWN, *truths)) if everyone else max((UNKNOWN, *truths))
        if all(sure is FALSE for sure, _ in chosen):
            return condition.if_empty
        truth = min(truths) if everyone else max(truths)
        # Where no member is one for sure there may be none.
        certain = any(sure is TRUE for sure, _ in chosen)
        return truth if certain or truth is condition.if_empty else UNKNOWN

    def _member(self, condition: Quantified, sure: Truth, inner: Here, everyone: bool) -> Truth:
        """Kleene: a member counts as far as it is one; `every` is "is none, or holds", `some` "is one, and holds"."""
        holds = TRUE if condition.holds is None else self.truth(condition.holds, inner)
        return max(Truth(2 - sure), holds) if everyone else min(sure, holds)

    def _chosen(self, condition: Quantified, found: Many, here: Here) -> Iterator[tuple[Truth, Here]]:
        for item in found.items:
            inner = Here(item, here)
            yield (TRUE if condition.where is None else self.truth(condition.where, inner)), inner

    def counted(self, condition: Quantified, here: Here) -> FactValue:
        """A count, an interval where members are in doubt; a sum, unknown where they are."""
        found = self.values.many(condition.of, here.item)
        if isinstance(found, Unknown | Absent):
            return found
        chosen = list(self._chosen(condition, found, here))
        sure = [inner for truth, inner in chosen if truth is TRUE]
        doubtful = sum(truth is UNKNOWN for truth, _ in chosen)
        if condition.summed is None:
            if not found.open and not doubtful:
                return len(sure)
            return Interval(len(sure), None if found.open else len(sure) + doubtful)
        if found.open or doubtful:
            return NOT_READ
        values = [self.values.path(condition.summed, inner) for inner in sure]
        return total([value for value in values if not isinstance(value, Absent)])


def _presence(compare: Compare, left: FactValue) -> Truth:
    unknown, absent = isinstance(left, Unknown), isinstance(left, Absent)
    if compare.op == "known":
        return TRUE if unknown is not compare.wanted else FALSE
    if compare.op == "unknown":
        return TRUE if not absent and unknown is compare.wanted else FALSE
    if unknown:
        return UNKNOWN
    return TRUE if absent is compare.wanted else FALSE


def _endless(value: FactValue) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _decide(policy: Policy, compare: Compare, left: FactValue, rights: Sequence[FactValue]) -> Truth:
    """A test of values that are all there."""
    if any(isinstance(value, Interval) for value in (left, *rights)):
        return _between_ends(compare, left, rights)
    match compare.op:
        case "eq" | "ne":
            answer = _equal(left, rights[0], compare.fold)
        case "in" | "not_in":
            answer = _among(left, rights[0], compare.fold)
        case "between":
            return min(_order("ge", left, rights[0], compare.fold), _order("le", left, rights[1], compare.fold))
        case "lt" | "le" | "gt" | "ge":
            return _order(compare.op, left, rights[0], compare.fold)
        case "contains" | "contains_any":
            one = compare.op == "contains" or isinstance(rights[0], str)
            return _holds_any(left, (rights[0],) if one else rights[0], compare.fold)
        case "matches":
            pattern = policy.patterns[str(rights[0])]
            return _found(left, pattern.literal, pattern.regex)
        case _:
            return _text(compare.op, left, rights[0], compare.fold)
    return answer if compare.op in ("eq", "in") else Truth(2 - answer)


def _alike(left: object, right: object, fold: bool) -> bool:
    match left, right:
        case (bool(), _) | (_, bool()):
            return isinstance(left, bool) and isinstance(right, bool) and left == right
        case (str(), str()):
            return left.casefold() == right.casefold() if fold else left == right
        case (int() | float(), int() | float()):
            return left == right
        case (tuple(), tuple()):
            return len(left) == len(right) and all(_alike(a, b, fold) for a, b in zip(left, right, strict=True))
        case (Mapping(), Mapping()):
            return set(left) == set(right) and all(_alike(left[key], right[key], fold) for key in left)
    return False


def _bool(value: bool) -> Truth:
    return TRUE if value else FALSE


def _equal(left: FactValue, right: FactValue, fold: bool) -> Truth:
    if isinstance(left, OpenList) or isinstance(right, OpenList):
        return UNKNOWN
    return _bool(_alike(left, right, fold))


def _among(left: FactValue, right: FactValue, fold: bool) -> Truth:
    if not isinstance(right, tuple):
        return UNKNOWN
    if any(_alike(left, member, fold) for member in right):
        return TRUE
    return UNKNOWN if isinstance(right, OpenList) else FALSE


def _order(op: str, left: FactValue, right: FactValue, fold: bool) -> Truth:
    if isinstance(left, bool) or isinstance(right, bool):
        return UNKNOWN
    match left, right:
        case (str(), str()):
            return _bool(_ordered(op, left.casefold(), right.casefold()) if fold else _ordered(op, left, right))
        case (int() | float(), int() | float()):
            return _bool(_ordered(op, left, right))
    return UNKNOWN


def _ordered(op: str, left: float | str, right: float | str) -> bool:
    low = left < right  # type: ignore[operator]
    same = left == right
    return {"lt": low, "le": low or same, "gt": not low and not same, "ge": not low}[op]


def _holds_any(left: FactValue, wanted: FactValue | tuple[FactValue, ...], fold: bool) -> Truth:
    if not isinstance(wanted, tuple):
        return UNKNOWN
    if isinstance(left, str):
        return max((_text("contains", left, want, fold) for want in wanted), default=FALSE)
    if not isinstance(left, tuple | Mapping):
        return UNKNOWN
    if any(_alike(member, want, fold) for member in left for want in wanted):
        return TRUE
    return UNKNOWN if isinstance(left, OpenList) or isinstance(wanted, OpenList) else FALSE


def _text(op: str, left: FactValue, wanted: FactValue, fold: bool) -> Truth:
    if not isinstance(left, str) or not isinstance(wanted, str):
        return UNKNOWN
    if op == "regex":
        return _found(left, "", f"(?i:{wanted})" if fold else wanted)
    if fold:
        left, wanted = left.casefold(), wanted.casefold()
    match op:
        case "prefix":
            return _bool(left[: len(wanted)] == wanted)
        case "glob":
            return _bool(fnmatch.fnmatchcase(left, wanted))
    return _bool(left.find(wanted) >= 0)


def _found(left: FactValue, literal: str, regex: str) -> Truth:
    """A literal that must be there and a linear-time regex that must match somewhere; undecodable bytes read as `?`."""
    if not isinstance(left, str):
        return UNKNOWN
    if literal not in left or not regex:
        return _bool(literal in left)
    options = re2.Options()
    options.log_errors = False
    try:
        return _bool(re2.search(_plain(regex), _plain(left), options) is not None)
    except re2.error:
        return UNKNOWN


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _between_ends(compare: Compare, left: FactValue, rights: Sequence[FactValue]) -> Truth:
    """A test of counts known between two ends: true when all values pass, false when none does."""
    if compare.op in ("in", "not_in"):
        every, some = _among_ends(ends(left), rights[0])
        if compare.op == "not_in":
            every, some = not some, not every
    else:
        sides = [ends(side) for side in (left, *rights)]
        if compare.op not in _SPANS or None in sides:
            return {"eq": FALSE, "ne": TRUE}.get(compare.op, UNKNOWN)
        every, some = _SPANS[compare.op](*[side for side in sides if side is not None])
    if every:
        return TRUE
    return FALSE if not some else TRUE if compare.possible else UNKNOWN


Ends = tuple[float, float]
"""Least and greatest value."""
_WIDE = 256
"""A wider count is not tried value by value against a set."""


def ends(value: FactValue) -> Ends | None:
    """The ends of a count or of a plain number; None for anything else."""
    if isinstance(value, Interval):
        return value.sure, math.inf if value.possible is None else value.possible
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, value
    return None


def _meet(left: Ends, right: Ends) -> tuple[bool, bool]:
    every = left[0] == left[1] == right[0] == right[1]
    apart = left[1] < right[0] or right[1] < left[0]
    broken = any(low == high and low != math.floor(low) for low, high in (left, right))
    return every, every or not (apart or broken)


def _inside(left: Ends, low: Ends, high: Ends) -> tuple[bool, bool]:
    every = left[0] >= low[1] and left[1] <= high[0]
    reaches = left[1] >= low[0] and left[0] <= high[1]
    if low[0] == low[1] and high[0] == high[1]:
        # Both ends must be met by one value; a count has whole ones only.
        first, last = max(left[0], low[0]), min(left[1], high[0])
        whole = left[0] == left[1] or last == math.inf or math.ceil(first) <= math.floor(last)
        reaches = first <= last and whole
    return every, reaches


def _among_ends(left: Ends | None, right: FactValue) -> tuple[bool, bool]:
    if left is None:
        return False, False
    members = [end for end in map(ends, right if isinstance(right, tuple) else ()) if end is not None]
    some = any(_meet(left, member)[1] for member in members)
    if left[1] - left[0] > _WIDE or not members:
        return False, some
    values = range(int(left[0]), int(left[1]) + 1)
    return all(any(_meet((v, v), member)[0] for member in members) for v in values), some


_SPANS: dict[str, Callable[..., tuple[bool, bool]]] = {
    "lt": lambda left, right: (left[1] < right[0], left[0] < right[1]),
    "le": lambda left, right: (left[1] <= right[0], left[0] <= right[1]),
    "gt": lambda left, right: (left[0] > right[1], left[1] > right[0]),
    "ge": lambda left, right: (left[0] >= right[1], left[1] >= right[0]),
    "eq": _meet,
    "ne": lambda left, right: (not _meet(left, right)[1], not _meet(left, right)[0]),
    "between": _inside,
}
