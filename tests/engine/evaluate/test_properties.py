"""Laws that hold for every policy and world: Kleene's, monotony, strictness, order."""

from __future__ import annotations

from typing import Any as Anything

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.engine import truth
from sweeprules.engine.evaluate.compare import compare, same
from sweeprules.engine.evaluate.leaf import Values, leaf, negated, unpack
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.truths import CODE, TRUTH
from sweeprules.engine.facts import (
    Completeness,
    FactValue,
    Interval,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language.ast import Compare, Const, Policy
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.engine import strategies as gen

truths = st.sampled_from(list(Truth))


@given(truths, truths, truths)
def test_kleene_laws(a: Truth, b: Truth, c: Truth) -> None:
    both, either, no = (lambda *t: truth.every(t)), (lambda *t: truth.some(t)), truth.negate
    assert both(a, b) is both(b, a)
    assert either(a, both(b, c)) is both(either(a, b), either(a, c))
    assert no(both(a, b)) is either(no(a), no(b))
    assert no(no(a)) is a
    assert both(a, TRUE) is a
    assert either(a, FALSE) is a
    assert both(a, FALSE) is FALSE
    assert either(a, TRUE) is TRUE
    assert either(a, no(a)) is (UNKNOWN if a is UNKNOWN else TRUE)


@given(st.lists(st.tuples(truths, truths), min_size=1))
def test_columns_compute_the_same_connectives(pairs: list[tuple[Truth, Truth]]) -> None:
    left = int.from_bytes(bytes(CODE[a] for a, _ in pairs), "little")
    right = int.from_bytes(bytes(CODE[b] for _, b in pairs), "little")
    ones = int.from_bytes(b"\x01" * len(pairs), "little")

    def read(column: int) -> list[Truth]:
        return [TRUTH[code] for code in unpack(column, len(pairs))]

    assert read(left & right) == [truth.every(p) for p in pairs]
    assert read(left | right) == [truth.some(p) for p in pairs]
    assert read(negated(left, ones)) == [truth.negate(a) for a, _ in pairs]


# ---------------------------------------------------------------- what is learned never turns a verdict round


def _refined(draw: st.DrawFn, world: World) -> World:
    subjects: dict[Ref, Subject] = {}
    for ref, subject in world.subjects.items():
        facts: dict[str, FactValue] = dict(subject.facts)
        for name, (_, values) in gen.FIELDS.get(ref.kind, {}).items():
            facts[name] = _learned(draw, subject.get(name), values)
        relations = {n: _joined(draw, world, r) for n, r in subject.relations.items()}
        subjects[ref] = Subject(ref, facts, {}, relations, subject.judged)
    return World(subjects)


def _learned(draw: st.DrawFn, value: FactValue, values: list[Anything]) -> FactValue:
    if isinstance(value, Unknown):
        return draw(st.one_of(st.just(value), st.sampled_from(values), gen.absents))
    if isinstance(value, Interval) and draw(st.booleans()):
        return draw(st.integers(value.sure, value.sure + 9 if value.possible is None else value.possible))
    return value


def _joined(draw: st.DrawFn, world: World, relation: Relation) -> Relation:
    jobs = [r for r in world.subjects if r.kind == "job"]
    if relation.completeness is Completeness.WHOLE or draw(st.booleans()):
        return relation
    more = draw(st.lists(st.sampled_from(jobs), unique=True, max_size=2))
    return Relation(tuple(dict.fromkeys((*relation.members, *more))))


@st.composite
def learning(draw: st.DrawFn) -> tuple[World, World]:
    """A world, and one in which some of what was unknown was read."""
    world = draw(gen.worlds())
    # A relation that may hold one member is left alone here: a second one would contradict, not add.
    single = {"cluster", "next_link"}
    for subject in world.subjects.values():
        for name in single & subject.relations.keys():
            relation = subject.relations[name]
            dict.__setitem__(subject.relations, name, Relation(relation.members))  # type: ignore[arg-type]
    return world, _refined(draw, world)


@settings(max_examples=200, deadline=None)
@given(gen.policies(monotone=True), learning())
def test_learning_never_turns_true_to_false_or_back(policy: Policy, worlds: tuple[World, World]) -> None:
    before, after = (evaluate(policy, world) for world in worlds)
    for ref, row in before.items():
        for rule, was in row.items():
            if was is not UNKNOWN:
                assert after[ref][rule] is was, (rule, ref)


# ---------------------------------------------------------------- strictness

scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**54), 2**54),
    st.sampled_from([2**53, 2**53 + 1, 0, 1]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([float(2**53), 1.0, 0.0]),
    st.text(max_size=5),
    st.sampled_from(["1", "true", "0"]),
)


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


@given(scalars, scalars)
def test_unlike_types_are_never_equal_nor_ordered(left: Anything, right: Anything) -> None:
    equal = compare(Compare("eq", ()), left, (right,))
    assert compare(Compare("ne", ()), left, (right,)) is truth.negate(equal)
    if _type(left) != _type(right):
        assert equal is FALSE
        assert compare(Compare("lt", ()), left, (right,)) is UNKNOWN
    else:
        assert equal is truth.of(left == right)
        assert same(left, right) is (left == right)


@settings(max_examples=200)
@given(
    st.lists(st.one_of(scalars, gen.unknowns, gen.absents, st.just(Interval(1, 3)), st.just(("a",))), min_size=1),
    st.sampled_from(
        ["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "prefix", "contains", "regex", "known", "absent"]
    ),
    scalars,
    st.sampled_from(["text", "boolean", "number", "interval", "list", "any"]),
    st.booleans(),
)
def test_a_column_of_anything_is_tested_like_each_value(
    values: list[Anything], op: Anything, right: Anything, kind: str, fold: bool
) -> None:
    wanted = (right,) if op in ("in", "not_in") else right
    rights = () if op in ("known", "absent") else (wanted,)
    test = Compare(op, tuple(Const(r) for r in rights), fold)
    column = unpack(leaf(test, Values(values, kind), rights, {}), len(values))
    assert [TRUTH[code] for code in column] == [compare(test, value, rights) for value in values]


def test_whole_numbers_are_told_from_floats_exactly() -> None:
    big = 2**53
    eq = Compare("eq", ())
    assert compare(eq, big + 1, (float(big),)) is FALSE
    assert compare(eq, big, (float(big),)) is TRUE
    assert compare(Compare("gt", ()), big + 1, (float(big),)) is TRUE
    column = leaf(Compare("gt", (Const(float(big)),)), Values([big + 1, big], "integer"), (float(big),), {})
    assert unpack(column, 2) == bytes([CODE[TRUE], CODE[FALSE]])


@given(st.lists(scalars | gen.unknowns, min_size=1), st.integers(-3, 3), st.integers(0, 3))
def test_a_span_over_a_column(values: list[Anything], low: int, width: int) -> None:
    values += [low, low + width, low - 1, low + width + 0.5]
    rights = (low, low + width)
    test = Compare("between", tuple(Const(r) for r in rights))
    column = unpack(leaf(test, Values(values, "number"), rights, {}), len(values))
    assert [TRUTH[code] for code in column] == [compare(test, value, rights) for value in values]
    assert [TRUTH[code] for code in column[-4:]] == [TRUE, TRUE, FALSE, FALSE]


def test_what_is_no_finite_number_is_unknown() -> None:
    for value in (float("nan"), float("inf")):
        assert compare(Compare("gt", ()), value, (1,)) is UNKNOWN
        assert compare(Compare("ne", ()), value, (1,)) is UNKNOWN
        assert unpack(leaf(Compare("gt", (Const(1),)), Values([value, 2.0], "number"), (1,), {}), 2) == b"\x01\x03"
