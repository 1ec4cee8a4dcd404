"""What the rules decided: truths, flags, actions, and the proof of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeprules.engine.facts import FactValue, Ref
from sweeprules.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag on one subject; rules that raise the same one share it (highest severity, first id, messages joined).

    `explains` and `explained_by` name flags on the same subject, or `name@kind:key` on another. `covers` are the flags
    for which an exempt one stands. `since` is the id of the first sweep that raised it without a break.
    """

    name: str
    severity: str
    rule: str
    message: str
    exempt: bool = False
    step: int | None = None
    explains: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()
    resolved: bool = False
    since: str = ""
    covers: tuple[str, ...] = ()
    exemption: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """One action on one subject; its causes are the flags behind it, `rules` the rules that asked for it.

    `status` is open, blocked or exempt; `blocked_by` says what is missing, in words. `template` is None when blocked by
    its routes or when the action has none. `args` always hold every argument: an unknown one stays an `Unknown`.
    """

    name: str
    klass: str
    destructive: bool
    args: Mapping[str, FactValue]
    template: str | None
    status: str
    causes: tuple[str, ...]
    rules: tuple[str, ...]
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that was decided about one subject. `decided` holds the fields that rules set (bucket, flavour, tags)."""

    ref: Ref
    truths: Mapping[str, Truth]
    decided: Mapping[str, FactValue]
    flags: tuple[Flag, ...]
    actions: tuple[Action, ...]
    health: str = ""
    exempted: Mapping[str, Truth] = field(default_factory=dict)
    """Exemption id -> truth, for the exemptions whose flags were raised here."""


@dataclass(frozen=True, slots=True)
class FactUse:
    """A fact that a condition read: which subject, which field, what it was."""

    ref: Ref
    name: str
    value: FactValue


@dataclass(frozen=True, slots=True)
class ConditionProof:
    """One condition with its truth: what was there (`actual`), what was needed, and the proofs of its parts.

    `line` is the place of the condition in the policy. `facts` are those that this very node read.
    """

    text: str
    truth: Truth
    actual: str
    needed: str
    line: int
    facts: tuple[FactUse, ...] = ()
    parts: tuple[ConditionProof, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleProof:
    """Why a rule has its truth on a subject: `when`, `unless`, `needs` as condition proofs, and what follows."""

    rule: str
    ref: Ref
    truth: Truth
    file: str
    line: int
    conditions: tuple[ConditionProof, ...]
    consequences: tuple[str, ...]
    why: str = ""
