"""One test as literals: which comparisons durable-rules makes itself, for "true" and for "false".

The rules of three-valued comparison: an unknown left side makes a test unknown; an absent one makes it false; an absent
right side makes it false too; an unknown right side, and a number that is not finite, make it unknown. A column that is
not there makes every comparison of it fail, which is right for unknown; where absent must count as false, the column
has a stand-in for it (forms u, d, a and w).
"""

from __future__ import annotations

from sweeprules.engine.durable.dnf import (
    Atom,
    Beside,
    Column,
    Field,
    Form,
    Formula,
    Is,
    LimitIs,
    Op,
    Origin,
    RightSide,
    either,
    one,
)
from sweeprules.engine.durable.encode import MAX_INT
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Arith, Calc, Compare, Const, FieldRef, ParamRef, Pick, Policy, Right, Test

NUMBERS = frozenset({"integer", "number", "duration", "bytes", "ratio", "time"})
TEXTS = frozenset({"text", "enum"})
KNOWN, ABSENT, UNKNOWN = 1, 2, 3
"""Values of a status column."""
_OPS: dict[str, Op] = {"lt": "lt", "le": "lte", "gt": "gt", "ge": "gte", "eq": "eq", "ne": "neq"}
_OPPOSITE: dict[str, str] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_SHORT = 1024
"""Longest constant text that is compared in the engine, in characters."""
MEMBERS = 12
"""Most members of an `in` that are compared in the engine, one branch each."""


class MustLowerError(Exception):
    """Raised for a test that the safe subset can not express; its truth is computed beforehand."""


def leaf(policy: Policy, test: Test, want: bool) -> Formula:
    """The branches in which a test is true (`want` False: false); MustLowerError when it is none of the engine's."""
    default = (test.compare.default.value,) if test.compare.default is not None else ()
    return comparison(policy, Field(test.path, default, _folds(test.compare)), test.path.type, test.compare, want)


def comparison(policy: Policy, origin: Origin, kind: str, compare: Compare, want: bool) -> Formula:
    """The same for any value of the subject: `kind` is its type in the rule language."""
    if compare.op in ("known", "unknown", "absent"):
        return _status(origin, compare, want)
    rights = [_constant(policy, right) for right in compare.rights]
    if kind == "interval":
        return _interval(origin, compare, rights, want)
    if kind not in NUMBERS and kind not in TEXTS and kind != "boolean":
        raise MustLowerError
    if compare.op in ("in", "not_in"):
        return _member(origin, kind, compare, rights[0], want)
    if compare.op == "between":
        return _between(origin, kind, compare, rights, want)
    if compare.op not in _OPS or (compare.op not in ("eq", "ne") and kind not in NUMBERS):
        raise MustLowerError
    return _single(origin, kind, compare.op, rights[0], want, compare.fold)


def _folds(compare: Compare) -> bool:
    return compare.fold and compare.op in ("eq", "ne", "in", "not_in")


def _constant(policy: Policy, right: Right) -> Const | Right:
    """A parameter that no override touches is its default everywhere."""
    if isinstance(right, ParamRef) and not policy.params[right.name].overrides:
        return Const(policy.params[right.name].default)
    return right


def _status(origin: Origin, compare: Compare, want: bool) -> Formula:
    column = Column(origin, "p")
    match compare.op:
        case "known":
            wanted: Formula = one(Is(column, "lt", UNKNOWN))
            refused = one(Is(column, "eq", UNKNOWN))
        case "unknown":
            wanted, refused = one(Is(column, "eq", UNKNOWN)), one(Is(column, "lt", UNKNOWN))
            if not compare.wanted:
                wanted, refused = one(Is(column, "neq", KNOWN)), one(Is(column, "eq", KNOWN))
        case _:
            wanted, refused = one(Is(column, "eq", ABSENT)), one(Is(column, "eq", KNOWN))
    return wanted if want is compare.wanted else refused


def _plain(kind: str) -> Form:
    return "n" if kind in NUMBERS else "s" if kind in TEXTS else "b"


def _ranged(right: Const | Right | Arith) -> bool:
    """Whether a right side may be a count known between two ends."""
    match right:
        case FieldRef():
            return right.path.type == "interval"
        case Pick():
            return right.field.type == "interval"
        case Calc():
            return _ranged(right.root)
        case Arith():
            return any(_ranged(arg) for arg in right.args)
    return False


def _typed(kind: str, value: Value, fold: bool) -> bool | int | float | str:
    """A constant of the column's type; MustLowerError for one that is not, or is too long to compare."""
    if kind in NUMBERS and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_INT:
        return value
    if kind in TEXTS and isinstance(value, str) and len(value) <= _SHORT and value.isprintable():
        return value.casefold() if fold else value
    if kind == "boolean" and isinstance(value, bool):
        return value
    raise MustLowerError


def _single(origin: Origin, kind: str, op: str, right: Const | Right, want: bool, fold: bool) -> Formula:
    if not isinstance(right, Const):
        if _ranged(right):
            raise MustLowerError
        return _limited(origin, kind, op, right, want, fold)
    value = _typed(kind, right.value, fold)
    if want:
        return one(*_true(origin, kind, op, value))
    return _false(origin, kind, op, value)


def _true(origin: Origin, kind: str, op: str, value: bool | int | float | str) -> tuple[Atom, ...]:
    return (Is(Column(origin, _plain(kind)), _OPS[op], value),)


def _false(origin: Origin, kind: str, op: str, value: bool | int | float | str) -> Formula:
    """The opposite comparison; absent is false too."""
    opposite = _OPS[_OPPOSITE[op]]
    if op == "ne":
        return either([one(Is(Column(origin, _plain(kind)), "eq", value)), one(Is(Column(origin, "p"), "eq", ABSENT))])
    if kind in NUMBERS:
        return one(Is(Column(origin, "u" if opposite in ("gt", "gte", "neq") else "d"), opposite, value))
    if kind in TEXTS:
        return one(Is(Column(origin, "a"), opposite, value))
    return one(Is(Column(origin, "w"), opposite, "T" if value else "F"))


def _limited(origin: Origin, kind: str, op: str, right: Right, want: bool, fold: bool) -> Formula:
    """A comparison with a limit of the subject's own: a join. Booleans never stand there, and are lowered."""
    if kind == "boolean":
        raise MustLowerError
    limit = RightSide(right, fold)
    status, value = Column(limit, "p"), Column(limit, _plain(kind))
    known = LimitIs(status, "eq", KNOWN)
    if want:
        return one(known, *_joined(Column(origin, _plain(kind)), op, value, kind))
    absent_right = one(LimitIs(status, "eq", ABSENT), Is(Column(origin, "p"), "lt", UNKNOWN))
    absent_left = one(Is(Column(origin, "p"), "eq", ABSENT))
    return either([absent_left, absent_right, *_unequal(known, origin, kind, op, value)])


def _unequal(known: LimitIs, origin: Origin, kind: str, op: str, value: Column) -> list[Formula]:
    column = Column(origin, _plain(kind))
    if op == "eq" and kind in NUMBERS:
        return [one(known, Beside(column, "gt", value)), one(known, Beside(column, "lt", value))]
    return [one(known, *_joined(column, _OPPOSITE[op], value, kind))]


def _joined(column: Column, op: str, value: Column, kind: str) -> tuple[Atom, ...]:
    # An equality join compares how numbers are printed (5 is not 5.0), so numbers are held from both sides.
    if op == "eq" and kind in NUMBERS:
        return (Beside(column, "gte", value), Beside(column, "lte", value))
    if op == "ne" and kind in NUMBERS:
        raise MustLowerError
    return (Beside(column, _OPS[op], value),)


def _between(origin: Origin, kind: str, compare: Compare, rights: list[Const | Right], want: bool) -> Formula:
    if kind not in NUMBERS or not all(isinstance(right, Const) for right in rights):
        raise MustLowerError
    low, high = (_typed(kind, right.value, False) for right in rights if isinstance(right, Const))
    if want:
        return one(*_true(origin, kind, "ge", low), *_true(origin, kind, "le", high))
    return either([_false(origin, kind, "ge", low), _false(origin, kind, "le", high)])


def _member(origin: Origin, kind: str, compare: Compare, right: Const | Right, want: bool) -> Formula:
    if not isinstance(right, Const) or not isinstance(right.value, tuple) or not right.value:
        raise MustLowerError
    if len(right.value) > MEMBERS:
        raise MustLowerError
    values = [_typed(kind, value, compare.fold) for value in right.value]
    if (compare.op == "in") is want:
        found = either([one(*_true(origin, kind, "eq", value)) for value in values])
        return found if want else either([found, one(Is(Column(origin, "p"), "eq", ABSENT))])
    if want:
        return one(*(atom for value in values for atom in _true(origin, kind, "ne", value)))
    return one(*(atom for value in values for branch in _false(origin, kind, "eq", value) for atom in branch))


def _interval(origin: Origin, compare: Compare, rights: list[Const | Right], want: bool) -> Formula:
    """A count known between two ends: every value must pass, with `possible` some value; none passes: false."""
    if compare.op not in ("lt", "le", "gt", "ge") or not isinstance(rights[0], Const):
        raise MustLowerError
    value = _typed("integer", rights[0].value, False)
    up = compare.op in ("gt", "ge")
    if want:
        return one(Is(Column(origin, "h" if up is compare.possible else "l"), _OPS[compare.op], value))
    passes_last: Form = "h" if up else "l"
    fails = one(Is(Column(origin, passes_last), _OPS[_OPPOSITE[compare.op]], value))
    return either([fails, one(Is(Column(origin, "p"), "eq", ABSENT))])
