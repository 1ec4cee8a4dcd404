"""Logs in rule tests: what a text gives, what a test may say beside it, and what it is read by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from sweeprules.cli.testsources import LogReader
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Unknown
from sweeprules.engine.ruletests import RuleTest, RuleTestRun, read_rule_tests, run_rule_test, run_rule_tests
from sweeprules.engine.testsources import Readers
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    r"""policy: 1
title: t
patterns:
  quota: {literal: "Errno 122", kind: fault}
  wait: {literal: "No available", kind: benign}
  step: {literal: "Training:", regex: 'Training: +(?P<n>\d+)/(?P<m>\d+)', kind: progress,
    fields: {n: integer, m: integer}}
decide:
  bucket: [{otherwise: catch-all}]
rules:
  - {id: fault, on: job, when: {lines.quota.count: {gt: 0}}, then: {flag: failure}}
  - {id: far, on: job, when: {lines.step.n: {gt: 0}}}
  - {id: held, on: job, when: {lines.quota.count: {gt: 0}}, for: 2 sweeps}
"""
)
READERS = Readers(LogReader())
JOB = Ref("job", "test:1")


def text(test: str) -> dict[str, str | bytes]:
    return {"rules/t.test.yaml": "tests:\n  - {name: it, " + test + "}\n"}


def read(test: str) -> RuleTest:
    (found,) = read_rule_tests(POLICY, catalogue(), text(test), READERS)
    return found


def run(test: str) -> RuleTestRun:
    return run_rule_tests(POLICY, catalogue(), text(test), READERS)


def facts(test: str) -> Mapping[str, FactValue]:
    return read(f"{test}, expect: {{flags: []}}").given.world.subjects[JOB].facts


def test_a_log_gives_what_its_patterns_find_and_that_the_others_found_nothing() -> None:
    found = facts('given: {log: ["2026-07-01 10:00:00 No available", "Training: 3/9", "2026-07-01 11:00:00 late"]}')
    assert found["lines.wait.count"] == 1
    assert found["lines.wait.time"] == 1_782_900_000
    assert (found["lines.step.n"], found["lines.step.m"]) == (3, 9)
    assert (found["lines.quota.count"], found["lines.quota.time"]) == (0, ABSENT)
    assert (found["fault_lines"], found["benign_lines"]) == ({}, {"wait": 1})
    assert (found["first_error.message"], found["heartbeats_only"]) == (ABSENT, False)
    assert (found["log.exists"], found["log.cut"], found["log.last_time"]) == (True, False, 1_782_903_600)


def test_a_text_is_a_log_as_it_stands() -> None:
    assert facts('given: {log: "a\\nb\\n"}') == facts("given: {log: [a, b]}")
    assert facts('given: {log: "Errno 122\\rErrno 122"}')["lines.quota.count"] == 2
    assert isinstance(facts('given: {log: ""}')["heartbeats_only"], Unknown)


def test_where_the_file_is_and_when_it_was_written_is_the_test_s_to_say() -> None:
    found = facts("given: {log: [Errno 122], job: {log: {path: /x/y.out}, log_age: 5m}}")
    assert (found["log.path"], found["log_age"], found["first_error.path"]) == ("/x/y.out", 300, "/x/y.out")
    bare = facts("given: {log: [Errno 122]}")
    assert bare.keys().isdisjoint({"log.path", "log.source", "log.mtime", "log_age"})
    assert isinstance(bare["first_error.path"], Unknown)


def test_a_log_takes_the_place_of_defaults() -> None:
    found = facts("defaults: quiet-job, given: {log: [Errno 122]}")
    assert (found["lines.quota.count"], found["fault_lines"]) == (1, {"quota": 1})
    assert (found["log.path"], found["log_age"]) == ("/home/alice/quiet/quiet.out", 60)


@pytest.mark.parametrize(
    ("given", "phase"),
    [
        ("{log: [Training 1], job: {state: RUNNING}}", "bring-up"),
        ('{log: ["Training: 1/2"], job: {state: RUNNING}}', "steady"),
        ('{log: ["Training: 1/2"], job: {state: RUNNING, phase: teardown}}', "teardown"),
        ('{log: ["Training: 1/2"], job: {state: PENDING}}', None),
    ],
)
def test_the_phase_follows_from_the_log_where_the_test_does_not_say_it(given: str, phase: str | None) -> None:
    assert facts(f"given: {given}").get("phase") == phase


def test_what_a_job_died_of_follows_from_its_log_and_its_exit() -> None:
    lines = '["Traceback (most recent call last):", "  File \\"a.py\\", line 1, in go", "KeyError: 1"]'
    found = facts(f'given: {{log: {lines}, job: {{state: FAILED, exit: "1:0", elapsed: 10m}}}}')
    assert (found["first_error.type"], found["signature"]) == ("KeyError", "1:0 KeyError a.py:go t67")
    own = facts(f'given: {{log: {lines}, job: {{state: FAILED, exit: "1:0", signature: mine}}}}')
    assert own["signature"] == "mine"


def test_a_fact_that_the_log_gives_otherwise_is_an_error_at_its_place() -> None:
    given = "given: {log: [Errno 122], job: {lines: {quota: {count: 2}}, log: {exists: {absent: true}}}}"
    found = run(given + ", expect: {flags: [failure]}")
    assert [f"{problem.mark}: {problem.message}" for problem in found.problems] == [
        "rules/t.test.yaml:2:64: lines.quota.count is given as 2, and the log says 1",
        "rules/t.test.yaml:2:82: log.exists is given as absent, and the log says true",
    ]
    assert {problem.hint for problem in found.problems} == {"leave it out, or change the log"}
    assert [result.status for result in found.results] == ["error"]
    same = "given: {log: [Errno 122], job: {lines: {quota: {count: 1}}, fault_lines: {quota: 1}}}"
    assert run(same + ", expect: {flags: [failure]}").passed


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("given: {log: {file: x}}", "expected the text of a log or its lines, got a map"),
        ("given: {log: [{a: 1}]}", "expected the text of a log or its lines, got a map"),
        ("given: {log: [[a]]}", "expected the text of a log or its lines, got a list"),
        ("given: {cluster: {queue: ok}, log: [a]}", "a cluster has no log (give the job that wrote it)"),
    ],
)
def test_what_is_no_log(test: str, told: str) -> None:
    found = run(f"{test}, expect: {{truth: {{fault: false}}}}")
    assert told in "\n".join(str(problem) for problem in found.problems)
    assert not found.passed


def test_without_a_reader_a_test_with_a_log_is_an_error() -> None:
    found = run_rule_tests(POLICY, catalogue(), text("given: {log: [a]}, expect: {flags: []}"))
    assert [problem.message for problem in found.problems] == ["nothing here can read a log"]


def test_another_policy_reads_the_log_by_its_own_patterns() -> None:
    test = read("given: {log: [Errno 122]}, expect: {flags: [failure]}")
    assert run_rule_test(test, POLICY, catalogue()).status == "passed"
    other = replace(POLICY, patterns={**POLICY.patterns, "quota": replace(POLICY.patterns["quota"], literal="~")})
    result = run_rule_test(test, other, catalogue())
    assert (result.status, result.differences) == ("failed", ("flags: expected failure (there are none)",))
    assert run_rule_test(test, POLICY, catalogue()).status == "passed"


def test_a_log_and_what_was_held_go_together() -> None:
    test = read("given: {log: [Errno 122], held: {held: 1 sweep}}, expect: {truth: {held: true}}")
    assert run_rule_test(test, POLICY, catalogue()).status == "passed"
    assert run_rule_test(test, replace(POLICY, patterns=dict(POLICY.patterns)), catalogue()).status == "passed"
