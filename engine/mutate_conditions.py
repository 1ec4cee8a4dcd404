"""Each way to change one thing in a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any as Anything
from typing import TypeVar

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Compare,
    Condition,
    Const,
    Flagged,
    Not,
    Operator,
    Quantified,
    Right,
    RuleIs,
    Signalled,
    Test,
)
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN

T = TypeVar("T")

_OPPOSITE: Mapping[Operator, Operator] = {
    "eq": "ne",
    "ne": "eq",
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
    "in": "not_in",
    "not_in": "in",
}
_EDGE: Mapping[Operator, Operator] = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}
_ASKS = ("known", "unknown", "absent")


@dataclass(frozen=True, slots=True)
class Change:
    """One change: its kind, what was changed in words and where that is written, and the whole condition then."""

    kind: str
    text: str
    mark: Mark
    condition: Condition


def changes(condition: Condition) -> Iterator[Change]:
    """Each way to change one thing in a condition, with the whole condition as it is then."""
    yield from _own(condition)
    for item, around in _below(condition):
        for change in changes(item):
            yield replace(change, condition=around(change.condition))


def _below(node: Condition) -> Iterator[tuple[Condition, Anything]]:
    """What stands below a condition, and how another one is put in its place."""
    if isinstance(node, All | Any):
        for i, item in enumerate(node.items):
            yield item, lambda new, i=i: replace(node, items=put(node.items, i, new))
    elif isinstance(node, Not):
        yield node.item, lambda new: replace(node, item=new)
    elif isinstance(node, AtLeast):
        for i, one in enumerate(node.of):
            if isinstance(one, Condition):
                yield one, lambda new, i=i: replace(node, of=put(node.of, i, new))
    elif isinstance(node, Quantified):
        if node.where is not None:
            yield node.where, lambda new: replace(node, where=new)
        if node.holds is not None:
            yield node.holds, lambda new: replace(node, holds=new)


def put(items: tuple[Anything, ...], at: int, new: object) -> tuple[Anything, ...]:
    """The items with another one at a place."""
    return (*items[:at], new, *items[at + 1 :])


def _own(node: Condition) -> Iterator[Change]:
    if isinstance(node, Not):
        yield Change("negation", "`not` left out", node.mark, node.item)
    elif isinstance(node, All | Any):
        yield from _joined(node)
    elif isinstance(node, AtLeast):
        yield from _at_least(node)
    elif isinstance(node, Flagged | RuleIs):
        said = f"flagged: {node.flag}" if isinstance(node, Flagged) else f"rule: {node.id}"
        yield Change("negation", f"`{said}` negated", node.mark, Not(node, node.mark))
    elif isinstance(node, Quantified):
        yield from _quantified(node)
    elif isinstance(node, Test):
        yield from _compared(node, node.compare, node.text)


def _joined(node: All | Any) -> Iterator[Change]:
    if len(node.items) < 2:
        return
    if isinstance(node, All):
        yield Change("operator", "`all` made `any`", node.mark, Any(node.items, node.mark))
    else:
        yield Change("operator", "`any` made `all`", node.mark, All(node.items, node.mark))
    for item, rest in shorter(node.items):
        yield Change("condition", f"`{_said(item)}` dropped", item.mark, replace(node, items=rest))


def _said(node: Condition | Signalled) -> str:
    if isinstance(node, Test | Quantified):
        return node.text
    if isinstance(node, Flagged):
        return f"flagged: {node.flag}"
    if isinstance(node, RuleIs):
        return f"rule: {node.id} is {node.wanted.word}"
    if isinstance(node, Signalled):
        return node.name
    return {All: "all", Any: "any", Not: "not", AtLeast: "at_least"}[type(node)]


def _at_least(node: AtLeast) -> Iterator[Change]:
    for one, rest in shorter(node.of) if len(node.of) > 1 else ():
        yield Change("condition", f"`at_least` without {_said(one)}", node.mark, replace(node, of=rest))
    for reason, others in shorter(node.ignoring):
        yield Change("list", f"`ignoring` without {reason}", node.mark, replace(node, ignoring=others))
    for text, right in _other(node.n) if node.n is not None else ():
        yield Change("threshold", f"`at_least` n {text}", node.mark, replace(node, n=right))
    if node.evaluable is not None:
        yield from _compared(node, node.evaluable, "evaluable")


def _quantified(node: Quantified) -> Iterator[Change]:
    if node.which == "every":
        yield Change("operator", "`every` made `some`", node.mark, replace(node, which="some"))
    elif node.which == "some":
        yield Change("operator", "`some` made `every`", node.mark, replace(node, which="every"))
    if node.where is not None:
        yield Change("condition", f"`{node.text}`: where left out", node.mark, replace(node, where=None))
    if node.which in ("every", "some") and node.if_empty is not UNKNOWN:
        other = FALSE if node.if_empty is TRUE else TRUE
        text = f"`{node.text}`: if_empty made {other.word}"
        yield Change("operator", text, node.mark, replace(node, if_empty=other))
    if node.compare is not None:
        yield from _compared(node, node.compare, node.text)


def _compared(node: Test | Quantified | AtLeast, test: Compare, text: str) -> Iterator[Change]:
    for kind, said, new in compares(test):
        changed = replace(node, evaluable=new) if isinstance(node, AtLeast) else replace(node, compare=new)
        yield Change(kind, f"`{text}`: {said}", node.mark, changed)
    if test.op not in _OPPOSITE and test.op not in _ASKS:
        yield Change("negation", f"`{text}` negated", node.mark, Not(node, node.mark))


def compares(test: Compare) -> Iterator[tuple[str, str, Compare]]:
    """Each way to change a test: the kind of change, what was changed, and the test then."""
    if test.op in _EDGE:
        yield "operator", f"{test.op} made {_EDGE[test.op]}", replace(test, op=_EDGE[test.op])
    if test.fold:
        yield "operator", "fold left out", replace(test, fold=False)
    if test.default is not None:
        yield "operator", "default left out", replace(test, default=None, because="")
    if test.op in _OPPOSITE:
        opposite = _OPPOSITE[test.op]
        yield "operator", f"{test.op} made {opposite}", replace(test, op=opposite)
    elif test.op in _ASKS:
        yield "operator", f"{test.op} made {str(not test.wanted).lower()}", replace(test, wanted=not test.wanted)
    for i, right in enumerate(test.rights):
        for text, new in _other(right):
            yield "threshold", text, replace(test, rights=put(test.rights, i, new))
        if isinstance(right, Const) and isinstance(right.value, tuple) and not right.source:
            for entry, rest in shorter(right.value):
                new = replace(right, value=rest)
                yield "list", f"{entry} left out", replace(test, rights=put(test.rights, i, new))


def _other(right: Right) -> Iterator[tuple[str, Const]]:
    """Other numbers for a literal one."""
    if isinstance(right, Const) and is_number(right.value):
        for value in numbers(right.value):
            yield f"{right.source or right.value} made {value}", Const(value)


def numbers(value: Value) -> tuple[float, ...]:
    """A number above and one below: twice and half of it, at least one away where it is whole."""
    assert isinstance(value, int | float)
    if isinstance(value, int):
        return (max(value * 2, value + 1), value // 2 if value > 1 else value - 1)
    return (value * 2, value / 2) if value else (1.0, -1.0)


def shorter(values: tuple[T, ...]) -> Iterator[tuple[T, tuple[T, ...]]]:
    """Each member, with the list without it."""
    for i, entry in enumerate(values):
        yield entry, (*values[:i], *values[i + 1 :])
