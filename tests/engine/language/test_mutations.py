"""Whatever becomes of a policy's text, it loads or is refused with places; nothing else ever happens."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.engine.errors import PolicyError
from sweeprules.engine.language.load import load_policy
from sweeprules.engine.language.yamltext import MAX_DEPTH
from tests.engine.language.edits import Edit, edited, edits
from tests.engine.language.loading import FULL, catalogue, problems, rule, rules, schema

TEXT = FULL.read_text()
TOKENS = re.findall(r"\w+|[^\w\s]|\s+", TEXT)
PIECES = [*"{}[]:,$.\"'\t!#\n", "- ", "  ", "..", "&a ", "*a"]
PIECES += [
    "all",
    "any",
    "not",
    "of",
    "is",
    "unknown",
    "null",
    "5",
    "-1",
    "1.5",
    "30m",
    "true",
    "job",
    "step",
    "x",
    "calc",
]


def survives(data: str | bytes) -> None:
    try:
        load_policy([{"f.yaml": data}], catalogue(), schema=schema())
    except PolicyError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.mark.file == "f.yaml"
            assert problem.mark.line >= 1
            assert problem.mark.column >= 1
            assert "\n" not in str(problem)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits(TOKENS, PIECES, 4))
def test_tokens(made: list[Edit]) -> None:
    survives(edited(TOKENS, made))


LINES = TEXT.splitlines(keepends=True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.integers(-3, 3)), min_size=1, max_size=5))
def test_lines(moved: list[tuple[int, int]]) -> None:
    lines = list(LINES)
    for at, by in moved:
        lines[at] = " " * by + lines[at] if by > 0 else lines[at][-by:] if by else ""
    survives("".join(lines))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.binary(min_size=0, max_size=3)), min_size=1, max_size=4))
def test_bytes(edits: list[tuple[int, bytes]]) -> None:
    data = TEXT.encode()
    for at, piece in edits:
        data = data[:at] + piece + data[at + 1 :]
    survives(data)


CONDITIONS = st.recursive(
    st.sampled_from(
        ["{state: RUNNING}", "{elapsed: {gt: 5}}", "{}", "[]", "x", "{a: {b: c}}", "{flagged: failure}", "null"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "{all: [" + ", ".join(items) + "]}"),
        inner.map(lambda item: "{not: " + item + "}"),
        inner.map(lambda item: "{some: {of: siblings, is: " + item + "}}"),
        inner.map(lambda item: "{at_least: {n: 1, of: [" + item + "]}}"),
        inner.map(lambda item: "{state: " + item + "}"),
        inner.map(lambda item: "{count: {of: siblings, is: " + item + "}}"),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CONDITIONS)
def test_conditions_of_any_shape(text: str) -> None:
    survives("policy: 1\n" + rules(rule(text)))


@pytest.mark.parametrize(
    "text", ["{not: %s}", "{all: [%s]}", "{some: {of: siblings, is: %s}}", "{at_least: {n: 1, of: [%s]}}"]
)
def test_the_deepest_nesting_that_is_read_is_also_checked(text: str) -> None:
    opened = max(text.count("{"), 1) + text.count("[")
    for levels in range(1, MAX_DEPTH):
        nested = "{state: RUNNING}"
        for _ in range(levels):
            nested = text % nested
        told = problems(rules(rule(nested)))
        if told:
            assert "nested more than" in told[0]
            assert levels * opened >= MAX_DEPTH - 8
            return
    pytest.fail("the bound was never reached")
