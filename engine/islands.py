"""Many small worlds side by side in one, so that a policy judges them all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeprules.engine.evaluate.native import Native
from sweeprules.engine.evaluate.plan import Node
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import FactValue, Ref, Subject, World
from sweeprules.engine.holds import Held, HoldState, Key
from sweeprules.engine.language.ast import Policy


@dataclass(frozen=True, slots=True)
class Islands:
    """Worlds that know nothing of each other. `owner` tells to which of them a subject of the whole belongs."""

    world: World
    held: Held
    owner: Mapping[Ref, int]

    def judged(self, policy: Policy) -> Native:
        """All of them under a policy."""
        native = Native(policy, self.world, self.held)
        native.run()
        return native

    def again(self, policy: Policy, before: Native, goals: frozenset[Node], same: frozenset[Node]) -> Truths:
        """The goals alone under another policy; what is the `same` is taken from the evaluation `before`."""
        native = Native(policy, self.world, self.held)
        return native.run(native.plan.closure(goals), before, same)

    def part(self, policy: Policy, goals: frozenset[Node]) -> Native:
        """The goals and what they build on, alone."""
        native = Native(policy, self.world, self.held)
        native.run(native.plan.closure(goals))
        return native


def on_island(ref: Ref, number: int) -> Ref:
    """A subject of the world with this number, in the whole."""
    return Ref(ref.kind, f"{ref.key}#{number}")


def side_by_side(worlds: Sequence[tuple[World, Held]]) -> Islands:
    """The worlds as one. A job keeps its facts, except that its `key` is its key there."""
    subjects: dict[Ref, Subject] = {}
    held: dict[Key, HoldState] = {}
    owner: dict[Ref, int] = {}
    for number, (world, states) in enumerate(worlds):
        for subject in _moved(world, number):
            subjects[subject.ref] = subject
            owner[subject.ref] = number
        held.update({(rule, on_island(ref, number)): state for (rule, ref), state in states.items()})
    return Islands(World(subjects), held, owner)


def _moved(world: World, number: int) -> Iterator[Subject]:
    names = {ref: on_island(ref, number) for ref in world.subjects}
    for ref, subject in world.subjects.items():
        relations = {
            name: replace(relation, members=tuple(names.get(one, one) for one in relation.members))
            for name, relation in subject.relations.items()
        }
        facts: Mapping[str, FactValue] = subject.facts
        if ref.kind == "job" and "key" in facts:
            facts = {**facts, "key": names[ref].key}
        yield replace(subject, ref=names[ref], facts=facts, relations=relations)


def unlike(old: Truths, new: Truths, nodes: frozenset[Node]) -> Iterator[Ref]:
    """The subjects on which one of the nodes has another truth or value; some more than once."""
    for node in nodes:
        before, after = old.tables.get(node.kind), new.tables.get(node.kind)
        if before is None or after is None:
            continue
        first: Sequence[object] | None
        second: Sequence[object] | None
        if node.what == "rule":
            first, second = before.columns.get(node.name), after.columns.get(node.name)
        else:
            first, second = before.fields.get(node.name), after.fields.get(node.name)
        if first is None or second is None:
            yield from (subject.ref for subject in before.subjects if first is not second)
        elif first != second:
            pairs = zip(before.subjects, first, second, strict=True)
            yield from (subject.ref for subject, one, other in pairs if one is not other and one != other)
