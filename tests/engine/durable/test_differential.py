"""Generated policies and worlds: durable-rules finds what the native evaluator finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language.ast import Policy
from tests.engine import strategies as gen
from tests.engine.durable.kept import Kept, keeping
from tests.engine.durable.wide import Maker
from tests.engine.evaluate import stepped


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    with keeping() as child:
        yield child


def agree(kept: Kept, policy: Policy, world: World, held: Held = NOTHING_HELD) -> None:
    kept.agree(policy, world, evaluate(policy, world, held), held)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=gen.policies(), world=gen.worlds())
def test_checked_equals_native(kept: Kept, policy: Policy, world: World) -> None:
    agree(kept, policy, world)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=stepped.policies(), world=stepped.worlds(), held=stepped.held())
def test_checked_equals_native_along_series_and_over_sweeps(
    kept: Kept, policy: Policy, world: World, held: Held
) -> None:
    agree(kept, policy, world, held)


@pytest.mark.deep
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(policy=stepped.policies(), world=stepped.worlds(), held=stepped.held())
def test_checked_equals_native_along_series_and_over_sweeps_at_length(
    kept: Kept, policy: Policy, world: World, held: Held
) -> None:
    agree(kept, policy, world, held)


@pytest.mark.deep
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(policy=gen.policies(), world=gen.worlds())
def test_checked_equals_native_at_length(kept: Kept, policy: Policy, world: World) -> None:
    agree(kept, policy, world)


def agree_on_seed(kept: Kept, seed: int) -> None:
    maker = Maker(seed)
    policy, world = maker.policy(), maker.world()
    assert not kept.agree(policy, world, evaluate(policy, world)).skipped, seed


@pytest.mark.parametrize("block", range(10))
def test_checked_equals_native_on_wider_policies(kept: Kept, block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        agree_on_seed(kept, seed)


@pytest.mark.deep
@pytest.mark.parametrize("block", range(100))
def test_checked_equals_native_on_wider_policies_at_length(kept: Kept, block: int) -> None:
    for seed in range(10_000 + block * 100, 10_000 + block * 100 + 100):
        agree_on_seed(kept, seed)
