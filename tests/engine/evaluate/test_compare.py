"""One test of a value: unknown, absent, text, lists, intervals."""

from __future__ import annotations

from typing import Any as Anything

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.calc import calculate, round_half_up
from sweeprules.engine.evaluate.compare import OpenList, compare
from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, NOT_READ, Interval, Reason, Unknown
from sweeprules.engine.language.ast import Compare, Const, Operator, Pattern
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, of

T, F, U = TRUE, FALSE, UNKNOWN
OPERATORS: list[Operator] = ["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "prefix", "contains", "contains_any"]


@pytest.mark.parametrize("op", OPERATORS)
def test_unknown_is_unknown_and_absent_is_false_under_every_operator(op: Operator) -> None:
    right: Anything = ("a",) if op in ("in", "not_in", "contains_any") else "a"
    assert compare(Compare(op, ()), NOT_READ, (right,)) is U
    assert compare(Compare(op, ()), ABSENT, (right,)) is F
    assert compare(Compare(op, ()), ABSENT, (NOT_READ,)) is F
    assert compare(Compare(op, ()), "a", (NOT_READ,)) is U
    assert compare(Compare(op, ()), "a", (NOT_APPLICABLE,)) is F


@pytest.mark.parametrize(
    ("op", "wanted", "of_value", "of_unknown", "of_absent"),
    [
        ("known", True, T, F, T),
        ("known", False, F, T, F),
        ("unknown", True, F, T, F),
        ("unknown", False, T, F, F),
        ("absent", True, F, U, T),
        ("absent", False, T, U, F),
    ],
)
def test_only_absent_and_known_hold_of_what_is_absent(
    op: Operator, wanted: bool, of_value: Truth, of_unknown: Truth, of_absent: Truth
) -> None:
    test = Compare(op, (), wanted=wanted)
    assert [compare(test, v, ()) for v in (0, NOT_READ, ABSENT)] == [of_value, of_unknown, of_absent]


def test_a_default_stands_in_for_unknown_and_absent() -> None:
    test = Compare("gt", (Const(3),), default=Const(5), because="long enough")
    assert [compare(test, v, (3,)) for v in (NOT_READ, ABSENT, 1)] == [T, T, F]


@pytest.mark.parametrize(
    ("op", "left", "right", "fold", "expected"),
    [
        ("prefix", "rl__x", "rl__", False, T),
        ("prefix", "RL__x", "rl__", False, F),
        ("prefix", "RL__x", "rl__", True, T),
        ("contains", "straße", "STRASSE", True, T),
        ("glob", "run-a3-x", "*a3*", False, T),
        ("glob", "a3x", "a3", False, F),
        ("glob", "a\nb", "a?b", False, T),
        ("glob", "A", "[!a]", False, T),
        ("regex", "run a7", "a[0-9]", False, T),
        ("regex", "run a7", "^a[0-9]", False, F),
        ("regex", "RUN", "run", True, T),
        ("regex", "bad\udce9byte", "bad.byte", False, T),
        ("regex", "x", "(", False, U),
        ("regex", "a" * 5000 + "!", "(a*)*$", False, T),
        ("eq", "State", "state", True, T),
        ("in", "State", ("state",), True, T),
        ("prefix", 5, "5", False, U),
        ("contains", ("a", 1), True, False, F),
        ("contains", ("a", 1), 1.0, False, T),
        ("contains", ("Loss",), "loss", True, T),
        ("contains_any", "x zclip y", ("z_clip", "zclip"), False, T),
        ("contains_any", ("policy/z_clip",), ("policy/z_clip", "b"), False, T),
        ("contains_any", ("policy/z_clip_2",), ("policy/z_clip",), False, F),
        ("contains", {"nccl": 3}, "nccl", False, T),
        ("eq", ("a", "b"), ("a", "b"), False, T),
        ("eq", ("a", 1), ("a", True), False, F),
        ("lt", "a", "b", False, T),
        ("in", "x", (), False, F),
    ],
)
def test_text_and_lists(op: Operator, left: Anything, right: Anything, fold: bool, expected: Truth) -> None:
    assert compare(Compare(op, (), fold), left, (right,)) is expected


def test_an_open_list_never_says_that_something_is_not_in_it() -> None:
    tags = OpenList(("a3",))
    assert compare(Compare("contains", ()), tags, ("a3",)) is T
    assert compare(Compare("contains", ()), tags, ("debug",)) is U
    assert compare(Compare("contains_any", ()), tags, (("debug", "smoke"),)) is U
    assert compare(Compare("eq", ()), tags, (("a3",),)) is U


def test_a_pattern_matches_by_its_literal_and_its_regex() -> None:
    mark = Mark("p.yaml", 1, 1)
    pattern = Pattern("nccl", "fault", "ran for", r"ran for (?P<ms>\d+)", {"ms": "integer"}, None, "", mark)
    test = Compare("matches", (Const("nccl"),))
    assert [compare(test, t, ("nccl",), {"nccl": pattern}) for t in ("it ran for 12 ms", "ran for x", 3)] == [T, F, U]


# ---------------------------------------------------------------- intervals

intervals = st.builds(lambda low, width: Interval(low, low + width), st.integers(-3, 4), st.integers(0, 4))


@given(intervals, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), st.integers(-4, 9), st.booleans())
def test_an_interval_is_tested_as_all_values_in_it(left: Interval, op: Operator, right: int, possible: bool) -> None:
    assert left.possible is not None
    each = {compare(Compare(op, ()), v, (right,)) for v in range(left.sure, left.possible + 1)}
    expected = next(iter(each)) if len(each) == 1 else U
    if possible:
        expected = of(T in each)
    assert compare(Compare(op, (), possible=possible), left, (right,)) is expected


@given(intervals, st.integers(-4, 9), st.integers(0, 3), st.booleans())
def test_between_and_in_over_intervals(left: Interval, low: int, width: int, possible: bool) -> None:
    assert left.possible is not None
    span = range(low, low + width + 1)
    inside = {v in span for v in range(left.sure, left.possible + 1)}
    expected = U if len(inside) == 2 else of(True in inside)
    if possible:
        expected = of(True in inside)
    assert compare(Compare("between", (), possible=possible), left, (low, low + width)) is expected
    assert compare(Compare("in", (), possible=possible), left, (tuple(span),)) is expected


def test_an_open_end_is_never_below_anything() -> None:
    many = Interval(2, None)
    assert compare(Compare("ge", ()), many, (2,)) is T
    assert compare(Compare("lt", ()), many, (100,)) is U
    assert compare(Compare("lt", ()), many, (2,)) is F
    assert compare(Compare("gt", (), possible=True), many, (10**9,)) is T
    assert compare(Compare("eq", ()), many, ("2",)) is F
    assert compare(Compare("prefix", ()), many, ("2",)) is U


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("op", "args", "expected"),
    [
        ("+", (1, 2), 3),
        ("/", (90, 60), 1.5),
        ("/", (1, 0), Unknown(Reason.CALC, "division by zero")),
        ("*", (ABSENT, NOT_READ), ABSENT),
        ("max", (1, NOT_READ), NOT_READ),
        ("neg", (2.5,), -2.5),
        ("abs", (-3,), 3),
        ("+", (Interval(1, 2), 3), Interval(4, 5)),
        ("+", (Interval(1, None), 3), Interval(4, None)),
        ("sum", (), 0),
    ],
)
def test_arithmetic(op: str, args: tuple[Anything, ...], expected: Anything) -> None:
    assert calculate(op, args) == expected


def test_arithmetic_never_gives_what_is_no_number() -> None:
    for op, args in (("*", (1e308, 10.0)), ("+", (True, 1)), ("-", ("5", 1)), ("*", (Interval(0, 2), 2))):
        assert isinstance(calculate(op, args), Unknown)


@pytest.mark.parametrize(("value", "expected"), [(0.5, 1), (-2.5, -2), (0.49999999999999994, 0), (7, 7), (2.4, 2)])
def test_a_half_goes_up(value: float, expected: int) -> None:
    assert round_half_up(value) == expected
