"""Flags that a test raises and actions that it asks for itself, and facts of a log that it expects."""

from __future__ import annotations

import pytest

from sweeprules.cli.testsources import LogReader
from sweeprules.engine.mutation import mutate
from sweeprules.engine.ruletests import RuleTestRun, read_rule_tests, run_rule_tests
from sweeprules.engine.testsources import Readers
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    r"""policy: 1
title: t
patterns:
  step: {literal: "Training:", regex: 'Training: +(?P<n>\d+)', kind: progress, fields: {n: integer}}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]
routes:
  cancel-zombie:
    - {when: {bucket: rl}, template: cancel-zombie}
    - {otherwise: blocked, say: "no run"}
  reclaim-inodes:
    - {when: {path: {known: true}}, template: cleanup-reclaim}
    - {otherwise: blocked, say: "file system unknown"}
"""
)
EXEMPT = policy(
    r"""policy: 1
title: t
decide:
  bucket: [{otherwise: catch-all}]
exemptions:
  - {id: trial, when: {name: {prefix: trial-}}, flags: [eval-zombie], as: measurement-exempt, say: seen, why: a trial}
routes:
  cancel-zombie: [{when: {bucket: catch-all}, template: cancel-zombie}, {otherwise: blocked, say: "no"}]
"""
)
READERS = Readers(LogReader())
RUN = "name: it, given: {asks: [cancel-zombie], job: {name: rl__x}}"
OTHER = "name: other, given: {asks: cancel-zombie, job: {name: x}}, expect: {blocked: [cancel-zombie]}"
ROUTED = RUN + ", expect: {templates: {cancel-zombie: cancel-zombie}}"


def text(*tests: str) -> dict[str, str | bytes]:
    return {"rules/t.test.yaml": "tests:\n" + "".join(f"  - {{{test}}}\n" for test in tests)}


def run(*tests: str) -> RuleTestRun:
    return run_rule_tests(POLICY, catalogue(), text(*tests), READERS)


def test_an_action_that_is_asked_for_takes_its_routes() -> None:
    assert run(ROUTED, OTHER).passed


def test_a_subject_that_is_no_job_asks_too() -> None:
    world = "name: it, given: {asks: [reclaim-inodes], filesystem: {path: /w}}"
    assert run(world + ", expect: {templates: {reclaim-inodes: cleanup-reclaim}}").passed
    assert run(world.replace("path: /w", "tool: lfs") + ", expect: {blocked: [reclaim-inodes]}").passed


def test_a_failure_names_no_rule_that_stands_in_no_file() -> None:
    (result,) = run(RUN + ", expect: {blocked: [cancel-zombie]}").results
    assert result.differences == ("blocked: expected cancel-zombie, it is open",)
    assert result.proofs == ()


def test_mutants_of_a_route_that_no_rule_asks_for_are_noticed() -> None:
    tests = read_rule_tests(POLICY, catalogue(), text(ROUTED, OTHER), READERS)
    tried = [one for one in mutate(POLICY, catalogue(), tests).tried if "cancel-zombie" in one.mutant.text]
    assert [one.mutant.text for one in tried if one.survived] == []
    assert len(tried) == 3


def test_that_no_template_is_chosen_can_be_expected() -> None:
    none = ", expect: {templates: {cancel-zombie: {absent: true}}}"
    assert run(OTHER.partition(", expect")[0] + none).passed
    (result,) = run(RUN + none).results
    assert result.differences == ("templates: expected none for cancel-zombie, it is cancel-zombie",)


def test_a_flag_that_is_raised_by_hand_can_be_exempt_and_its_action_with_it() -> None:
    given = "name: it, given: {raises: eval-zombie, asks: cancel-zombie, job: {name: trial-1, state: COMPLETED}}"
    exempt = given + ", expect: {exempt: [eval-zombie], flags: [measurement-exempt], health: exempt}"
    counts = given.replace("trial-1", "x") + (
        ", expect: {flags: [eval-zombie], templates: {cancel-zombie: cancel-zombie}, health: flagged}"
    )
    assert run_rule_tests(EXEMPT, catalogue(), text(exempt, counts), READERS).passed
    assert not run_rule_tests(EXEMPT, catalogue(), text(exempt.replace("trial-1", "x")), READERS).passed


@pytest.mark.parametrize(
    ("asks", "problem"),
    [
        ("[cancel-zombi]", "`cancel-zombi` is no action (did you mean cancel-zombie?)"),
        ("[]", "asks names nothing (name an action)"),
        ("clean-up, raises: [eval-zombi]", "`eval-zombi` is no flag (did you mean eval-zombie?)"),
        ("clean-up, raises: []", "raises names nothing (name a flag)"),
    ],
)
def test_what_is_asked_for_has_a_name(asks: str, problem: str) -> None:
    found = run(f"name: it, given: {{asks: {asks}, job: {{name: x}}}}, expect: {{flags: []}}")
    assert [str(one).partition(": ")[2] for one in found.problems] == [problem]


LOG = 'name: it, given: {log: ["Training: 3"], job: {name: x, elapsed: 2h}}, expect: '


def test_what_a_log_was_read_for_can_be_expected() -> None:
    assert run(LOG + "{lines: {step: {count: 1, n: 3}}, fault_lines: {}, first_error: {type: {absent: true}}}").passed


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        ("{lines: {step: {count: 2}}}", "lines.step.count: expected 2, is 1"),
        ("{lines.step.n: {absent: true}}", "lines.step.n: expected absent, is 3"),
        ("{fault_lines: {step: 1}}", "fault_lines: expected {step: 1}, is {}"),
        ("{lines: {stop: {count: 0}}}", "lines.stop.count: expected 0, is neither decided nor read"),
        ("{elapsed: 2h}", "elapsed: expected 7200, is neither decided nor read"),
    ],
)
def test_what_a_log_was_read_for_is_compared(expected: str, difference: str) -> None:
    (result,) = run(LOG + expected).results
    assert result.differences == (difference,)


def test_a_fact_of_the_log_without_a_log_is_not_there() -> None:
    given = "name: it, given: {job: {name: x, lines: {step: {count: 1}}}}, expect: {lines: {step: {count: 1}}}"
    assert not run(given).passed
