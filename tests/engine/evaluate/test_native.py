"""The column evaluator and the row-by-row proof are one semantics."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.facts import World
from sweeprules.engine.language.ast import Policy
from tests.engine import strategies as gen


@settings(max_examples=200, deadline=None)
@given(gen.policies(), gen.worlds())
def test_columns_and_proofs_agree_on_every_rule_and_subject(policy: Policy, world: World) -> None:
    truths = evaluate(policy, world)
    prover = Prover(policy, world, truths)
    jobs = world.of_kind("job")
    assert set(truths) == {s.ref for s in world.subjects.values() if s.judged}
    for job in jobs:
        assert set(truths[job.ref]) == set(policy.rules)
        for rule, truth in truths[job.ref].items():
            assert prover.rule(rule, job.ref).truth is truth, (rule, job.ref)


@settings(max_examples=200, deadline=None)
@given(gen.policies(), gen.worlds(), st.integers(0, 99))
def test_no_order_matters(policy: Policy, world: World, seed: int) -> None:
    shuffled = random.Random(seed)
    rules = list(policy.rules.items())
    subjects = list(world.subjects.items())
    shuffled.shuffle(rules)
    shuffled.shuffle(subjects)
    other = gen.make_policy([r for _, r in rules], dict(policy.decide), policy.order)
    found = {ref: dict(row) for ref, row in evaluate(policy, world).items()}
    assert {ref: dict(row) for ref, row in evaluate(other, World(dict(subjects))).items()} == found
