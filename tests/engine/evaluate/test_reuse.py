"""Two policies judged over one world, what they have alike worked out once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.native import Judging, evaluate, evaluate_pair, evaluate_part
from sweeprules.engine.evaluate.plan import Node, index, plan
from sweeprules.engine.evaluate.reuse import alike, reading
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import World
from sweeprules.engine.holds import NOTHING_HELD, HoldState
from sweeprules.engine.language import ast
from tests.engine import strategies
from tests.engine.evaluate import stepped
from tests.engine.evaluate.site import policy
from tests.engine.evaluate.worlds import JOB, job, world

ELSEWHERE = Mark("rules/other.yaml", 77, 7)
EDITS: tuple[Callable[[ast.Rule], ast.Rule], ...] = (
    lambda rule: replace(rule, mark=ELSEWHERE),
    lambda rule: replace(rule, when=ast.All((rule.when, rule.when), rule.mark)),
    lambda rule: replace(rule, then=()),
    lambda rule: replace(rule, if_unknown="fire" if rule.if_unknown == "hold" else "hold"),
    lambda rule: replace(rule, judge="latest" if rule.judge == "new" else "new"),
)


@st.composite
def edited(draw: st.DrawFn, before: ast.Policy) -> ast.Policy:
    """The policy with some rules changed and some thresholds moved."""
    rules = {
        name: draw(st.sampled_from(EDITS))(rule) if draw(st.integers(0, 2)) == 0 else rule
        for name, rule in before.rules.items()
    }
    params = {
        name: replace(param, default=param.default + 1)
        if isinstance(param.default, int | float) and not isinstance(param.default, bool) and draw(st.booleans())
        else param
        for name, param in before.params.items()
    }
    return replace(before, rules=rules, params=params, sha256="another")


def found(truths: Truths) -> object:
    """All that an evaluation hands out; as text, for 1, 1.0 and True are equal to Python."""
    tables = truths.tables.items()
    fields = {kind: {name: repr([*values]) for name, values in table.fields.items()} for kind, table in tables}
    return {kind: table.columns for kind, table in tables}, fields, truths.bare, repr(truths.unjudged)


def check(data: st.DataObject, old: ast.Policy, whole: World) -> None:
    new = data.draw(edited(old))
    first, second = evaluate_pair(Judging(old, whole, NOTHING_HELD), Judging(new, whole, NOTHING_HELD), alike(old, new))
    assert found(first) == found(evaluate(old, whole))
    assert found(second) == found(evaluate(new, whole))
    goals = [Node("rule", rule.id, rule.on) for rule in new.rules.values()][:2]
    part = evaluate_part(new, whole, goals)
    for goal in goals:
        assert part.tables[goal.kind].columns[goal.name] == second.tables[goal.kind].columns[goal.name]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), strategies.policies(), strategies.worlds())
def test_two_policies_come_to_what_each_comes_to_alone(data: st.DataObject, old: ast.Policy, whole: World) -> None:
    check(data, old, whole)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), stepped.policies(), stepped.worlds())
def test_so_do_two_that_read_steps(data: st.DataObject, old: ast.Policy, whole: World) -> None:
    check(data, old, whole)


TEXT = """policy: 1
title: t
params:
  far: {default: 2h, why: "a test"}
  twice: {default: 2, unit: sweeps, why: "a test"}
rules:
  - {id: late, on: job, when: {elapsed: {gt: $far}}, then: {flag: failure}}
  - {id: reads, on: job, when: {flagged: failure}, then: {flag: stale-log}}
  - {id: other, on: job, when: {state: RUNNING}}
  - {id: held, on: job, when: {state: RUNNING}, for: $twice}
  - {id: after, on: job, when: {rule: {id: held, is: true}}}
"""


def test_what_builds_on_a_threshold_is_not_alike_once_it_moves_and_lines_count_for_nothing() -> None:
    old = policy(TEXT)
    moved, lower = policy(TEXT.replace("2h", "3h")), policy(TEXT.replace("rules:", "# a comment\n\nrules:"))
    everything = frozenset(plan(old, index(old)).needs)
    assert {node.name for node in everything - alike(old, moved)} == {"late", "reads"}
    assert alike(old, lower) == everything
    goals = [Node("rule", "reads", "job")]
    assert reading(old, goals) == reading(lower, goals) != reading(moved, goals)
    assert reading(old, [Node("rule", "other", "job")]) == reading(moved, [Node("rule", "other", "job")])


def test_what_was_held_otherwise_is_worked_out_again_with_all_that_builds_on_it() -> None:
    both = policy(TEXT)
    whole = world(job({"state": "RUNNING"}))
    held = {("held", JOB): HoldState(1, "s1", 1.0, 1.0, "1")}
    first, second = evaluate_pair(Judging(both, whole, NOTHING_HELD), Judging(both, whole, held), alike(both, both))
    assert found(first) == found(evaluate(both, whole))
    assert found(second) == found(evaluate(both, whole, held))
    assert found(first) != found(second)
