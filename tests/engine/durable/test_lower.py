"""What is computed beforehand, against a second implementation: the native evaluator's, written apart from it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.engine.durable.found import Found
from sweeprules.engine.durable.lower import Lowering
from sweeprules.engine.durable.values import Here, Values, calc, total
from sweeprules.engine.evaluate.calc import calculate
from sweeprules.engine.evaluate.compare import OpenList, compare, same
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import index
from sweeprules.engine.evaluate.resolve import Lens, Scope
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Interval, Reason, Subject, Unknown, World
from sweeprules.engine.language import ast
from tests.engine import strategies as gen
from tests.engine.durable import make

NUMBERS: list[FactValue] = [0, 1, -1, 2, 2.0, 2.5, 0.5, -2.5, 1e308, float("nan"), float("inf"), 2**53 + 1]
TEXTS: list[FactValue] = ["", "rl__a2", "RL__A2", "a[0-9]", "straße", "STRASSE", "a\nb", "\ud800x"]
LISTS: list[FactValue] = [(), (1, "rl__a2"), ("a", "b"), OpenList(("a",)), OpenList(()), ((1,), "x")]
OTHERS: list[FactValue] = [True, False, ABSENT, NOT_READ, Unknown(Reason.NAN), {"a": 1}, {}]
COUNTS: list[FactValue] = [Interval(0, 2), Interval(2, 2), Interval(1, None), Interval(0, 400)]
values = st.sampled_from([*NUMBERS, *TEXTS, *LISTS, *OTHERS, *COUNTS])
PATTERN = ast.Pattern("wait", "benign", "a", "[0-9]$|b", {}, None, "", make.MARK)
POLICY = make.policy(patterns={"wait": PATTERN})
HERE = Here(make.job("0"))


def lowering(policy: ast.Policy, world: World) -> Lowering:
    return Found(policy, world, index(policy), {}).lowering


OPS = ["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "prefix", "glob", "regex", "contains", "contains_any"]
tests = st.one_of(
    st.builds(
        ast.Compare,
        st.sampled_from([*OPS, "known", "unknown", "absent"]),  # type: ignore[arg-type]
        st.tuples(values.map(ast.Const)),  # type: ignore[arg-type]
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.none() | values.filter(lambda v: not isinstance(v, Unknown | Absent)).map(ast.Const),  # type: ignore[arg-type]
    ),
    st.builds(
        ast.Compare,
        st.just("between"),
        st.tuples(values.map(ast.Const), values.map(ast.Const)),  # type: ignore[arg-type]
        possible=st.booleans(),
    ),
    st.just(ast.Compare("matches", (ast.Const("wait"),))),
)


@settings(max_examples=600, deadline=None)
@given(tests, values)
def test_tests_of_single_values(test: ast.Compare, left: FactValue) -> None:
    rights: list[Any] = [r.value for r in test.rights if isinstance(r, ast.Const)]
    expected = compare(test, left, rights, POLICY.patterns)
    assert lowering(POLICY, make.world()).test(test, left, HERE) is expected


arithmetic = st.sampled_from(["+", "-", "*", "/", "neg", "abs", "min", "max", "round_half_up"])
FINITE = [v for v in NUMBERS if not isinstance(v, float) or math.isfinite(v)]
operands = st.sampled_from([*FINITE, *COUNTS, "x", True, ABSENT, NOT_READ, 0.49999999999999994, 7, 3.5])


@settings(max_examples=600, deadline=None)
@given(arithmetic, operands, operands)
def test_arithmetic(op: str, left: FactValue, right: FactValue) -> None:
    args = [left] if op in ("neg", "abs", "round_half_up") else [left, right]
    assert _shown(calc(op, args)) == _shown(calculate(op, args))


@settings(max_examples=300, deadline=None)
@given(st.lists(operands.filter(lambda v: not isinstance(v, Absent)), max_size=4))
def test_sums(args: list[FactValue]) -> None:
    assert _shown(total(args)) == _shown(calculate("sum", args))


def _shown(value: FactValue) -> object:
    """A result without the words for people; numbers by their exact value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Fraction(value)
    return ("unknown", str(value.reason)) if isinstance(value, Unknown) else (type(value), repr(value))


places = st.fixed_dictionaries(
    {},
    optional={
        "job": st.sampled_from(["leo:0", "77", "nobody"]),
        "tag": st.sampled_from(["a3", "debug"]),
        "cluster": st.sampled_from(["leo", "tacc"]),
        "bucket": st.sampled_from(["rl", "sft"]),
    },
).filter(bool)
overrides = st.lists(st.builds(ast.Override, places, st.sampled_from([10, 20, 30]), st.just(make.MARK)), max_size=5)
subjects = st.fixed_dictionaries(
    {"cluster": st.sampled_from(["leo", "tacc", NOT_READ, ABSENT])},
    optional={
        "job_id": st.sampled_from(["77", "78", NOT_READ, ABSENT]),
        "tags": st.sampled_from([("a3",), (), ("a3", "debug"), OpenList(()), NOT_READ, ABSENT]),
        "bucket": st.sampled_from(["rl", "sft", NOT_READ, ABSENT]),
    },
)


@settings(max_examples=300, deadline=None)
@given(overrides, subjects)
def test_limits(rows: list[ast.Override], facts: dict[str, Any]) -> None:
    param = ast.Param("limit", 10, "", "", tuple(rows), make.MARK)
    policy = make.policy(params={"limit": param})
    job = Subject(make.job("0").ref, facts)
    world = make.world(job)
    lens = Lens(policy, world, evaluate(policy, world))
    expected = lens.right(ast.ParamRef("limit"), Scope(job))
    found = Values(policy, world, lambda ref, name: None).limit("limit", Here(job))
    assert isinstance(found, Unknown) == isinstance(expected, Unknown)
    if not isinstance(found, Unknown | Absent) and not isinstance(expected, Unknown | Absent):
        assert same(found, expected)


@settings(max_examples=150, deadline=None)
@given(gen.quantified(), gen.worlds())
def test_quantifiers_and_counts(condition: ast.Quantified, world: World) -> None:
    policy = make.policy(make.rule("q", condition))
    truths = evaluate(policy, world)
    low = lowering(policy, world)
    for job in world.of_kind("job"):
        assert low.truth(condition, Here(job)) is truths.truth("q", job.ref)


@settings(max_examples=300, deadline=None)
@given(gen.conditions("job"), gen.worlds())
def test_whole_conditions_as_they_stand_inside_a_quantifier(condition: ast.Condition, world: World) -> None:
    policy = make.policy(make.rule("c", condition))
    truths = evaluate(policy, world)
    low = lowering(policy, world)
    for job in world.of_kind("job"):
        assert low.truth(condition, Here(job)) is truths.truth("c", job.ref)


@settings(max_examples=200, deadline=None)
@given(gen.policies(), gen.worlds())
def test_lists_that_decide(policy: ast.Policy, world: World) -> None:
    truths = evaluate(policy, world)
    found = Found(policy, world, index(policy), {})
    for kind, name in sorted(index(policy).fields):
        found.decide(kind, name)
        for job in world.of_kind(kind):
            assert _shown(_there(found.field(job.ref, name))) == _shown(_there(truths.field(job.ref, name)))


def _there(value: FactValue | None) -> FactValue:
    assert value is not None
    return value


picks = st.builds(
    ast.Pick,
    st.sampled_from(["least", "most"]),
    st.just(ast.Path((), "siblings", "job", "relation")),
    st.sampled_from([ast.Path((), "nodes", "job", "integer"), ast.Path((), "name", "job", "text")]),
)


@settings(max_examples=200, deadline=None)
@given(picks, gen.worlds())
def test_picks(pick: ast.Pick, world: World) -> None:
    policy = make.policy()
    lens = Lens(policy, world, evaluate(policy, world))
    reader = Values(policy, world, lambda ref, name: None)
    for job in world.of_kind("job"):
        found, expected = reader.right(pick, Here(job)), lens.right(pick, Scope(job))
        assert type(found) is type(expected)
        if not isinstance(expected, Unknown | Absent):
            assert found == expected
