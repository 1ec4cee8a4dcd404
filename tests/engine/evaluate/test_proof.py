"""What a proof says: what was there, what was needed, and where it stands in the policy."""

from __future__ import annotations

from typing import Any as Anything

import pytest

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.words import duration, humanise
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, Interval, Relation, Unknown, World
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from sweeprules.engine.verdicts import ConditionProof, FactUse, RuleProof
from tests.engine.evaluate.site import policy
from tests.engine.evaluate.worlds import JOB, job, partial, world

POLICY = """policy: 1
title: t
params:
  floor: {default: 90m, why: shortest silence}
  factor: {default: 3, why: three gaps}
  most: {default: 2h, why: longest silence}
  pair: {default: 2, why: a pair}
rules:
  - id: stale
    on: job
    why: nothing was written for too long
    when:
      all:
        - {state: RUNNING}
        - {log_age: {gt: {calc: "max($floor, $factor * .cadence)"}}}
        - {not: {phase: teardown}}
    unless: {suspended: true}
    if_unknown: fire
    then: [{flag: stale-log}, {set: {liveness: false}}]
  - id: wedge
    on: job
    when: {any: [{flagged: stale-log}, {rule: {id: stale, is: unknown}}]}
    then: {action: diagnose, args: {error_class: .error_class, path: .log.path, position: .step}}
  - {id: alike, on: job, when: {count: {of: siblings, where: {exit: ..exit}, is: {ge: $pair}}}}
  - {id: floor, on: job, when: {log_age: {between: [$floor, $most]}}}
exemptions:
  - {id: spike, when: {name: {contains: zclip}}, flags: [stale-log], expires: 1970-01-02, why: "asked for"}
"""


def prove(w: World, rule: str) -> RuleProof:
    p = policy(POLICY)
    return Prover(p, w, evaluate(p, w)).rule(rule, JOB)


def leaves(proof: ConditionProof) -> list[ConditionProof]:
    return [leaf for part in proof.parts for leaf in leaves(part)] if proof.parts else [proof]


def test_a_leaf_says_what_was_there_and_what_was_needed() -> None:
    facts = {"state": "RUNNING", "log_age": 7800, "cadence": 600, "phase": "steady", "suspended": NOT_READ}
    proof = prove(world(job(facts)), "stale")
    assert proof.truth is TRUE
    assert (proof.file, proof.line, proof.why) == ("rules/t.yaml", 9, "nothing was written for too long")
    assert proof.consequences == ("flag stale-log", "set liveness")
    when, unless = proof.conditions
    state, age, phase = when.parts
    assert (state.actual, state.needed, state.line) == ("state = RUNNING", "= RUNNING", 14)
    assert age.actual == "log_age = 2h10m"
    assert age.needed == "> 1h30m (max($floor, $factor * .cadence))"
    assert FactUse(JOB, "cadence", 600) in age.facts
    assert FactUse(JOB, "log_age", 7800) in age.facts
    assert (phase.text, phase.truth) == ("not", TRUE)
    assert (unless.truth, unless.actual) == (TRUE, "unless is unknown")


def test_what_is_unknown_is_named_with_its_reason() -> None:
    facts = {"state": Unknown("new-state:ODD"), "log_age": 7800, "cadence": 600, "phase": "steady", "suspended": False}
    w = world(job(facts))
    proof = prove(w, "stale")
    assert proof.truth is UNKNOWN
    assert proof.conditions[0].parts[0].actual == "state = ? (new-state:ODD)"
    wedge = prove(w, "wedge")
    assert wedge.truth is TRUE
    flagged, rule_is = wedge.conditions[0].parts
    assert (flagged.truth, flagged.actual) == (UNKNOWN, "stale is unknown")
    assert leaves(flagged)[0].actual == "state = ? (new-state:ODD)"
    assert (rule_is.text, rule_is.truth, rule_is.actual) == ("rule stale is unknown", TRUE, "unknown")


def test_a_count_shows_the_members_that_counted_and_what_was_not_read() -> None:
    others = [job({"exit": "0:53"}, f"leo:{n}") for n in (2, 3)]
    me = job({"exit": "0:53"}, siblings=Relation(tuple(o.ref for o in others)))
    proof = prove(world(me, *others), "alike")
    assert proof.truth is TRUE
    assert proof.conditions[0].actual == "count of siblings = 2"
    assert proof.conditions[0].needed == "at least 2 ($pair)"
    assert [part.facts[0].ref for part in proof.conditions[0].parts] == [o.ref for o in others]
    open_end = prove(world(job({"exit": "0:53"}, siblings=partial(others[0].ref)), *others), "alike")
    assert open_end.truth is UNKNOWN
    assert open_end.conditions[0].facts == (FactUse(JOB, "siblings", Unknown("cut")),)


def test_a_span_is_worded_with_both_ends() -> None:
    proof = prove(world(job({"log_age": 60})), "floor")
    assert proof.truth is FALSE
    assert proof.conditions[0].needed == "between 1h30m ($floor) and 2h ($most)"


@pytest.mark.parametrize(("now", "truth"), [(1000.0, TRUE), (86400.0, FALSE), (None, UNKNOWN)])
def test_an_exemption_holds_until_it_expires(now: float | None, truth: Anything) -> None:
    p = policy(POLICY)
    w = world(job({"name": "x zclip"}), now=now or 0)
    if now is None:
        w = World({JOB: w.subjects[JOB]})
    proof = Prover(p, w, evaluate(p, w)).exemption(p.exemptions[0], JOB)
    assert proof.truth is truth


def test_rules_in_a_circle_have_a_proof_that_ends() -> None:
    p = policy(
        """policy: 1
title: t
rules:
  - {id: a, on: job, when: {any: [{flagged: stale-log}, {state: FAILED}]}, then: {flag: failure}}
  - {id: b, on: job, when: {flagged: failure}, then: {flag: stale-log}}
"""
    )
    w = world(job({}))
    assert Prover(p, w, evaluate(p, w)).rule("a", JOB).truth is UNKNOWN


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (7800, "duration", "2h10m"),
        (90.5, "duration", "1m30s"),
        (59.96, "duration", "1m"),
        (-5400, "duration", "-1h30m"),
        (0, "duration", "0s"),
        (183_600, "duration", "2d3h"),
        (64_000_000_000, "bytes", "64 GB"),
        (1_782_907_200, "time", "2026-07-01T12:00:00Z"),
        (1e300, "time", "1e+300"),
        (0.30000000000000004, "ratio", "0.3"),
        (True, "", "true"),
        (ABSENT, "duration", "—"),
        (Absent("not-applicable"), "", "—"),
        (Unknown("cut"), "duration", "? (cut)"),
        (Interval(2, None), "interval", "at least 2"),
        (Interval(2, 4), "interval", "2 to 4"),
        (("a", 1), "list", "[a, 1]"),
        ("x" * 500, "text", "x" * 119 + "…"),
    ],
)
def test_values_in_words(value: Anything, kind: str, words: str) -> None:
    assert humanise(value, kind) == words


def test_a_duration_under_a_minute_keeps_one_decimal() -> None:
    assert duration(1.26) == "1.3s"
