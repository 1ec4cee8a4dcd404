"""What the conditions of a policy are made of: paths, right sides, tests and the words that join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Value
from sweeprules.engine.truth import Truth

# ---------------------------------------------------------------- right sides


@dataclass(frozen=True, slots=True)
class Path:
    """A field reached from the subject over relations: `run.complete` is relations ("run",), field "complete".

    `kind` is the kind of the subject that holds the field. `scope` "outer" is `..field` inside a `where`. Field
    "value" or "key" of a list or map member has kind "member". `type` is the catalogue's x-type.
    """

    relations: tuple[str, ...]
    field: str
    kind: str
    type: str
    scope: Literal["own", "outer"] = "own"

    @property
    def text(self) -> str:
        """As written in a rule."""
        return ".".join((*self.relations, self.field))


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; a list of the policy stands here as the tuple of its members."""

    value: Value
    source: str = ""
    """How it was written where that differs (`30m`, `$spike_mitigation`)."""


@dataclass(frozen=True, slots=True)
class ParamRef:
    """`$name`: its value depends on the subject's job, tags, cluster and bucket (overrides)."""

    name: str


@dataclass(frozen=True, slots=True)
class FieldRef:
    """`.field` or `..field`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Calc:
    """`{calc: TEXT}`: an arithmetic tree; `source` is the text as written."""

    root: Arith
    source: str


@dataclass(frozen=True, slots=True)
class Arith:
    """One operation: `+ - * / neg min max abs round_half_up`; operands are operations or right sides."""

    op: str
    args: tuple[Arith | Const | ParamRef | FieldRef, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """`{least: {of, field}}` or `{most: ...}`: the extreme of a field over the members of a relation."""

    which: Literal["least", "most"]
    of: Path
    field: Path


Right = Const | ParamRef | FieldRef | Calc | Pick

# ---------------------------------------------------------------- conditions

Operator = Literal[
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "between",
    "in",
    "not_in",
    "prefix",
    "glob",
    "regex",
    "contains",
    "contains_any",
    "matches",
    "known",
    "unknown",
    "absent",
]


@dataclass(frozen=True, slots=True)
class Compare:
    """The test of a `FIELD: TEST`: an operator and its right sides (two for `between`, none for known/unknown/absent).

    `wanted` is the boolean written after `known`, `unknown` or `absent`. `possible` asks whether some value of an
    interval holds.
    `default` replaces an unknown or absent left side before the test.
    """

    op: Operator
    rights: tuple[Right, ...] = ()
    fold: bool = False
    wanted: bool = True
    possible: bool = False
    default: Const | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Test:
    """`FIELD: TEST`."""

    path: Path
    compare: Compare
    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class All:
    """Kleene conjunction of at least one condition."""

    items: tuple[Condition, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Any:
    """Kleene disjunction of at least one condition."""

    items: tuple[Condition, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Not:
    """Kleene negation."""

    item: Condition
    mark: Mark


@dataclass(frozen=True, slots=True)
class Flagged:
    """`flagged: NAME`: the greatest truth of the rules that raise this flag on this subject."""

    flag: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class RuleIs:
    """`rule: {id, is}`: true when that rule's truth on this subject is the one named, else false; never unknown."""

    id: str
    wanted: Truth
    mark: Mark


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal named in `at_least`; absent where one of its rule's `needs` is absent."""

    name: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class AtLeast:
    """`at_least: {n, of, evaluable, ignoring}` over conditions and signals; `n` or `evaluable` is there."""

    of: tuple[Condition | Signalled, ...]
    n: Right | None
    evaluable: Compare | None
    ignoring: tuple[str, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Quantified:
    """`every | some | count | sum` over a relation, list, map or list of records.

    `of.field` is the relation (with `of.type` "relation") or the list field. `where` selects members (None: all);
    `holds` is what every/some members must satisfy (as a condition on the member); `compare` tests a count or a sum;
    `summed` is the member field of a `sum`. `if_empty` is the truth over no member.
    """

    which: Literal["every", "some", "count", "sum"]
    of: Path
    member_kind: str
    where: Condition | None
    holds: Condition | None
    compare: Compare | None
    summed: Path | None
    if_empty: Truth
    mark: Mark
    text: str


Condition = All | Any | Not | Test | Flagged | RuleIs | AtLeast | Quantified
