"""What `test` prints of each kind of failure: the expectation with its place, the rule behind it, and what it needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from syrupy.assertion import SnapshotAssertion

from sweeprules.store import builtin
from tests.cli.conftest import Sweeprules

RULES = """policy: 1
title: rules whose tests fail in every way
params:
  floor: {default: 30m, why: shortest silence}
  two: {default: 2, why: one is chance}
patterns:
  oom: {literal: out of memory, regex: 'cuda: out of memory \\((?P<gb>\\d+) GB\\)', kind: fault, fields: {gb: integer}}
decide:
  bucket:
    - {when: {name: {prefix: rl}}, is: rl}
    - {when: {all: [{name: {contains: sft}}, {user: alice}]}, is: sft}
    - {otherwise: catch-all}
rules:
  - {id: stale, on: job, when: {all: [{state: RUNNING}, {log_age: {gt: $floor}}]}, then: {flag: stale-log}}
  - id: quorum
    on: job
    when: {at_least: {n: $two, of: [{nodes: {gt: $two}}, {suspended: true}, {elapsed: {gt: $floor}}]}}
    then: {flag: suspected-wedge}
  - {id: by-state, on: job, when: {state: FAILED}, then: {flag: failure}}
  - {id: by-line, on: job, when: {lines.oom.count: {gt: 0}}, then: {flag: failure}}
  - {id: by-both, on: job, when: {all: [{state: TIMEOUT}, {nodes: 7}, {user: bob}]}, then: {flag: failure}}
  - id: look
    on: job
    when: {state: FAILED}
    then: {action: diagnose, args: {error_class: other, path: .log.path, position: .log.size}}
exemptions:
  - {id: probe, when: {name: {contains: probe}}, flags: [stale-log], as: measurement-exempt, why: "a probe is silent"}
routes:
  diagnose:
    - {when: {all: [{bucket: rl}, {user: alice}]}, template: failure-diagnosis}
    - {otherwise: blocked, say: "nobody knows whose it is"}
"""
TESTS = r"""tests:
  - name: a flag that is missing
    given: {job: {state: RUNNING, log_age: 20m}}
    expect:
      flags: [stale-log]
  - name: a flag that nothing of several rules raises
    given: {job: {state: RUNNING, nodes: 7, user: eve}}
    expect:
      flags: [failure]
  - name: a quorum that is not reached
    given: {job: {nodes: 2, suspended: true}}
    expect:
      flags: [suspected-wedge]
      truth: {quorum: true}
  - name: a flag too many
    given: {job: {state: FAILED, name: x, nodes: 3}}
    expect:
      not_flags: [failure]
  - name: none was expected
    given: {job: {state: FAILED}}
    expect: {flags: []}
  - name: a wrong truth
    given: {job: {state: RUNNING}}
    expect:
      truth: {stale: false}
  - name: an action that is blocked
    given: {job: {state: FAILED, name: rl__x, user: bob, log: {path: /a, size: 3}}}
    expect:
      templates: {diagnose: failure-diagnosis}
  - name: an action that is open
    given: {job: {state: FAILED, name: rl__x, user: alice, log: {path: /a, size: 3}}}
    expect:
      blocked: [diagnose]
  - name: wrong arguments
    given: {job: {state: FAILED, name: rl__x, user: alice, log: {path: /a, size: 3}}}
    expect:
      args: {diagnose: {path: /b, position: 3B}}
  - name: an action that nobody asks for
    given: {job: {state: RUNNING}}
    expect:
      actions: [diagnose]
  - name: a line of a log that is not met
    given:
      job: {state: RUNNING}
      log: |
        step 1
        ran out of memory
    expect:
      flags: [failure]
      lines.oom.count: 1
  - name: a log without the line
    given: {job: {state: RUNNING}, log: [step 1, step 2]}
    expect:
      truth: {by-line: true}
  - name: another bucket
    given: {job: {name: an sft of bob, user: bob}}
    expect:
      bucket: sft
  - name: a bucket that stands later
    given: {job: {name: rl and sft, user: alice}}
    expect: {bucket: sft}
  - name: no exemption
    given: {job: {state: RUNNING, log_age: 1h, name: x}}
    expect:
      exempt: [stale-log]
  - name: another health
    given: {job: {state: RUNNING, log_age: 1h, name: x}}
    expect:
      health: healthy
      raised: {stale-log: {severity: critical}}
"""


@pytest.fixture
def failing(site: Path) -> Path:
    """A site of which every test fails."""
    (site / "rules/own.yaml").write_text(RULES)
    (site / "rules/own.test.yaml").write_text(TESTS)
    shutil.copytree(builtin.ROOT / "templates", site / "templates")
    return site


def test_each_kind_of_failure(failing: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    found = sweeprules("test")
    assert found.exit == 1
    assert found.out == snapshot


def test_json_and_junit_carry_the_same(failing: Path, sweeprules: Sweeprules) -> None:
    text = sweeprules("test").out
    rows = json.loads(sweeprules("test", "--output", "json").out)["tests"]
    lines: list[str] = []
    for row in rows:
        lines.append(f"FAILED {row['file']}:{row['line']}: {row['name']}")
        for miss in row["misses"]:
            lines += [f"  line {miss['line']}: {miss['text']}", *(f"    {why}" for why in miss["why"])]
        assert [miss["text"] for miss in row["misses"]] == row["differences"]
    assert lines == text.splitlines()[:-1]
    cases = fromstring(sweeprules("test", "--output", "junit").out.encode()).iter("failure")
    assert [line for case in cases for line in (case.text or "").splitlines()] == lines


def test_each_failure_is_short(failing: Path, sweeprules: Sweeprules) -> None:
    rows = json.loads(sweeprules("test", "--output", "json").out)["tests"]
    assert {row["status"] for row in rows} == {"failed"}
    assert max(len(miss["why"]) for row in rows for miss in row["misses"]) <= 8
