"""Mutants: each is another policy, every kind is made, and none is missed by trying only the tests that it touches."""

from __future__ import annotations

import pytest

from sweeprules.engine.language.canon import to_data
from sweeprules.engine.mutate import KINDS, Mutant, mutants
from sweeprules.engine.mutation import mutate
from sweeprules.engine.ruletests import RuleTest, read_rule_tests, run_rule_test, run_rule_tests
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params:
  floor: {default: 30m, why: shortest silence, for: [{cluster: a, value: 45m}]}
  enough: {default: 2, unit: jobs, why: "one is chance"}
  few: {default: 2, unit: nodes, why: "one is none"}
  many: {default: 8, unit: nodes, why: "more are too many"}
lists:
  ends: [FAILED, TIMEOUT]
patterns:
  died: {literal: died, regex: 'has\\s+died', kind: fault}
decide:
  bucket:
    - {when: {name: {prefix: rl}}, is: rl}
    - {when: {name: {contains_any: [sft, tune]}}, is: sft}
    - {otherwise: catch-all}
rules:
  - id: stale
    on: job
    when:
      all:
        - {state: RUNNING}
        - {any: [{log_age: {gt: $floor}}, {first_error.message: {matches: died}}]}
        - {not: {suspended: true}}
    unless: {name: {contains: quiet}}
    then: [{flag: stale-log}, {action: diagnose, args: {error_class: other, path: .log.path, position: .log.size}}]
  - {id: ended, on: job, when: {state: {in: $ends}}, then: {flag: chain-restart-ok}}
  - id: crowd
    on: job
    when: {at_least: {n: $enough, of: [{flagged: stale-log}, {bucket: rl}, {nodes: {between: [$few, $many]}}]}}
  - {id: lost, on: job, when: {count: {of: siblings, where: {state: FAILED}, is: {gt: 1}}}}
  - {id: all-lost, on: job, when: {every: {of: siblings, is: {state: FAILED}, if_empty: false}}}
  - {id: unseen, on: job, when: {log_age: {unknown: true}}}
exemptions:
  - {id: probe, when: {name: {contains: probe}}, flags: [stale-log], as: measurement-exempt, why: "a probe is silent"}
routes:
  diagnose: [{when: {bucket: rl}, template: failure-diagnosis}, {otherwise: blocked, say: "who knows"}]
"""
)
TESTS = (
    "given: {job: {name: rl__x, log: {path: /a, size: 3}, state: RUNNING, log_age: 31m, suspended: false}}, "
    "expect: {flags: [stale-log], templates: {diagnose: failure-diagnosis}}",
    "given: {job: {name: rl__x, state: RUNNING, log_age: 30m, suspended: false}}, expect: {not_flags: [stale-log]}",
    "given: {job: {name: rl__probe, state: RUNNING, log_age: 31m, suspended: false}}, expect: {exempt: [stale-log]}",
    "given: {job: {name: x, state: FAILED, log_age: 31m, suspended: false}}, expect: {flags: [chain-restart-ok]}",
    "given: {job: {name: quiet, state: RUNNING, log_age: 31m, suspended: false}}, expect: {flags: []}",
    "given: {job: {name: tune, log: {path: /a, size: 3}, state: RUNNING, log_age: 1h, suspended: false}}, "
    "expect: {bucket: sft, blocked: diagnose}",
    "given: {job: {name: rl, nodes: 4, state: RUNNING, log_age: 1m, suspended: true}}, expect: {truth: {crowd: true}}",
    "given: {job: {name: x, siblings: [{state: FAILED}, {state: FAILED}]}}, "
    "expect: {truth: {unseen: true, lost: true}}",
    "given: {job: {name: x, siblings: [{state: FAILED}, {state: RUNNING}]}}, expect: {truth: {all-lost: false}}",
    'given: {job: {name: x, state: RUNNING, log_age: 1m, suspended: false, first_error: {message: "it has  died"}}}, '
    "expect: {flags: [stale-log]}",
    "given: {job: {name: x}}, expect: {truth: {stale: unknown}}",
)


@pytest.fixture(scope="module")
def tests() -> tuple[RuleTest, ...]:
    text = "tests:\n" + "".join(f"  - {{name: t{number}, {test}}}\n" for number, test in enumerate(TESTS))
    read = read_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": text})
    assert len(read) == len(TESTS)
    return read


@pytest.fixture(scope="module")
def made() -> list[Mutant]:
    return list(mutants(POLICY))


def test_the_tests_pass_before(tests: tuple[RuleTest, ...]) -> None:
    results = [run_rule_test(test, POLICY, catalogue()) for test in tests]
    assert [result.differences for result in results] == [()] * len(TESTS)


def test_every_kind_is_made(made: list[Mutant]) -> None:
    assert {mutant.kind for mutant in made} == set(KINDS) - {"feature"}


def test_each_is_another_policy_and_no_two_are_the_same_text(made: list[Mutant]) -> None:
    before = to_data(POLICY)
    assert all(to_data(mutant.policy) != before for mutant in made)
    assert len({(mutant.text, mutant.mark) for mutant in made}) == len(made)
    assert to_data(POLICY) == before


def test_tests_that_are_not_touched_would_have_noticed_nothing(tests: tuple[RuleTest, ...], made: list[Mutant]) -> None:
    found = mutate(POLICY, catalogue(), tests)
    survived = [
        mutant.text
        for mutant in made
        if all(run_rule_test(test, mutant.policy, catalogue()).status == "passed" for test in tests)
    ]
    assert [one.mutant.text for one in found.survivors] == survived
    assert 0 < len(survived) < len(made) / 2
    assert any(0 < one.touched < len(tests) for one in found.tried)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$floor 30m made 15m", 1),
        ("exemption probe left out", 2),
        ("list ends: FAILED left out", 3),
        ("rule stale: `unless` left out", 4),
        ("route diagnose to failure-diagnosis left out", 0),
        ("route diagnose to failure-diagnosis put after the next", 0),
        ("route diagnose to failure-diagnosis: `bucket: rl`: eq made ne", 5),
        ("pattern died: left out", 9),
        ("decide bucket, sft: `name: {contains_any: [sft, tune]}`: tune left out", 5),
        ("rule stale: `not` left out", 0),
        ("rule all-lost: `every` made `some`", 8),
    ],
)
def test_what_notices_a_change(text: str, number: int, tests: tuple[RuleTest, ...], made: list[Mutant]) -> None:
    mutant = next(one for one in made if one.text == text)
    noticed = {i for i, test in enumerate(tests) if run_rule_test(test, mutant.policy, catalogue()).status == "failed"}
    assert number in noticed


def test_without_tests_all_survive() -> None:
    found = mutate(POLICY, catalogue(), ())
    assert len(found.survivors) == len(found.tried) == sum(found.made.values())
    assert mutate(POLICY, catalogue(), (), lambda _: False).tried == ()


ROUTED = "given: {job: {name: rl__x, log: {path: /a, size: 3}, state: RUNNING, log_age: 31m, suspended: false}}"
LEFT = "given: {job: {name: tune, log: {path: /a, size: 3}, state: RUNNING, log_age: 1h, suspended: false}}"


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (f"{ROUTED}, expect: {{templates: {{diagnose: failure-diagnosis}}}}", ()),
        (
            f"{LEFT}, expect: {{templates: {{diagnose: failure-diagnosis}}}}",
            ("templates: expected failure-diagnosis for diagnose, it is blocked",),
        ),
        (
            "given: {job: {state: FAILED}}, expect: {templates: {diagnose: failure-diagnosis}}",
            ("templates: expected failure-diagnosis for diagnose, it is not asked for",),
        ),
    ],
)
def test_the_template_that_routes_choose_can_be_expected(test: str, said: tuple[str, ...]) -> None:
    run = run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": f"tests: [{{name: it, {test}}}]\n"})
    assert run.problems == ()
    assert run.results[0].differences == said


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        (
            "{diagnose: failure-diagnosi}",
            "no route leads diagnose to `failure-diagnosi` (did you mean failure-diagnosis?)",
        ),
        ("{diagnos: failure-diagnosis}", "is no action (did you mean diagnose?)"),
        ("{}", "templates names nothing"),
    ],
)
def test_a_template_that_can_not_be_is_a_mistake(templates: str, said: str) -> None:
    text = f"tests: [{{name: it, {ROUTED}, expect: {{templates: {templates}}}}}]\n"
    run = run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": text})
    assert said in str(run.problems[0])


STEPPED = policy(
    """policy: 1
title: t
params: {limit: {default: 1.0, why: "more is a spike"}, two: {default: 2, why: "one is chance"}}
rules:
  - {id: grad, on: step, needs: [grad_norm], when: {grad_norm: {gt: $limit}}, then: {signal: grad}}
  - {id: entropy, on: step, needs: [entropy], when: {entropy: {gt: $limit}}, then: {signal: entropy}}
  - {id: spike, on: step, when: {at_least: {n: $two, of: [grad, entropy]}}, then: {flag: rl-collapse}}
  - id: untold
    on: step
    judge: latest
    when: {at_least: {of: [grad, entropy], evaluable: {lt: $two}, ignoring: [warming-up]}}
    then: {flag: evidence-missing}
"""
)


def test_a_change_of_the_steps_or_needs_of_a_rule_is_noticed_though_its_own_truth_is_the_same() -> None:
    given = (
        "job: {name: rl}, steps: {step: 1..2, grad_norm: '3 0', entropy: '3 0'}, previous: {step: 1}",
        "job: {name: rl}, steps: {step: 1..1, grad_norm: {absent: true}, entropy: 0}",
        "job: {name: rl}, steps: {step: 1..1, grad_norm: 0, entropy: {absent: true}}",
        "job: {name: rl}, steps: {step: 1..2, grad_norm: '_ 0', entropy: '_ 0'}",
    )
    expect = ("not_flags: [rl-collapse]", "flags: [evidence-missing]", "flags: [evidence-missing]", "flags: []")
    lines = [
        f"  - {{name: t{i}, given: {{{one}}}, expect: {{{two}}}}}"
        for i, (one, two) in enumerate(zip(given, expect, strict=True))
    ]
    stepped = read_rule_tests(STEPPED, catalogue(), {"rules/s.test.yaml": "tests:\n" + "\n".join(lines)})
    assert len(stepped) == len(given)
    found = mutate(STEPPED, catalogue(), stepped).tried
    settings = {one.mutant.text: one.survived for one in found if one.mutant.kind == "setting"}
    assert settings == {
        "rule grad: `needs` grad_norm left out": False,
        "rule entropy: `needs` entropy left out": False,
        "rule spike: judge new made any": False,
        "rule untold: judge latest made any": False,
    }
