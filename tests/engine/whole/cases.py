"""One case of everything: a policy, a world and what had been held, by a seed and sizes that can shrink."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sweeprules.engine.facts import World
from sweeprules.engine.holds import Held
from sweeprules.engine.language import ast
from tests.engine.whole.policies import PolicyMaker
from tests.engine.whole.worlds import WorldMaker, learned


class Case(NamedTuple):
    """A policy and a world to judge by it."""

    policy: ast.Policy
    world: World
    held: Held


def case(seed: int, rules: int = 9, jobs: int = 4, steps: int = 7, *, monotone: bool = False) -> Case:
    """The case of a seed; the other numbers bound its size."""
    policy = PolicyMaker(random.Random(f"policy {seed}"), rules, monotone).policy()
    maker = WorldMaker(random.Random(f"world {seed}"), jobs, steps)
    world = maker.world()
    return Case(policy, world, maker.held([rule.id for rule in policy.rules.values() if rule.hold is not None]))


seeds = st.integers(0, 2**48)
_sizes = {"rules": st.integers(4, 10), "jobs": st.integers(1, 4), "steps": st.integers(0, 8)}
cases = st.builds(case, seeds, **_sizes)


def _pair(seed: int, rules: int, jobs: int, steps: int) -> tuple[Case, World]:
    made = case(seed, rules, jobs, steps, monotone=True)
    return made, learned(made.world, random.Random(f"learned {seed}"))


learning = st.builds(_pair, seeds, **_sizes)
"""A case without a way out of unknown, and its world where more is known."""

LENGTHS = [1_000, pytest.param(10_000, marks=pytest.mark.deep)]
"""Examples of each law: what CI runs, and what is run before an issue is closed."""


def examples(count: int) -> settings:
    """So many examples, however long each takes. Cases are small, so what fails is not shrunk for minutes."""
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
