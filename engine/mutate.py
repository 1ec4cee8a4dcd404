"""Policies that differ from one policy in one small thing: what a good rule test would notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any as Anything

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
    Param,
    Policy,
    Quantified,
    Right,
    Rule,
    RuleIs,
    Test,
)

KINDS = ("threshold", "operator", "negation", "list", "exemption", "pattern", "route")
"""All that is changed. `pattern` only where a condition matches a text: lines of logs are no part of a rule test."""

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
_ASKS = ("known", "unknown", "absent")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one change: its kind (one of `KINDS`), what was changed in words, and where that is written."""

    kind: str
    text: str
    mark: Mark
    policy: Policy


@dataclass(frozen=True, slots=True)
class _Change:
    kind: str
    text: str
    mark: Mark
    condition: Condition


def mutants(policy: Policy) -> Iterator[Mutant]:
    """All mutants of a policy, each made when it is asked for."""
    yield from _params(policy)
    yield from _rules(policy)
    yield from _decisions(policy)
    yield from _lists(policy)
    yield from _exemptions(policy)
    yield from _routes(policy)
    yield from _patterns(policy)


# ---------------------------------------------------------------- conditions


def changes(condition: Condition) -> Iterator[_Change]:
    """Each way to change one thing in a condition, with the whole condition as it is then."""
    yield from _own(condition)
    for item, put in _below(condition):
        for change in changes(item):
            yield replace(change, condition=put(change.condition))


def _below(node: Condition) -> Iterator[tuple[Condition, Anything]]:
    """What stands below a condition, and how another one is put in its place."""
    if isinstance(node, All | Any):
        for i, item in enumerate(node.items):
            yield item, lambda new, i=i: replace(node, items=_with(node.items, i, new))
    elif isinstance(node, Not):
        yield node.item, lambda new: replace(node, item=new)
    elif isinstance(node, AtLeast):
        for i, one in enumerate(node.of):
            if isinstance(one, Condition):
                yield one, lambda new, i=i: replace(node, of=_with(node.of, i, new))
    elif isinstance(node, Quantified):
        if node.where is not None:
            yield node.where, lambda new: replace(node, where=new)
        if node.holds is not None:
            yield node.holds, lambda new: replace(node, holds=new)


def _with(items: tuple[Anything, ...], at: int, new: object) -> tuple[Anything, ...]:
    return (*items[:at], new, *items[at + 1 :])


def _own(node: Condition) -> Iterator[_Change]:
    if isinstance(node, Not):
        yield _Change("negation", "`not` left out", node.mark, node.item)
    elif isinstance(node, All) and len(node.items) > 1:
        yield _Change("operator", "`all` made `any`", node.mark, Any(node.items, node.mark))
    elif isinstance(node, Any) and len(node.items) > 1:
        yield _Change("operator", "`any` made `all`", node.mark, All(node.items, node.mark))
    elif isinstance(node, AtLeast):
        yield from _at_least(node)
    elif isinstance(node, Flagged | RuleIs):
        said = f"flagged: {node.flag}" if isinstance(node, Flagged) else f"rule: {node.id}"
        yield _Change("negation", f"`{said}` negated", node.mark, Not(node, node.mark))
    elif isinstance(node, Quantified):
        yield from _quantified(node)
    elif isinstance(node, Test):
        yield from _compared(node, node.compare, node.text)


def _at_least(node: AtLeast) -> Iterator[_Change]:
    for text, right in _other(node.n) if node.n is not None else ():
        yield _Change("threshold", f"`at_least` n {text}", node.mark, replace(node, n=right))
    if node.evaluable is not None:
        yield from _compared(node, node.evaluable, "evaluable")


def _quantified(node: Quantified) -> Iterator[_Change]:
    if node.which == "every":
        yield _Change("operator", "`every` made `some`", node.mark, replace(node, which="some"))
    elif node.which == "some":
        yield _Change("operator", "`some` made `every`", node.mark, replace(node, which="every"))
    if node.compare is not None:
        yield from _compared(node, node.compare, node.text)


def _compared(node: Test | Quantified | AtLeast, test: Compare, text: str) -> Iterator[_Change]:
    for kind, said, new in _compares(test):
        changed = replace(node, evaluable=new) if isinstance(node, AtLeast) else replace(node, compare=new)
        yield _Change(kind, f"`{text}`: {said}", node.mark, changed)
    if test.op not in _OPPOSITE and test.op not in _ASKS:
        yield _Change("negation", f"`{text}` negated", node.mark, Not(node, node.mark))


def _compares(test: Compare) -> Iterator[tuple[str, str, Compare]]:
    if test.op in _OPPOSITE:
        opposite = _OPPOSITE[test.op]
        yield "operator", f"{test.op} made {opposite}", replace(test, op=opposite)
    elif test.op in _ASKS:
        yield "operator", f"{test.op} made {str(not test.wanted).lower()}", replace(test, wanted=not test.wanted)
    for i, right in enumerate(test.rights):
        for text, new in _other(right):
            yield "threshold", text, replace(test, rights=_with(test.rights, i, new))
        if isinstance(right, Const) and isinstance(right.value, tuple) and not right.source:
            for entry, rest in _shorter(right.value):
                new = replace(right, value=rest)
                yield "list", f"{entry} left out", replace(test, rights=_with(test.rights, i, new))


def _other(right: Right) -> Iterator[tuple[str, Const]]:
    """Other numbers for a literal one."""
    if isinstance(right, Const) and is_number(right.value):
        for value in _numbers(right.value):
            yield f"{right.source or right.value} made {value}", Const(value)


def _numbers(value: Value) -> tuple[float, ...]:
    """A number above and one below: twice and half of it, at least one away where it is whole."""
    assert isinstance(value, int | float)
    if isinstance(value, int):
        return (max(value * 2, value + 1), value // 2 if value > 1 else value - 1)
    return (value * 2, value / 2) if value else (1.0, -1.0)


def _shorter(values: tuple[Value, ...]) -> Iterator[tuple[Value, tuple[Value, ...]]]:
    for i, entry in enumerate(values):
        yield entry, (*values[:i], *values[i + 1 :])


# ---------------------------------------------------------------- parts of a policy


def _params(policy: Policy) -> Iterator[Mutant]:
    for name, param in policy.params.items():
        for value in _values(param.default):
            yield _param(policy, replace(param, default=value), f"${name} {param.default} made {value}", param.mark)
        for i, row in enumerate(param.overrides):
            match = ", ".join(f"{key} {worth}" for key, worth in row.match.items())
            for value in _values(row.value):
                rows = _with(param.overrides, i, replace(row, value=value))
                text = f"${name} for {match} {row.value} made {value}"
                yield _param(policy, replace(param, overrides=rows), text, row.mark)


def _param(policy: Policy, param: Param, text: str, mark: Mark) -> Mutant:
    return Mutant("threshold", text, mark, replace(policy, params={**policy.params, param.name: param}))


def _values(value: Value) -> tuple[Value, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, str):
        return (f"{value}~",)
    if isinstance(value, tuple):
        return tuple(rest for _, rest in _shorter(value))
    return _numbers(value) if is_number(value) else ()


def _rules(policy: Policy) -> Iterator[Mutant]:
    for rule in policy.rules.values():
        for change in changes(rule.when):
            yield _rule(policy, replace(rule, when=change.condition), change)
        if rule.unless is not None:
            left_out = _Change("negation", "`unless` left out", rule.unless.mark, rule.unless)
            yield _rule(policy, replace(rule, unless=None), left_out)
            for change in changes(rule.unless):
                yield _rule(policy, replace(rule, unless=change.condition), change)


def _rule(policy: Policy, rule: Rule, change: _Change) -> Mutant:
    changed = replace(policy, rules={**policy.rules, rule.id: rule})
    return Mutant(change.kind, f"rule {rule.id}: {change.text}", change.mark, changed)


def _decisions(policy: Policy) -> Iterator[Mutant]:
    for name, choices in policy.decide.items():
        for i, choice in enumerate(choices):
            for change in changes(choice.when) if choice.when is not None else ():
                decide = {**policy.decide, name: _with(choices, i, replace(choice, when=change.condition))}
                text = f"decide {name}, {choice.value}: {change.text}"
                yield Mutant(change.kind, text, change.mark, replace(policy, decide=decide))


def _lists(policy: Policy) -> Iterator[Mutant]:
    """Lists with a name stand in conditions by value: an entry is left out wherever its list is named."""
    places = {(one.name, one.part): one.mark for one in policy.origins if one.section == "lists"}
    for name, values in policy.lists.items():
        for entry, rest in _shorter(values):
            mark = places.get((name, str(entry))) or places.get((name, ""))
            changed = _listing(policy, f"${name}", rest)
            if mark is not None and changed is not None:
                lists = {**policy.lists, name: rest}
                yield Mutant("list", f"list {name}: {entry} left out", mark, replace(changed, lists=lists))


def _listing(policy: Policy, source: str, values: tuple[Value, ...]) -> Policy | None:
    """The policy with other members where a list is named; None where it is named nowhere."""
    swapped = {
        name: _swapped(getattr(policy, name), source, values) for name in ("rules", "decide", "exemptions", "routes")
    }
    changed = {name: part for name, part in swapped.items() if part is not getattr(policy, name)}
    return replace(policy, **changed) if changed else None


def _swapped(node: Anything, source: str, values: tuple[Value, ...]) -> Anything:
    if isinstance(node, Const):
        return replace(node, value=values) if node.source == source else node
    if isinstance(node, Mapping):
        new = {key: _swapped(item, source, values) for key, item in node.items()}
        return new if any(new[key] is not node[key] for key in new) else node
    if isinstance(node, tuple):
        items = tuple(_swapped(item, source, values) for item in node)
        return items if any(a is not b for a, b in zip(items, node, strict=True)) else node
    if not is_dataclass(node) or isinstance(node, type | Mark):
        return node
    parts = {spec.name: getattr(node, spec.name) for spec in fields(node)}
    other = {name: _swapped(part, source, values) for name, part in parts.items()}
    changed = {name: part for name, part in other.items() if part is not parts[name]}
    return replace(node, **changed) if changed else node


def _exemptions(policy: Policy) -> Iterator[Mutant]:
    for i, one in enumerate(policy.exemptions):
        rest = (*policy.exemptions[:i], *policy.exemptions[i + 1 :])
        yield Mutant("exemption", f"exemption {one.id} left out", one.mark, replace(policy, exemptions=rest))
        for entry in one.flags:
            flags = tuple(flag for flag in one.flags if flag != entry)
            shorter = _with(policy.exemptions, i, replace(one, flags=flags))
            text = f"exemption {one.id}: {entry} left out"
            yield Mutant("exemption", text, one.mark, replace(policy, exemptions=shorter))
        for change in changes(one.when):
            other = _with(policy.exemptions, i, replace(one, when=change.condition))
            yield Mutant(
                change.kind, f"exemption {one.id}: {change.text}", change.mark, replace(policy, exemptions=other)
            )


def _routes(policy: Policy) -> Iterator[Mutant]:
    for action, routes in policy.routes.items():
        for i, route in enumerate(routes):
            said = f"route {action} to {route.template or 'blocked'}"
            rest = {**policy.routes, action: (*routes[:i], *routes[i + 1 :])}
            # Without a route that holds an action is blocked anyway.
            if route.template is not None or i + 1 < len(routes):
                yield Mutant("route", f"{said} left out", route.mark, replace(policy, routes=rest))
            if i + 1 < len(routes) and routes[i + 1].template != route.template:
                order = {**policy.routes, action: (*routes[:i], routes[i + 1], route, *routes[i + 2 :])}
                yield Mutant("route", f"{said} put after the next", route.mark, replace(policy, routes=order))
            for change in changes(route.when) if route.when is not None else ():
                other = {**policy.routes, action: _with(routes, i, replace(route, when=change.condition))}
                yield Mutant(change.kind, f"{said}: {change.text}", change.mark, replace(policy, routes=other))


def _patterns(policy: Policy) -> Iterator[Mutant]:
    for name in sorted(set(_matched(policy.rules)) | set(_matched(policy.decide)) | set(_matched(policy.exemptions))):
        pattern = policy.patterns[name]
        for what, broken in (
            ("literal", replace(pattern, literal=f"{pattern.literal}~")),
            ("regex", replace(pattern, regex=f"{pattern.regex}~")),
        ):
            patterns = {**policy.patterns, name: broken}
            yield Mutant("pattern", f"pattern {name}: {what} broken", pattern.mark, replace(policy, patterns=patterns))


def _matched(node: Anything) -> Iterator[str]:
    """Patterns that a condition matches a text with."""
    if isinstance(node, Compare) and node.op == "matches":
        yield from (str(right.value) for right in node.rights if isinstance(right, Const))
    if isinstance(node, Mapping):
        node = tuple(node.values())
    if isinstance(node, tuple):
        for item in node:
            yield from _matched(item)
    elif is_dataclass(node):
        for spec in fields(node):
            yield from _matched(getattr(node, spec.name))
