"""Runs rule tests against the mutants of a policy: what no test notices, no test protects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.equivalence import Twins
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.islands import on_island, side_by_side, unlike
from sweeprules.engine.language.ast import Act, Policy, Raise
from sweeprules.engine.mutate import KINDS, Mutant, mutants
from sweeprules.engine.mutated import Changed, changed
from sweeprules.engine.ruletests import RuleTest, fails, judge_test, subject_of
from sweeprules.engine.testexpect import alike
from sweeprules.engine.testsources import GivenCassette, GivenLog
from sweeprules.engine.truth import TRUE
from sweeprules.engine.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Tried:
    """How the tests took one mutant: how many of them it touches, and the first that noticed; empty when none did.

    `worlds` is 0, or in how many generated worlds a mutant that nobody noticed came to the same as the policy: such a
    one is another way to write it.
    """

    mutant: Mutant
    touched: int
    killed_by: str
    worlds: int = 0

    @property
    def survived(self) -> bool:
        """True when each test passed as before, and it is another policy."""
        return not self.killed_by and not self.worlds

    @property
    def equivalent(self) -> bool:
        """True when no test noticed, and no generated world told it from the policy."""
        return bool(self.worlds)


@dataclass(frozen=True, slots=True)
class Mutation:
    """All mutants that were made, in the order of the policy."""

    tried: tuple[Tried, ...]

    @property
    def survivors(self) -> tuple[Tried, ...]:
        """Those that no test noticed, without the equivalent ones."""
        return tuple(one for one in self.tried if one.survived)

    @property
    def equivalent(self) -> tuple[Tried, ...]:
        """Those that are the policy in other words, as far as generated worlds tell."""
        return tuple(one for one in self.tried if one.equivalent)

    @property
    def made(self) -> Mapping[str, int]:
        """How many mutants were made of each kind; 0 where the policy has nothing of the kind."""
        return {kind: sum(one.mutant.kind == kind for one in self.tried) for kind in KINDS}

    @property
    def score(self) -> float:
        """The share of the mutants that are no equivalents which some test noticed, from 0 to 1; 1 where none is."""
        counted = len(self.tried) - len(self.equivalent)
        return (counted - len(self.survivors)) / counted if counted else 1.0


def mutate(
    policy: Policy,
    catalogue: Catalogue,
    tests: Sequence[RuleTest],
    measured: Callable[[str], bool] = lambda _: True,
    worlds: int = 0,
    more: Callable[[], Sequence[RuleTest]] = tuple,
) -> Mutation:
    """Try every mutant written in a file that is `measured` against the tests that it touches.

    A test is touched when a truth or a value in its world is another than before, or when what was changed is none of
    these and may decide there (a route of an action that is asked for, an exemption of a flag, a consequence, a pattern
    of a line in its log). Each test has to pass with the policy as it is; a mutant is noticed by the first that fails.

    A mutant that none notices is compared with the policy in so many generated `worlds`; 0 compares none. They start
    from the worlds of the tests and of `more` that are not run.
    """
    field_ = _Field(policy, catalogue, tests)

    @cache
    def twins() -> Twins:
        return Twins(policy, catalogue, (*tests, *more()))

    found: list[Tried] = []
    for mutant in mutants(policy):
        if not measured(mutant.mark.file):
            continue
        tried = field_.attempt(mutant)
        if tried.survived and worlds and twins().agree(mutant, worlds):
            tried = replace(tried, worlds=worlds)
        found.append(tried)
    return Mutation(tuple(found))


@dataclass(slots=True)
class _Base:
    """A test as the unchanged policy judges it, and how many mutants it noticed first."""

    test: RuleTest
    verdicts: tuple[Verdict, ...]
    kills: int = 0
    flags: frozenset[str] = field(init=False)
    actions: frozenset[str] = field(init=False)
    named: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        flags = [flag for verdict in self.verdicts for flag in verdict.flags]
        self.flags = frozenset(name for flag in flags for name in (flag.name, *flag.covers))
        self.actions = frozenset(action.name for verdict in self.verdicts for action in verdict.actions)
        self.named = _named(self.test)

    def is_about(self, names: frozenset[str]) -> bool:
        """Does the test expect anything of one of these flags, actions or fields?"""
        return not self.named.isdisjoint(names)

    def reads(self, what: Changed) -> bool:
        """May a log or a recorded sweep of the test say something else by the changed patterns or decisions?"""
        source = self.test.source
        if isinstance(source, GivenLog):
            return any(literal in source.text for literal in what.literals)
        return isinstance(source, GivenCassette) and what.resweeps

    def asks(self, what: Changed) -> bool:
        """Does what was changed, and is no truth, decide anything in this test?"""
        if not self.actions.isdisjoint(what.actions) or not self.flags.isdisjoint(what.flags):
            return True
        if any(rule in verdict.truths for verdict in self.verdicts for rule in what.looks):
            return True
        return any(verdict.truths.get(rule) is TRUE for verdict in self.verdicts for rule in what.effects)


def _named(test: RuleTest) -> frozenset[str]:
    """All flags, actions and fields of which a test expects anything."""
    lists = (
        (
            e.flags or (),
            e.not_flags,
            e.actions or (),
            e.not_actions,
            e.exempt or (),
            e.blocked or (),
            e.templates,
            e.decided,
        )
        for e in test.expects.values()
    )
    return frozenset(name for of_one in lists for names in of_one for name in names)


class _Field:
    """All the tests, each apart and all at once."""

    def __init__(self, policy: Policy, catalogue: Catalogue, tests: Sequence[RuleTest]) -> None:
        self._policy, self._catalogue = policy, catalogue
        self._bases = [_Base(test, tuple(judge_test(test, policy, catalogue).verdicts.values())) for test in tests]
        # What a test fixes by hand makes a policy of its own, which the others do not have.
        self._apart = [i for i, test in enumerate(tests) if test.given.fixed or test.by_hand]
        self._joined = [i for i, test in enumerate(tests) if not (test.given.fixed or test.by_hand)]
        self._islands = side_by_side([(tests[i].given.world, tests[i].held) for i in self._joined])
        self._before = self._islands.judged(policy)

    def attempt(self, mutant: Mutant) -> Tried:
        """Try one mutant on the tests that it touches."""
        what = changed(self._policy, mutant.policy)
        touched = {i for i, base in enumerate(self._bases) if base.reads(what) or base.asks(what)}
        raw = {i for i in touched if self._bases[i].reads(what)}
        if what.nodes:
            touched |= set(self._apart)
            after = self._islands.again(mutant.policy, self._before, what.nodes, what.same)
            refs = unlike(self._before.truths, after, what.nodes)
            moved = {self._islands.owner[ref] for ref in refs}
            touched |= {self._joined[number] for number in moved}
            told = next((i for i in self._told(moved, after, what) if self._joined[i] not in raw), None)
            if told is not None:
                return self._noticed(mutant, touched, self._joined[told])
        about = self._about(what)
        # What is about the change, and noticed most so far, is the likeliest to notice this one too.
        for i in sorted(touched, key=lambda i: (not self._bases[i].is_about(about), -self._bases[i].kills)):
            if fails(self._bases[i].test, mutant.policy, self._catalogue):
                return self._noticed(mutant, touched, i)
        return Tried(mutant, len(touched), "")

    def _about(self, what: Changed) -> frozenset[str]:
        """The flags, actions and decided fields that what was changed brings about itself."""
        rules = [self._policy.rules[node.name] for node in what.nodes if node.what == "rule"]
        rules += [self._policy.rules[name] for name in what.effects]
        names = {effect.flag for rule in rules for effect in rule.then if isinstance(effect, Raise)}
        names |= {effect.action for rule in rules for effect in rule.then if isinstance(effect, Act)}
        fields = {node.name for node in what.nodes if node.what == "field"}
        return frozenset(names | fields | what.flags | what.actions)

    def _noticed(self, mutant: Mutant, touched: set[int], by: int) -> Tried:
        self._bases[by].kills += 1
        return Tried(mutant, len(touched), self._bases[by].test.name)

    def _told(self, moved: set[int], after: Truths, what: Changed) -> Iterator[int]:
        """The tests that expect another truth of a changed rule, or another value of a changed field."""
        for number in sorted(moved):
            test = self._bases[self._joined[number]].test
            for about, expect in test.expects.items():
                for node in what.nodes:
                    ref = subject_of(node.kind, test.given)
                    if ref is None:
                        continue
                    place = on_island(ref, number)
                    if node.what == "rule" and after.truth(node.name, place) is not expect.truth.get(
                        node.name, after.truth(node.name, place)
                    ):
                        yield number
                    elif node.what == "field" and ref == about and node.name in expect.decided:
                        value = after.field(place, node.name)
                        if value is not None and not alike(expect.decided[node.name], value):
                            yield number
