"""A policy, loaded: every name resolved, every node with its place in the file.

What the loader promises of these values: names of fields, relations, flags, actions, signals, lists, params, patterns
and rule ids exist; literals have the type of what they are compared with; `all` and `any` are not empty; negation,
`rule:` and aggregates are stratified. The evaluators rely on it and check none of it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Value
from sweeprules.engine.language.origins import Origin, Overlay
from sweeprules.engine.language.terms import (
    All,
    Any,
    Arith,
    AtLeast,
    Calc,
    Compare,
    Condition,
    Const,
    FieldRef,
    Flagged,
    Not,
    Operator,
    ParamRef,
    Path,
    Pick,
    Quantified,
    Right,
    RuleIs,
    Signalled,
    Test,
)

__all__ = [
    "Act",
    "ActionDef",
    "Add",
    "All",
    "Any",
    "Arith",
    "AtLeast",
    "Calc",
    "Choice",
    "Collect",
    "Compare",
    "Condition",
    "Consequence",
    "Const",
    "Exemption",
    "Feature",
    "FeatureKind",
    "FieldRef",
    "FlagDef",
    "Flagged",
    "Hold",
    "Metric",
    "Not",
    "Operator",
    "Override",
    "Param",
    "ParamRef",
    "Path",
    "Pattern",
    "Pick",
    "Policy",
    "Quantified",
    "Raise",
    "Right",
    "Route",
    "Rule",
    "RuleIs",
    "Set",
    "Signal",
    "Signalled",
    "Test",
]

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


FeatureKind = Literal[
    "ratio_to_mean",
    "deviation_from_mean",
    "deviation_from_trend",
    "consecutive",
    "share",
    "slope",
    "since_change",
]


@dataclass(frozen=True, slots=True)
class Feature:
    """A number over a series of a run's steps, read in conditions as the field `name` of a step.

    `series` is a field of a step, of the catalogue or a metric of the policy. The window is the points before the
    current one; `window` and `min_points` are params in points or steps, `floor` is in the unit of the series and
    above 0. `where` is typed against the series and compares with constants and params alone.

    ratio_to_mean, deviation_from_mean, deviation_from_trend: `window`, perhaps `min_points` (None: as many as the
    window) and `floor` (None: a mean of 0 is unknown); a number without a unit. slope: `window`, perhaps
    `min_points`; what the series gains a step. share: `where` and `window`, perhaps `min_points`; a number from 0 to 1.
    consecutive: `where`; an integer, how many points up to and with the current one hold in a row. since_change: none
    of them; the duration since the series took the value that it has. `type` is the x-type of the field.
    """

    name: str
    series: str
    is_: FeatureKind
    window: Right | None
    min_points: Right | None
    floor: Right | None
    where: Compare | None
    mark: Mark
    type: Literal["number", "integer", "duration"] = "number"


@dataclass(frozen=True, slots=True)
class Metric:
    """A field of a step, and the keys under which logs and trackers print it.

    `new` is False where keys are added to a field that the catalogue has. `type` is the x-type of the field: number,
    or duration (unit s), or bytes (unit B).
    """

    name: str
    aliases: tuple[str, ...]
    unit: str
    mark: Mark
    new: bool = True
    type: Literal["number", "duration", "bytes"] = "number"


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a `decide` list; `when` None is `otherwise`."""

    when: Condition | None
    value: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Hold:
    """`for: 2 sweeps`, `for: 3h` or `for: $param`: how long a rule has to hold before it is true.

    One of the two is there, a Const or a ParamRef: `sweeps` counts complete looks, this one included, and is at
    least 2; `seconds` is a duration. Never on rules about a step or a sweep, which are others in the next sweep.
    """

    sweeps: Right | None
    seconds: Right | None
    mark: Mark


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `then` may be empty: the rule then only has a truth.

    `judge` says which steps a rule about a step looks at: those above the newest one that the last complete sweep saw,
    the newest alone, or all.
    """

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
    judge: Literal["new", "latest", "any"] = "new"
    hold: Hold | None = None


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

    `origins` says where each value was written, `overlays` which rules of an earlier layer no longer stand. A rule that
    is disabled is left out, or has no consequences where another one asks for its truth.

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
    features: Mapping[str, Feature] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()
    overlays: tuple[Overlay, ...] = ()
