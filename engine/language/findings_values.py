"""Thresholds that no fact reaches, patterns that pass lines over, and actions without proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Act, ParamRef, Pattern, Policy, Test
from sweeprules.engine.language.findings_words import every_part
from sweeprules.engine.language.possible import Possible
from sweeprules.engine.language.samples import without
from sweeprules.engine.language.shape import quote

_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "between", "in", "not_in"})


def value_findings(policy: Policy, catalogue: Catalogue) -> Iterator[Problem]:
    """Thresholds out of range (SR011), destruction without proof (SR012), patterns (SR013, SR014, SR021)."""
    possible = Possible(policy, catalogue)
    places = _places(policy)
    for node in every_part(policy):
        if isinstance(node, Test):
            yield from _out_of_range(possible, node, places)
    for rule in policy.rules.values():
        for one in rule.then:
            if (
                isinstance(one, Act)
                and policy.actions[one.action].destructive
                and not policy.actions[one.action].proofs
            ):
                message = f"{quote(one.action)} destroys something and asks for no proof"
                yield Problem(one.mark, message, "name an action that has proofs", code="SR012")
    yield from _twins(policy)
    for pattern in policy.patterns.values():
        missed = next(without(pattern.regex, pattern.literal), None) if pattern.regex else None
        if missed is not None:
            message = f"the regex of {quote(pattern.name)} also matches {quote(missed)}, without its literal"
            yield Problem(
                pattern.mark, message, f"lines without {quote(pattern.literal)} are passed over", code="SR013"
            )


def _twins(policy: Policy) -> Iterator[Problem]:
    """Patterns that find the same lines (SR014), and rungs of one height (SR021)."""
    lines: dict[tuple[str, str], Pattern] = {}
    rungs: dict[int, Pattern] = {}
    for pattern in policy.patterns.values():
        first = lines.setdefault((pattern.literal, pattern.regex), pattern)
        if first is not pattern:
            message = f"the pattern {quote(pattern.name)} finds the same lines as {quote(first.name)}"
            yield Problem(pattern.mark, message, f"the first is at {first.mark}", code="SR014")
        if pattern.kind == "rung" and pattern.order is not None:
            lower = rungs.setdefault(pattern.order, pattern)
            if lower is not pattern:
                message = f"the rungs {quote(lower.name)} and {quote(pattern.name)} both have the order {pattern.order}"
                yield Problem(pattern.mark, message, f"the first is at {lower.mark}", code="SR021")


_Places = dict[tuple[str, Value], Mark]


def _places(policy: Policy) -> _Places:
    """Where a later layer gave a param a value; what is wrong with it is told there and not in the shipped rule."""
    changed = {one.name for one in policy.origins if one.section == "params" and one.over is not None}
    return {
        (one.name, one.value): one.mark
        for one in policy.origins
        if one.section == "params" and one.part and one.name in changed and one.value is not None
        if not isinstance(one.value, Mapping)
    }


def _out_of_range(possible: Possible, node: Test, places: _Places) -> Iterator[Problem]:
    spec = possible.spec(node.path)
    if spec is None or node.compare.op not in _COMPARED:
        return
    low, high = spec.range
    for right in node.compare.rights:
        name = right.name if isinstance(right, ParamRef) else ""
        for value in _numbers(possible.values(right)):
            if (low is not None and value < low) or (high is not None and value > high):
                span = f"{low} or more" if high is None else f"{high} or less" if low is None else f"{low} to {high}"
                message = f"{quote(node.path.text)} is {span}, and is compared with {value}"
                mark = places.get((name, value), node.mark)
                yield Problem(mark, message, "write the value in the unit of the fact", code="SR011")


def _numbers(values: tuple[Value, ...] | None) -> Iterator[float]:
    for value in values or ():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, int | float) and not isinstance(one, bool):
                yield one
