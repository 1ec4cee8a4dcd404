"""Conditions that can never hold, lines that are never reached, doubled conditions, and facts that nothing provides."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Condition,
    Policy,
    Quantified,
    Rule,
    Signalled,
    Test,
)
from sweeprules.engine.language.canon import plain_data
from sweeprules.engine.language.findings_words import every_part
from sweeprules.engine.language.possible import Asked, Possible, Wish, key_of
from sweeprules.engine.language.rules import ALWAYS_DECIDED
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.walk import Part, conditions_of, outside_rules, parts, paths

_NEVER = "what it asks for can not be at once"


def rule_findings(policy: Policy, catalogue: Catalogue, stage: int) -> Iterator[Problem]:
    """Findings about conditions: SR001, SR002, SR003, SR014."""
    possible = Possible(policy, catalogue)
    for rule in policy.rules.values():
        yield from _of_rule(possible, rule)
    yield from _twins(policy)
    for condition in outside_rules(policy):
        yield from _never(possible, condition, (), condition.mark, "this condition can never hold")
    for choices in policy.decide.values():
        yield from _shadowed(possible, [(one.when, one.mark) for one in choices])
    for routes in policy.routes.values():
        yield from _shadowed(possible, [(one.when, one.mark) for one in routes])
    for node in every_part(policy):
        yield from _doubled(node)
        yield from _unprovided(policy, catalogue, node, stage)


# ---------------------------------------------------------------- never


def can_fire(possible: Possible, rule: Rule) -> bool:
    """False only when no facts at all make a rule true."""
    return possible.together([*_beside(rule), Wish(rule.when, Asked.TRUE)])


def _beside(rule: Rule) -> tuple[Wish, ...]:
    """What `unless` asks for where a rule is true."""
    if rule.unless is None:
        return ()
    return (Wish(rule.unless, Asked.FALSE if rule.if_unknown == "hold" else Asked.NOT_TRUE),)


def _of_rule(possible: Possible, rule: Rule) -> Iterator[Problem]:
    yield from _never(possible, rule.when, _beside(rule), rule.mark, f"the rule {quote(rule.id)} can never fire")
    for condition in conditions_of(rule):
        for node in parts(condition):
            if isinstance(node, Quantified):
                yield from _no_member(possible, node)


def _no_member(possible: Possible, node: Quantified) -> Iterator[Problem]:
    """A selection of members that none can pass."""
    inner = [part for part in (node.where, node.holds if node.which == "some" else None) if part is not None]
    if inner and not possible.together([Wish(part, Asked.TRUE) for part in inner]):
        yield Problem(node.mark, f"no member can pass this {node.which}", _NEVER, code="SR001")


def _never(possible: Possible, node: Condition, context: Sequence[Wish], mark: Mark, message: str) -> Iterator[Problem]:
    """Reports a condition that can not hold beside its context; else its branches that can not."""
    if not possible.together([*context, Wish(node, Asked.TRUE)]):
        yield Problem(mark, message, _NEVER, code="SR001")
    elif isinstance(node, All):
        for item in node.items:
            beside = [*context, *(Wish(other, Asked.TRUE) for other in node.items if other is not item)]
            yield from _never(possible, item, beside, item.mark, "this can never hold here")
    elif isinstance(node, Any):
        for item in node.items:
            yield from _never(possible, item, context, item.mark, "this branch can never hold here")


# ---------------------------------------------------------------- shadowed


def _shadowed(possible: Possible, lines: Sequence[tuple[Condition | None, Mark]]) -> Iterator[Problem]:
    """A line for which an earlier one is always true; one alone has to be, so that the message can name it."""
    for index, (when, mark) in enumerate(lines):
        wanted = [Wish(when, Asked.TRUE)] if when is not None else []
        if not possible.together(wanted):
            continue
        for before, place in lines[:index]:
            if before is not None and not possible.together([Wish(before, Asked.NOT_TRUE), *wanted]):
                message = f"this is never taken: whenever it would be, the one on line {place.line} is"
                yield Problem(mark, message, "move the special case above the general one", code="SR002")
                break


# ---------------------------------------------------------------- doubled and unprovided


def _doubled(node: Part) -> Iterator[Problem]:
    items: Sequence[Part] = node.items if isinstance(node, All | Any) else node.of if isinstance(node, AtLeast) else ()
    seen: dict[str, Part] = {}
    for item in items:
        first = seen.setdefault(key_of(item), item)
        if first is not item and not isinstance(item, Signalled):
            message = f"the same condition stands twice here: {quote(_worded(item))}"
            yield Problem(item.mark, message, f"the first is at {first.mark}", code="SR014")


def _twins(policy: Policy) -> Iterator[Problem]:
    """Rules that say the same under two ids."""
    seen: dict[str, Rule] = {}
    for rule in policy.rules.values():
        said = dataclasses.replace(rule, id="", why="")
        first = seen.setdefault(json.dumps(plain_data(said), sort_keys=True), rule)
        if first is not rule:
            message = f"the rule {quote(rule.id)} says the same as {quote(first.id)}"
            yield Problem(rule.mark, message, f"the first is at {first.mark}", code="SR014")


def _worded(node: Part) -> str:
    return node.text if isinstance(node, Test | Quantified) else type(node).__name__.lower()


def _unprovided(policy: Policy, catalogue: Catalogue, node: Part, stage: int) -> Iterator[Problem]:
    for path in paths(node):
        kind = catalogue.kinds.get(path.kind)
        spec = kind.fields.get(path.field) if kind is not None else None
        undecided = path.kind == "job" and path.field in ALWAYS_DECIDED and path.field not in policy.decide
        if undecided:
            message = f"nothing decides {quote(path.text)}, so this is always unknown"
            yield Problem(node.mark, message, f"add decide: {{{path.field}: [...]}}", code="SR003")
        elif spec is not None and spec.feeds > stage:
            message = f"no collector reads {quote(path.text)}, so this is always unknown"
            yield Problem(node.mark, message, "test another field", code="SR003")
