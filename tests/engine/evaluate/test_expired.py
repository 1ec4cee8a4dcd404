"""An exemption that ran out: what it covered counts again, and a flag says which one it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from sweeprules.engine.durable.checked import check, with_exemptions
from sweeprules.engine.evaluate.flags import EXPIRED
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Ref, Unknown
from sweeprules.engine.verdicts import Flag, Verdict
from tests.engine.evaluate.site import catalogue, policy
from tests.engine.evaluate.worlds import JOB, SWEEP, job, subject, world

DAY = 86400.0
ENDS = 1_798_761_600.0  # 2027-01-01
POLICY = """
policy: 1
title: t
rules:
  - {id: stale, on: job, when: {heartbeats_only: true}, then: {flag: stale-log, say: silent}}
  - {id: fail, on: job, when: {state: FAILED}, then: {flag: failure}}
  - {id: absent, on: job, when: {log.exists: {absent: true}}, then: {flag: log-absent}}
  - {id: queue, on: cluster, when: {reachable: false}, then: {flag: maintenance-submit}}
exemptions:
  - {id: leave, when: {user: bob}, flags: [stale-log, log-absent], expires: 2027-01-01, owner: ops, why: was on leave}
  - {id: test, when: {comment: test}, flags: [stale-log], expires: 2026-06-01, why: a test}
  - {id: lasting, when: {comment: lasting}, flags: [stale-log], why: for good}
"""
BOB = {"user": "bob", "heartbeats_only": True, "state": "RUNNING", "comment": "none", "log.exists": True}


def judged(facts: Mapping[str, FactValue], now: float = ENDS + DAY) -> Verdict:
    return judge(policy(POLICY), world(job({**BOB, **facts}), now=now), catalogue())[JOB]


def names(found: Verdict) -> list[str]:
    return [flag.name for flag in found.flags]


def expired(found: Verdict) -> Flag:
    (flag,) = [flag for flag in found.flags if flag.name == EXPIRED]
    return flag


def test_what_it_would_have_covered_counts_again_and_it_is_named() -> None:
    found = judged({})
    assert sorted(names(found)) == [EXPIRED, "stale-log"]
    flag = expired(found)
    assert (flag.rule, flag.severity, flag.exempt, flag.resolved) == ("leave", "warning", False, False)
    assert flag.message == "the exemption leave of ops ended on 2027-01-01T00:00:00Z; stale-log counts again"
    assert not next(f for f in found.flags if f.name == "stale-log").exempt
    assert found.health == "flagged"


def test_it_runs_out_at_its_moment_by_the_clock_of_the_sweep() -> None:
    before = judged({}, now=ENDS - 1)
    assert (names(before), before.flags[0].exempt) == (["stale-log"], True)
    assert EXPIRED in names(judged({}, now=ENDS))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"user": "alice"}, "it is about somebody else"),
        ({"user": NOT_READ}, "nobody knows whether it would have covered it"),
        ({"heartbeats_only": False}, "there is no flag to cover"),
        ({"heartbeats_only": Unknown("cut")}, "the rule of the flag is unknown"),
        ({"heartbeats_only": False, "state": "FAILED"}, "the flag that is raised is another"),
        ({"comment": "lasting"}, "another exemption covers the flag, so nothing counts again"),
    ],
)
def test_it_is_not_told_when_nothing_counts_again(facts: Mapping[str, FactValue], why: str) -> None:
    assert EXPIRED not in names(judged(facts)), why


def test_all_flags_and_all_exemptions_are_named_at_once() -> None:
    flag = expired(judged({"log.exists": ABSENT}))
    assert flag.message.endswith("; log-absent, stale-log count again")
    two = expired(judged({"user": "alice", "comment": "test"}))
    assert (two.rule, two.message) == (
        "test",
        "the exemption test ended on 2026-06-01T00:00:00Z; stale-log counts again",
    )


def test_an_unknown_clock_makes_the_exemption_unknown_and_nothing_expired() -> None:
    there = world(job(BOB))
    there = replace(there, subjects={**there.subjects, SWEEP: subject(SWEEP, {"now": NOT_READ})})
    found = judge(policy(POLICY), there, catalogue())[JOB]
    assert names(found) == ["stale-log"]


def test_only_jobs_are_told_of_it() -> None:
    text = POLICY + "  - {id: pool, on: pool, when: {used: {gt: 0}}, flags: [sandbox-pressure], expires: 2026-06-01}\n"
    text = text.replace(
        "{id: queue, on: cluster, when: {reachable: false}", "{id: queue, on: pool, when: {used: {gt: 0}}"
    )
    p = policy(text.replace("maintenance-submit", "sandbox-pressure"))
    ref = Ref("pool", "org")
    found = judge(p, world(subject(ref, {"used": 7}), now=ENDS), catalogue())[ref]
    assert [(flag.name, flag.exempt) for flag in found.flags] == [("sandbox-pressure", False)]


def test_both_evaluators_agree_before_and_after() -> None:
    p = policy(POLICY)
    jobs = [job(BOB), job({**BOB, "user": NOT_READ}, "leo:2"), job({**BOB, "comment": "lasting"}, "leo:3")]
    for now in (ENDS - 1, ENDS, ENDS + DAY):
        there = world(*jobs, now=now)
        truths = evaluate(p, there)
        verdicts = judge(p, there, catalogue(), truths)
        assert any(verdict.exempted for verdict in verdicts.values())
        result = check(p, there, with_exemptions(truths, verdicts))
        assert (result.status, result.left_out) == ("equal", {})
    assert verdicts[Ref("job", "leo:3")].flags[0].exempt
