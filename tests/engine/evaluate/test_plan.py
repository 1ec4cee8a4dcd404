"""The order in which a policy is computed, and what an evaluation hands out."""

from __future__ import annotations

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import index, plan
from sweeprules.engine.facts import Ref
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from tests.engine.evaluate.site import policy
from tests.engine.evaluate.worlds import JOB, job, world
from tests.engine.strategies import MARK, make_policy

POLICY = policy(
    """policy: 1
title: t
decide: {bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]}
rules:
  - {id: a-last, on: job, when: {flagged: failure}, then: {flag: stale-log}}
  - {id: m-reads, on: job, when: {tags: {contains: debug}}, then: {flag: failure}}
  - {id: z-first, on: job, when: {bucket: rl}, then: {add: {tags: debug}}}
  - {id: before, on: job, when: {previous.tags: {contains: debug}}, then: {add: {tags: a3}}}
"""
)


def test_each_step_stands_after_what_it_builds_on() -> None:
    steps = plan(POLICY, index(POLICY)).steps
    names = [step.nodes[0].name for step in steps]
    assert not any(step.recursive for step in steps)
    order = ["bucket", "z-first", "tags", "m-reads", "a-last"]
    assert [name for name in names if name in order] == order


def test_fields_that_rules_read_are_known_beforehand() -> None:
    assert plan(POLICY, index(POLICY)).reads == {"job": ("name",)}


def _raises(rule: str, when: ast.Condition, flag: str) -> ast.Rule:
    return ast.Rule(rule, "job", when, (ast.Raise(flag, "info", False, "", MARK),), MARK)


def test_what_contradicts_itself_is_unknown_and_ends() -> None:
    # The loader refuses this; should it ever slip through, nothing is claimed.
    a = _raises("a", ast.Not(ast.Flagged("b", MARK), MARK), "a")
    b = _raises("b", ast.Flagged("a", MARK), "b")
    found = evaluate(make_policy([a, b]), world(job({})))
    assert dict(found[JOB]) == {"a": UNKNOWN, "b": UNKNOWN}


def test_truths_are_a_mapping_of_mappings() -> None:
    found = evaluate(POLICY, world(job({"name": "rl"}), job({"name": "x"}, "leo:2"), job({}, "leo:3", judged=False)))
    assert dict(found[JOB]) == {"a-last": TRUE, "before": FALSE, "m-reads": TRUE, "z-first": TRUE}
    assert {ref for ref in found if ref.kind == "job"} == {JOB, Ref("job", "leo:2")}
    assert len(found) == 3
    assert found.true("z-first", "job") == [JOB]
    assert found.not_false("m-reads", "job") == [JOB]
    assert found.true("z-first", "cluster") == []
    assert found.firings() == {("z-first", JOB), ("m-reads", JOB), ("a-last", JOB)}
    assert found.truth("z-first", Ref("job", "leo:3")) is UNKNOWN
    assert found.field(Ref("job", "leo:3"), "tags") is None
    assert found.field(JOB, "name") is None
    assert found.decided(JOB) == {"bucket": "rl", "bucket_sure": True, "tags": ("debug",)}
    assert "'a-last': <Truth.TRUE: 2>" in repr(found[JOB])
