"""Worlds for telling two policies apart: those of rule tests with other values where the policies differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeprules.engine.catalogue import Catalogue, FieldDef
from sweeprules.engine.draws import Draws
from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.evaluate.effects import needed_path
from sweeprules.engine.evaluate.plan import Node, index, plan
from sweeprules.engine.facts import (
    ABSENT,
    Completeness,
    FactValue,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    Value,
    World,
)
from sweeprules.engine.holds import Held
from sweeprules.engine.islands import side_by_side
from sweeprules.engine.language.ast import Const, ParamRef, Policy, Test
from sweeprules.engine.language.walk import within
from sweeprules.engine.mutated import Changed, raised_by
from sweeprules.engine.reckoned import Limit, limits, worth
from sweeprules.engine.testwriting import paths

Place = tuple[str, str]
"""A kind and one of its fields."""

_UNREAD = Unknown(Reason.NOT_READ)
_NEAR, _FAR, _RELATED, _DOUBLED = 0.4, 0.08, 0.1, 0.3
"""How often a fact is changed that the mutated place reads itself, one behind it, a relation; how often it grows."""
_CLOSE = 0.5
"""How often a world starts where the mutated place holds: elsewhere a condition beside it may hide what it says."""
_RECKONED = 0.25
"""How often a field is put beside a limit that is reckoned from others."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is worth changing: fields that are read there, fields on which these build, relations; where to start.

    `seeds` are worlds in which there is what is read, none where no test has it; in those that are `close` one of the
    rules at the changed place is true as they are. `limits` are reckoned there, under one of the `policies`.
    """

    near: Mapping[Place, Sequence[FactValue]]
    far: Mapping[Place, Sequence[FactValue]]
    relations: frozenset[str]
    seeds: Sequence[int]
    close: Sequence[int]
    limits: Sequence[Limit]
    policies: Sequence[Policy]


class Worlds:
    """Makes worlds from those of tests; an equal generator of numbers makes equal worlds."""

    def __init__(self, policy: Policy, catalogue: Catalogue, seeds: Sequence[tuple[World, Held]]) -> None:
        self._policy, self._catalogue, self._seeds = policy, catalogue, seeds
        self._islands = side_by_side(seeds)
        self._judged = self._islands.judged(policy).truths
        self._seen: dict[Place, dict[str, FactValue]] = {}
        for world, _ in seeds:
            for ref, subject in world.subjects.items():
                for name, value in subject.facts.items():
                    self._seen.setdefault((ref.kind, name), {})[repr(value)] = value

    def aim(self, mutant: Policy, what: Changed) -> Aim:
        """What a mutant changes, and what that builds on."""
        needs = plan(self._policy, index(self._policy)).needs
        goals = what.nodes | raised_by(self._policy, what)
        own: list[object] = [_said(self._policy, node) for node in goals]
        own += [_said(mutant, node) for node in what.nodes]
        own += [self._policy.routes[name] for name in what.actions]
        own += [one for one in self._policy.exemptions if not what.flags.isdisjoint(one.flags)]
        behind = [_said(self._policy, node) for goal in goals for node in needs.get(goal, ())]
        values = _Values([self._policy, mutant])
        near = self._places(own, values)
        relations = frozenset(name for part in own for path in paths(part) for name in (*path.relations, path.field))
        fitting = [i for i, (world, _) in enumerate(self._seeds) if self._fits(world, near)]
        far = {place: pool for place, pool in self._places(behind, values).items() if place not in near}
        held = self._held_by(goals)
        close = [i for i in fitting if i in held]
        return Aim(near, far, relations, fitting, close, tuple(limits(tuple(own))), (self._policy, mutant))

    def _held_by(self, goals: Iterable[Node]) -> set[int]:
        """The seeds in which one of these rules is true."""
        refs = (ref for goal in goals if goal.what == "rule" for ref in self._judged.true(goal.name, goal.kind))
        return {self._islands.owner[ref] for ref in refs}

    def _fits(self, world: World, near: Mapping[Place, object]) -> bool:
        kinds = {ref.kind for ref in world.subjects}
        return all(kind in kinds for kind, _ in near if kind in self._catalogue.kinds)

    def _places(self, parts: Sequence[object], values: _Values) -> dict[Place, Sequence[FactValue]]:
        found: dict[Place, Sequence[FactValue]] = {}
        for place in sorted({place for part in parts for place in _read(part)}):
            kind = self._catalogue.kinds.get(place[0])
            definition = kind.fields.get(place[1]) if kind is not None else None
            seen = self._seen.get(place, {})
            pool = [*_longer(list(seen.values())), *values.of(place, definition), ABSENT, _UNREAD]
            if kind is not None:
                found[place] = pool
        return found

    def one(self, draws: Draws, aim: Aim) -> tuple[World, Held]:
        """The next world."""
        seeds = aim.close if aim.close and draws.chance(_CLOSE) else aim.seeds
        world, held = self._seeds[draws.pick(seeds)]
        subjects = self._more(world.subjects, draws, aim)
        return World({ref: self._other(subject, draws, aim) for ref, subject in subjects.items()}), held

    def _more(self, subjects: Mapping[Ref, Subject], draws: Draws, aim: Aim) -> Mapping[Ref, Subject]:
        """The subjects with a second one where a relation that counts may have many."""
        found = dict(subjects)
        for ref, subject in subjects.items():
            for name in sorted(aim.relations & subject.relations.keys()):
                relation = subject.relations[name]
                if not self._catalogue.kinds[ref.kind].relations[name].many or not draws.chance(_DOUBLED):
                    continue
                for member in relation.members[:1]:
                    copy = Ref(member.kind, f"{member.key}~{len(found)}")
                    found[copy] = replace(found[member], ref=copy)
                    doubled = {**subject.relations, name: replace(relation, members=(*relation.members, copy))}
                    found[ref] = replace(found[ref], relations=doubled)
        return found

    def _other(self, subject: Subject, draws: Draws, aim: Aim) -> Subject:
        facts = dict(subject.facts)
        for places, share in ((aim.near, _NEAR), (aim.far, _FAR)):
            for (kind, name), pool in places.items():
                if kind == subject.ref.kind and draws.chance(share):
                    facts[name] = draws.pick(pool)
        for limit in aim.limits:
            if limit.kind == subject.ref.kind and draws.chance(_RECKONED):
                # What a limit comes to where other fields are as they are now is in no pool.
                reckoned = worth(limit, replace(subject, facts=facts), aim.policies)
                beside = [value for one in reckoned for value in _around(one, None)]
                facts |= {limit.field: draws.pick(beside)} if beside else {}
        relations = dict(subject.relations)
        for name in sorted(aim.relations & relations.keys()):
            if draws.chance(_RELATED):
                relations[name] = _less(relations[name], draws)
        return replace(subject, facts=facts, relations=relations)


def _longer(values: list[FactValue]) -> list[FactValue]:
    """The values, and of lists also two in one."""
    lists = [value for value in values if isinstance(value, tuple) and value]
    return [*values, *(one + other for one in lists[:12] for other in lists[:12] if one != other)]


def _less(relation: Relation, draws: Draws) -> Relation:
    """A relation of which a member is not there, or that was not read whole."""
    if draws.chance(0.5):
        return Relation((), Completeness.UNKNOWN, Reason.NOT_READ)
    return replace(relation, members=relation.members[: draws.below(len(relation.members) + 1)])


def _said(policy: Policy, node: Node) -> object:
    if node.what == "rule":
        rule = policy.rules[node.name]
        return rule, tuple(needed_path(name, rule.on) for name in rule.needs)
    name = "bucket" if node.name == "bucket_sure" else node.name
    return policy.decide.get(name, ()), policy.features.get(name, ())


def _read(part: object) -> Iterator[Place]:
    for path in paths(part):
        if path.type != "relation":
            yield path.kind, path.field
    yield from _series(part)


def _series(part: object) -> Iterator[Place]:
    for item in part if isinstance(part, tuple) else (part,):
        series = getattr(item, "series", None)
        if isinstance(series, str):
            yield "step", series


class _Values:
    """Values around which fields are compared somewhere in some policies."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._constants: dict[Place, dict[str, Value]] = {}
        for policy in policies:
            for part in within((policy.rules, policy.decide, policy.exemptions, policy.routes)):
                if isinstance(part, Test):
                    self._test(part, policy)

    def _test(self, test: Test, policy: Policy) -> None:
        values = [*_worth(test.compare.rights, policy)]
        found = self._constants.setdefault((test.path.kind, test.path.field), {})
        found.update({repr(value): value for value in values})
        # Beside a field that is always large a parameter in one `max` with it would decide nothing.
        small = [value / 100 for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        for path in paths(test.compare.rights):
            self._constants.setdefault((path.kind, path.field), {}).update({repr(value): value for value in small})

    def of(self, place: Place, definition: FieldDef | None) -> list[FactValue]:
        """Values of a field on both sides of each of them, and the words that it may have."""
        found: list[FactValue] = list(definition.words) if definition is not None else []
        if definition is not None and definition.type == "boolean":
            found += [True, False]
        for value in self._constants.get(place, {}).values():
            found += _around(value, definition)
        return found


def _worth(node: object, policy: Policy) -> Iterator[Value]:
    """The constants and parameters below a right side."""
    for part in within(node):
        if isinstance(part, Const):
            yield from part.value if isinstance(part.value, tuple) else (part.value,)
        elif isinstance(part, ParamRef):
            param = policy.params[part.name]
            yield param.default
            yield from (row.value for row in param.overrides)


def _around(value: Value, definition: FieldDef | None) -> list[FactValue]:
    kind = definition.type if definition is not None else "any"
    if kind in ("list", "record-list"):
        return [(), (value,), (value, value)] if kind == "list" else [()]
    if kind == "map":
        return [{}, {str(value): 1}, {str(value): 2}]
    if isinstance(value, bool):
        return [value, not value]
    if is_number(value) and isinstance(value, int | float):
        numbers: list[FactValue] = [value, value + 1, value - 1, value * 2]
        return numbers if isinstance(value, int) else [*numbers, value / 2, value * 1.001, value * 0.999]
    if isinstance(value, str) and kind != "enum":
        return [value, f"{value}x", f"x{value}", f"x-{value}-x", value.upper(), value[:-1]]
    return [value]
