"""The tally of exemptions: what each covered, whose it is and how long it holds."""

from __future__ import annotations

import pytest

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.reports.tally import tally, told
from tests.engine.evaluate.site import catalogue, policy
from tests.engine.evaluate.worlds import job, world

DAY = 86400.0
ENDS = 1_798_761_600.0  # 2027-01-01
RULES = """
policy: 1
title: t
rules:
  - {id: stale, on: job, when: {heartbeats_only: true}, then: {flag: stale-log}}
  - {id: wedge, on: job, when: {suspended: true}, then: {flag: suspected-wedge}}
exemptions:
  - {id: b.leave, when: {user: bob}, flags: [stale-log, suspected-wedge], expires: 2027-01-01, owner: "ops\\e[2J"}
  - {id: a.lasting, when: {comment: lasting}, flags: [stale-log], as: measurement-exempt, say: so}
  - {id: c.unused, when: {user: nobody}, flags: [stale-log]}
"""
POLICY = policy(RULES)


def lines(*facts: dict[str, object], now: float = ENDS - 3 * DAY) -> list[str]:
    jobs = [
        job({"heartbeats_only": False, "suspended": False, "user": "alice", "comment": "x", **each}, f"leo:{n}")
        for n, each in enumerate(facts)
    ]
    return tally(POLICY, judge(POLICY, world(*jobs, now=now), catalogue()), now)


def test_what_each_covered_by_flag_and_subject() -> None:
    bob = {"user": "bob", "heartbeats_only": True}
    found = lines(bob, {**bob, "suspended": True}, {"comment": "lasting", "heartbeats_only": True})
    assert found == [
        "Exemptions",
        "  a.lasting: covers 1 flag of 1 subject (stale-log 1)",
        "  b.leave (of ops\\e[2J, 3 days left): covers 3 flags of 2 subjects (stale-log 2, suspected-wedge 1)",
    ]


def test_a_flag_that_two_exemptions_name_is_counted_once() -> None:
    found = lines({"user": "bob", "comment": "lasting", "heartbeats_only": True, "suspended": True})
    assert [line.split(": ")[1] for line in found[1:]] == [
        "covers 1 flag of 1 subject (stale-log 1)",
        "covers 1 flag of 1 subject (suspected-wedge 1)",
    ]


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (ENDS - 1.5 * DAY, "1 day left"),
        (ENDS - 60, "less than a day left"),
        (ENDS, "ended less than a day ago"),
        (ENDS + 40 * DAY, "ended 40 days ago"),
    ],
)
def test_one_with_an_end_is_told_of_though_it_covers_nothing(now: float, says: str) -> None:
    (_, line) = lines({}, now=now)
    assert line.endswith(f", {says}): covers nothing")


def test_nothing_is_told_where_there_is_nothing() -> None:
    bare = policy(RULES.replace(", expires: 2027-01-01", "").replace(', owner: "ops\\e[2J"', ""))
    assert not told(bare)
    assert told(POLICY)
    assert tally(bare, judge(bare, world(job({"heartbeats_only": True})), catalogue()), 0.0) == []
