"""Why not: each set of needs is enough, no part of it is, and none is left out without a word."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any as Anything
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from sweeprules.engine.evaluate import formula as f
from sweeprules.engine.evaluate import whynot
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.whynot import MOST_LEAVES, MOST_SETS, Need, WhyNot, _identity, why_not
from sweeprules.engine.facts import ABSENT, NOT_READ, Ref, Relation, Unknown, World
from sweeprules.engine.holds import Held, HoldState
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.engine import strategies as gen
from tests.engine.evaluate.site import policy
from tests.engine.evaluate.worlds import JOB, job, subject, world
from tests.engine.strategies import MARK

# ---------------------------------------------------------------- formulas

_names = st.sampled_from("abcde")
_TRUTHS = st.fixed_dictionaries({name: st.sampled_from(list(Truth)) for name in "abcde"})


def _formulas(truths: Mapping[str, Truth]) -> st.SearchStrategy[f.Formula]:
    leaf = _names.map(lambda name: f.Leaf((name,), truths[name]))

    def grow(inner: st.SearchStrategy[f.Formula]) -> st.SearchStrategy[f.Formula]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(f.Several, st.sampled_from(["all", "any"]), several),
            st.builds(f.Opposite, inner),
            st.builds(f.Sure, inner),
            st.builds(f.Exactly, inner, st.sampled_from(list(Truth))),
            st.builds(f.Quorum, st.sampled_from([1, 1.5, 2, 3]), several),
            st.builds(f.Gated, several, inner),
        )

    return st.recursive(leaf, grow, max_leaves=7)


def _brute(formula: f.Formula) -> set[f.Change]:
    """All changes that are enough and of which no part is, by trying them all."""
    keys = sorted({leaf.key for leaf in f.leaves(formula)}, key=repr)
    before = {leaf.key: leaf.truth for leaf in f.leaves(formula)}
    found: set[f.Change] = set()
    for size in range(MOST_LEAVES + 1):
        for chosen in combinations(keys, size):
            for truths in product((FALSE, TRUE), repeat=size):
                change = frozenset(zip(chosen, truths, strict=True))
                told = all(before[key] is not truth for key, truth in change)
                if told and f.value(formula, dict(change)) is TRUE and not any(part < change for part in found):
                    found.add(change)
    return found


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_all_smallest_changes_are_found_and_only_these(data: st.DataObject) -> None:
    formula = data.draw(_formulas(data.draw(_TRUTHS)))
    search = f.Search(MOST_LEAVES)
    found, all_of_them = search.run(formula), _brute(formula)
    assert set(found) <= all_of_them
    event("cut" if search.cut else "whole")
    if not search.cut:
        assert set(found) == all_of_them
    assert sorted(map(len, found)) == [len(change) for change in found]


# ---------------------------------------------------------------- policies


@st.composite
def _cases(draw: st.DrawFn) -> tuple[ast.Policy, World, Held]:
    base, made = draw(gen.policies()), draw(gen.worlds(max_jobs=3))
    held: dict[tuple[str, Ref], HoldState] = {}
    rules = dict(base.rules)
    for name, rule in base.rules.items():
        if draw(st.integers(0, 4)) == 0:
            rules[name] = replace(rule, hold=ast.Hold(ast.Const(2, "2 sweeps"), None, MARK))
            held.update({(name, ref): _LONG for ref in made.subjects if draw(st.booleans())})
    return replace(base, rules=rules), made, held


_LONG = HoldState(99, "s0", 0.0, 0.0, "1")


@settings(max_examples=150, deadline=None)
@given(_cases(), st.sampled_from([1, whynot.SMALL]))
def test_each_set_is_enough_and_no_part_of_it_is(case: tuple[ast.Policy, World, Held], small: int) -> None:
    with patch.object(whynot, "SMALL", small):
        _each_is_enough(case)


def _each_is_enough(case: tuple[ast.Policy, World, Held]) -> None:
    policy, made, held = case
    truths = evaluate(policy, made, held)
    prover = Prover(policy, made, truths)
    for ref, row in truths.items():
        for rule, truth in row.items():
            found = why_not(prover, rule, ref)
            assert found.truth is truth
            assert len(found.sets) <= MOST_SETS
            if truth is TRUE:
                assert found == WhyNot(rule, ref, TRUE, (), cut=False)
            for needs in found.sets:
                event(f"{len(needs)} needs")
                assert 0 < len(needs) <= MOST_LEAVES or (found.cut and len(found.sets) == 1)
                assert _supposing(case, needs).truth(rule, ref) is TRUE, (rule, ref, needs)
                for part in combinations(needs, len(needs) - 1):
                    assert _supposing(case, part).truth(rule, ref) is not TRUE, (rule, ref, part)


def _supposing(case: tuple[ast.Policy, World, Held], needs: tuple[Need, ...]) -> Anything:
    """The truths where just these conditions are otherwise."""
    policy, made, held = case
    flips = {need.key[:2]: need.wanted for need in needs}
    states = dict(held)
    for need in needs:
        if need.key[0] == "for":
            states[need.rule, need.ref] = replace(_LONG, sweeps=99 if need.wanted is TRUE else 0)
    rules = {name: _flipped(rule, flips) for name, rule in policy.rules.items()}
    subjects = {ref: replace(s, facts={**s.facts, "gone": ABSENT}) for ref, s in made.subjects.items()}
    return evaluate(replace(policy, rules=rules), World(subjects), states)


def _flipped(rule: ast.Rule, flips: Mapping[Anything, Truth]) -> ast.Rule:
    unless = None if rule.unless is None else _otherwise(rule.unless, flips)
    wanted = [(name, flips.get(("known", name))) for name in rule.needs]
    needs = tuple("gone" if truth is FALSE else name for name, truth in wanted if truth is not TRUE)
    return replace(rule, when=_otherwise(rule.when, flips), unless=unless, needs=needs)


def _otherwise(condition: Anything, flips: Mapping[Anything, Truth]) -> Anything:
    name = condition.name if isinstance(condition, ast.Signalled) else _identity(condition)
    truth = flips.get((type(condition).__name__, name))
    if truth is not None:
        right = "leo" if truth is TRUE else "nowhere"
        return ast.Test(
            ast.Path((), "cluster", "job", "text"), ast.Compare("eq", (ast.Const(right),)), MARK, "supposed"
        )
    if isinstance(condition, ast.All | ast.Any):
        return replace(condition, items=tuple(_otherwise(item, flips) for item in condition.items))
    if isinstance(condition, ast.Not):
        return replace(condition, item=_otherwise(condition.item, flips))
    if isinstance(condition, ast.AtLeast):
        return replace(condition, of=tuple(_otherwise(item, flips) for item in condition.of))
    return condition


# ---------------------------------------------------------------- words

POLICY = """policy: 1
title: t
params:
  limit: {default: 1.0, why: "l"}
  silence: {default: 30m, why: "s"}
  two: {default: 2, why: "once is chance"}
rules:
  - {id: grad, on: step, needs: [grad_norm], when: {grad_norm: {gt: $limit}}, then: {signal: grad}}
  - {id: entropy, on: step, needs: [entropy], when: {entropy: {lt: $limit}}, then: {signal: entropy}}
  - {id: ratio, on: step, needs: [log_ratio_mean], when: {log_ratio_mean: {gt: $limit}}, then: {signal: log-ratio}}
  - id: collapse
    on: step
    when: {at_least: {n: 2, of: [grad, entropy, log-ratio]}}
    then: {flag: rl-collapse}
  - {id: live, on: job, when: {all: [{flagged: rl-collapse}, {state: RUNNING}]}}
  - {id: twice, on: job, for: 2 sweeps, when: {log_age: {gt: $silence}}, then: {flag: stale-log}}
  - {id: told, on: job, when: {all: [{flagged: stale-log}, {state: RUNNING}]}}
  - {id: never, on: job, when: {all: [{state: RUNNING}, {state: PENDING}]}}
  - {id: either, on: job, when: {any: [{state: RUNNING}, {all: [{state: PENDING}, {log_age: {gt: $silence}}]}]}}
  - {id: early, on: job, when: {log.mtime: {lt: .started}}}
"""
STEP = Ref("step", "leo:1/40")


def said(rule: str, of: World, ref: Ref = JOB) -> list[list[str]]:
    p = policy(POLICY)
    found = why_not(Prover(p, of, evaluate(p, of)), rule, ref)
    assert not found.cut
    return [[need.words for need in needs] for needs in found.sets]


def test_a_quorum_names_the_nearest_of_its_signals_first() -> None:
    facts = {"step": 40, "grad_norm": 0.96, "entropy": 0.5, "log_ratio_mean": Unknown("cut", "the log was cut")}
    step = subject(STEP, facts, job=JOB)
    quorum = " [needs 2 of 3 signals; 1 true, 1 false by 0.04, 1 unknown (cut: the log was cut)]"
    assert said("collapse", world(step, job({})), STEP) == [
        [f"grad_norm = 0.96: false by 0.04, needs > 1 ($limit){quorum}"],
        [
            f"log_ratio_mean = ? (cut): the log was cut: unknown, needs > 1 ($limit){quorum}",
            "log_ratio_mean = ? (cut): the log was cut: unknown, needs known",
        ],
    ]


def test_a_flag_of_a_step_is_told_by_its_name_and_one_of_the_job_by_what_is_behind_it() -> None:
    step = subject(STEP, {"step": 40, "grad_norm": 0.5, "entropy": 2, "log_ratio_mean": 0}, job=JOB)
    w = world(step, job({"state": "RUNNING", "log_age": 1200}, steps=Relation((STEP,))))
    assert said("live", w) == [["collapse is false: false, needs raised"]]
    assert said("told", w) == [
        [
            "log_age = 20m: false by 10m, needs > 30m ($silence)",
            "true for 0 of 2 sweeps, false in this sweep: false, needs 2 sweeps",
        ]
    ]


def test_what_can_not_be_at_once_is_no_answer() -> None:
    assert said("never", world(job({"state": "FAILED"}))) == []
    assert said("either", world(job({"state": NOT_READ, "log_age": 60}))) == [
        ["state = ? (not-read): unknown, needs = RUNNING"],
        [
            "log_age = 1m: false by 29m, needs > 30m ($silence)",
            "state = ? (not-read): unknown, needs = PENDING",
        ],
    ]


def test_two_times_are_a_duration_apart() -> None:
    assert said("early", world(job({"log.mtime": 9_000, "started": 1_800}))) == [
        ["log.mtime = 1970-01-01T02:30:00Z: false by 2h, needs < 1970-01-01T00:30:00Z (.started)"]
    ]


def test_an_unknown_is_not_called_false() -> None:
    (needs,) = said("twice", world(job({"log_age": NOT_READ})))
    assert any("? (not-read): unknown" in need for need in needs)
    assert UNKNOWN.word == "unknown"


def test_a_large_quorum_is_answered_soon_and_says_that_there_may_be_more() -> None:
    wide = replace(
        gen.make_policy([]),
        rules={
            f"q{n}": ast.Rule(f"q{n}", "job", ast.AtLeast(_MANY, ast.Const(n), None, (), MARK), (), MARK)
            for n in (1, 3, 14, 30)
        },
    )
    of = world(job({f"field-{i}": i / 100 for i in range(len(_MANY))}))
    prover = Prover(wide, of, evaluate(wide, of))
    sizes = {}
    for rule in wide.rules:
        started = time.process_time()
        found = why_not(prover, rule, JOB)
        assert time.process_time() - started < 5
        assert len(found.sets) <= MOST_SETS
        assert found.cut
        sizes[rule] = {len(needs) for needs in found.sets}
    assert sizes["q1"] == {1}
    assert sizes["q3"] == {3}
    assert all(not size or size == {14} for size in (sizes["q14"],))
    assert not sizes["q30"]


_MANY = tuple(
    ast.Test(
        ast.Path((), f"field-{i}", "job", "number"), ast.Compare("gt", (ast.Const(1),)), MARK, f"field-{i}: {{gt: 1}}"
    )
    for i in range(30)
)


def test_a_set_that_would_change_a_condition_by_another_way_is_not_given() -> None:
    """What sets `phase` is a condition of the flag too: supposing it otherwise would undo the other condition."""
    phase = ast.Path((), "phase", "job", "enum")
    steady = ast.Test(phase, ast.Compare("eq", (ast.Const("steady"),)), MARK, "phase: steady")
    up = ast.Test(ast.Path((), "nodes", "job", "integer"), ast.Compare("gt", (ast.Const(2),)), MARK, "nodes: {gt: 2}")
    then = (ast.Raise("up", "info", False, "", MARK), ast.Set("phase", ast.Const("bringup"), MARK))
    asked = ast.Rule("asked", "job", ast.All((ast.Flagged("up", MARK), steady), MARK), (), MARK)
    policy = gen.make_policy([ast.Rule("sets", "job", up, then, MARK), asked])
    of = world(job({"nodes": 1, "phase": "steady"}))
    found = why_not(Prover(policy, of, evaluate(policy, of)), "asked", JOB)
    assert found == WhyNot("asked", JOB, FALSE, (), cut=True)
