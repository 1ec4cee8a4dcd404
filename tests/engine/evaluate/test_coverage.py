"""Coverage: which truths, branches and exemptions the worlds of rule tests show."""

from __future__ import annotations

import pytest

from sweeprules.engine.coverage import Coverage, coverage
from sweeprules.engine.ruletests import read_rule_tests
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params:
  floor: {default: 30m, why: shortest silence}
  age: {default: 9h, why: a shift}
rules:
  - id: silent
    on: job
    when: {all: [{state: RUNNING}, {any: [{log_age: {gt: $floor}}, {all: [{name: slow}, {elapsed: {gt: $age}}]}]}]}
    unless: {name: {contains: quiet}}
    then: {flag: stale-log}
  - {id: sure, on: job, when: {log_age: {unknown: true}}}
exemptions:
  - {id: probe, when: {name: {contains: probe}}, flags: [stale-log], as: measurement-exempt, why: "a probe is silent"}
"""
)


def shown(*tests: str) -> Coverage:
    text = "tests:\n" + "".join(
        f"  - {{name: t{i}, given: {{job: {test}}}, expect: {{flags: []}}}}\n" for i, test in enumerate(tests)
    )
    read = read_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": text})
    assert len(read) == len(tests)
    return coverage(POLICY, catalogue(), read)


def gaps(*tests: str) -> set[str]:
    return {f"{part.owner}: {point.text}" for part, point in shown(*tests).gaps}


RAISED = "{state: RUNNING, log_age: 31m, name: x, elapsed: 1h}"
WHOLE = (
    RAISED,
    "{state: RUNNING, log_age: 31m, name: probe, elapsed: 1h}",
    "{state: FAILED, log_age: 1m, name: quiet, elapsed: 1h}",
    "{state: RUNNING, log_age: 1m, name: slow, elapsed: 10h}",
    "{state: RUNNING, name: x, elapsed: 1h}",
)


def test_no_test_shows_nothing() -> None:
    found = shown()
    assert found.shown == 0
    assert found.total == len(found.gaps) > 0


def test_all_that_can_be_shown() -> None:
    assert gaps(*WHOLE) == set()


@pytest.mark.parametrize(
    ("left", "lost"),
    [
        (
            1,
            {"exemption probe: no flag was ever exempt by it", "exemption probe: `name: {contains: probe}` never true"},
        ),
        (
            2,
            {
                "rule silent: `state: RUNNING` never false",
                "rule silent: `name: {contains: quiet}` never true",
                "rule silent: never false",
            },
        ),
        (
            3,
            {
                "rule silent: the branch `all` never true",
                "rule silent: `name: slow` never true",
                "rule silent: `elapsed: {gt: $age}` never true",
            },
        ),
        (
            4,
            {"rule silent: never unknown", "rule sure: never true", "rule sure: `log_age: {unknown: true}` never true"},
        ),
    ],
)
def test_each_test_left_out_is_missed(left: int, lost: set[str]) -> None:
    assert gaps(*WHOLE[:left], *WHOLE[left + 1 :]) == lost


def test_what_asks_for_the_unknown_is_never_asked_to_be_unknown() -> None:
    sure = next(part for part in shown().parts if part.owner == "rule sure")
    assert [point.text for point in sure.points][:2] == ["never true", "never false"]
    assert "never unknown" not in {point.text for point in sure.points}


def test_files_that_are_not_measured() -> None:
    assert coverage(POLICY, catalogue(), (), lambda _: False).parts == ()


def test_a_gap_is_where_the_condition_is() -> None:
    part, point = next((p, g) for p, g in shown(RAISED).gaps if "contains: quiet" in g.text)
    assert part.mark.line == 7
    assert point.mark.line == 10
