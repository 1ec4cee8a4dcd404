"""A policy, loaded: every name resolved, every node with its place in the file.

What the loader promises of these values: names of fields, relations, flags, actions, signals, lists, params, patterns
and rule ids exist; literals have the type of what they are compared with; `all` and `any` are not empty; negation,
`rule:` and aggregates are stratified. The evaluators rely on it and check none of it again.
"""

from __future__ import annotations

from collections.abc import Mapping
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

# ---------------------------------------------------------------- consequences


@dataclass(frozen=True, slots=True)
class Set:
    """`set: {FIELD: RIGHT}` (one per field)."""

    field: str
    right: Right
    mark: Mark


@dataclass(frozen=True, slots=True)
class Add:
    """`add: {FIELD: RIGHT}`: adds a member to a list field."""

    field: str
    right: Right
    mark: Mark


@dataclass(frozen=True, slots=True)
class Raise:
    """`flag: NAME`, with the severity it is raised at, whether it is a resolved one, and what it says."""

    flag: str
    severity: str
    resolved: bool
    say: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Signal:
    """`signal: NAME`: the rule's truth becomes the signal's on this subject."""

    name: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Collect:
    """`{collect: FIELD, of: RELATION, where: CONDITION}`: the field of the members that hold."""

    field: Path
    of: Path
    member_kind: str
    where: Condition | None


@dataclass(frozen=True, slots=True)
class Act:
    """`action: NAME` with its args."""

    action: str
    args: Mapping[str, Right | Collect | tuple[Right, ...]]
    mark: Mark


Consequence = Set | Add | Raise | Signal | Act

# ---------------------------------------------------------------- the policy


@dataclass(frozen=True, slots=True)
class Override:
    """One `for:` row of a param: what it matches and the value there."""

    match: Mapping[str, str]
    value: Value
    mark: Mark


@dataclass(frozen=True, slots=True)
class Param:
    """A threshold: its default, unit, why, and overrides. Durations are seconds."""

    name: str
    default: Value
    unit: str
    why: str
    overrides: tuple[Override, ...]
    mark: Mark
    source: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a log line means: a literal that must be there, a linear-time regex, a kind, typed fields."""

    name: str
    kind: Literal["fault", "benign", "progress", "metric", "rung", "marker"]
    literal: str
    regex: str
    fields: Mapping[str, str]
    order: int | None
    never_means: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a `decide` list; `when` None is `otherwise`."""

    when: Condition | None
    value: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `then` may be empty: the rule then only has a truth."""

    id: str
    on: str
    when: Condition
    then: tuple[Consequence, ...]
    mark: Mark
    needs: tuple[str, ...] = ()
    unless: Condition | None = None
    if_unknown: Literal["hold", "fire"] = "hold"
    explains: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    stage: Literal["", "suspect"] = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Exemption:
    """Changes what is done about flags, never what is seen. `expires` is epoch seconds."""

    id: str
    on: str
    when: Condition
    flags: tuple[str, ...]
    as_flag: str | None
    say: str
    owner: str
    expires: float | None
    why: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Route:
    """One line of an action's routes; `template` None is `blocked` with `say`. `when` None is `otherwise`."""

    when: Condition | None
    template: str | None
    say: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class FlagDef:
    """A flag's fixed properties, from the catalogue or a site's `flags:`."""

    name: str
    subjects: tuple[str, ...]
    severity: str
    severities: tuple[str, ...]
    exemptible: bool
    explains: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class ActionDef:
    """An action's class, whether it destroys, its proofs, templates and the names of its args."""

    name: str
    klass: str
    destructive: bool
    proofs: tuple[str, ...]
    templates: tuple[str, ...]
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """The effective policy of a site. `sha256` is over the effective policy and schemas, comments left out.

    `order` is the strata: rule ids and decided fields (as `decide:bucket`) in an order in which each stands after
    what it builds on; the members of one stratum depend on each other only positively.
    """

    params: Mapping[str, Param]
    lists: Mapping[str, tuple[Value, ...]]
    patterns: Mapping[str, Pattern]
    decide: Mapping[str, tuple[Choice, ...]]
    rules: Mapping[str, Rule]
    exemptions: tuple[Exemption, ...]
    routes: Mapping[str, tuple[Route, ...]]
    flags: Mapping[str, FlagDef]
    actions: Mapping[str, ActionDef]
    order: tuple[tuple[str, ...], ...]
    sha256: str
