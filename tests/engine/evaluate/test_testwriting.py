"""Rule tests written from subjects: every value comes back as it was, and the test passes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Interval,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language.yamltext import read
from sweeprules.engine.ruletests import read_rule_tests, run_rule_test
from sweeprules.engine.testwriting import reads, rule_test, scalar, value
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params:
  floor: {default: 30m, why: shortest silence}
  looks: {default: 3, unit: sweeps, why: "twice may be chance"}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]
rules:
  - id: stale
    on: job
    when:
      all:
        - {state: RUNNING}
        - {log_age: {gt: $floor}}
        - {cluster.queue: ok}
        - {some: {of: fault_lines, where: {key: oom}}}
    for: $looks
    then: {flag: stale-log}
  - id: restart
    on: job
    when: {all: [{next_link.state: PENDING}, {workdir: {prefix: /}}]}
    then: [{flag: chain-restart-ok}, {action: note-successor, args: {ids: .run.successors}}]
  - {id: crowd, on: job, when: {count: {of: siblings, where: {state: FAILED}, is: {gt: 1}}}, then: {flag: bringup}}
"""
)
JOB, NEXT, CLUSTER, SWEEP = Ref("job", "a:1"), Ref("job", "a:2"), Ref("cluster", "a"), Ref("sweep", "s")
FACTS: Mapping[str, FactValue] = {
    "cluster": "a",
    "job_id": "1",
    "name": "rl__x",
    "state": "RUNNING",
    "log_age": 1861.5,
    "fault_lines": {"oom": 2},
    "workdir": '/a "b"\\\x1b[31m\u202e: #',
    "nodes": 4,
}


def world(facts: Mapping[str, FactValue], siblings: Relation) -> World:
    relations = {"cluster": Relation((CLUSTER,)), "next_link": Relation((NEXT,)), "siblings": siblings}
    others = [Subject(ref, {"state": "FAILED"}, judged=False) for ref in siblings.members]
    subjects = [
        Subject(JOB, facts, {}, relations),
        Subject(NEXT, {"state": "PENDING", "cluster": "a", "job_id": "2"}, {}, {"prior_link": Relation((JOB,))}),
        Subject(CLUSTER, {"name": "a", "queue": "ok"}),
        Subject(SWEEP, {"now": 1_782_907_200.25}),
        *others,
    ]
    return World({subject.ref: subject for subject in subjects})


@pytest.mark.parametrize(
    "siblings",
    [
        Relation(),
        Relation((), Completeness.UNKNOWN, "not-read"),
        Relation((Ref("job", "a:8"), Ref("job", "a:9"))),
        Relation((Ref("job", "a:8"),), Completeness.PARTIAL, "cut"),
        Relation(tuple(Ref("job", f"a:{n}") for n in range(10, 90))),
    ],
)
def test_what_is_written_passes_and_is_about_the_same(siblings: Relation) -> None:
    seen = world(FACTS, siblings)
    truths = evaluate(POLICY, seen)
    verdict = judge(POLICY, seen, catalogue(), truths)[JOB]
    text = rule_test("it", seen, JOB, verdict, POLICY, catalogue())
    tests = read_rule_tests(POLICY, catalogue(), {"rules/w.test.yaml": text})
    assert len(tests) == 1, text
    result = run_rule_test(tests[0], POLICY, catalogue())
    assert result.status == "passed", (result.differences, text)
    carried = tests[0].given.world.subjects[JOB].facts
    assert {name: carried[name] for name in FACTS if name != "nodes"} == {
        k: v for k, v in FACTS.items() if k != "nodes"
    }
    assert "nodes" not in carried


def test_a_rule_that_was_held_is_held_again() -> None:
    from sweeprules.engine.holds import HoldState

    seen = world(FACTS, Relation())
    truths = evaluate(POLICY, seen, {("stale", JOB): HoldState(2, "before", 0, 0, "11")})
    verdict = judge(POLICY, seen, catalogue(), truths)[JOB]
    assert "stale-log" in {flag.name for flag in verdict.flags}
    text = rule_test("it", seen, JOB, verdict, POLICY, catalogue())
    assert "stale: 2 sweeps" in text
    (test,) = read_rule_tests(POLICY, catalogue(), {"rules/w.test.yaml": text})
    assert run_rule_test(test, POLICY, catalogue()).status == "passed"


def test_only_what_rules_read_is_written() -> None:
    found = reads(POLICY)
    assert ("job", "log_age") in found.facts
    assert ("cluster", "queue") in found.facts
    assert ("job", "nodes") not in found.facts
    assert {"cluster", "next_link", "siblings", "run"} <= found.relations
    assert "prior_link" not in found.relations


@pytest.mark.parametrize(
    ("worth", "kind", "text"),
    [
        (5400, "duration", "90m"),
        (32401, "duration", "32401s"),
        (0, "duration", "0"),
        (-5, "duration", "-5"),
        (1_782_907_200, "time", "2026-07-01T12:00:00Z"),
        (1_782_907_200.5, "time", "1782907200.5"),
        (1e-05, "", "1.0e-05"),
        (math.inf, "", "{unknown: nan}"),
        (Interval(2, None), "interval", "{sure: 2}"),
        (Interval(2, 4), "interval", "{sure: 2, possible: 4}"),
        (Unknown("new-state:X Y"), "", '{unknown: "new-state:X Y"}'),
        (ABSENT, "", "{absent: true}"),
        (NOT_APPLICABLE, "", "{absent: not-applicable}"),
        (("a", True, 1), "list", "[a, true, 1]"),
        ("on", "", '"on"'),
        ("null", "", '"null"'),
    ],
)
def test_forms(worth: FactValue, kind: str, text: str) -> None:
    assert value(worth, kind) == text


@given(st.text() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_a_scalar_is_read_as_it_was(worth: str | int | float | bool) -> None:
    node = read(f"a: [{scalar(worth)}]\n", "t.yaml").get("a")
    assert node is not None
    assert node.items[0].value == worth
    assert type(node.items[0].value) is type(worth)


STEPPED = policy(
    """policy: 1
title: t
params:
  window: {default: 3, unit: steps, why: short}
  points: {default: 2, unit: points, why: few}
  twice: {default: 2, why: much}
features:
  grad_ratio: {series: grad_norm, is: ratio_to_mean, window: $window, min_points: $points}
rules:
  - {id: grad, on: step, when: {all: [{job.state: RUNNING}, {grad_ratio: {gt: $twice}}]}, then: {flag: rl-collapse}}
  - {id: ask, on: job, when: {flagged: rl-collapse}, then: {action: agent-log, args: {topic: collapse}}}
exemptions:
  - {id: probe, when: {name: {contains: zclip}}, flags: [rl-collapse], as: rl-collapse-ablation, say: "x", why: "it"}
"""
)


@pytest.mark.parametrize(("name", "flag"), [("rl__x", "rl-collapse"), ("rl__zclip", "rl-collapse-ablation")])
def test_steps_are_written_as_those_of_the_job_around_them(name: str, flag: str) -> None:
    steps = {Ref("step", f"a:1#{n}"): norm for n, norm in enumerate((0.3, 0.31, 0.3, 1.4), start=40)}
    facts = {**FACTS, "name": name}
    job = Subject(JOB, facts, {}, {"cluster": Relation((CLUSTER,)), "steps": Relation(tuple(steps))})
    of_job = {"job": Relation((JOB,))}
    told = [Subject(ref, {"step": int(ref.key[-2:]), "grad_norm": norm}, {}, of_job) for ref, norm in steps.items()]
    seen = World({one.ref: one for one in (job, Subject(CLUSTER, {"name": "a", "queue": "ok"}), *told)})
    verdict = judge(STEPPED, seen, catalogue())[JOB]
    assert [one.name for one in verdict.flags] == [flag]
    assert [one.name for one in verdict.actions] == ["agent-log"]
    text = rule_test("it", seen, JOB, verdict, STEPPED, catalogue())
    (test,) = read_rule_tests(STEPPED, catalogue(), {"rules/w.test.yaml": text})
    assert run_rule_test(test, STEPPED, catalogue()).status == "passed", text
