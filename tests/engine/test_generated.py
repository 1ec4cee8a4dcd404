"""Generated worlds: equal for an equal start, aimed at what was changed, and on both sides of each limit."""

from __future__ import annotations

from collections.abc import Mapping

from sweeprules.engine.draws import Draws
from sweeprules.engine.facts import ABSENT, Completeness, FactValue, Ref, Unknown, World
from sweeprules.engine.generated import Aim, Worlds
from sweeprules.engine.mutate import Mutant, mutants
from sweeprules.engine.mutated import changed
from sweeprules.engine.ruletests import read_rule_tests
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params: {floor: {default: 30m, why: shortest silence}}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]
rules:
  - id: stale
    on: job
    when: {all: [{state: RUNNING}, {bucket: rl}, {log_age: {gt: $floor}}]}
    then: {flag: stale-log}
  - {id: crowd, on: job, when: {count: {of: siblings, where: {state: FAILED}, is: {gt: 1}}}}
  - {id: drain, on: cluster, when: {queue: {unknown: true}}, then: {flag: queue-unknown}}
"""
)
TESTS = """tests:
  - name: stale
    given: {job: {name: rl__x, state: RUNNING, log_age: 31m, user: alice}}
    expect: {flags: [stale-log]}
  - name: crowd
    given: {job: {name: x, siblings: [{state: FAILED}, {state: FAILED}]}}
    expect: {truth: {crowd: true}}
  - name: drain
    given: {cluster: {queue: {unknown: cut}}}
    expect: {flags: [queue-unknown]}
"""
SEEDS = [(test.given.world, test.held) for test in read_rule_tests(POLICY, catalogue(), {"t.test.yaml": TESTS})]


def mutant(text: str) -> Mutant:
    return next(one for one in mutants(POLICY) if one.text == text)


def aimed(text: str) -> tuple[Worlds, Aim]:
    worlds = Worlds(POLICY, catalogue(), SEEDS)
    one = mutant(text)
    return worlds, worlds.aim(one.policy, changed(POLICY, one.policy))


def made(text: str, count: int = 300, seed: int = 1) -> list[World]:
    worlds, aim = aimed(text)
    draws = Draws(str(seed))
    return [worlds.one(draws, aim)[0] for _ in range(count)]


def values(worlds: list[World], kind: str, name: str) -> list[FactValue]:
    return [
        s.facts[name] for world in worlds for s in world.subjects.values() if s.ref.kind == kind and name in s.facts
    ]


def plain(worlds: list[World]) -> list[Mapping[Ref, object]]:
    return [{ref: (dict(s.facts), dict(s.relations)) for ref, s in world.subjects.items()} for world in worlds]


def test_an_equal_start_makes_equal_worlds() -> None:
    assert plain(made("$floor 30m made 1h")) == plain(made("$floor 30m made 1h"))
    assert plain(made("$floor 30m made 1h")) != plain(made("$floor 30m made 1h", seed=2))


def test_values_lie_on_both_sides_of_the_old_limit_and_of_the_new_one() -> None:
    ages = values(made("$floor 30m made 1h"), "job", "log_age")
    numbers = {age for age in ages if isinstance(age, int | float)}
    assert {1800, 3600} <= numbers
    assert any(1800 < age < 3600 for age in numbers)
    assert any(age < 1800 for age in numbers)
    assert any(age > 3600 for age in numbers)
    assert ABSENT in ages
    assert any(isinstance(age, Unknown) for age in ages)


def test_what_has_no_say_stays_as_a_test_gave_it() -> None:
    worlds = made("$floor 30m made 1h")
    assert set(values(worlds, "job", "user")) == {"alice"}
    assert len(set(map(repr, values(worlds, "job", "state")))) > 3
    assert len(set(map(repr, values(worlds, "job", "name")))) > 3, "bucket is decided by it"


def test_worlds_start_where_the_kind_is_there() -> None:
    _, aim = aimed(next(one.text for one in mutants(POLICY) if one.text.startswith("rule drain")))
    assert list(aim.seeds) == [2]


def test_members_go_and_come() -> None:
    name = next(one.text for one in mutants(POLICY) if one.text.startswith("rule crowd"))
    worlds = made(name, 2000)
    relations = [
        subject.relations["siblings"]
        for world in worlds
        for subject in world.subjects.values()
        if "siblings" in subject.relations
    ]
    assert {len(relation.members) for relation in relations} >= {0, 1, 2, 3}
    assert Completeness.UNKNOWN in {relation.completeness for relation in relations}
    for world in worlds:
        members = [m for s in world.subjects.values() for r in s.relations.values() for m in r.members]
        assert set(members) <= set(world.subjects)
