"""Is a mutant the policy in other words? Both judge generated worlds, aimed at what was changed, until they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.draws import Draws
from sweeprules.engine.evaluate.plan import Node
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.generated import Aim, Worlds
from sweeprules.engine.holds import Held
from sweeprules.engine.islands import side_by_side, unlike
from sweeprules.engine.language.ast import Pattern, Policy
from sweeprules.engine.mutate import Mutant
from sweeprules.engine.mutated import Changed, changed, raised_by
from sweeprules.engine.ruletests import RuleTest
from sweeprules.engine.testasks import ByHand
from sweeprules.engine.testsources import GivenLog
from sweeprules.engine.testwriting import reads
from sweeprules.engine.verdicts import Verdict

_BATCHES = (100, 400, 1500)
"""Worlds that are judged at once: few at first, since most mutants that are no twins differ soon."""


class Twins:
    """Compares mutants with their policy; the worlds start from those of the tests and are the same at each run."""

    def __init__(self, policy: Policy, catalogue: Catalogue, tests: Sequence[RuleTest]) -> None:
        self._policy, self._catalogue = policy, catalogue
        self._tests = tests
        self._worlds = Worlds(policy, catalogue, [(test.given.world, test.held) for test in tests])

    def agree(self, mutant: Mutant, count: int) -> bool:
        """Do both come to the same flags, actions, decided fields and health in each of `count` worlds?

        False too where these worlds prove nothing: none of them has what is read there, or a changed rule is true in
        none, so that something else in it may hide the change.
        """
        what = changed(self._policy, mutant.policy)
        draws = Draws(f"{mutant.mark} {mutant.text}")
        if not self._tests:
            return False
        if what.literals:
            return self._read_alike(mutant, draws, count)
        asking = self._asking(what)
        if asking and not self._routed_alike(mutant, what, asking, draws, count):
            return False
        if not what.nodes and not raised_by(self._policy, what):
            # No rule reads it or leads to it, so no world of facts can tell, unless a test asks for the action itself.
            return bool(asking)
        if any(rule.judge != self._policy.rules[rule.id].judge for rule in mutant.policy.rules.values()):
            # Which steps were seen before is not generated.
            return False
        aim = self._worlds.aim(mutant.policy, what)
        unproved = {node for node in what.nodes if node.what == "rule"}
        for size in _sizes(count) if aim.seeds else ():
            held = self._alike(mutant, what, aim, draws, size)
            if held is None:
                return False
            unproved -= held
        return bool(aim.seeds) and not unproved

    def _alike(self, mutant: Mutant, what: Changed, aim: Aim, draws: Draws, size: int) -> set[Node] | None:
        """The changed rules that are true in one of so many worlds; None where the policies differ in one."""
        made = [self._worlds.one(draws, aim) for _ in range(size)]
        islands = side_by_side(made)
        goals = what.nodes | raised_by(self._policy, what)
        before = islands.part(self._policy, goals)
        found: dict[int, None] = {}
        if what.nodes:
            after = islands.again(mutant.policy, before, what.nodes, what.same)
            found = {islands.owner[ref]: None for ref in unlike(before.truths, after, what.nodes)}
        for node in raised_by(self._policy, what):
            found |= {islands.owner[ref]: None for ref in before.truths.not_false(node.name, node.kind)}
        if not all(self._same_verdicts(mutant, [made[i] for i in part]) for part in _parts(sorted(found))):
            return None
        return {node for node in what.nodes if node.what == "rule" and before.truths.true(node.name, node.kind)}

    def _same_verdicts(self, mutant: Mutant, made: Sequence[tuple[World, Held]]) -> bool:
        islands = side_by_side(made)
        old = self._outcome(self._policy, islands.world, islands.held)
        return old == self._outcome(mutant.policy, islands.world, islands.held)

    def _asking(self, what: Changed) -> list[int]:
        """The tests, all about one kind, that ask by hand for an action of which the routes are changed."""
        found = [i for i, test in enumerate(self._tests) if test.by_hand and what.actions & set(test.by_hand.actions)]
        kinds = [self._tests[i].given.about.kind for i in found]
        return [i for i, kind in zip(found, kinds, strict=True) if kind == kinds[0]]

    def _routed_alike(self, mutant: Mutant, what: Changed, asking: Sequence[int], draws: Draws, count: int) -> bool:
        """Do both hand an action over on the same page wherever a test asks for it, whether or not a rule does?"""
        first = self._tests[asking[0]]
        kind, asked = first.given.about.kind, ByHand((), tuple(sorted(what.actions)), first.mark)
        aim = replace(self._worlds.aim(mutant.policy, what), seeds=asking)
        # Fields that the policy decides are facts of these worlds, so that each route meets all that it asks about.
        bare = (replace(policy, rules={}, decide={}, exemptions=()) for policy in (self._policy, mutant.policy))
        old, new = (asked.under(policy, kind) for policy in bare)
        for size in _sizes(count):
            islands = side_by_side([self._worlds.one(draws, aim) for _ in range(size)])
            if self._outcome(old, islands.world, {}) != self._outcome(new, islands.world, {}):
                return False
        return True

    def _outcome(self, policy: Policy, world: World, held: Held) -> object:
        verdicts = judge(policy, world, self._catalogue, held=held)
        return {ref: (_public(verdict), self._bare(verdict)) for ref, verdict in verdicts.items()}

    def _bare(self, verdict: Verdict) -> object:
        """The truths of the rules that are there for their truth alone."""
        rules = self._policy.rules
        return {name: truth for name, truth in verdict.truths.items() if name in rules and not rules[name].then}

    # ------------------------------------------------------------ patterns

    def _read_alike(self, mutant: Mutant, draws: Draws, count: int) -> bool:
        """The same over texts of logs; where no test has one, nothing can be told."""
        logged = [(test, test.source) for test in self._tests if isinstance(test.source, GivenLog)]
        unlike_patterns = [
            (one, mutant.policy.patterns[name])
            for name, one in self._policy.patterns.items()
            if mutant.policy.patterns[name] is not one
        ]
        if not logged:
            return False
        lines = [line for _, source in logged for line in source.text.splitlines()]
        facts = reads(self._policy).facts
        seen: set[str] = set()
        for _ in range(count):
            test, source = draws.pick(logged)
            log = replace(source, text=_text(draws, lines, [one for pair in unlike_patterns for one in pair]))
            differs = sorted(_differing(log, unlike_patterns))
            key = f"{test.mark} {differs}"
            if not {("job", name) for name, _ in differs} & facts or key in seen:
                continue
            seen.add(key)
            old, new = log.under(self._policy), log.under(mutant.policy)
            mine = self._outcome(self._policy, old.world, test.held)
            if mine != self._outcome(mutant.policy, new.world, test.held):
                return False
        return True


def _parts(found: Sequence[int]) -> Iterator[Sequence[int]]:
    """A few at first: a difference shows soon, or not at all."""
    at, size = 0, 4
    while at < len(found):
        yield found[at : at + size]
        at, size = at + size, min(size * 4, 400)


def _sizes(count: int) -> Iterator[int]:
    for size in _BATCHES:
        if count > 0:
            yield min(size, count)
        count -= size
    while count > 0:
        yield min(_BATCHES[-1], count)
        count -= _BATCHES[-1]


def _public(verdict: Verdict) -> object:
    flags = [
        (flag.name, flag.severity, flag.exempt, flag.step, flag.resolved, flag.covers, flag.explained_by)
        for flag in verdict.flags
    ]
    actions = [(one.name, one.status, one.template, one.causes, dict(one.args)) for one in verdict.actions]
    return flags, actions, dict(verdict.decided), verdict.health


def _text(draws: Draws, lines: Sequence[str], patterns: Sequence[Pattern]) -> str:
    """A few lines of logs, with and without what the patterns look for."""
    found: list[str] = []
    for _ in range(1 + draws.below(4)):
        line = draws.pick(lines) if lines else ""
        literal = draws.pick(patterns).literal
        words = line.split(" ")
        words.insert(draws.below(len(words) + 1), literal)
        found.append(draws.pick([line, literal, f"{literal} {draws.below(100)}", " ".join(words)]))
    return "\n".join(found) + "\n"


def _differing(log: GivenLog, pairs: Sequence[tuple[Pattern, Pattern]]) -> Iterator[tuple[str, str]]:
    """The facts that the log gives otherwise by the other patterns, with the value then."""
    facts = log.bare.world.subjects[log.bare.about].facts
    old = log.read(log.text, facts, {one.name: one for one, _ in pairs})
    new = log.read(log.text, facts, {one.name: one for _, one in pairs})
    for first, second in ((old.said, new.said), (old.implied, new.implied)):
        for name in first.keys() | second.keys():
            if first.get(name) != second.get(name):
                yield name, repr(second.get(name))
