"""Takes out what a site has disabled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from sweeprules.engine.language.ast import Condition, Policy, Rule, RuleIs
from sweeprules.engine.language.walk import conditions_of, outside_rules, parts


def switch_off(policy: Policy) -> Policy:
    """The policy without its disabled rules and exemptions.

    A disabled rule whose truth something else asks for with `rule:` stays, and nothing follows from it: else the other
    one would be told of a truth that nobody worked out.
    """
    rules = {one.name for one in policy.overlays if one.disabled and one.section == "rules"}
    exemptions = {one.name for one in policy.overlays if one.disabled and one.section == "exemptions"}
    if not rules and not exemptions:
        return policy
    live = [rule for rule in policy.rules.values() if rule.id not in rules]
    asked = _reached(policy, live, exemptions)
    kept = {
        name: _silent(rule) if name in rules else rule
        for name, rule in policy.rules.items()
        if name not in rules or name in asked
    }
    left = tuple(one for one in policy.exemptions if one.id not in exemptions)
    return dataclasses.replace(policy, rules=kept, exemptions=left)


def _silent(rule: Rule) -> Rule:
    return dataclasses.replace(rule, then=(), explains=(), replaces=(), stage="")


def _reached(policy: Policy, live: Iterable[Rule], exemptions: set[str]) -> set[str]:
    """The rules that the live ones ask for, directly or through another."""
    left = dataclasses.replace(policy, exemptions=tuple(e for e in policy.exemptions if e.id not in exemptions))
    queue = [name for rule in live for name in _asked(conditions_of(rule))]
    queue.extend(_asked(outside_rules(left)))
    found: dict[str, None] = {}
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = None
            queue.extend(_asked(conditions_of(policy.rules[name])))
    return set(found)


def _asked(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        yield from (node.id for node in parts(condition) if isinstance(node, RuleIs))
