"""Generated policies and worlds: durable-rules finds what the native evaluator finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from sweeprules.engine.durable.checked import check, with_exemptions
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from tests.engine import strategies as gen
from tests.engine.durable.wide import Maker
from tests.engine.evaluate import stepped

RENEW = 1500
"""Rulesets after which a new child takes over: the engine never gives a ruleset's memory back."""


class Kept:
    """One child that is kept over many examples, and renewed where it has loaded many rulesets."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def session(self) -> Session:
        if self._session is None or self._session.loaded > RENEW:
            self.close()
            self._session = Session(Child(deadline=3600.0))
        return self._session

    def close(self) -> None:
        if self._session is not None:
            self._session.child.close()
            self._session = None


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    child = Kept()
    yield child
    child.close()


def agree(kept: Kept, policy: Policy, world: World) -> None:
    truths = evaluate(policy, world)
    result = check(policy, world, truths, session=kept.session())
    if result.failure is not None:
        kept.close()
    assert result.status == "equal", (result.failure, result.divergence and result.divergence.differences)
    assert not result.left_out


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=gen.policies(), world=gen.worlds())
def test_checked_equals_native(kept: Kept, policy: Policy, world: World) -> None:
    agree(kept, policy, world)


def agree_over_sweeps(kept: Kept, policy: Policy, world: World, held: Held) -> None:
    result = check(policy, world, evaluate(policy, world, held), session=kept.session())
    assert result.status == "equal", (result.failure, result.divergence and result.divergence.differences)
    assert not result.left_out


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=stepped.policies(), world=stepped.worlds(), held=stepped.held())
def test_checked_equals_native_along_series_and_over_sweeps(
    kept: Kept, policy: Policy, world: World, held: Held
) -> None:
    agree_over_sweeps(kept, policy, world, held)


@pytest.mark.deep
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(policy=stepped.policies(), world=stepped.worlds(), held=stepped.held())
def test_checked_equals_native_along_series_and_over_sweeps_at_length(
    kept: Kept, policy: Policy, world: World, held: Held
) -> None:
    agree_over_sweeps(kept, policy, world, held)


@pytest.mark.deep
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(policy=gen.policies(), world=gen.worlds())
def test_checked_equals_native_at_length(kept: Kept, policy: Policy, world: World) -> None:
    agree(kept, policy, world)


def agree_on_seed(kept: Kept, seed: int) -> None:
    maker = Maker(seed)
    policy, world = maker.policy(), maker.world()
    truths = evaluate(policy, world)
    seen = with_exemptions(truths, judge(policy, world, None, truths))
    result = check(policy, world, seen, session=kept.session())
    assert result.status == "equal", (seed, result.failure, result.divergence and result.divergence.differences)
    assert not result.left_out, seed
    assert not result.skipped, seed


@pytest.mark.parametrize("block", range(10))
def test_checked_equals_native_on_wider_policies(kept: Kept, block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        agree_on_seed(kept, seed)


@pytest.mark.deep
@pytest.mark.parametrize("block", range(100))
def test_checked_equals_native_on_wider_policies_at_length(kept: Kept, block: int) -> None:
    for seed in range(10_000 + block * 100, 10_000 + block * 100 + 100):
        agree_on_seed(kept, seed)
