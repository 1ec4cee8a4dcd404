"""The shipped policy on made-up worlds: both evaluators agree on it, and durable-rules does most of the work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeprules.cli.loading import Loaded, choose_site, compile_site
from sweeprules.engine.durable.checked import check, leaf_report, with_exemptions
from sweeprules.engine.durable.compile import computed
from sweeprules.engine.durable.program import program
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.language import ast
from sweeprules.engine.truth import UNKNOWN
from tests.engine.durable.safe import assert_safe
from tests.engine.durable.shipped import Maker

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return compile_site(choose_site(ROOT))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def test_most_leaves_are_computed_by_durable_rules_and_nothing_is_left_out(loaded: Loaded) -> None:
    made = program(loaded.policy)
    assert not made.left_out
    for unit in made.units:
        assert_safe(unit)
    own, lowered = leaf_report(loaded.policy)
    assert own > lowered


def test_a_rule_of_one_lowered_leaf_has_no_other(loaded: Loaded) -> None:
    """A rule with several leaves is never handed over as one precomputed answer: each leaf is a column of its own."""
    for rule in loaded.policy.rules.values():
        leaves = list(computed(loaded.policy, rule.when))
        assert len(leaves) == 1 or not isinstance(rule.when, ast.Quantified)


@pytest.mark.parametrize("seed", range(4))
def test_both_evaluators_agree_on_made_up_worlds(loaded: Loaded, session: Session, seed: int) -> None:
    policy = loaded.policy
    world = Maker(policy, loaded.catalogue, seed).world()
    truths = evaluate(policy, world)
    seen = with_exemptions(truths, judge(policy, world, loaded.catalogue, truths))
    result = check(policy, world, seen, session=session)
    assert result.status == "equal", result.failure or result.divergence
    assert not result.skipped
    fired = {rule for rule, _ in truths.firings()}
    told = {rule for row in truths.values() for rule, truth in row.items() if truth is not UNKNOWN}
    assert len(fired) > len(policy.rules) / 3
    assert len(told) > len(policy.rules) * 0.9, sorted(policy.rules.keys() - told)
    assert len({rule for rule in fired if policy.rules[rule].on == "step"}) > 2
