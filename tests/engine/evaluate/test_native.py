"""The column evaluator and the row-by-row proof are one semantics."""

from __future__ import annotations

import random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from sweeprules.engine.evaluate import settle
from sweeprules.engine.evaluate.effects import field_value
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import TRUE, Truth
from tests.engine import strategies as gen
from tests.engine.evaluate import wide


@settings(max_examples=200, deadline=None)
@given(gen.policies(), gen.worlds())
def test_columns_and_proofs_agree_on_every_rule_and_subject(policy: Policy, world: World) -> None:
    _agree(policy, world)


@settings(max_examples=200, deadline=None)
@given(wide.policies(), wide.worlds())
def test_they_agree_on_fields_that_rules_set_and_on_other_kinds(policy: Policy, world: World) -> None:
    _agree(policy, world)


def _agree(policy: Policy, world: World) -> None:
    """Each truth follows from the others by the proof, and each decided field from the truths: one by one, so all."""
    truths = evaluate(policy, world)
    prover = Prover(policy, world, truths)
    judged = {s.ref: s for s in world.subjects.values() if s.judged}
    assert set(truths) == set(judged)
    for ref, subject in judged.items():
        assert set(truths[ref]) == {rule.id for rule in policy.rules.values() if rule.on == ref.kind}
        for rule, truth in truths[ref].items():
            event(truth.word)
            assert prover.rule(rule, ref).truth is truth, (rule, ref)
        for name, value in truths.decided(ref).items():
            expected = _field(policy, prover, subject, name, dict(truths[ref]))
            assert (type(value), value) == (type(expected), expected), (name, ref)


def _field(policy: Policy, prover: Prover, subject: Subject, name: str, truths: dict[str, Truth]) -> object:
    listed = policy.decide.get("bucket" if name == "bucket_sure" else name)
    if listed is None or subject.ref.kind != "job":
        return field_value(prover.lens, subject, name, index(policy).setters[(subject.ref.kind, name)], truths)
    claims = [(TRUE if c.when is None else prover.condition(c.when, Scope(subject)).truth, c.value) for c in listed]
    value, sure = settle.decide(claims, forgiving=True)
    return sure if name == "bucket_sure" else value


@settings(max_examples=200, deadline=None)
@given(wide.policies(), wide.worlds(), st.integers(0, 99))
def test_no_order_of_rules_subjects_or_facts_matters(policy: Policy, world: World, seed: int) -> None:
    shuffled = random.Random(seed)
    rules = list(policy.rules.items())
    subjects = [(ref, _turned(subject)) for ref, subject in world.subjects.items()]
    shuffled.shuffle(rules)
    shuffled.shuffle(subjects)
    other = gen.make_policy([r for _, r in rules], dict(policy.decide), policy.order)
    again = World(dict(subjects))
    assert _all(evaluate(other, again)) == _all(evaluate(policy, world))
    assert judge(other, again) == judge(policy, world)


def _turned(subject: Subject) -> Subject:
    return Subject(subject.ref, dict(reversed(subject.facts.items())), {}, subject.relations, subject.judged)


def _all(truths: Truths) -> dict[Ref, tuple[dict[str, Truth], object]]:
    return {ref: (dict(row), truths.decided(ref)) for ref, row in truths.items()}
