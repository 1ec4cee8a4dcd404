"""What a run has found so far: which nodes hold of which subjects, and what rules decided of their fields.

What a field is worth once the rules that set it have their truths, and for which reasons an operand is unknown, is
asked of the same functions that the native evaluator asks; the truths that they are given are the ones found here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sweeprules.engine.durable.dnf import Key
from sweeprules.engine.durable.lower import Lowering
from sweeprules.engine.durable.reads import needed
from sweeprules.engine.durable.series import Series
from sweeprules.engine.durable.values import Here, Many, Values
from sweeprules.engine.evaluate import settle
from sweeprules.engine.evaluate.plan import CARRIED, DECIDE_KIND, FEATURE_KIND, Index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Absent, FactValue, Ref, Subject, Unknown, World
from sweeprules.engine.holds import NOTHING_HELD
from sweeprules.engine.holds import Held as States
from sweeprules.engine.language.ast import Add, AtLeast, Hold, Path, Policy, Rule, Set
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, of

Given = Mapping[Ref, Mapping[str, Truth]]
"""Truths of another evaluator, for subjects that could not be encoded."""


class Found:
    """The findings of one run. Subjects in `skipped` have the truths that were given for them, else unknown ones."""

    def __init__(self, policy: Policy, world: World, idx: Index, given: Given, held: States = NOTHING_HELD) -> None:
        self.policy = policy
        self.world = world
        self.index = idx
        self.skipped: dict[Ref, str] = {}
        self.sets: dict[Key, set[Ref]] = {}
        self._given = given
        self._fields: dict[tuple[str, str], dict[Ref, FactValue]] = {}
        self.values = Values(policy, world, self.field)
        self.lowering = Lowering(self.values, self)
        self.series = Series(self.values, self.lowering)
        self._states = held

    # ------------------------------------------------------------ truths

    def holds(self, node: Key, ref: Ref) -> bool:
        """Whether a node is true of a subject."""
        return ref in self.sets.get(node, ())

    def ruled(self, rule: str, ref: Ref) -> Truth:
        """The truth of a rule on a subject; unknown on one that it is not about, or that is not judged."""
        if ref in self.skipped:
            return self._given.get(ref, {}).get(rule, UNKNOWN)
        if self.holds(("rule", rule, "true"), ref):
            return TRUE
        return FALSE if self.holds(("rule", rule, "false"), ref) else UNKNOWN

    def truth(self, rule: str, ref: Ref) -> Truth:
        """The same, by the name that proofs know it under."""
        return self.ruled(rule, ref)

    def flagged(self, flag: str, subject: Subject) -> Truth:
        """The greatest truth of the rules that raise a flag on a subject."""
        truths = [FALSE]
        for rule in self.index.raisers.get(flag, ()):
            if rule.on == subject.ref.kind:
                truths.append(self.ruled(rule.id, subject.ref))
            elif self._carries(rule.on, flag, subject.ref.kind):
                truths.append(self.carried(rule.id, subject))
        return max(truths)

    def _carries(self, on: str, flag: str, kind: str) -> bool:
        """Whether a flag that a rule about `on` raises stands on what that belongs to; some stand where they are."""
        return on in CARRIED and CARRIED[on][1] == kind and on not in self.policy.flags[flag].subjects

    def carried(self, rule: str, subject: Subject) -> Truth:
        """The greatest truth of a rule over a job's steps or run; unknown where some were not read."""
        _, to, back = CARRIED[self.policy.rules[rule].on]
        members = self.values.many(Path((), back, to, "relation"), subject)
        if not isinstance(members, Many):
            return UNKNOWN if isinstance(members, Unknown) else FALSE
        about = self.policy.rules[rule]
        judged = [m for m in members.items if isinstance(m, Subject) and m.judged]
        if about.on == FEATURE_KIND:
            judged = [step for step in judged if self.series.looks(about, step)]
        truths = [self.ruled(rule, member.ref) for member in judged]
        return max([UNKNOWN if members.open else FALSE, *truths])

    def held(self, rule: str, hold: Hold, subject: Subject) -> Truth:
        """Whether a rule that is true now has been so for long enough."""
        here = Here(subject)
        now = self.values.path(Path(("sweep",), "now", "sweep", "time"), here)
        return self.series.held(hold, here, self._states.get((rule, subject.ref)), now)

    def signalled(self, signal: str, subject: Subject) -> Truth | None:
        """The truth of a signal; None where every rule that gives it needs something that is absent."""
        if not subject.judged:
            return UNKNOWN
        truths = [self._given_by(r, subject) for r in self.index.signallers.get((subject.ref.kind, signal), ())]
        there = [truth for truth in truths if truth is not None]
        return max(there) if there else None

    def _given_by(self, rule: Rule, subject: Subject) -> Truth | None:
        needs = [self.values.path(needed(rule, name), Here(subject)) for name in rule.needs]
        if any(isinstance(need, Absent) for need in needs):
            return None
        return UNKNOWN if any(isinstance(n, Unknown) for n in needs) else self.ruled(rule.id, subject.ref)

    def blocked(self, condition: AtLeast, here: Here) -> Truth:
        """Whether an operand can not be told for a reason that is not ignored; the reasons are those of its proof."""
        # A prover asks for truths and decided fields by name, which is what this object answers.
        prover = Prover(self.policy, self.world, cast("Truths", self), self.index, self._states)
        return of(prover.blocked(condition, _scope(here)))

    # ------------------------------------------------------------ decided fields

    def field(self, ref: Ref, name: str) -> FactValue | None:
        """The decided value of a field; None for one that no rule decides, or of a subject that is not judged."""
        values = self._fields.get((ref.kind, name))
        return None if values is None else values.get(ref)

    def decide(self, kind: str, name: str) -> None:
        """Give a decided field its value on every judged subject of its kind, a feature on every step."""
        if (kind, name) in self.index.features:
            steps = [s for s in self.world.subjects.values() if s.ref.kind == kind]
            self._fields[kind, name] = {s.ref: self.series.feature(self.policy.features[name], s) for s in steps}
            return
        subjects = [s for s in self.world.subjects.values() if s.judged and s.ref.kind == kind]
        listed = "bucket" if name == "bucket_sure" else name
        if kind == DECIDE_KIND and listed in self.policy.decide:
            found = {s.ref: self._first(listed, s) for s in subjects}
            self._fields[kind, name] = {ref: both[name == "bucket_sure"] for ref, both in found.items()}
        else:
            self._fields[kind, name] = {s.ref: self._settled(name, s) for s in subjects}

    def _first(self, name: str, subject: Subject) -> tuple[FactValue, FactValue]:
        here = Here(subject)
        claims = []
        for choice in self.policy.decide[name]:
            truth = TRUE if choice.when is None else self.lowering.truth(choice.when, here)
            claims.append((truth, choice.value))
            if truth is TRUE:
                break
        return settle.decide(claims, forgiving=name == "bucket")

    def _settled(self, name: str, subject: Subject) -> FactValue:
        sets: list[settle.Claim] = []
        adds: list[settle.Claim] = []
        adding = False
        for rule in self.index.setters[subject.ref.kind, name]:
            for effect in rule.then:
                if isinstance(effect, Set | Add) and effect.field == name:
                    adding = adding or isinstance(effect, Add)
                    truth = self.ruled(rule.id, subject.ref)
                    if truth is not FALSE:
                        value = self.values.right(effect.right, Here(subject))
                        (adds if isinstance(effect, Add) else sets).append((truth, value))
        value = settle.settle_set(subject.get(name), sets)
        return settle.settle_add(value, bool(sets) or name in subject.facts, adds) if adding else value


def _scope(here: Here) -> Scope:
    return Scope(here.item, None if here.around is None else _scope(here.around))
