"""Who asks for a rule asks for the flag that it raises: no exemption is gone round by its rule."""

from __future__ import annotations

import pytest

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import NOT_READ, FactValue
from sweeprules.engine.verdicts import Action
from tests.engine.evaluate.site import catalogue, policy
from tests.engine.evaluate.worlds import JOB, job, world

POLICY = """
policy: 1
title: t
rules:
  - {{id: silent, on: job, when: {{heartbeats_only: true}}, then: {0}}}
  - id: kill
    on: job
    when: {{all: [{1}, {{state: RUNNING}}]}}
    then: {{action: cancel-zombie, args: {{ids: [.job_id]}}}}
exemptions:
  - {{id: probe, when: {{user: bob}}, flags: [stale-log]}}
"""
ONE, TWO = "{flag: stale-log}", "[{flag: stale-log}, {flag: suspected-wedge}]"
FLAGGED, RULE = "{flagged: stale-log}", "{rule: {id: silent, is: true}}"


def kill(raises: str, asks: str, user: FactValue) -> Action:
    p = policy(POLICY.format(raises, asks))
    facts = {"heartbeats_only": True, "state": "RUNNING", "user": user, "bucket_sure": True}
    (found,) = judge(p, world(job(facts)), catalogue())[JOB].actions
    return found


@pytest.mark.parametrize("asks", [FLAGGED, RULE])
@pytest.mark.parametrize(
    ("user", "status", "blocked"),
    [
        ("alice", "open", ()),
        ("bob", "exempt", ()),
        (NOT_READ, "blocked", ("exemption probe of stale-log is unknown",)),
    ],
)
def test_an_exemption_counts_by_flag_and_by_rule(
    user: FactValue, status: str, blocked: tuple[str, ...], asks: str
) -> None:
    found = kill(ONE, asks, user)
    assert (found.status, found.blocked_by) == (status, blocked)
    assert found.causes == ("stale-log",)


def test_a_rule_that_raises_another_flag_too_is_asked_for_by_that_one() -> None:
    found = kill(TWO, RULE, "bob")
    assert (found.status, found.causes) == ("open", ("suspected-wedge",))
    assert kill(TWO, RULE, NOT_READ).status == "blocked"
