"""Worlds side by side: each is judged as if it were alone, and only what a change reaches is found to be unlike."""

from __future__ import annotations

import pytest

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import Node
from sweeprules.engine.facts import Ref, Relation, Subject, World
from sweeprules.engine.holds import HoldState
from sweeprules.engine.islands import on_island, side_by_side, unlike
from sweeprules.engine.language.ast import Policy
from tests.engine.evaluate.site import policy

TEXT = """policy: 1
title: t
params: {floor: {default: 30m, why: shortest silence}}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]
rules:
  - {id: stale, on: job, when: {all: [{bucket: rl}, {log_age: {gt: $floor}}]}, then: {flag: stale-log}}
  - {id: crowd, on: job, when: {count: {of: siblings, where: {state: FAILED}, is: {gt: 1}}}}
  - {id: waits, on: job, for: 2 sweeps, when: {state: PENDING}}
"""
POLICY = policy(TEXT)
JOB = Ref("job", "a:1")
NODES = frozenset({Node("rule", "stale", "job"), Node("rule", "crowd", "job"), Node("field", "bucket", "job")})


def world(failed: int, **facts: str | int) -> World:
    """A job with siblings of which so many failed."""
    siblings = [Ref("job", f"a:s{number}") for number in range(3)]
    subjects = {
        ref: Subject(ref, {"key": ref.key, "state": "FAILED" if number < failed else "RUNNING"})
        for number, ref in enumerate(siblings)
    }
    relations = {"siblings": Relation(tuple(siblings))}
    return World({JOB: Subject(JOB, {"key": JOB.key, **facts}, {}, relations), **subjects})


WORLDS = (world(0, name="rl", log_age=1801), world(2, name="rl", log_age=1800), world(1, name="x", log_age=9999))


def changed(**texts: str) -> Policy:
    text = TEXT
    for old, new in texts.values():
        assert old in text
        text = text.replace(old, new)
    return policy(text)


def test_each_world_is_judged_as_if_it_were_alone() -> None:
    islands = side_by_side([(one, {}) for one in WORLDS])
    whole = islands.judged(POLICY).truths
    for number, one in enumerate(WORLDS):
        alone = evaluate(POLICY, one)
        for ref in one.subjects:
            place = on_island(ref, number)
            assert islands.owner[place] == number
            assert [whole.truth(rule, place) for rule in POLICY.rules] == [
                alone.truth(rule, ref) for rule in POLICY.rules
            ]
            assert whole.field(place, "bucket") == alone.field(ref, "bucket")


def test_no_relation_leads_to_another_island() -> None:
    islands = side_by_side([(one, {}) for one in WORLDS])
    assert len(islands.world.subjects) == sum(len(one.subjects) for one in WORLDS)
    for ref, subject in islands.world.subjects.items():
        members = [member for relation in subject.relations.values() for member in relation.members]
        assert {islands.owner[member] for member in members} <= {islands.owner[ref]}
        assert subject.facts["key"] == ref.key


def test_what_was_held_goes_with_its_world() -> None:
    waiting = World({JOB: Subject(JOB, {"key": JOB.key, "state": "PENDING"})})
    state = HoldState(1, "before", 0.0, 0.0, "1")
    islands = side_by_side([(waiting, {}), (waiting, {("waits", JOB): state})])
    assert dict(islands.held) == {("waits", on_island(JOB, 1)): state}
    truths = islands.judged(POLICY).truths
    assert truths.truth("waits", on_island(JOB, 0)).word == "false"
    assert truths.truth("waits", on_island(JOB, 1)).word == "true"


@pytest.mark.parametrize(
    ("old", "new", "worlds"),
    [
        ("default: 30m", "default: 25m", {1}),
        ("default: 30m", "default: 31m", {0}),
        ("prefix: rl", "prefix: x", {0, 1, 2}),
        ("is: {gt: 1}", "is: {gt: 0}", {2}),
        ("state: FAILED", "state: {in: [FAILED, NODE_FAIL]}", set()),
    ],
)
def test_only_what_is_otherwise_is_found_unlike(old: str, new: str, worlds: set[int]) -> None:
    islands = side_by_side([(one, {}) for one in WORLDS])
    before, other = islands.judged(POLICY), changed(it=(old, new))
    after = islands.again(other, before, NODES, frozenset())
    assert {islands.owner[ref] for ref in unlike(before.truths, after, NODES)} == worlds
    whole = islands.judged(other).truths
    assert list(unlike(whole, after, NODES)) == []


def test_a_part_is_like_the_whole() -> None:
    islands = side_by_side([(one, {}) for one in WORLDS])
    goals = frozenset({Node("rule", "stale", "job")})
    assert list(unlike(islands.judged(POLICY).truths, islands.part(POLICY, goals).truths, goals)) == []
