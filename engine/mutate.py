"""Policies that differ from one policy in one small thing: what a good rule test would notice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any as Anything

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Choice, Compare, Const, Feature, Param, Policy, Rule
from sweeprules.engine.language.walk import within
from sweeprules.engine.mutate_conditions import Change, changes, compares, numbers, put, shorter
from sweeprules.engine.mutate_effects import effects
from sweeprules.engine.mutate_patterns import patterns

KINDS = (
    "threshold",
    "operator",
    "negation",
    "condition",
    "list",
    "decision",
    "consequence",
    "setting",
    "feature",
    "exemption",
    "pattern",
    "route",
)
"""All that is changed.

threshold: a parameter, an override, a number. operator: a comparison, `all`, `any`, `every`, `some`. negation: `not`,
`flagged`, `rule`, `unless`. condition: one of several left out. list: an entry left out. decision: an entry of a
`decide` list left out, moved, or with another result. consequence: what a rule brings about. setting: `judge`, `needs`,
`if_unknown`, `for`. feature: how a number over a series is taken. pattern: what lines mean. route: where actions go.
"""

_DURATION = re.compile(r"-?[0-9.]+[smhd]")
_OF_MEAN = ("ratio_to_mean", "deviation_from_mean")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one change: its kind (one of `KINDS`), what was changed in words, and where that is written."""

    kind: str
    text: str
    mark: Mark
    policy: Policy


def mutants(policy: Policy) -> Iterator[Mutant]:
    """All mutants of a policy, each made when it is asked for."""
    yield from _params(policy)
    yield from _rules(policy)
    yield from _decisions(policy)
    yield from _features(policy)
    yield from _lists(policy)
    yield from _exemptions(policy)
    yield from _routes(policy)
    for text, pattern in patterns(policy.patterns.values()):
        changed = replace(policy, patterns={**policy.patterns, pattern.name: pattern})
        yield Mutant("pattern", f"pattern {pattern.name}: {text}", pattern.mark, changed)


def there(policy: Policy, files: Iterable[str]) -> frozenset[str]:
    """The kinds of which these files have something to change, so that one that was not made is a gap of its own."""
    named = frozenset(files)
    sections: Mapping[str, Iterable[Mark]] = {
        "threshold": (one.mark for one in policy.params.values() if _values(one.default)),
        "operator": (rule.mark for rule in policy.rules.values()),
        "decision": (choice.mark for choices in policy.decide.values() for choice in choices[:-1]),
        "consequence": (effect.mark for rule in policy.rules.values() for effect in rule.then),
        "feature": (one.mark for one in policy.features.values()),
        "exemption": (one.mark for one in policy.exemptions),
        "pattern": (one.mark for one in policy.patterns.values()),
        "route": (route.mark for routes in policy.routes.values() for route in routes if route.template),
    }
    return frozenset(kind for kind, marks in sections.items() if any(mark.file in named for mark in marks))


# ---------------------------------------------------------------- parameters and rules


def _params(policy: Policy) -> Iterator[Mutant]:
    # Who adds a row for one case has not written the default, and is not asked to protect it.
    written = {one.name: one.mark for one in policy.origins if (one.section, one.part) == ("params", "default")}
    for name, param in policy.params.items():
        for value in _values(param.default):
            text = f"${name} {_turned(param, param.default, value)}"
            yield _param(policy, replace(param, default=value), text, written.get(name, param.mark))
        for i, row in enumerate(param.overrides):
            match = ", ".join(f"{key} {worth}" for key, worth in row.match.items())
            for value in _values(row.value):
                rows = put(param.overrides, i, replace(row, value=value))
                text = f"${name} for {match} {_turned(param, row.value, value)}"
                yield _param(policy, replace(param, overrides=rows), text, row.mark)


def _turned(param: Param, old: Value, new: Value) -> str:
    """Both values as one would write them: durations and sizes with their units."""
    kind = "bytes" if param.source.endswith("B") else "duration" if _DURATION.fullmatch(param.source) else ""
    if kind and humanise(old, kind) != humanise(new, kind):
        return f"{humanise(old, kind)} made {humanise(new, kind)}"
    return f"{old} made {new}"


def _param(policy: Policy, param: Param, text: str, mark: Mark) -> Mutant:
    return Mutant("threshold", text, mark, replace(policy, params={**policy.params, param.name: param}))


def _values(value: Value) -> tuple[Value, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, str):
        return (f"{value}~",)
    if isinstance(value, tuple):
        return tuple(rest for _, rest in shorter(value))
    return numbers(value) if is_number(value) else ()


def _rules(policy: Policy) -> Iterator[Mutant]:
    for rule in policy.rules.values():
        for change in changes(rule.when):
            yield _rule(policy, replace(rule, when=change.condition), change)
        if rule.unless is not None:
            left_out = Change("negation", "`unless` left out", rule.unless.mark, rule.unless)
            yield _rule(policy, replace(rule, unless=None), left_out)
            for change in changes(rule.unless):
                yield _rule(policy, replace(rule, unless=change.condition), change)
        for kind, text, mark, other in effects(rule, policy.flags):
            yield Mutant(kind, f"rule {rule.id}: {text}", mark, _with_rule(policy, other))


def _rule(policy: Policy, rule: Rule, change: Change) -> Mutant:
    return Mutant(change.kind, f"rule {rule.id}: {change.text}", change.mark, _with_rule(policy, rule))


def _with_rule(policy: Policy, rule: Rule) -> Policy:
    return replace(policy, rules={**policy.rules, rule.id: rule})


# ---------------------------------------------------------------- decisions, features, lists


def _decisions(policy: Policy) -> Iterator[Mutant]:
    for name, choices in policy.decide.items():
        values = tuple(dict.fromkeys(choice.value for choice in choices))
        for i, choice in enumerate(choices):
            said = f"decide {name}, {choice.value}"
            for change in changes(choice.when) if choice.when is not None else ():
                one = replace(choice, when=change.condition)
                yield _decision(policy, name, put(choices, i, one), change.kind, f"{said}: {change.text}", change.mark)
            yield from _moved(policy, name, i, said)
            for value in _others(values, choice.value):
                other = put(choices, i, replace(choice, value=value))
                yield _decision(policy, name, other, "decision", f"{said} made {value}", choice.mark)


def _moved(policy: Policy, name: str, i: int, said: str) -> Iterator[Mutant]:
    choices = policy.decide[name]
    mark = choices[i].mark
    if choices[i].when is not None:
        yield _decision(policy, name, (*choices[:i], *choices[i + 1 :]), "decision", f"{said} left out", mark)
    # Behind `otherwise` an entry is as good as left out.
    if i + 2 < len(choices) and choices[i + 1].value != choices[i].value:
        order = (*choices[:i], choices[i + 1], choices[i], *choices[i + 2 :])
        yield _decision(policy, name, order, "decision", f"{said} put after the next", mark)


def _others(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    """Another result: the next one of the same list."""
    at = values.index(value)
    return (values[(at + 1) % len(values)],) if len(values) > 1 else ()


def _decision(policy: Policy, name: str, choices: tuple[Choice, ...], kind: str, text: str, mark: Mark) -> Mutant:
    return Mutant(kind, text, mark, replace(policy, decide={**policy.decide, name: choices}))


def _features(policy: Policy) -> Iterator[Mutant]:
    for feature in policy.features.values():
        for kind, text, other in _taken(feature):
            changed = replace(policy, features={**policy.features, feature.name: other})
            yield Mutant(kind, f"feature {feature.name}: {text}", feature.mark, changed)


def _taken(feature: Feature) -> Iterator[tuple[str, str, Feature]]:
    if feature.is_ in _OF_MEAN:
        other: Anything = _OF_MEAN[1 - _OF_MEAN.index(feature.is_)]
        yield "feature", f"{feature.is_} made {other}", replace(feature, is_=other)
    for part in ("window", "min_points", "floor"):
        right = getattr(feature, part)
        if isinstance(right, Const) and is_number(right.value):
            for value in numbers(right.value):
                yield "feature", f"{part} {right.value} made {value}", _with_part(feature, part, Const(value))
        if right is not None and part != "window":
            yield "feature", f"{part} left out", _with_part(feature, part, None)
    if feature.where is not None:
        for kind, text, compare in compares(feature.where):
            yield kind, f"where: {text}", replace(feature, where=compare)


def _with_part(feature: Feature, part: str, right: Const | None) -> Feature:
    changed: dict[str, Anything] = {part: right}
    return replace(feature, **changed)


def _lists(policy: Policy) -> Iterator[Mutant]:
    """Lists with a name stand in conditions by value: an entry is left out wherever its list is named."""
    places = {(one.name, one.part): one.mark for one in policy.origins if one.section == "lists"}
    for name, values in policy.lists.items():
        for entry, rest in shorter(values):
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


# ---------------------------------------------------------------- exemptions, routes


def _exemptions(policy: Policy) -> Iterator[Mutant]:
    for i, one in enumerate(policy.exemptions):
        rest = (*policy.exemptions[:i], *policy.exemptions[i + 1 :])
        yield Mutant("exemption", f"exemption {one.id} left out", one.mark, replace(policy, exemptions=rest))
        for entry in one.flags if len(one.flags) > 1 else ():
            flags = tuple(flag for flag in one.flags if flag != entry)
            others = put(policy.exemptions, i, replace(one, flags=flags))
            text = f"exemption {one.id}: {entry} left out"
            yield Mutant("exemption", text, one.mark, replace(policy, exemptions=others))
        for change in changes(one.when):
            others = put(policy.exemptions, i, replace(one, when=change.condition))
            text = f"exemption {one.id}: {change.text}"
            yield Mutant(change.kind, text, change.mark, replace(policy, exemptions=others))


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
                other = {**policy.routes, action: put(routes, i, replace(route, when=change.condition))}
                yield Mutant(change.kind, f"{said}: {change.text}", change.mark, replace(policy, routes=other))


def matched(node: Anything) -> Iterator[str]:
    """The patterns with which some condition below a part of a policy matches a text."""
    for part in within(node):
        if isinstance(part, Compare) and part.op == "matches":
            yield from (str(right.value) for right in part.rights if isinstance(right, Const))
