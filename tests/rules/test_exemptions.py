"""The shipped exemptions: whom they are about, and what they do to the flags that later releases raise."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import Verdict
from tests.rules.shipped import catalogue, policy, policy_with

SPIKE, MEASUREMENT = "the-spike-is-the-experiment", "the-measurement-is-the-purpose"
JOB = Ref("job", "test:1")

# A stand-in for the rule that raises this flag once its reader is there.
SITE = """
policy: 1
rules:
  - id: own.zombie
    on: job
    when: {all: [{state: RUNNING}, {trials_done: {ge: .trials_planned}}]}
    then: [{flag: eval-zombie}, {action: cancel-zombie, args: {ids: [.job_id]}}]
"""


def _world(facts: dict[str, FactValue], steps: Iterable[Subject] = ()) -> World:
    known: dict[str, FactValue] = {"key": JOB.key, "job_id": "1", "cluster": "test", "run_tag": ABSENT, **facts}
    there = {step.ref: step for step in steps}
    return World({JOB: Subject(JOB, known, relations={"steps": Relation(tuple(there))}), **there})


def _spike() -> list[Subject]:
    """Steps of which the last has two signals: its gradient and its entropy."""
    values = [(number, 0.3, 0.5) for number in range(30, 41)] + [(41, 1.4, 0.3)]
    return [
        Subject(
            Ref("step", f"{JOB.key}/{number}"),
            {"step": number, "grad_norm": grad, "entropy": entropy},
            relations={"job": Relation((JOB,))},
        )
        for number, grad, entropy in values
    ]


def _exempt(identity: str, facts: dict[str, FactValue]) -> Truth:
    world = _world(facts)
    exemption = next(one for one in policy().exemptions if one.id == identity)
    return Prover(policy(), world, evaluate(policy(), world)).exemption(exemption, JOB).truth


def _verdict(facts: dict[str, FactValue], steps: Iterable[Subject] = ()) -> Verdict:
    return judge(policy_with(SITE), _world(facts, steps), catalogue())[JOB]


READ: dict[str, FactValue] = {"run_dir": "/w/rl", "metric_families": ("policy/",)}
GRID: dict[str, FactValue] = {"name": "eval-oom-grid_tb2"}
CASES = [
    (SPIKE, {"name": "rl__a1-zclip-8B"}, TRUE),
    (SPIKE, {"name": "rl__a1-ZClip-8B"}, TRUE),
    (SPIKE, {"name": "rl__a1-8B", "run_dir": "/w/maxgn09_hint", "metric_families": ()}, TRUE),
    (SPIKE, {"name": "rl__a1-8B", "run_dir": "/w/rl", "metric_families": ("policy/stale_clip",)}, TRUE),
    (SPIKE, {"name": "rl__a1-8B", **READ}, FALSE),
    (SPIKE, {"name": "rl__a1-8B"}, UNKNOWN),
    (MEASUREMENT, {**GRID, "target": "DCAgent2/oom-grid"}, TRUE),
    (MEASUREMENT, {**GRID, "target": "laion/x"}, FALSE),
    (MEASUREMENT, {**GRID, "target": Unknown("not-read")}, UNKNOWN),
    (MEASUREMENT, {"name": "eval-qwen_tb2", "target": "DCAgent2/eval-qwen_tb2-traces"}, FALSE),
    (MEASUREMENT, {"name": "rl__oom-grid", "target": "DCAgent2/oom-grid"}, FALSE),
]


@pytest.mark.parametrize(("identity", "facts", "wanted"), CASES)
def test_whom_an_exemption_is_about(identity: str, facts: dict[str, FactValue], wanted: Truth) -> None:
    assert _exempt(identity, facts) is wanted


def test_a_collapse_of_a_study_is_seen_and_not_acted_upon() -> None:
    verdict = _verdict({"name": "rl__a1-zclip-8B", "state": "RUNNING", "step": 41}, _spike())
    assert [(flag.name, flag.exempt, flag.covers) for flag in verdict.flags] == [
        ("rl-collapse-ablation", True, ("rl-collapse",))
    ]
    assert "ablation observation, not actionable" in verdict.flags[0].message
    assert [(action.name, action.status) for action in verdict.actions] == [
        ("agent-log", "exempt"),
        ("cancel-salvage", "exempt"),
    ]


def test_a_collapse_of_a_plain_run_counts() -> None:
    facts: dict[str, FactValue] = {"name": "rl__a1-math", "state": "RUNNING", "step": 41, **READ}
    verdict = _verdict(facts, _spike())
    assert [(flag.name, flag.exempt) for flag in verdict.flags] == [("rl-collapse", False)]
    assert [(a.name, a.status, a.template) for a in verdict.actions] == [
        ("agent-log", "open", "failure-diagnosis"),
        ("cancel-salvage", "open", "rl-standard-job-cleanup"),
    ]


def test_an_exemption_in_doubt_exempts_nothing_and_blocks_what_destroys() -> None:
    verdict = _verdict({"name": "rl__a1-math", "state": "RUNNING", "step": 41}, _spike())
    assert [(flag.name, flag.exempt) for flag in verdict.flags] == [("rl-collapse", False)]
    assert [(action.name, action.status) for action in verdict.actions] == [
        ("agent-log", "open"),
        ("cancel-salvage", "blocked"),
    ]


def test_a_calibration_that_is_done_and_still_runs_is_the_measurement() -> None:
    done: dict[str, FactValue] = {"state": "RUNNING", "trials_done": 300, "trials_planned": 300}
    verdict = _verdict({**GRID, "target": "DCAgent2/oom-grid", **done})
    assert [(flag.name, flag.exempt) for flag in verdict.flags] == [("measurement-exempt", True)]
    assert [(action.name, action.status) for action in verdict.actions] == [("cancel-zombie", "exempt")]
    assert [flag.name for flag in _verdict({"name": "eval-qwen_tb2", "target": ABSENT, **done}).flags] == [
        "eval-zombie"
    ]


def test_a_crash_of_a_study_stays_a_failure() -> None:
    verdict = _verdict({"name": "rl__a1-staleclip-8B", "state": "FAILED", "exit": "139:0"})
    assert [(flag.name, flag.exempt) for flag in verdict.flags] == [("failure", False)]
