"""From truths to flags, exemptions, actions, routes and health."""

from __future__ import annotations

from dataclasses import replace
from typing import Any as Anything

import pytest

from sweeprules.engine.evaluate.health import health
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge, suspects
from sweeprules.engine.facts import ABSENT, NOT_READ, Interval, Ref, Relation, Unknown
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import FALSE, TRUE
from sweeprules.engine.verdicts import Action, Flag, Verdict
from tests.engine.evaluate.site import catalogue, policy
from tests.engine.evaluate.worlds import CLUSTER, JOB, job, partial, subject, unread, world

POLICY = """
policy: 1
title: t
params:
  again: {default: 2, why: a pair}
  stale_floor: {default: 30m, why: shortest silence}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {when: {name: {prefix: sft}}, is: sft}, {otherwise: catch-all}]
rules:
  - id: stale
    on: job
    when: {all: [{state: RUNNING}, {log_age: {gt: $stale_floor}}]}
    then: {flag: stale-log, say: "silent for {log_age}, {cluster.queue}, {nodes}"}
  - id: stale-again
    on: job
    when: {all: [{state: RUNNING}, {nodes: 7}]}
    then: {flag: stale-log, say: "seven nodes"}
  - id: wedge
    on: job
    when: {all: [{flagged: stale-log}, {heartbeats_only: true}]}
    then: [{flag: suspected-wedge}, {action: cancel-salvage, args: {ids: [.job_id], step: .step}}]
  - id: fail
    on: job
    when: {state: FAILED}
    then: [{flag: failure}, {action: agent-log, args: {topic: failure}}]
  - id: again
    on: job
    when: {all: [{state: FAILED}, {run.same_signature: {ge: $again}}]}
    replaces: [failure]
    then:
      - {flag: failure-recurring}
      - {action: diagnose, args: {error_class: .error_class, path: .log.path, position: .first_error.position}}
  - id: masked
    on: job
    when: {step_failed: {absent: false}}
    explains: [failure]
    then: {flag: sacct-masked}
  - {id: drain, on: cluster, when: {queue: {unknown: true}}, then: {flag: queue-unknown}}
  - {id: unread, on: job, when: {state: {unknown: true}}, then: {flag: evidence-missing, say: "state unread"}}
  - {id: closer, on: job, stage: suspect, when: {log_age: {gt: $stale_floor}}}
  - id: pending
    on: job
    when: {all: [{state: COMPLETED}, {run.complete: true}]}
    then:
      action: cancel-pending
      args: {ids: {collect: job_id, of: run.links, where: {state: PENDING}}}
exemptions:
  - {id: probe, when: {name: {contains: probe}}, flags: [stale-log, suspected-wedge], why: "a probe is silent"}
  - {id: old, when: {user: bob}, flags: [stale-log], expires: 2020-01-01, why: "was on leave"}
  - id: as-told
    when: {user: carol}
    flags: [stale-log, suspected-wedge]
    as: measurement-exempt
    say: "told so"
routes:
  cancel-salvage:
    - {when: {comment: agentic}, template: rl-agentic-job-cleanup}
    - {when: {bucket: rl}, template: rl-standard-job-cleanup}
    - {otherwise: blocked, say: "no rl job of {user}"}
"""


def verdict(*others: Anything, facts: dict[str, Anything], **relations: Anything) -> Verdict:
    """The verdict on one job under the policy above."""
    return judge(the_policy(), world(job(facts, **relations), *others, now=1_800_000_000), catalogue())[JOB]


def the_policy() -> Policy:
    return policy(POLICY)


STALE = {"state": "RUNNING", "log_age": 7800, "name": "rl", "user": "alice", "comment": ABSENT, "nodes": NOT_READ}
WEDGED = {**STALE, "heartbeats_only": True, "nodes": 1, "step": 40}


def named(found: Verdict, name: str) -> Flag:
    return next(flag for flag in found.flags if flag.name == name)


def action(found: Verdict, name: str) -> Action:
    return next(a for a in found.actions if a.name == name)


def names(found: Verdict) -> list[str]:
    return [flag.name for flag in found.flags]


# ---------------------------------------------------------------- flags


def test_a_message_is_filled_with_words() -> None:
    found = verdict(facts=STALE, cluster=Relation())
    assert named(found, "stale-log").message == "silent for 2h10m, —, ? (not-read)"


def test_rules_that_raise_one_flag_share_it() -> None:
    flag = named(verdict(facts={**STALE, "nodes": 7}, cluster=unread()), "stale-log")
    assert flag.rule == "stale"
    assert flag.message == "silent for 2h10m, ? (read-failed), 7; seven nodes"
    assert flag.severity == "warning"


def test_the_most_severe_stands_first_and_causes_know_their_symptoms() -> None:
    found = verdict(facts=WEDGED)
    assert names(found) == ["suspected-wedge", "stale-log"]
    assert named(found, "suspected-wedge").explains == ("stale-log",)
    assert named(found, "stale-log").explained_by == ("suspected-wedge",)


def test_a_replaced_flag_goes_with_its_actions() -> None:
    run = subject(Ref("run", "r"), {"same_signature": 2})
    found = verdict(run, facts={"state": "FAILED", "step_failed": ABSENT, "error_class": "nan"}, run=run.ref)
    assert names(found) == ["failure-recurring"]
    assert [a.name for a in found.actions] == ["diagnose"]
    assert found.truths["fail"] is TRUE


def test_a_flag_of_the_cluster_explains_those_of_its_jobs() -> None:
    w = world(job({}, cluster=CLUSTER), subject(CLUSTER, {}))
    found = judge(the_policy(), w, catalogue())
    assert named(found[CLUSTER], "queue-unknown").explained_by == ()
    assert named(found[JOB], "evidence-missing").explained_by == ("queue-unknown@cluster:leo",)


def test_a_rule_that_explains_is_a_cause() -> None:
    found = verdict(facts={"state": "FAILED", "step_failed": "0 1:0"})
    assert named(found, "failure").explained_by == ("sacct-masked",)


def test_suspects_are_those_that_may_be() -> None:
    p = the_policy()
    w = world(job({"log_age": 9999}), job({"log_age": 1}, "leo:2"), job({}, "leo:3"))
    assert suspects(p, evaluate(p, w)) == (JOB, Ref("job", "leo:3"))


# ---------------------------------------------------------------- exemptions


def test_an_exemption_changes_what_is_done_and_not_what_is_seen() -> None:
    found = verdict(facts={**WEDGED, "name": "rl-probe"})
    assert names(found) == ["suspected-wedge", "stale-log"]
    assert all(flag.exempt and flag.exemption == "probe" for flag in found.flags)
    kill = action(found, "cancel-salvage")
    assert (kill.status, kill.template, kill.causes) == ("exempt", None, ("stale-log", "suspected-wedge"))
    assert found.exempted == {"old": FALSE, "probe": TRUE, "as-told": FALSE}
    assert found.truths["wedge"] is TRUE


def test_an_exemption_under_a_name_of_its_own_is_one_flag() -> None:
    found = verdict(facts={**WEDGED, "user": "carol"})
    (flag,) = found.flags
    assert (flag.name, flag.severity, flag.covers) == ("measurement-exempt", "info", ("stale-log", "suspected-wedge"))
    assert flag.message.startswith("told so; ")


def test_an_unknown_exemption_exempts_nothing_and_blocks_what_destroys() -> None:
    found = verdict(facts={**WEDGED, "name": "rl", "user": NOT_READ})
    assert not any(flag.exempt for flag in found.flags)
    kill = action(found, "cancel-salvage")
    assert kill.status == "blocked"
    assert any("exemption as-told" in reason for reason in kill.blocked_by)


def test_a_flag_that_can_not_be_exempted_counts_whatever_an_exemption_says() -> None:
    p = the_policy()
    p = replace(p, flags={**p.flags, "stale-log": replace(p.flags["stale-log"], exemptible=False)})
    found = judge(p, world(job({**STALE, "name": "rl-probe"})), catalogue())[JOB]
    assert not named(found, "stale-log").exempt


def test_an_expired_exemption_does_not_count() -> None:
    found = verdict(facts={**STALE, "user": "bob"})
    assert not named(found, "stale-log").exempt


# ---------------------------------------------------------------- actions


def test_an_action_has_its_causes_and_a_template() -> None:
    kill = action(verdict(facts=WEDGED), "cancel-salvage")
    assert (kill.status, kill.template, kill.blocked_by) == ("open", "rl-standard-job-cleanup", ())
    assert (kill.causes, kill.rules) == (("stale-log", "suspected-wedge"), ("wedge",))
    assert kill.args == {"ids": ("1",), "step": 40}


def test_an_unknown_argument_blocks_and_says_which() -> None:
    run = subject(Ref("run", "r"), {"same_signature": 2})
    facts = {"state": "FAILED", "error_class": "nan", "log.path": ABSENT, "step_failed": ABSENT}
    diagnose = action(verdict(run, facts=facts, run=run.ref), "diagnose")
    assert diagnose.status == "blocked"
    assert diagnose.blocked_by == ("position is unknown (not-read)",)
    assert isinstance(diagnose.args["position"], Unknown)
    assert diagnose.args["error_class"] == "nan"


@pytest.mark.parametrize(
    ("facts", "status", "template", "blocked_by"),
    [
        ({"comment": "agentic"}, "open", "rl-agentic-job-cleanup", ()),
        ({"name": "x"}, "blocked", None, ("no rl job of alice",)),
        (
            {"comment": NOT_READ},
            "blocked",
            "rl-standard-job-cleanup",
            ("the route to rl-agentic-job-cleanup is unknown",),
        ),
        ({"comment": NOT_READ, "name": "x"}, "blocked", None, ("no rl job of alice",)),
    ],
)
def test_routes(facts: dict[str, Anything], status: str, template: str | None, blocked_by: tuple[str, ...]) -> None:
    kill = action(verdict(facts={**WEDGED, **facts}), "cancel-salvage")
    assert (kill.status, kill.template, kill.blocked_by) == (status, template, blocked_by)


def test_no_destructive_action_on_a_bucket_that_is_not_sure() -> None:
    facts = {**WEDGED, "name": NOT_READ}
    kill = action(verdict(facts=facts), "cancel-salvage")
    assert "bucket is not sure: an earlier entry of its list is unknown" in kill.blocked_by


def test_ids_that_are_absent_block_what_destroys() -> None:
    p = policy(POLICY.replace("{ids: [.job_id], step: .step}", "{ids: .run_tag, step: .step}"))
    for tag, status in (("7", "open"), (ABSENT, "blocked"), (NOT_READ, "blocked")):
        found = judge(p, world(job({**WEDGED, "run_tag": tag})), catalogue())[JOB]
        assert action(found, "cancel-salvage").status == status, tag


@pytest.mark.parametrize(
    ("links", "ids", "status"),
    [
        (Relation((Ref("job", "leo:2"), Ref("job", "leo:3"))), ("2",), "open"),
        (Relation((Ref("job", "leo:3"),)), (), "blocked"),
        (Relation((Ref("job", "leo:4"),)), None, "blocked"),
        (partial(Ref("job", "leo:2")), None, "blocked"),
        (unread(), None, "blocked"),
    ],
)
def test_collected_ids_are_whole_or_the_action_is_blocked(links: Relation, ids: Anything, status: str) -> None:
    run = subject(Ref("run", "r"), {"complete": True}, links=links)
    others = (job({"state": "PENDING"}, "leo:2"), job({"state": "TIMEOUT"}, "leo:3"), job({}, "leo:4"))
    cancel = action(verdict(run, *others, facts={"state": "COMPLETED", "name": "rl"}, run=run.ref), "cancel-pending")
    assert cancel.status == status
    assert isinstance(cancel.args["ids"], Unknown) if ids is None else cancel.args["ids"] == ids


# ---------------------------------------------------------------- health


def flag(name: str, severity: str, **more: Anything) -> Flag:
    return Flag(name, severity, "r", "", **more)


SEEN = {"liveness": True, "progress": True}


@pytest.mark.parametrize(
    ("flags", "facts", "expected"),
    [
        ([flag("stale-log", "warning")], {"state": NOT_READ}, "flagged"),
        ([flag("stale-log", "warning", exempt=True)], {"state": "RUNNING", **SEEN}, "exempt"),
        ([flag("false-drain-suspect", "info", resolved=True)], {"state": "RUNNING", **SEEN}, "healthy"),
        ([], {"state": NOT_READ}, "unknown"),
        ([], {}, "unknown"),
        ([], {"state": "RUNNING", "liveness": True}, "unknown"),
        ([], {"state": "RUNNING", "liveness": NOT_READ, "progress": True}, "unknown"),
        ([], {"state": "RUNNING", "liveness": True, "progress": ABSENT}, "healthy"),
        ([], {"state": "RUNNING", "liveness": True, "progress": False}, "unknown"),
        ([flag("stale-log", "warning", exempt=True)], {"state": "RUNNING", **SEEN, "progress": False}, "exempt"),
        ([], {"state": "COMPLETED", "progress": False}, "ended"),
        ([flag("bringup", "info")], {"state": "RUNNING"}, "starting"),
        ([flag("stale-log", "info", exempt=True)], {"state": "RUNNING", "liveness": NOT_READ}, "unknown"),
        ([], {"state": "PENDING"}, "waiting"),
        ([], {"state": "GONE"}, "ended"),
        ([], {"state": "COMPLETED"}, "ended"),
    ],
)
def test_health_is_the_first_line_that_holds(flags: list[Flag], facts: dict[str, Anything], expected: str) -> None:
    assert health(flags, facts) == expected


def test_verdicts_are_in_order_and_hold_what_was_decided() -> None:
    found = judge(
        the_policy(), world(job({}, "b:2"), job({"name": "rl"}, "a:1"), subject(CLUSTER, {"x": Interval(0, 1)}))
    )
    assert list(found) == sorted(found)
    assert found[Ref("job", "a:1")].decided["bucket"] == "rl"
    assert found[Ref("cluster", "leo")].health == ""
