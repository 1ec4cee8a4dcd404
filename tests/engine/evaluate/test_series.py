"""Features by columns, steps that are looked at, and holds: equal to a plain reading, and to their proofs."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from sweeprules.engine.durable.found import Found
from sweeprules.engine.durable.series import Series
from sweeprules.engine.durable.values import Here
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Lens
from sweeprules.engine.evaluate.series import Runs
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import FactValue, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import UNKNOWN
from tests.engine import strategies as gen
from tests.engine.evaluate import stepped


def plain(policy: Policy, world: World) -> Series:
    found = Found(policy, world, index(policy), {})
    for name in policy.decide:
        found.decide("job", name)
    return Series(found.values, found.lowering)


def shown(value: FactValue) -> object:
    return ("unknown", value.reason) if isinstance(value, Unknown) else (type(value), value)


@settings(max_examples=150, deadline=None)
@given(stepped.policies(), stepped.worlds())
def test_a_feature_over_a_whole_run_is_what_a_plain_reading_of_each_step_says(policy: Policy, world: World) -> None:
    truths, reader = evaluate(policy, world), plain(policy, world)
    for ref, subject in world.subjects.items():
        for name, feature in policy.features.items() if ref.kind == "step" else ():
            value = truths.field(ref, name)
            assert value is not None
            event(f"{feature.is_} {type(value).__name__}")
            assert shown(value) == shown(reader.feature(feature, subject)), (feature.is_, ref)


@settings(max_examples=100, deadline=None)
@given(stepped.long_worlds())
def test_every_feature_is_the_same_along_a_long_run(world: World) -> None:
    policy = stepped.every_feature()
    truths, reader = evaluate(policy, world), plain(policy, world)
    for ref, subject in world.subjects.items():
        for name, feature in policy.features.items() if ref.kind == "step" else ():
            value = truths.field(ref, name)
            event(f"{feature.is_} {type(value).__name__}")
            assert value is not None
            assert shown(value) == shown(reader.feature(feature, subject)), (name, ref)


@settings(max_examples=100, deadline=None)
@given(stepped.policies(), stepped.worlds())
def test_the_steps_that_are_looked_at_are_those_of_a_plain_reading(policy: Policy, world: World) -> None:
    lens = Lens(policy, world, evaluate(policy, world))
    looks, reader = Looks(lens, Runs(lens)), plain(policy, world)
    for ref, subject in world.subjects.items():
        for rule in policy.rules.values():
            if ref.kind == rule.on == "step":
                assert looks.at(rule, subject) is reader.looks(rule, subject), (rule.judge, ref)


@settings(max_examples=150, deadline=None)
@given(stepped.policies(), stepped.worlds(), stepped.held())
def test_columns_and_proofs_agree_with_series_and_holds(policy: Policy, world: World, held: Held) -> None:
    truths = evaluate(policy, world, held)
    prover, reader = Prover(policy, world, truths), plain(policy, world)
    for ref, row in truths.items():
        for rule, truth in row.items():
            proof = prover.rule(rule, ref)
            assert proof.truth is truth, (rule, ref)
            hold = policy.rules[rule].hold
            if hold is not None:
                event(f"hold {proof.conditions[-1].truth.word}")
                now = world.subjects[Ref("sweep", "s1")].get("now")
                plainly = reader.held(hold, Here(world.subjects[ref]), held.get((rule, ref)), now)
                assert proof.conditions[-1].truth is plainly
                assert truth is min(plainly, truths.looks()[rule, ref])


@settings(max_examples=100, deadline=None)
@given(stepped.policies(), stepped.worlds(), stepped.held(), st.integers(0, 99))
def test_no_order_of_rules_features_steps_or_facts_matters(policy: Policy, world: World, held: Held, seed: int) -> None:
    shuffled = random.Random(seed)
    subjects = [(ref, _turned(subject)) for ref, subject in world.subjects.items()]
    rules, features = list(policy.rules.items()), list(policy.features.items())
    for each in (subjects, rules, features):
        shuffled.shuffle(each)  # type: ignore[arg-type]
    other = gen.make_policy([rule for _, rule in rules], dict(policy.decide), policy.order)
    other = replace(other, params=policy.params, features=dict(features))
    again = World(dict(subjects))
    first, second = evaluate(policy, world, held), evaluate(other, again, held)
    assert _all(first) == _all(second)
    assert judge(policy, world, None, first) == judge(other, again, None, second)


def _turned(subject: Subject) -> Subject:
    relations = {
        n: Relation(r.members[::-1], r.completeness, r.reason) if n == "steps" else r
        for n, r in reversed(subject.relations.items())
    }
    return Subject(subject.ref, dict(reversed(subject.facts.items())), {}, relations, subject.judged)


def _all(truths: Truths) -> object:
    return {ref: (dict(row), {n: shown(v) for n, v in truths.decided(ref).items()}) for ref, row in truths.items()}


@st.composite
def _learning(draw: st.DrawFn) -> tuple[World, World]:
    """A world, and one in which some points that were unknown were read."""
    world = draw(stepped.worlds())
    subjects = dict(world.subjects)
    for ref, subject in world.subjects.items():
        if ref.kind == "step" and isinstance(subject.get(stepped.NUMBER), Unknown) and draw(st.booleans()):
            facts = {**subject.facts, stepped.NUMBER: draw(st.sampled_from(stepped.VALUES))}
            subjects[ref] = Subject(ref, facts, {}, subject.relations, subject.judged)
    return world, World(subjects)


@settings(max_examples=150, deadline=None)
@given(stepped.policies(monotone=True), _learning(), stepped.held())
def test_a_point_that_is_learned_never_turns_a_truth_round(
    policy: Policy, worlds: tuple[World, World], held: Held
) -> None:
    before, after = (evaluate(policy, world, held) for world in worlds)
    for ref, row in before.items():
        for rule, was in row.items():
            if was is not UNKNOWN:
                assert after[ref][rule] is was, (rule, ref)
