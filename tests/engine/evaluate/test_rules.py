"""Rules from text: relations, parameters, signals, quantifiers, chaining."""

from __future__ import annotations

from typing import Any as Anything

import pytest

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, NOT_READ, Interval, Reason, Ref, Relation, Unknown
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.engine.evaluate.site import policy
from tests.engine.evaluate.worlds import CLUSTER, JOB, job, partial, subject, truth, unread, world

T, F, U = TRUE, FALSE, UNKNOWN
TWO = "params: {two: {default: 2, why: a pair}}"
OTHERS = (Ref("job", "leo:2"), Ref("job", "leo:3"))


def rules(*lines: str, more: str = "") -> Policy:
    """A policy of rules on jobs, each `id: condition`."""
    body = "\n".join(f"  - {{id: {line.split(': ', 1)[0]}, on: job, {line.split(': ', 1)[1]}}}" for line in lines)
    return policy(f"policy: 1\ntitle: t\n{more}\nrules:\n{body}\n")


# ---------------------------------------------------------------- relations


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ({}, F),
        ({"next_link": Relation()}, F),
        ({"next_link": unread()}, U),
        ({"next_link": OTHERS[0]}, T),
        ({"next_link": Ref("job", "leo:99")}, U),
        ({"next_link": partial()}, U),
        ({"next_link": Relation(OTHERS)}, U),
    ],
)
def test_a_path_over_a_link_that_need_not_be_there(relation: dict[str, Anything], expected: Truth) -> None:
    p = rules("r: when: {next_link.state: RUNNING}")
    assert truth(p, world(job({}, **relation), job({"state": "RUNNING"}, "leo:2")), "r") is expected


def test_a_path_over_any_other_relation_that_nobody_read_is_unknown() -> None:
    p = rules("r: when: {cluster.queue: ok}", "s: when: {cluster.queue: {absent: true}}")
    assert truth(p, world(job({})), "r") is U
    assert truth(p, world(job({})), "s") is U
    there = world(job({}, cluster=CLUSTER), subject(CLUSTER, {"queue": "ok"}))
    assert truth(p, there, "r") is T
    assert truth(p, world(job({}, cluster=Relation())), "r") is F


def test_what_is_not_judged_is_read_and_not_judged() -> None:
    p = rules("r: when: {prior_link.state: TIMEOUT}")
    w = world(job({}, prior_link=OTHERS[0]), job({"state": "TIMEOUT"}, "leo:2", judged=False))
    assert truth(p, w, "r") is T
    assert OTHERS[0] not in evaluate(p, w)


# ---------------------------------------------------------------- parameters

PARAMS = """
params:
  floor:
    default: 30m
    why: shortest silence
    for:
      - {job: "leo:7", value: 1m}
      - {tag: debug, value: 2m}
      - {cluster: leo, bucket: rl, value: 3m}
      - {cluster: leo, value: 4m}
      - {bucket: sft, value: 5m}
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {when: {name: {prefix: sft}}, is: sft}, {otherwise: catch-all}]
"""


@pytest.mark.parametrize(
    ("facts", "key", "seconds"),
    [
        ({"name": "rl", "tags": ("debug",)}, "leo:7", 60),
        ({"name": "rl", "tags": ("debug",)}, "leo:1", 120),
        ({"name": "rl", "tags": ()}, "leo:1", 180),
        ({"name": "sft", "tags": ()}, "leo:1", 240),
        ({"name": "sft", "tags": ()}, "tacc:1", 300),
        ({"name": "x", "tags": ()}, "tacc:1", 1800),
    ],
)
def test_the_most_specific_override_counts(facts: dict[str, Anything], key: str, seconds: int) -> None:
    p = rules("r: when: {log_age: {eq: $floor}}", more=PARAMS)
    assert truth(p, world(job({**facts, "log_age": seconds}, key)), "r", Ref("job", key)) is T


def test_a_parameter_that_turns_on_something_unknown_is_unknown() -> None:
    p = rules("r: when: {log_age: {gt: $floor}}", more=PARAMS)
    assert truth(p, world(job({"name": "rl", "log_age": 9999, "tags": NOT_READ})), "r") is U
    assert truth(p, world(job({"name": NOT_READ, "log_age": 9999, "tags": ()}, "leo:7")), "r", Ref("job", "leo:7")) is T


def test_a_limit_by_arithmetic_is_absent_or_unknown_with_its_operands() -> None:
    p = rules(
        'r: when: {log_age: {gt: {calc: "max($floor, $two * .cadence)"}}}',
        "s: when: {log_age: {gt: {calc: '.elapsed / .nodes'}}}",
        more="params: {floor: {default: 30m, why: shortest}, two: {default: 2, why: twice}}",
    )
    for cadence, age, expected in ((600, 1801, T), (901, 1801, F), (ABSENT, 9999, F), (NOT_READ, 9999, U)):
        assert truth(p, world(job({"cadence": cadence, "log_age": age})), "r") is expected
    assert truth(p, world(job({"elapsed": 5, "nodes": 0, "log_age": 9})), "s") is U


# ---------------------------------------------------------------- unless


@pytest.mark.parametrize(("checkpoint", "hold", "fire"), [("step 5", T, T), (ABSENT, F, F), (NOT_READ, U, T)])
def test_an_unknown_unless_holds_back_unless_told_to_fire(checkpoint: Anything, hold: Truth, fire: Truth) -> None:
    p = rules(
        "hold: when: {state: TIMEOUT}, unless: {run.checkpoint: {absent: true}}",
        "fire: when: {state: TIMEOUT}, unless: {run.checkpoint: {absent: true}}, if_unknown: fire",
    )
    w = world(
        job({"state": "TIMEOUT"}, run=Ref("run", "leo:1")), subject(Ref("run", "leo:1"), {"checkpoint": checkpoint})
    )
    assert (truth(p, w, "hold"), truth(p, w, "fire")) == (hold, fire)
    elsewhere = world(job({"state": "FAILED"}))
    assert truth(p, elsewhere, "hold") is F


# ---------------------------------------------------------------- signals

SIGNALS = """
policy: 1
title: t
rules:
  - {id: grad, on: step, needs: [grad_norm], when: {grad_norm: {gt: 1}}, then: {signal: grad}}
  - {id: entropy, on: step, needs: [entropy], when: {entropy: {lt: 1}}, then: {signal: entropy}}
  - {id: pass, on: step, needs: [reward], when: {reward: {lt: $half}}, then: {signal: pass-rate}}
  - {id: two, on: step, when: {at_least: {n: 2, of: [grad, entropy, pass-rate]}}, then: {flag: rl-collapse}}
  - {id: few, on: step, when: {at_least: {of: [grad, entropy, pass-rate], evaluable: {lt: 2}, ignoring: [warming-up]}}}
  - {id: live, on: job, when: {flagged: rl-collapse}}
params: {half: {default: 0.5, why: half of it}}
"""
WARM, CUT = Unknown(Reason.WARMING_UP), Unknown(Reason.CUT)


@pytest.mark.parametrize(
    ("grad", "entropy", "reward", "two", "few"),
    [
        (2, 0.5, 0.9, T, F),
        (2, 5, 0.9, F, F),
        (2, CUT, 0.9, U, F),
        (2, ABSENT, 0.9, F, F),
        (2, CUT, CUT, U, T),
        (2, WARM, WARM, U, F),
        (2, WARM, CUT, U, T),
        (2, ABSENT, ABSENT, F, T),
        (2, NOT_APPLICABLE, NOT_APPLICABLE, F, F),
        (2, NOT_APPLICABLE, CUT, U, T),
        (CUT, CUT, CUT, U, T),
    ],
)
def test_signals_are_counted_when_they_can_be_told(
    grad: Anything, entropy: Anything, reward: Anything, two: Truth, few: Truth
) -> None:
    step = Ref("step", "leo:1/40")
    w = world(subject(step, {"step": 40, "grad_norm": grad, "entropy": entropy, "reward": reward}, job=JOB))
    p = policy(SIGNALS)
    assert truth(p, w, "two", step) is two
    assert truth(p, w, "few", step) is few


def test_a_signal_is_unknown_while_what_it_needs_is_although_its_rule_reads_something_else() -> None:
    p = policy(
        """policy: 1
title: t
rules:
  - {id: grad, on: job, needs: [cadence], when: {state: RUNNING}, then: {signal: grad}}
  - {id: one, on: job, when: {at_least: {n: 1, of: [grad, {state: FAILED}]}}}
"""
    )
    for cadence, expected in ((5, T), (NOT_READ, U), (ABSENT, F)):
        w = world(job({"state": "RUNNING", "cadence": cadence}))
        assert (truth(p, w, "grad"), truth(p, w, "one")) == (expected, expected)
    # The signal can not be told; that its rule is false of a job that waits can.
    waits = world(job({"state": "PENDING", "cadence": NOT_READ}))
    assert (truth(p, waits, "grad"), truth(p, waits, "one")) == (F, U)


def test_a_flag_of_a_step_is_seen_on_its_job() -> None:
    step = Ref("step", "leo:1/40")
    bad = subject(step, {"step": 40, "grad_norm": 2, "entropy": 0.1, "reward": 1}, job=JOB)
    p = policy(SIGNALS)
    assert truth(p, world(bad, job({}, steps=Relation((step,)))), "live") is T
    assert truth(p, world(bad, job({}, steps=Relation())), "live") is F
    assert truth(p, world(bad, job({}, steps=partial())), "live") is U
    assert truth(p, world(bad, job({})), "live") is U


# ---------------------------------------------------------------- quantifiers


@pytest.mark.parametrize(
    ("siblings", "every", "some", "count"),
    [
        (Relation(OTHERS), F, T, F),
        (Relation(OTHERS[:1]), T, T, F),
        (Relation(OTHERS[1:]), F, F, F),
        (partial(*OTHERS[:1]), U, T, U),
        (partial(*OTHERS[1:]), F, U, U),
        (unread(), U, U, U),
        (Relation(), U, F, F),
        (None, U, U, U),
    ],
)
def test_members_that_were_not_read_settle_nothing(
    siblings: Relation | None, every: Truth, some: Truth, count: Truth
) -> None:
    p = rules(
        "every: when: {every: {of: siblings, is: {state: FAILED}}}",
        "some: when: {some: {of: siblings, is: {state: FAILED}, if_empty: false}}",
        "count: when: {count: {of: siblings, where: {state: FAILED}, is: {ge: $two}}}",
        more=TWO,
    )
    relations = {} if siblings is None else {"siblings": siblings}
    w = world(job({}, **relations), job({"state": "FAILED"}, "leo:2"), job({"state": "COMPLETED"}, "leo:3"))
    assert [truth(p, w, rule) for rule in ("every", "some", "count")] == [every, some, count]


def test_a_where_sees_the_member_and_the_subject() -> None:
    p = rules("r: when: {some: {of: siblings, where: {exit: ..exit}, is: {workdir: {ne: ..workdir}}, if_empty: false}}")
    me = job({"exit": "0:53", "workdir": "/a"}, siblings=Relation(OTHERS))
    assert truth(p, world(me, job({"exit": "0:53", "workdir": "/b"}, "leo:2"), job({"exit": "1:0"}, "leo:3")), "r") is T
    same = job({"exit": "0:53", "workdir": "/a"}, "leo:2")
    assert truth(p, world(me, same, job({"exit": "1:0"}, "leo:3")), "r") is F
    assert truth(p, world(me, same, job({"workdir": "/b"}, "leo:3")), "r") is U


def test_each_subject_is_compared_with_its_own_members() -> None:
    p = rules(
        "own: when: {some: {of: siblings, where: {exit: ..exit}, if_empty: false}}",
        "far: when: {some: {of: cluster.jobs, where: {exit: ..exit}, is: {key: {ne: ..key}}, if_empty: false}}",
        "near: when: {count: {of: cluster.jobs, where: {nodes: {gt: $two}}, is: {eq: .nodes}}}",
        more=TWO,
    )
    refs = (JOB, *OTHERS)
    jobs = [
        job(
            {"exit": exit, "nodes": nodes},
            ref.key,
            cluster=CLUSTER,
            siblings=Relation(tuple(r for r in refs if r != ref)),
        )
        for ref, exit, nodes in zip(refs, ("1:0", "2:0", "2:0"), (1, 3, 2), strict=True)
    ]
    w = world(*jobs, subject(CLUSTER, {}, jobs=Relation(refs)))
    assert [truth(p, w, "own", ref) for ref in refs] == [F, T, T]
    assert [truth(p, w, "far", ref) for ref in refs] == [F, T, T]
    assert [truth(p, w, "near", ref) for ref in refs] == [T, F, F]


def test_a_doubtful_choice_over_perhaps_nobody() -> None:
    p = rules(
        "all: when: {every: {of: siblings, where: {state: FAILED}, is: {nodes: 1}, if_empty: true}}",
        "none: when: {every: {of: siblings, where: {state: FAILED}, is: {nodes: 1}, if_empty: false}}",
    )
    w = world(job({}, siblings=Relation(OTHERS[:1])), job({"nodes": 1}, "leo:2"))
    assert (truth(p, w, "all"), truth(p, w, "none")) == (T, U)


def test_lists_maps_and_records_have_members() -> None:
    p = rules(
        "value: when: {some: {of: metric_families, is: {value: {prefix: policy}}, if_empty: false}}",
        "key: when: {sum: {of: fault_lines, field: value, is: {gt: $two}}}",
        "record: when: {count: {of: cluster.reservations, where: {from: {le: ..sweep.now}}, is: {ge: 1}}}",
        more=TWO,
    )
    cluster = subject(CLUSTER, {"reservations": ({"name": "m", "from": 10, "to": 20},)})
    w = world(job({"metric_families": ("loss", "policy/x"), "fault_lines": {"a": 2, "b": 2}}, cluster=CLUSTER), cluster)
    assert [truth(p, w, r) for r in ("value", "key", "record")] == [T, T, T]
    nothing = world(job({"metric_families": ABSENT, "fault_lines": NOT_READ}))
    assert [truth(p, nothing, r) for r in ("value", "key", "record")] == [F, U, U]


def test_counts_between_two_ends() -> None:
    text = """
policy: 1
title: t
rules:
  - {id: sure, on: cluster, when: {rl_running: {ge: .caps.rl_running}}}
  - {id: maybe, on: cluster, when: {rl_running: {possible: {ge: .caps.rl_running}}}}
"""
    w = world(subject(CLUSTER, {"rl_running": Interval(5, 6), "caps.rl_running": 6}))
    p = policy(text)
    assert (truth(p, w, "sure", CLUSTER), truth(p, w, "maybe", CLUSTER)) == (U, T)


# ---------------------------------------------------------------- rules on rules


def test_a_rule_about_another_rules_truth_is_never_unknown() -> None:
    p = rules("a: when: {state: FAILED}", "b: when: {rule: {id: a, is: unknown}}", "c: when: {rule: {id: a, is: true}}")
    assert [truth(p, world(job({})), r) for r in "abc"] == [U, T, F]
    assert [truth(p, world(job({"state": "FAILED"})), r) for r in "abc"] == [T, F, T]


def test_what_only_supports_itself_is_false_and_support_spreads() -> None:
    p = rules(
        "a: when: {any: [{flagged: stale-log}, {state: FAILED}]}, then: {flag: failure}",
        "b: when: {flagged: failure}, then: {flag: stale-log}",
    )
    assert [truth(p, world(job({"state": "RUNNING"})), r) for r in "ab"] == [F, F]
    assert [truth(p, world(job({"state": "FAILED"})), r) for r in "ab"] == [T, T]
    assert [truth(p, world(job({})), r) for r in "ab"] == [U, U]


# ---------------------------------------------------------------- decided fields


@pytest.mark.parametrize(
    ("facts", "bucket", "sure"),
    [
        ({"name": "rl_x", "run_tag": ABSENT}, "rl", True),
        ({"name": "x", "run_tag": "sft"}, "sft", True),
        ({"name": "x", "run_tag": NOT_READ}, "catch-all", False),
        ({"name": "rl_x", "run_tag": NOT_READ}, "rl", True),
        ({"name": NOT_READ, "run_tag": "sft"}, "sft", False),
    ],
)
def test_bucket_passes_over_what_is_unknown_and_says_so(facts: dict[str, Anything], bucket: str, sure: bool) -> None:
    p = rules(
        "r: when: {bucket: rl}",
        more="""
decide:
  bucket: [{when: {name: {prefix: rl}}, is: rl}, {when: {run_tag: sft}, is: sft}, {otherwise: catch-all}]
""",
    )
    found = evaluate(p, world(job(facts))).decided(JOB)
    assert (found["bucket"], found["bucket_sure"]) == (bucket, sure)


def test_flavour_is_unknown_behind_an_unknown_entry_that_says_something_else() -> None:
    p = rules(
        "r: when: {flavour: agentic}",
        more="decide: {flavour: [{when: {run_tag: a}, is: agentic}, {when: {name: b}, is: standard}]}",
    )
    assert evaluate(p, world(job({"run_tag": NOT_READ, "name": "b"}))).decided(JOB)["flavour"].reason == "not-read"  # type: ignore[union-attr]
    assert evaluate(p, world(job({"run_tag": "z", "name": "b"}))).decided(JOB)["flavour"] == "standard"
    assert isinstance(evaluate(p, world(job({"run_tag": "z", "name": "c"}))).decided(JOB)["flavour"], Unknown)


def test_set_and_add() -> None:
    p = rules(
        "a: when: {state: FAILED}, then: {set: {error_class: wall}}",
        "b: when: {nodes: 1}, then: {set: {error_class: quota}}",
        "c: when: {state: FAILED}, then: {add: {tags: debug}}",
        "d: when: {nodes: 1}, then: {add: {tags: a3}}",
        "read: when: {tags: {contains: a3}}",
    )

    def decided(**facts: Anything) -> tuple[Anything, Anything]:
        found = evaluate(p, world(job(facts))).decided(JOB)
        return found["error_class"], found["tags"]

    assert decided(state="FAILED", nodes=2) == ("wall", ("debug",))
    assert decided(state="RUNNING", nodes=2, error_class="nan") == ("nan", ())
    both, tags = decided(state="FAILED", nodes=1)
    assert (both.reason, tags) == ("conflict", ("debug", "a3"))
    doubt, open_tags = decided(state="FAILED", nodes=NOT_READ)
    assert (doubt.reason, open_tags) == ("not-read", ("debug",))
    assert truth(p, world(job({"state": "FAILED", "nodes": NOT_READ})), "read") is U
    assert truth(p, world(job({"state": "FAILED", "nodes": 2})), "read") is F
