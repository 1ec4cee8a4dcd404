"""Rule tests of what goes over steps and sweeps: compact series, which steps are judged, and holds."""

from __future__ import annotations

import pytest

from sweeprules.engine.ruletests import RuleTestRun, run_rule_tests
from sweeprules.engine.testfailure import why
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params:
  grad_limit: {default: 1.0, why: "more comes before a collapse"}
  window: {default: 10, unit: steps, why: "recent"}
  few: {default: 5, unit: points, why: "less is no mean"}
  ratio_limit: {default: 2.0, why: "twice"}
  entropy_limit: {default: 0.3, why: "a third"}
  twice: {default: 2, why: "once is chance"}
  silence: {default: 30m, why: "s"}
metrics:
  z_clip: {aliases: [policy/z_clip]}
features:
  grad_ratio: {series: grad_norm, is: ratio_to_mean, window: $window, min_points: $few, floor: 0.001}
  entropy_off: {series: entropy, is: deviation_from_mean, window: $window, min_points: $few, floor: 0.001}
  clip_run: {series: z_clip, is: consecutive, where: {gt: $grad_limit}}
  lr_age: {series: learning_rate, is: since_change}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]
rules:
  - id: spike
    on: step
    needs: [grad_norm]
    when: {any: [{grad_norm: {gt: $grad_limit}}, {grad_ratio: {gt: $ratio_limit}}]}
    then: {signal: grad}
  - {id: entropy, on: step, needs: [entropy], when: {entropy_off: {gt: $entropy_limit}}, then: {signal: entropy}}
  - id: collapse
    on: step
    when: {all: [{job.bucket: rl}, {at_least: {n: 2, of: [grad, entropy]}}]}
    then: {flag: rl-collapse, say: "at step {step}"}
  - id: undeterminable
    on: step
    judge: latest
    when: {at_least: {of: [grad, entropy], evaluable: {lt: 2}, ignoring: [warming-up]}}
    then: {flag: evidence-missing}
  - {id: clips, on: step, when: {clip_run: {ge: $twice}}}
  - {id: kept, on: step, when: {lr_age: {ge: $silence}}}
  - {id: quiet-twice, on: job, for: 2 sweeps, when: {log_age: {gt: $silence}}, then: {flag: stale-log}}
  - {id: quiet-long, on: job, for: 3h, when: {log_age: {gt: $silence}}, then: {flag: suspected-wedge}}
"""
)


def run(test: str) -> RuleTestRun:
    return run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": "tests:\n  - {name: it, " + test + "}\n"})


RL = "job: {name: rl__a2-8B, state: RUNNING}"
TWO = 'steps: {step: 30..41, grad_norm: "0.3x11 1.4", entropy: "0.50x11 0.30"}'


@pytest.mark.parametrize(
    "test",
    [
        f"given: {{{RL}, {TWO}}}, expect: {{flags: [rl-collapse], truth: {{collapse: true, spike: true}}}}",
        f"given: {{{RL}, {TWO}, previous: {{step: 40}}}}, expect: {{flags: [rl-collapse]}}",
        f"given: {{{RL}, {TWO}, previous: {{step: 41}}}}, expect: {{flags: [rl-collapse]}}",
        f"given: {{{RL}, {TWO}, previous: {{step: 41, previous: {{step: 40}}}}}}, expect: {{flags: [rl-collapse]}}",
        # The collapse is no news: the sweep before saw it, and this one sees a step more.
        (
            f'given: {{{RL}, steps: {{step: 30..42, grad_norm: "0.3x11 1.4 0.3", entropy: "0.50x11 0.30 0.5"}}, '
            "previous: {step: 41}}, expect: {not_flags: [rl-collapse]}"
        ),
        (
            f'given: {{{RL}, steps: {{step: 30..42, grad_norm: "0.3x11 1.4 0.3", entropy: "0.50x11 0.30 0.5"}}, '
            "previous: {step: 40}}, expect: {flags: [rl-collapse]}"
        ),
        (
            f'given: {{{RL}, steps: {{step: 0..3, grad_norm: "0.3x3 0.9", entropy: "0.5x3 0.1"}}}}, '
            "expect: {truth: {collapse: unknown, undeterminable: false}}"
        ),
        (
            f'given: {{{RL}, steps: {{step: 30..41, grad_norm: "0.3x5 nan 0.3x5 0.9", entropy: "0.5x11 0.1"}}}}, '
            "expect: {truth: {spike: unknown, collapse: unknown, undeterminable: true}}"
        ),
        (
            f'given: {{{RL}, steps: {{step: 30..41, grad_norm: "0.3x5 _ 0.3x5 0.9", entropy: "0.5x11 0.5"}}}}, '
            "expect: {truth: {spike: unknown, entropy: false, collapse: false}}"
        ),
        (
            f'given: {{{RL}, steps: {{step: [30, 31, 32, 33, 34, 35, 36, 39], grad_norm: "0.3x7 0.9"}}}}, '
            "expect: {truth: {spike: unknown}}"
        ),
        f'given: {{{RL}, steps: {{step: 1..3, z_clip: "0.5 2x2"}}}}, expect: {{truth: {{clips: true}}}}',
        f'given: {{{RL}, steps: {{step: 1..3, z_clip: "2 nan 2"}}}}, expect: {{truth: {{clips: unknown}}}}',
        (
            f"given: {{{RL}, steps: {{step: 1..2, learning_rate: 0.1, attempt: 1, "
            'time: ["2026-07-01T10:00:00Z", "2026-07-01T10:30:00Z"]}}, expect: {truth: {kept: true}}'
        ),
        (
            f"given: {{{RL}, steps: {{partial: cut, members: {{step: 1..2, z_clip: 2}}}}}}, "
            "expect: {truth: {clips: unknown}}"
        ),
        "defaults: quiet-job, given: {job: {log_age: 1h}}, expect: {flags: [], truth: {quiet-twice: false}}",
        "defaults: quiet-job, given: {job: {log_age: 1h}, held: {quiet-twice: 1 sweep}}, expect: {flags: [stale-log]}",
        "defaults: quiet-job, given: {job: {log_age: 1m}, held: {quiet-twice: 9 sweeps}}, expect: {flags: []}",
        (
            "defaults: quiet-job, given: {job: {log_age: {unknown: cut}}, held: {quiet-twice: 1 sweep}}, "
            "expect: {truth: {quiet-twice: unknown, quiet-long: false}}"
        ),
        "given: {job: {log_age: 1h}, held: {quiet-long: 3h}}, expect: {flags: [suspected-wedge]}",
        "given: {job: {log_age: 1h}, held: {quiet-long: 2h}}, expect: {flags: []}",
    ],
)
def test_what_holds_passes(test: str) -> None:
    (found,) = run(test).results
    assert found.status == "passed", found.differences


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('steps: {step: 1..3, grad_norm: "1 2"}', "grad_norm has 2 values, and there are 3 steps"),
        ('steps: {step: 1..3, grad_norm: "1x4"}', "grad_norm has 4 values, and there are 3 steps"),
        ("steps: {step: 1..3, grad_norm: [1, 2]}", "grad_norm has 2 values, and there are 3 steps"),
        ("steps: {step: 3..1, grad_norm: 1}", "`3..1` is no range of steps"),
        ("steps: {step: 1..90000, grad_norm: 1}", "`1..90000` is no range of steps"),
        ('steps: {step: 1..2, grad_norm: "1x0 1"}', "`1x0` is no number of values"),
        ('steps: {step: 1..2, grad_norm: "1 soon"}', "expected a number, got `soon`"),
        ('steps: {step: 1..2, grad_nrm: "1 1"}', "`grad_nrm` is no fact of step (did you mean grad_norm?)"),
        ('steps: {step: 1..2, grad_ratio: "1 1"}', "`grad_ratio` is no fact of step"),
        ("held: {quiet: 1 sweep}", "`quiet` is no rule"),
        ("held: {spike: 1 sweep}", "rule spike has no `for:`"),
        ("held: {quiet-twice: 3h}", "expected a number of sweeps such as 1 sweep, got `3h`"),
        ("held: {quiet-long: 2 sweeps}", "expected a duration such as"),
        ("held: {}", "held names nothing"),
    ],
)
def test_a_series_that_could_not_mean_it_is_an_error_with_its_place(given: str, message: str) -> None:
    found = run(f"given: {{job: {{}}, {given}}}, expect: {{truth: {{quiet-twice: unknown}}}}")
    assert [r.status for r in found.results] == ["error"]
    assert any(message in str(problem) for problem in found.problems), found.problems
    assert all(str(problem).startswith("rules/t.test.yaml:2:") for problem in found.problems)


def test_a_failed_test_shows_the_series_and_the_hold() -> None:
    steps = 'steps: {step: 1..6, grad_norm: "0.3x5 0.5", entropy: 1}'
    (found,) = run(f"given: {{{RL}, {steps}}}, expect: {{truth: {{spike: true}}}}").results
    series = "grad_norm 0.5 against the mean of 5 points: 0.3 0.3 0.3 0.3 0.3"
    assert why(found.proofs[0])[1:] == [
        "  line 24: grad_norm = 0.5: false, needs > 1 ($grad_limit)",
        f"  line 24: grad_ratio = 1.66667 ({series}): false, needs > 2 ($ratio_limit)",
    ]
    (found,) = run("defaults: quiet-job, given: {job: {log_age: 1h}}, expect: {flags: [stale-log]}").results
    assert why(found.proofs[0])[1:] == ["  line 38: true for 1 of 2 sweeps: false, needs 2 sweeps"]
    (found,) = run("given: {job: {log_age: 1h}, held: {quiet-long: 2h}}, expect: {flags: [suspected-wedge]}").results
    assert why(found.proofs[0])[1:] == ["  line 39: true for 2h of 3h: false, needs 3h"]
