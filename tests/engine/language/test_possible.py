"""What is called impossible is never true of any facts: tried against a plain evaluation of random facts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue
from sweeprules.engine.language import ast
from sweeprules.engine.language.possible import Asked, Possible, Wish
from sweeprules.engine.truth import TRUE, Truth, every, negate, some
from tests.engine.language.loading import catalogue, load

MARK = Mark("f", 1, 1)
POLICY = load("params: {p: {default: 1m, for: [{cluster: a, value: 3m}]}}\n")
TYPES = {"state": "enum", "suspended": "boolean", "elapsed": "duration", "nodes": "integer", "name": "text"}
VALUES: dict[str, list[FactValue]] = {
    "state": ["RUNNING", "FAILED", "TIMEOUT", "PENDING"],
    "suspended": [True, False],
    "elapsed": [0, 0.5, 59, 60, 61, 120, 180, 181, 1e9],
    "nodes": [0, 1, 2, 3, 100],
    "name": ["", "rl", "rl_", "rl_a", "rl_ab", "sft", "zz"],
}
CONSTANTS = {
    "state": ["RUNNING", "FAILED", "PENDING"], "suspended": [True, False], "elapsed": [0, 60, 180], "nodes": [0, 1, 3],
    "name": ["rl", "rl_", "rl_a", "sft"],
}  # fmt: skip
STATUS = ["known", "unknown", "absent"]


@st.composite
def leaves(draw: st.DrawFn) -> ast.Test:
    field = draw(st.sampled_from(sorted(TYPES)))
    ordered = ["lt", "le", "gt", "ge", "between"] if field in {"elapsed", "nodes"} else []
    texts = ["prefix", "contains"] if field == "name" else []
    op = draw(st.sampled_from(["eq", "ne", "in", "not_in", *ordered, *texts, *STATUS]))
    wanted = draw(st.booleans())
    rights: tuple[ast.Right, ...] = ()
    constants = st.sampled_from(CONSTANTS[field])
    if op in {"in", "not_in"}:
        rights = (ast.Const(tuple(draw(st.lists(constants, min_size=1, max_size=2)))),)
    elif op == "between":
        rights = (ast.Const(draw(constants)), ast.Const(draw(constants)))
    elif op not in STATUS:
        by_name = field == "elapsed" and draw(st.booleans())
        rights = (ast.ParamRef("p") if by_name else ast.Const(draw(constants)),)
    path = ast.Path((), field, "job", TYPES[field])
    return ast.Test(path, ast.Compare(op, rights, wanted=wanted), MARK, "")  # type: ignore[arg-type]


def joined(inner: st.SearchStrategy[ast.Condition]) -> st.SearchStrategy[ast.Condition]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda items: ast.All(items, MARK)),
        several.map(lambda items: ast.Any(items, MARK)),
        inner.map(lambda item: ast.Not(item, MARK)),
    )


CONDITIONS: st.SearchStrategy[ast.Condition] = st.recursive(leaves(), joined, max_leaves=6)
FACTS = st.fixed_dictionaries({n: st.sampled_from([NOT_READ, ABSENT, *values]) for n, values in VALUES.items()})


def truth(node: ast.Condition, facts: dict[str, FactValue], param: float) -> Truth:
    """A plain evaluation."""
    if isinstance(node, ast.All):
        return every(truth(item, facts, param) for item in node.items)
    if isinstance(node, ast.Any):
        return some(truth(item, facts, param) for item in node.items)
    if isinstance(node, ast.Not):
        return negate(truth(node.item, facts, param))
    assert isinstance(node, ast.Test)
    rights = [param if isinstance(one, ast.ParamRef) else getattr(one, "value", None) for one in node.compare.rights]
    return compare(node.compare, facts[node.path.field], rights)


@settings(max_examples=400, deadline=None)
@given(CONDITIONS, st.lists(FACTS, min_size=20, max_size=20), st.sampled_from([60, 180]))
def test_what_is_impossible_is_never_true(
    node: ast.Condition, worlds: list[dict[str, FactValue]], param: float
) -> None:
    possible = Possible(POLICY, catalogue())
    for asked in Asked:
        if not possible.together([Wish(node, asked)]):
            assert not any(asked.met(truth(node, facts, param)) for facts in worlds)


@settings(max_examples=400, deadline=None)
@given(leaves(), leaves())
def test_two_tests_of_one_field_are_possible_exactly_when_a_value_is(one: ast.Test, other: ast.Test) -> None:
    if one.path.field != other.path.field or "contains" in {one.compare.op, other.compare.op}:
        return
    answer = Possible(POLICY, catalogue()).together([Wish(one, Asked.TRUE), Wish(other, Asked.TRUE)])
    values = {"elapsed": [0, 1, 59, 60, 61, 100, 179, 180, 181], "name": [*VALUES["name"], "rl_\uffff", "rl\uffff"]}
    tried = [NOT_READ, ABSENT, *values.get(one.path.field, VALUES[one.path.field]), *_other_words(one.path.field)]
    seen = any(
        truth(one, {one.path.field: value}, first) is TRUE and truth(other, {one.path.field: value}, second) is TRUE
        for value in tried
        for first in (60, 180)
        for second in (60, 180)
    )
    assert answer is seen


def _other_words(field: str) -> tuple[str, ...]:
    return catalogue().kinds["job"].fields["state"].words if field == "state" else ()
