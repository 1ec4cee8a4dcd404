"""Where two policies differ of which one is a mutant of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeprules.engine.evaluate.plan import DECIDE_KIND, FEATURE_KIND, Node, index, plan
from sweeprules.engine.language.ast import Act, Exemption, ParamRef, Policy, Raise, Rule
from sweeprules.engine.language.walk import within
from sweeprules.engine.mutate import matched


@dataclass(frozen=True, slots=True)
class Changed:
    """What is not the same: nodes that say something else, all that builds on them, and what is no truth at all.

    `same` are the nodes that come out alike. `effects` are rules of which the consequences differ, `flags` those of
    exemptions that do, `actions` those whose routes do, `literals` old and new ones of patterns that do. `looks` are
    rules that look at other steps or need other facts: their own truths may be alike, and what is made of them not.
    `resweeps` says that a recorded sweep has to be read anew.
    """

    nodes: frozenset[Node]
    downstream: frozenset[Node]
    same: frozenset[Node]
    effects: frozenset[str]
    looks: frozenset[str]
    flags: frozenset[str]
    actions: frozenset[str]
    literals: frozenset[str]
    resweeps: bool


def changed(old: Policy, new: Policy) -> Changed:
    """How a mutant differs from its policy, by what is no longer the very same value."""
    params = {name for name in old.params if new.params[name] is not old.params[name]}
    patterns = {name for name in old.patterns if new.patterns[name] is not old.patterns[name]}
    first, second = plan(old, index(old)).needs, plan(new, index(new)).needs
    nodes = {node for node in second if node not in first or first[node] != second[node]}
    nodes |= {Node("rule", rule.id, rule.on) for rule in new.rules.values() if _otherwise(old, rule, params, patterns)}
    nodes |= set(_decided(old, new, params, patterns))
    downstream = _above(second, nodes)
    touched = params | patterns
    return Changed(
        frozenset(nodes),
        downstream,
        frozenset(second.keys() - downstream),
        frozenset(rule.id for rule in new.rules.values() if _brings_otherwise(old.rules[rule.id], rule, touched)),
        frozenset(rule.id for rule in new.rules.values() if _looks_otherwise(old.rules[rule.id], rule)),
        _exempt(old.exemptions, new.exemptions, touched),
        frozenset(
            name
            for name in old.routes
            if new.routes[name] is not old.routes[name] or mentions(old.routes[name], touched)
        ),
        frozenset(one.patterns[name].literal for one in (old, new) for name in patterns),
        bool(patterns or params) or new.decide is not old.decide,
    )


def _otherwise(old: Policy, rule: Rule, params: set[str], patterns: set[str]) -> bool:
    """Has the rule another truth, as far as it says itself?"""
    before = old.rules[rule.id]
    if rule is not before:
        parts = ("when", "unless", "needs", "if_unknown", "judge", "hold")
        if any(getattr(rule, part) is not getattr(before, part) for part in parts):
            return True
    read = (rule.when, rule.unless, rule.hold)
    return mentions(read, params) or matches(read, patterns)


def _decided(old: Policy, new: Policy, params: set[str], patterns: set[str]) -> Iterable[Node]:
    for name, choices in new.decide.items():
        if choices is not old.decide[name] or mentions(choices, params) or matches(choices, patterns):
            yield Node("field", name, DECIDE_KIND)
            if name == "bucket":
                yield Node("field", "bucket_sure", DECIDE_KIND)
    for name, feature in new.features.items():
        if feature is not old.features[name] or mentions(feature, params):
            yield Node("field", name, FEATURE_KIND)
    for rule in new.rules.values():
        for effect in rule.then:
            if mentions(effect, params) and hasattr(effect, "field"):
                yield Node("field", effect.field, rule.on)


def _brings_otherwise(before: Rule, after: Rule, touched: set[str]) -> bool:
    parts = ("then", "explains", "replaces")
    return any(getattr(before, part) is not getattr(after, part) for part in parts) or mentions(after.then, touched)


def _looks_otherwise(before: Rule, after: Rule) -> bool:
    return before.judge != after.judge or before.needs != after.needs


def _exempt(old: tuple[Exemption, ...], new: tuple[Exemption, ...], touched: set[str]) -> frozenset[str]:
    """The flags of exemptions that are there on one side alone, or read what was changed."""
    kept = {id(one) for one in new}
    gone = [one for one in old if id(one) not in kept or mentions(one, touched) or matches(one, touched)]
    return frozenset(name for one in gone for name in (*one.flags, *((one.as_flag,) if one.as_flag else ())))


def _above(needs: Mapping[Node, Iterable[Node]], nodes: set[Node]) -> frozenset[Node]:
    """The nodes, and all that builds on them."""
    readers: dict[Node, list[Node]] = {}
    for node, read in needs.items():
        for other in read:
            readers.setdefault(other, []).append(node)
    found: set[Node] = set()
    open_ = list(nodes)
    while open_:
        node = open_.pop()
        if node not in found:
            found.add(node)
            open_.extend(readers.get(node, ()))
    return frozenset(found)


def mentions(node: object, names: set[str]) -> bool:
    """Is one of these parameters read below a part of a policy?"""
    return bool(names) and any(isinstance(part, ParamRef) and part.name in names for part in within(node))


def matches(node: object, names: set[str]) -> bool:
    """Does a condition below a part of a policy match a text with one of these patterns?"""
    return bool(names) and not names.isdisjoint(matched(node))


def raised_by(policy: Policy, what: Changed) -> frozenset[Node]:
    """The rules without which nothing comes of what was changed and is no truth."""
    found: set[Node] = set()
    for rule in policy.rules.values():
        flags = {effect.flag for effect in rule.then if isinstance(effect, Raise)}
        actions = {effect.action for effect in rule.then if isinstance(effect, Act)}
        if rule.id in what.effects or flags & what.flags or actions & what.actions:
            found.add(Node("rule", rule.id, rule.on))
    return frozenset(found)
