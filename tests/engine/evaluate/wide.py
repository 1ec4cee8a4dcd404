"""Policies and worlds with what the shared strategies leave out: set and add, clusters, sums, extremes, open lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any as Anything

from hypothesis import strategies as st

from sweeprules.engine.facts import Completeness, Reason, Ref, Relation, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import Truth
from tests.engine import strategies as gen
from tests.engine.strategies import MARK


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world whose clusters know their jobs: all, some, or it could not be read."""
    world = draw(gen.worlds())
    jobs = tuple(ref for ref in world.subjects if ref.kind == "job")
    subjects: dict[Ref, Subject] = {}
    for ref, subject in world.subjects.items():
        if ref.kind == "cluster":
            subject = replace(subject, relations=draw(st.fixed_dictionaries({}, optional={"jobs": _jobs(jobs)})))
        elif ref.kind == "job":
            facts = {
                **subject.facts,
                **draw(st.fixed_dictionaries({}, optional={"tags": _tags, "fault_lines": _lines})),
            }
            subject = replace(subject, facts=facts)
        subjects[ref] = subject
    return World(subjects)


def _jobs(jobs: tuple[Ref, ...]) -> st.SearchStrategy[Relation]:
    some = st.lists(st.sampled_from(jobs), unique=True).map(tuple)
    return st.one_of(
        st.just(Relation(jobs)),
        some.map(lambda m: Relation(m, Completeness.PARTIAL, Reason.CUT)),
        st.just(Relation((), Completeness.UNKNOWN, Reason.READ_FAILED)),
    )


_tags = st.one_of(st.sampled_from([(), ("a3",), ("debug", "a3")]), gen.unknowns, gen.absents)
_lines = st.one_of(st.sampled_from([{}, {"nccl": 2}, {"nccl": 1, "nan": 3}]), gen.unknowns, gen.absents)
_TAG_PATH = ast.Path((), "tags", "job", "list")
_LIVE_PATH = ast.Path((), "liveness", "job", "boolean")


@st.composite
def policies(draw: st.DrawFn) -> ast.Policy:
    """A policy of the shared strategy, and rules that set and add, read what was set, and are about clusters."""
    base = draw(gen.policies(max_rules=4))
    rules = list(base.rules.values())
    for tag in ("a3", "debug"):
        when = draw(gen.conditions("job", quantifiers=False))
        rules.append(ast.Rule(f"add-{tag}", "job", when, (ast.Add("tags", ast.Const(tag), MARK),), MARK))
    for value in (True, False):
        right: ast.Right = ast.Const(value)
        if draw(st.booleans()):
            right = ast.FieldRef(ast.Path((), "suspended", "job", "boolean"))
        when = draw(gen.conditions("job", quantifiers=False))
        rules.append(ast.Rule(f"set-{value}", "job", when, (ast.Set("liveness", right, MARK),), MARK))
    flags = sorted({e.flag for r in rules for e in r.then if isinstance(e, ast.Raise)})
    rules.append(ast.Rule("reads", "job", draw(_reading(flags)), (), MARK))
    rules.append(
        ast.Rule("cluster", "cluster", draw(_of_jobs(flags)), (ast.Raise("rl-cap", "info", False, "", MARK),), MARK)
    )
    rules.append(ast.Rule("total", "job", draw(_total()), (), MARK))
    rules.append(ast.Rule("pick", "cluster", _pick(draw(st.sampled_from(["least", "most"]))), (), MARK))
    return gen.make_policy(rules, dict(base.decide))


def _reading(flags: list[str]) -> st.SearchStrategy[ast.Condition]:
    tags = ast.Test(_TAG_PATH, ast.Compare("contains", (ast.Const("a3"),)), MARK, "tags: {contains: a3}")
    live = ast.Test(_LIVE_PATH, ast.Compare("eq", (ast.Const(True),)), MARK, "liveness: true")
    value = ast.Test(
        ast.Path((), "value", "member", "text"), ast.Compare("eq", (ast.Const("debug"),)), MARK, "value: debug"
    )
    some: Anything = ast.Quantified(
        "some", _TAG_PATH, "member", None, value, None, None, Truth.FALSE, MARK, "some of tags"
    )
    sibling: Anything = ast.Quantified(
        "every", ast.Path((), "siblings", "job", "relation"), "job", tags, ast.Flagged(flags[0], MARK), None, None,
        Truth.UNKNOWN, MARK, "every of siblings",
    )  # fmt: skip
    parts = st.lists(st.sampled_from([tags, live, some, sibling]), min_size=1, max_size=3, unique_by=id).map(tuple)
    return st.one_of(parts.map(lambda p: ast.All(p, MARK)), parts.map(lambda p: ast.Any(p, MARK)))


@st.composite
def _of_jobs(draw: st.DrawFn, flags: list[str]) -> ast.Condition:
    where = draw(st.one_of(st.just(ast.Flagged(flags[-1], MARK)), gen.tests("job"), st.none()))
    test = ast.Compare(draw(st.sampled_from(["ge", "lt", "eq"])), (ast.Const(draw(st.integers(0, 3))),))
    of = ast.Path((), "jobs", "cluster", "relation")
    return ast.Quantified("count", of, "job", where, None, test, None, Truth.UNKNOWN, MARK, "count of jobs")


@st.composite
def _total(draw: st.DrawFn) -> ast.Condition:
    over_jobs = draw(st.booleans())
    test = ast.Compare(draw(st.sampled_from(["ge", "lt"])), (ast.Const(draw(st.integers(0, 4))),))
    if over_jobs:
        # Over a relation of another subject, members are shared by all who ask.
        of, member, kind = ast.Path(("cluster",), "jobs", "cluster", "relation"), "job", "integer"
        summed = ast.Path((), "nodes", "job", kind)
    else:
        of, member = ast.Path((), "fault_lines", "job", "map"), "member"
        summed = ast.Path((), "value", "member", "integer")
    where = draw(st.none() | gen.tests("job")) if over_jobs else None
    return ast.Quantified("sum", of, member, where, None, test, summed, Truth.UNKNOWN, MARK, "sum")


def _pick(which: Anything) -> ast.Condition:
    pick = ast.Pick(which, ast.Path((), "jobs", "cluster", "relation"), ast.Path((), "nodes", "job", "integer"))
    path = ast.Path((), "empty_answers", "cluster", "integer")
    return ast.Test(path, ast.Compare("ge", (pick,)), MARK, "empty_answers: {ge: {least: ...}}")
