"""Conditions as branches of literals: what durable-rules can be asked without `or`, `not` or arithmetic.

A formula is a tuple of branches, any of which makes it true; a branch is a set of literals, all of which must hold.
There is a formula for "true" of a condition and another for "false" (its Kleene dual), and none for unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import AtLeast, Condition, Hold, Path, Quantified, Right

Key = tuple[str, ...]
"""A node of the program: ("rule", id, "true"), ("flag", name, kind, "false"), ("or", number), ..."""

# ---------------------------------------------------------------- columns


@dataclass(frozen=True, slots=True)
class Field:
    """A fact of the subject or of what its relations reach; `default` (in a tuple) replaces unknown and absent."""

    path: Path
    default: tuple[Value, ...] = ()
    fold: bool = False


@dataclass(frozen=True, slots=True)
class RightSide:
    """What a test compares with, computed for each subject: a limit with overrides, another field, arithmetic."""

    right: Right
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A count or a sum over a relation, computed beforehand; its comparison is left to the engine."""

    of: Quantified


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A whole leaf, computed beforehand: its truth as 0 false, 1 unknown, 2 true."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Holds:
    """Whether a node of a finished part of the program is true: 1 or 0."""

    node: Key


@dataclass(frozen=True, slots=True)
class RuleTruth:
    """The truth of a rule of a finished part of the program: 0 false, 1 unknown, 2 true."""

    rule: str


@dataclass(frozen=True, slots=True)
class Carried:
    """The truth of a rule about a step or a run, as it counts for the job: 0 false, 1 unknown, 2 true."""

    rule: str


@dataclass(frozen=True, slots=True)
class Held:
    """Whether a rule with `for:` that is true now has been so for long enough: 0 no, 1 unknown, 2 yes."""

    rule: str
    hold: Hold


@dataclass(frozen=True, slots=True, eq=False)
class Evaluable:
    """How many operands of a quorum are true or false."""

    of: AtLeast


@dataclass(frozen=True, slots=True, eq=False)
class Blocked:
    """Whether an operand of a quorum can not be told for a reason that is not ignored: 2 or 0."""

    of: AtLeast


Origin = Field | RightSide | Counted | Lowered | Holds | RuleTruth | Carried | Held | Evaluable | Blocked

Form = Literal["n", "l", "h", "u", "d", "s", "a", "b", "w", "p", "c"]
"""How a column is encoded, and the letter its name starts with: n a number, l and h the sure and the possible end of a
count, u and d the same with an absent value far up or far down (for negations); s a text, a the same with a mark for
absent; b a boolean, w the same as a text with a mark for absent; p presence: 1 known, 2 absent, 3 unknown; c a truth:
0 false, 1 unknown, 2 true."""


@dataclass(frozen=True, slots=True)
class Column:
    """One field of an encoded fact."""

    origin: Origin
    form: Form


# ---------------------------------------------------------------- literals

Op = Literal["eq", "neq", "lt", "lte", "gt", "gte"]


@dataclass(frozen=True, slots=True)
class Is:
    """A column of the subject against a constant."""

    column: Column
    op: Op
    value: bool | int | float | str


@dataclass(frozen=True, slots=True)
class Beside:
    """A column of the subject against a column of its limits."""

    column: Column
    op: Op
    limit: Column


@dataclass(frozen=True, slots=True)
class LimitIs:
    """A column of the subject's limits against a constant."""

    limit: Column
    op: Op
    value: bool | int | float | str


@dataclass(frozen=True, slots=True)
class Derived:
    """Another node holds of the same subject."""

    node: Key


Atom = Is | Beside | LimitIs | Derived
Branch = frozenset[Atom]
Formula = tuple[Branch, ...]

NEVER: Formula = ()
ALWAYS: Formula = (frozenset(),)


def one(*literals: Atom) -> Formula:
    """The formula of a single branch."""
    return (frozenset(literals),)


def either(formulas: Iterable[Formula]) -> Formula:
    """Disjunction: all branches, without those that another one covers."""
    branches = dict.fromkeys(branch for formula in formulas for branch in formula)
    return tuple(b for b in branches if not any(other < b for other in branches))


def both(formulas: Iterable[Formula]) -> Formula:
    """Conjunction, written out as a product; the caller keeps it small."""
    return either([tuple(frozenset[Atom]().union(*choice) for choice in product(*formulas))])
