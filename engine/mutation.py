"""Runs rule tests against the mutants of a policy: what no test notices, no test protects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import NamedTuple

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.plan import Index, index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import Condition, ParamRef, Policy
from sweeprules.engine.mutate import KINDS, Mutant, mutants
from sweeprules.engine.ruletests import Judged, RuleTest, judge_test, run_rule_test
from sweeprules.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class Tried:
    """How the tests took one mutant: how many of them it touches, and the first that noticed; empty when none did."""

    mutant: Mutant
    touched: int
    killed_by: str

    @property
    def survived(self) -> bool:
        """True when each test passed as before."""
        return not self.killed_by


@dataclass(frozen=True, slots=True)
class Mutation:
    """All mutants that were made, in the order of the policy."""

    tried: tuple[Tried, ...]

    @property
    def survivors(self) -> tuple[Tried, ...]:
        """Those that no test noticed."""
        return tuple(one for one in self.tried if one.survived)

    @property
    def made(self) -> Mapping[str, int]:
        """How many mutants were made of each kind; 0 where the policy has nothing of the kind."""
        return {kind: sum(one.mutant.kind == kind for one in self.tried) for kind in KINDS}


def mutate(
    policy: Policy, catalogue: Catalogue, tests: Sequence[RuleTest], measured: Callable[[str], bool] = lambda _: True
) -> Mutation:
    """Try every mutant written in a file that is `measured` against the tests that it touches.

    A test is touched when, in its world, a condition of the mutant has another truth than before, or when what was
    changed is no condition but decides there (a route of an action that is asked for, an exemption, a parameter of a
    feature). Each test has to pass with the policy as it is; a mutant is noticed by the first that then fails.
    """
    bases = [_Base(test, judge_test(test, policy, catalogue), index(policy)) for test in tests]
    whole = dict(_conditions(policy))
    return Mutation(tuple(_try(m, policy, whole, bases, catalogue) for m in mutants(policy) if measured(m.mark.file)))


def _try(
    mutant: Mutant, policy: Policy, whole: Mapping[_Place, _On], bases: Sequence[_Base], catalogue: Catalogue
) -> Tried:
    touches = _touches(mutant, policy, whole)
    touched = [base for base in bases if touches(base)]
    # What noticed most so far is the likeliest to notice this one too.
    touched.sort(key=lambda base: -base.kills)
    for base in touched:
        if run_rule_test(base.test, mutant.policy, catalogue).status == "failed":
            base.kills += 1
            return Tried(mutant, len(touched), base.test.name)
    return Tried(mutant, len(touched), "")


# ---------------------------------------------------------------- which tests a mutant touches


class _Place(NamedTuple):
    """Where a condition stands: in a rule, decision, exemption or route, of which name, and which one there."""

    section: str
    name: str
    part: int


class _On(NamedTuple):
    kind: str
    condition: Condition


def _conditions(policy: Policy) -> Iterator[tuple[_Place, _On]]:
    for rule in policy.rules.values():
        for part, condition in enumerate((rule.when, rule.unless)):
            if condition is not None:
                yield _Place("rule", rule.id, part), _On(rule.on, condition)
    for name, choices in policy.decide.items():
        for part, choice in enumerate(choices):
            if choice.when is not None:
                yield _Place("decide", name, part), _On("job", choice.when)
    for one in policy.exemptions:
        yield _Place("exemption", one.id, 0), _On(one.on, one.when)


class _Base:
    """A test as the unchanged policy judges it, with the truths of its conditions as far as they were asked for."""

    def __init__(self, test: RuleTest, judged: Judged, idx: Index) -> None:
        self.test, self.judged, self.kills = test, judged, 0
        self.refs: dict[str, list[Ref]] = {}
        for subject in test.given.world.subjects.values():
            if subject.judged:
                self.refs.setdefault(subject.ref.kind, []).append(subject.ref)
        self.actions = frozenset(action.name for v in judged.verdicts.values() for action in v.actions)
        self._prover = Prover(judged.policy, test.given.world, judged.truths, idx)
        self._known: dict[_Place, list[Truth]] = {}

    def before(self, place: _Place, on: _On) -> list[Truth]:
        """The truths of a condition of the unchanged policy on each subject."""
        if place not in self._known:
            self._known[place] = self.truths(self._prover, on)
        return self._known[place]

    def after(self, policy: Policy, idx: Index) -> Prover:
        """Proves conditions of another policy over what this one decided."""
        return Prover(policy, self.test.given.world, self.judged.truths, idx)

    def truths(self, prover: Prover, on: _On) -> list[Truth]:
        """The truths of a condition on each subject of its kind."""
        subjects = self.test.given.world.subjects
        return [prover.condition(on.condition, Scope(subjects[ref])).truth for ref in self.refs.get(on.kind, ())]


def _touches(mutant: Mutant, policy: Policy, whole: Mapping[_Place, _On]) -> Callable[[_Base], bool]:
    changed = mutant.policy
    actions = {name for name in policy.routes if changed.routes[name] is not policy.routes[name]}
    others = dict(_conditions(changed))
    pairs = {place: on for place, on in others.items() if place in whole and on.condition is not whole[place].condition}
    names = {name for name in policy.params if changed.params[name] is not policy.params[name]}
    if names:
        pairs |= {place: on for place, on in others.items() if _mentions(on.condition, names)}
    if others.keys() != whole.keys() or changed.patterns is not policy.patterns or _elsewhere(policy, names):
        return lambda _: True
    if changed.exemptions is not policy.exemptions and not pairs:
        return lambda _: True
    idx = index(changed)

    def touches(base: _Base) -> bool:
        if actions & base.actions:
            return True
        prover = base.after(changed, idx)
        return any(base.before(place, whole[place]) != base.truths(prover, on) for place, on in pairs.items())

    return touches


def _elsewhere(policy: Policy, names: set[str]) -> bool:
    """Does something that is no condition of a rule, decision or exemption read one of these parameters?"""
    rest: list[object] = [policy.features, policy.routes]
    rest += [part for rule in policy.rules.values() for part in (rule.hold, rule.then)]
    return bool(names) and _mentions(tuple(rest), names)


def _mentions(node: object, names: set[str]) -> bool:
    if isinstance(node, ParamRef):
        return node.name in names
    if isinstance(node, Mapping):
        return any(_mentions(item, names) for item in node.values())
    if isinstance(node, tuple):
        return any(_mentions(item, names) for item in node)
    return is_dataclass(node) and any(_mentions(getattr(node, spec.name), names) for spec in fields(node))
