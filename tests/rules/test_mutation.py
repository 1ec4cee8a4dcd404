"""The shipped rules are protected by their tests: every rule is covered, and nearly every small change is noticed."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from sweeprules.cli.mutating import WORLDS
from sweeprules.cli.testsources import LogReader
from sweeprules.engine.coverage import coverage
from sweeprules.engine.mutate import KINDS
from sweeprules.engine.mutation import Mutation, Tried, mutate
from sweeprules.engine.ruletests import RuleTest, read_rule_tests
from sweeprules.engine.testsources import Readers
from tests.rules.shipped import catalogue, policy, rule_tests

LEAST = 0.95
"""The share of the changes that some test has to notice."""


@cache
def read_all() -> tuple[RuleTest, ...]:
    return read_rule_tests(policy(), catalogue(), rule_tests(), Readers(LogReader()))


def lines(found: tuple[Tried, ...]) -> str:
    return "\n".join(f"{one.mutant.mark.file}:{one.mutant.mark.line}: {one.mutant.text}" for one in found)


def test_each_rule_branch_and_exemption_is_shown_by_a_test() -> None:
    found = coverage(policy(), catalogue(), read_all())
    assert [f"{point.mark}: {part.owner}: {point.text}" for part, point in found.gaps] == []
    assert len(found.parts) >= len(policy().rules)


def test_nearly_every_change_of_the_shipped_rules_is_noticed() -> None:
    """Without asking whether a survivor is the policy in other words: the score can only be too low."""
    found = mutate(policy(), catalogue(), read_all())
    assert [kind for kind in KINDS if not found.made[kind]] == []
    assert found.equivalent == ()
    assert found.score >= LEAST, lines(found.survivors)


@pytest.mark.deep
def test_what_survives_is_another_policy_in_generated_worlds(capsys: pytest.CaptureFixture[str]) -> None:
    found = mutate(policy(), catalogue(), read_all(), worlds=WORLDS)
    with capsys.disabled():
        print("\n" + table(found))
    assert [kind for kind in KINDS if not found.made[kind]] == []
    assert found.score >= LEAST, lines(found.survivors)
    assert all(one.worlds == WORLDS for one in found.equivalent)


def table(found: Mutation) -> str:
    """How many changes were made, noticed, equivalent and survived, a line a kind."""
    noticed = Counter(one.mutant.kind for one in found.tried if one.killed_by)
    same = Counter(one.mutant.kind for one in found.equivalent)
    left = Counter(one.mutant.kind for one in found.survivors)
    rows = [(kind, found.made[kind], noticed[kind], same[kind], left[kind]) for kind in KINDS]
    rows.append(("all", len(found.tried), noticed.total(), same.total(), left.total()))
    head = f"{'kind':<12}{'made':>6}{'noticed':>9}{'equivalent':>12}{'survived':>10}"
    return "\n".join([head, *(f"{k:<12}{m:>6}{n:>9}{e:>12}{s:>10}" for k, m, n, e, s in rows)])
