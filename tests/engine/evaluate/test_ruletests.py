"""Rule tests: what is given, what is expected, and what a failing or broken test says."""

from __future__ import annotations

from typing import Any as Anything

import pytest

from sweeprules.engine.evaluate.compare import OpenList
from sweeprules.engine.facts import Absent, Completeness, Interval, Ref, Subject, Unknown
from sweeprules.engine.language.yamltext import read
from sweeprules.engine.ruletests import RuleTestResult, RuleTestRun, run_rule_tests
from sweeprules.engine.testdefaults import DEFAULTS, quiet_job
from sweeprules.engine.testfailure import why
from sweeprules.engine.testgiven import Given, read_given
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    """policy: 1
title: t
params:
  floor: {default: 30m, why: shortest silence}
patterns:
  nccl: {literal: "ran for", kind: fault}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {when: {name: {prefix: sft}}, is: sft}, {otherwise: catch-all}]
  flavour: [{when: {run_tag: a}, is: agentic}, {when: {run_tag: b}, is: standard}]
rules:
  - id: stale
    on: job
    when: {all: [{state: RUNNING}, {bucket: {ne: catch-all}}, {log_age: {gt: $floor}}]}
    then: {flag: stale-log}
  - id: restart
    on: job
    when: {all: [{state: TIMEOUT}, {next_link.state: {in: [RUNNING, PENDING]}}]}
    then: [{flag: chain-restart-ok}, {action: note-successor, args: {ids: .run.successors}}]
  - {id: drain, on: cluster, when: {queue: {unknown: true}}, then: {flag: queue-unknown}}
  - {id: agentic, on: job, when: {flavour: agentic}}
  - {id: fault, on: job, when: {lines.nccl.count: {gt: 0}}}
  - {id: tag, on: job, when: {state: FAILED}, then: {add: {tags: debug}}}
exemptions:
  - {id: probe, when: {name: {contains: probe}}, flags: [stale-log], as: measurement-exempt, why: "a probe is silent"}
"""
)


def run(*tests: str) -> RuleTestRun:
    return run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": "tests:\n" + "".join(f"  - {t}\n" for t in tests)})


def one(test: str) -> RuleTestResult:
    found = run("{name: it, " + test + "}")
    assert len(found.results) == 1
    return found.results[0]


@pytest.mark.parametrize(
    "test",
    [
        "defaults: quiet-job, given: {job: {name: rl, log_age: 31m}}, expect: {flags: [stale-log], bucket: rl}",
        "defaults: quiet-job, given: {job: {name: rl}}, expect: {flags: [], actions: [], health: healthy}",
        (
            "defaults: quiet-job, given: {job: {name: x, log_age: 31m}}, "
            "expect: {not_flags: [stale-log], bucket: catch-all}"
        ),
        (
            "defaults: quiet-job, given: {job: {name: rl probe, log_age: 2h}}, "
            "expect: {exempt: [stale-log], flags: [measurement-exempt]}"
        ),
        "given: {job: {state: RUNNING, bucket: rl}}, expect: {truth: {stale: unknown}, bucket: rl}",
        (
            "given: {job: {state: TIMEOUT}, next_link: {state: RUNNING}}, "
            "expect: {flags: [chain-restart-ok], blocked: [note-successor]}"
        ),
        "given: {job: {state: TIMEOUT}, next_link: {absent: true}}, expect: {truth: {restart: false}}",
        "given: {job: {state: TIMEOUT}, next_link: {unknown: read-failed}}, expect: {truth: {restart: unknown}}",
        "given: {job: {state: TIMEOUT}}, expect: {truth: {restart: unknown}}",
        "given: {job: {flavour: agentic}}, expect: {truth: {agentic: true}, flavour: agentic}",
        "given: {job: {run_tag: b, flavour: {unknown: not-read}}}, expect: {truth: {agentic: unknown}}",
        "given: {cluster: {queue: {unknown: read-failed}}}, expect: {flags: [queue-unknown]}",
        (
            "given: {job: {}, cluster: {queue: {unknown: cut}}}, "
            "expect: {truth: {drain: true}, cluster: {flags: [queue-unknown]}}"
        ),
        "defaults: quiet-job, given: {job: {lines: {nccl: {count: 2}}}}, expect: {truth: {fault: true}}",
        "defaults: quiet-job, given: {job: {}}, expect: {truth: {fault: false}}",
        "given: {job: {state: FAILED}}, expect: {tags: [debug]}",
        "given: {job: {name: rl, state: {unknown: new-state:ODD}}}, expect: {truth: {stale: unknown}, health: unknown}",
    ],
)
def test_what_holds_passes(test: str) -> None:
    found = one(test)
    assert found.status == "passed", found.differences


@pytest.mark.parametrize(
    ("test", "difference"),
    [
        (
            "defaults: quiet-job, given: {job: {name: rl, log_age: 20m}}, expect: {flags: [stale-log]}",
            "flags: expected stale-log (there are none)",
        ),
        (
            "defaults: quiet-job, given: {job: {name: rl, log_age: 2h}}, expect: {not_flags: [stale-log]}",
            "flags: stale-log is there, and must not be",
        ),
        (
            "defaults: quiet-job, given: {job: {name: rl, log_age: 2h}}, expect: {flags: []}",
            "flags: stale-log is there, and none was expected",
        ),
        (
            "given: {job: {state: TIMEOUT}}, expect: {truth: {restart: true}}",
            "truth restart: expected true, is unknown",
        ),
        ("given: {job: {name: rl}}, expect: {bucket: sft}", "bucket: expected sft, is rl"),
        ("given: {job: {run_tag: c}}, expect: {flavour: agentic}", "flavour: expected agentic, is ? (not-read)"),
        (
            "defaults: quiet-job, given: {job: {name: rl, log_age: 2h}}, expect: {exempt: [stale-log]}",
            "exempt: expected stale-log, it is raised and counts",
        ),
        (
            "given: {job: {state: FAILED}}, expect: {actions: [note-successor]}",
            "actions: expected note-successor (there are none)",
        ),
        (
            "given: {job: {state: FAILED}}, expect: {blocked: [note-successor]}",
            "blocked: expected note-successor, it is not asked for",
        ),
        ("given: {job: {state: FAILED}}, expect: {health: healthy}", "health: expected healthy, is ended"),
    ],
)
def test_what_does_not_hold_fails_with_the_difference(test: str, difference: str) -> None:
    found = one(test)
    assert found.status == "failed"
    assert found.differences == (difference,)


def test_a_failed_test_proves_the_rule_behind_it() -> None:
    found = one("defaults: quiet-job, given: {job: {name: rl, log_age: 20m}}, expect: {flags: [stale-log]}")
    (proof,) = found.proofs
    assert why(proof) == ["stale is false (rules/t.yaml:11)", "  line 13: log_age = 20m: false, needs > 30m ($floor)"]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("given: {job: {}}, expect: {}", "expects nothing"),
        ("given: {job: {}}", "has no expect"),
        ("expect: {flags: [stale-log]}", "has no given"),
        ("given: {job: {nam: x}}, expect: {bucket: rl}", "`nam` is no fact of job (did you mean name?)"),
        ("given: {jab: {name: x}}, expect: {bucket: rl}", "`jab` is no kind and no relation of job"),
        ("given: {job: {log_age: soon}}, expect: {bucket: rl}", "expected a duration such as"),
        ("given: {job: {state: UNKNOWN}}, expect: {bucket: rl}", "expected PENDING, RUNNING"),
        ("given: {job: {nodes: true}}, expect: {bucket: rl}", "expected a integer, got `true`"),
        ("given: {job: {name: {unknown: dunno}}}, expect: {bucket: rl}", "`dunno` is no reason"),
        ("given: {job: {}}, expect: {flags: [stale-lag]}", "`stale-lag` is no flag (did you mean stale-log?)"),
        ("given: {job: {}}, expect: {actions: [diagnos]}", "`diagnos` is no action"),
        ("given: {job: {}}, expect: {truth: {stal: true}}", "`stal` is no rule (did you mean stale?)"),
        ("given: {job: {}}, expect: {truth: {stale: maybe}}", "expected true, false or unknown"),
        ("given: {job: {}}, expect: {truth: {drain: true}}", "rule drain is about a cluster, and the test gives none"),
        ("given: {job: {}}, expect: {flags: [stale-log], not_flags: [stale-log]}", "is expected and not expected"),
        ("given: {job: {}}, expect: {not_flags: []}", "not_flags names nothing"),
        ("given: {job: {}}, expect: {truth: {}}", "truth names nothing"),
        ("given: {job: {}}, expect: {health: fine}", "`fine` is no health"),
        ("given: {job: {}}, expect: {buckt: rl}", "`buckt` can not be expected of a job (did you mean bucket?)"),
        ("given: {job: {}}, expect: {nodes: many}", "`many` is no value of nodes"),
        ("defaults: quite-job, given: {job: {}}, expect: {bucket: rl}", "did you mean quiet-job?"),
        ("gven: {}, given: {job: {}}, expect: {bucket: rl}", "unknown key `gven` (did you mean given?)"),
        ("given: {job: 5}, expect: {bucket: rl}", "expected a map of the facts of a job, got `5`"),
        ("given: {job: {}, next_link: [{}, {}]}, expect: {bucket: rl}", "has one member"),
    ],
)
def test_a_test_that_could_not_mean_it_is_an_error(test: str, message: str) -> None:
    found = run("{name: it, " + test + "}")
    assert [r.status for r in found.results] == ["error"]
    assert not found.passed
    assert any(message in str(problem) for problem in found.problems), found.problems


def test_a_file_without_tests_is_no_pass() -> None:
    for text in ("tests: []\n", "tests: 3\n", "test: []\n"):
        found = run_rule_tests(POLICY, catalogue(), {"a.test.yaml": text})
        assert not found.passed
        assert found.problems
    assert not run_rule_tests(POLICY, catalogue(), {}).passed


# ---------------------------------------------------------------- given


def given(text: str, defaults: Anything = None) -> Given:
    return read_given(read(text, "t.yaml"), catalogue(), defaults or {}, frozenset({"bucket"}))


def about(text: str) -> Subject:
    found = given(text)
    assert not found.problems, found.problems
    return found.world.subjects[found.about]


def test_values_are_read_by_the_type_of_their_field() -> None:
    job = about(
        """job: {elapsed: 1.5h, started: "2026-07-01T12:00:00Z", log: {size: 2MB, exists: {absent: true}}, nodes: 4,
             grad_norm: 1, suspended: false, tags: [a3], fault_lines: {nccl: 2}, exit: {absent: not-applicable}}"""
    )
    assert job.get("elapsed") == 5400
    assert job.get("started") == 1_782_907_200
    assert job.get("log.size") == 2_000_000
    assert job.get("log.exists") == Absent()
    assert job.get("exit") == Absent("not-applicable")
    assert job.get("fault_lines") == {"nccl": 2}
    assert job.get("tags") == ("a3",)
    assert not isinstance(job.get("tags"), OpenList)
    assert job.get("cadence") == Unknown("not-read")
    cluster = about(
        "cluster: {rl_running: {sure: 2, possible: 4}, reservations: [{name: m, flags: [MAINT], from: '2026-07-01'}]}"
    )
    assert cluster.get("rl_running") == Interval(2, 4)
    assert cluster.get("reservations") == ({"name": "m", "flags": ("MAINT",), "from": 1_782_864_000},)


def test_relations_are_joined_both_ways() -> None:
    found = given(
        "{job: {job_id: '7', cluster: leo}, cluster: {queue: ok}, "
        "siblings: [{state: FAILED}, {state: FAILED}], previous: {step: 3}}"
    )
    job = found.world.subjects[Ref("job", "leo:7")]
    assert found.about == job.ref
    assert job.relations["cluster"].members == (Ref("cluster", "test"),)
    assert len(job.relations["siblings"].members) == 2
    (before,) = job.relations["previous"].members
    assert not found.world.subjects[before].judged
    assert job.relations["prior_link"].completeness is Completeness.UNKNOWN


def test_a_relation_may_be_partial() -> None:
    job = about("job: {siblings: {partial: cut, members: [{state: FAILED}]}}")
    assert job.relations["siblings"].completeness is Completeness.PARTIAL
    assert job.relations["siblings"].reason == "cut"
    assert len(job.relations["siblings"].members) == 1


def test_the_quiet_job_holds_only_facts_of_the_catalogue_and_is_quiet() -> None:
    for kind, facts in quiet_job(POLICY).items():
        known = catalogue().kinds[kind].fields
        assert [n for n in facts if n not in known and not n.startswith("lines.")] == []
        for name, value in facts.items():
            words = known[name].words if name in known else ()
            assert not words or value in words, name
    assert set(DEFAULTS) == {"quiet-job"}
