"""Rule tests that expect none: no exempt flag, no blocked action; and actions that an exemption took away."""

from __future__ import annotations

import pytest

from sweeprules.engine.ruletests import RuleTestResult, run_rule_tests
from tests.engine.language.loading import catalogue, load

POLICY = load(
    """policy: 1
rules:
  - id: gone
    on: job
    when: {state: TIMEOUT}
    then: [{flag: stale-log, say: "x"}, {action: agent-log, args: {topic: .name}}]
exemptions:
  - {id: probe, when: {run_tag: probe}, flags: [stale-log], why: "a probe is silent"}
routes: {agent-log: [{otherwise: failure-diagnosis}]}
"""
)


def one(given: str, expect: str) -> RuleTestResult:
    text = f"tests:\n  - {{name: it, given: {{job: {given}}}, expect: {expect}}}\n"
    (found,) = run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": text}).results
    return found


COVERED = "{state: TIMEOUT, name: x, run_tag: probe}"
OPEN = "{state: TIMEOUT, name: x, run_tag: a}"
UNREAD = "{state: TIMEOUT, name: {unknown: cut}, run_tag: a}"


@pytest.mark.parametrize(
    ("given", "expect"),
    [
        (OPEN, "{exempt: [], blocked: [], actions: [agent-log]}"),
        (COVERED, "{exempt: [stale-log], not_actions: [agent-log]}"),
        (COVERED, "{actions: [], flags: [stale-log], blocked: []}"),
        (UNREAD, "{blocked: [agent-log], exempt: []}"),
    ],
)
def test_none_is_none(given: str, expect: str) -> None:
    assert one(given, expect).differences == ()
    assert one(given, expect).status == "passed"


@pytest.mark.parametrize(
    ("given", "expect", "difference"),
    [
        (COVERED, "{exempt: []}", "exempt: stale-log is, and none was expected"),
        (UNREAD, "{blocked: []}", "blocked: agent-log is, and none was expected"),
        (COVERED, "{actions: [agent-log]}", "actions: expected agent-log (there are none)"),
        (OPEN, "{not_actions: [agent-log]}", "actions: agent-log is there, and must not be"),
    ],
)
def test_one_is_not_none(given: str, expect: str, difference: str) -> None:
    found = one(given, expect)
    assert found.status == "failed"
    assert [text.splitlines()[0] for text in found.differences] == [difference]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("not_flags", "name a flag; that there is none is flags: []"),
        ("not_actions", "name an action; that there is none is actions: []"),
    ],
)
def test_a_denial_of_nothing_is_an_error(key: str, hint: str) -> None:
    found = one(OPEN, f"{{{key}: []}}")
    assert found.status == "error"
    assert f"{key} names nothing ({hint})" in found.differences[0]
