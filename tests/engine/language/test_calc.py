"""Arithmetic in rules: what it parses to, and the types and units of the result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import Arith, Const, FieldRef, ParamRef
from sweeprules.engine.language.calc import calc
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.scope import Names, Scope
from sweeprules.engine.language.types import Type
from tests.engine.language.loading import catalogue, load

PARAMS = load(
    "params: {n: {default: 3}, d: {default: 30m}, b: {default: 5GB}, few: {default: 5, unit: steps}, "
    "word: {default: rl}}\nlists: {l: [a]}\n"
)


def scope() -> tuple[Scope, list[Problem]]:
    problems: list[Problem] = []
    names = Names(catalogue(), frozenset())
    names.params.update(PARAMS.params)
    kinds = {"n": Type("integer"), "d": Type("duration"), "b": Type("bytes"), "few": Type("integer", "steps")}
    names.param_types.update({**kinds, "word": Type("text")})
    names.lists["l"] = Node("list", Mark("f", 1, 1))
    return Scope(names, problems, names.view("job")), problems


def parsed(text: str) -> tuple[Arith, Type]:
    where, problems = scope()
    found = calc(where, Node("text", Mark("f", 1, 1), text, source=text))
    assert problems == []
    assert found is not None
    return found[0].root, found[1]


def told(text: str, *, quoted: bool = False) -> list[str]:
    where, problems = scope()
    found = calc(where, Node("text", Mark("f", 1, 1), text, source=text, quoted=quoted))
    assert found is None or problems == [] or "thresholds" in str(problems) or "unknown param" in str(problems)
    return [str(problem) for problem in problems]


def shown(node: Arith | Const | ParamRef | FieldRef) -> str:
    if isinstance(node, Const):
        return str(node.value)
    if isinstance(node, ParamRef):
        return f"${node.name}"
    if isinstance(node, FieldRef):
        return f".{node.path.text}"
    return f"({node.op} {' '.join(shown(arg) for arg in node.args)})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("$n + $n * $n", "(+ $n (* $n $n))"),
        ("($n + $n) * $n", "(* (+ $n $n) $n)"),
        ("$n - $n - $n", "(- (- $n $n) $n)"),
        ("$n / $n / $n", "(/ (/ $n $n) $n)"),
        ("-$n * $n", "(* (neg $n) $n)"),
        ("--$n", "(neg (neg $n))"),
        ("$n--1", "(- $n (neg 1))"),
        ("1 - $n", "(- 1 $n)"),
        ("max($d, $n * .cadence, .elapsed)", "(max $d (* $n .cadence) .elapsed)"),
        ("round_half_up(abs(.exit_code) / $n)", "(round_half_up (/ (abs .exit_code) $n))"),
        (".sweep.now - .started", "(- .sweep.now .started)"),
        (".log.size/$b", "(/ .log.size $b)"),
        (".elapsed / 1h", "(/ .elapsed 3600)"),
    ],
)
def test_trees(text: str, tree: str) -> None:
    assert shown(parsed(text)[0]) == tree


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (".sweep.now - .started", Type("duration")),
        (".started + $d", Type("time")),
        ("$d + .started", Type("time")),
        (".started - $d", Type("time")),
        ("$n * .cadence", Type("duration")),
        (".cadence * $n", Type("duration")),
        (".elapsed / .cadence", Type("number")),
        (".elapsed / $n", Type("duration")),
        ("1 + .step", Type("integer", "steps")),
        (".step / .max_step", Type("number")),
        (".step * $n", Type("number", "steps")),
        ("max(1, .step)", Type("integer", "steps")),
        ("$b - .log.size", Type("bytes")),
        ("max(.started, .ended)", Type("time")),
        ("-.elapsed", Type("duration")),
    ],
)
def test_types(text: str, kind: Type) -> None:
    assert parsed(text)[1] == kind


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("$n +", 5, "the text ends where a value is expected"),
        ("$n $n", 4, "`$n` is not expected here"),
        ("($n", 4, "`)` is missing here"),
        ("max $n", 5, "`(` is missing here"),
        ("max($n)", 1, "max takes two values or more, got 1"),
        ("abs($n, $n)", 1, "abs takes one value, got 2"),
        ("mix($n, $n)", 1, "unknown function `mix`"),
        ("$n % $n", 4, "`%` can not stand in a calc"),
        ("$n + $m", 6, "unknown param `m`"),
        ("$n + $l", 6, "$l is a list, which is no number"),
        ("$n + $word", 6, "$word is a text"),
        ("$n + .nam", 6, "unknown field `nam` of job"),
        ("$n + .name", 6, ".name is a text"),
        ("$n + .cadence", 4, "a number can not be combined with a duration"),
        (".step + .unchanged_sweeps", 7, "steps can not be combined with sweeps"),
        (".started * $n", 10, "a time can not be multiplied or divided"),
        ("$d - .started", 4, "a time can not be taken from a duration"),
        (".cadence * .cadence", 10, "a duration can not be multiplied by a duration"),
        ("$n / .cadence", 4, "a number can not be divided by a duration"),
        ("-.started", 2, "a time has no negative"),
        ("abs(.started)", 5, "abs of a time has no meaning"),
        ("0.5 * $n", 1, "thresholds are params: 0.5 has no name"),
        ("$d + 5m", 6, "thresholds are params: 5m has no name"),
        ("$n", 1, "nothing is calculated in `$n`"),
        ("(" * 30 + "$n" + ")" * 30, 21, "nested more than 20 levels deep"),
        ("-" * 30 + "$n", 21, "nested more than 20 levels deep"),
        ("$n + ..step", 6, "`..step`: `..` is only known inside `where`"),
    ],
)
def test_mistakes_have_their_column(text: str, place: int, message: str) -> None:
    found = told(text)
    assert len(found) == 1
    assert found[0].startswith(f"f:1:{place}: {message}")


def test_the_column_counts_the_quote() -> None:
    assert told("$n + $m", quoted=True)[0].startswith("f:1:7: ")


def test_a_long_text_is_not_read() -> None:
    assert "at most 400 are read" in told("$n+" * 200 + "$n")[0]


@given(st.text(alphabet="$.nd+-*/(), 015mx", max_size=30))
def test_any_text_is_a_tree_or_a_mistake(text: str) -> None:
    where, problems = scope()
    found = calc(where, Node("text", Mark("f", 1, 1), text, source=text))
    assert found is not None or problems
    for problem in problems:
        assert 1 <= problem.mark.column <= len(text) + 1
