"""Names that nothing uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import (
    Act,
    Arith,
    AtLeast,
    Const,
    ParamRef,
    Path,
    Policy,
    Raise,
    Right,
    RuleIs,
    Signal,
    Signalled,
)
from sweeprules.engine.language.scope import STEP
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.walk import (
    Part,
    compares,
    conditions_of,
    outside_rules,
    parts,
    paths,
    paths_of,
    rights,
    rights_of,
    terms,
)


def word_findings(policy: Policy, beside: Collection[str] = ()) -> Iterator[Problem]:
    """Params, lists, patterns, features, signals, rules and new words without a use (SR004 to SR010, SR018).

    `beside` names params that are read by something else than the policy.
    """
    nodes = [*every_part(policy)]
    used = set(_referred(policy, nodes))
    read = [*_paths(policy, nodes)]
    for name, param in policy.params.items():
        if f"${name}" not in used and name not in beside:
            yield _unused(param.mark, "param", name, "SR004")
    for name in policy.lists:
        if f"${name}" not in used:
            yield _unused(_place(policy, "lists", name), "list", name, "SR005")
    yield from _unread(policy, nodes, read)
    yield from _signals(policy, nodes)
    asked = {node.id for node in nodes if isinstance(node, RuleIs)}
    for rule in policy.rules.values():
        if not rule.then and rule.id not in asked and not rule.stage:
            message = f"nothing follows from the rule {quote(rule.id)}, and no other asks for its truth"
            yield Problem(rule.mark, message, "add then, or take it out", code="SR009")
    yield from _new_words(policy)


def every_part(policy: Policy) -> Iterator[Part]:
    """Every condition and signal of a policy, inner ones too."""
    rules = chain.from_iterable(conditions_of(rule) for rule in policy.rules.values())
    return chain.from_iterable(parts(condition) for condition in chain(rules, outside_rules(policy)))


def _unused(mark: Mark, what: str, name: str, code: str) -> Problem:
    return Problem(mark, f"nothing uses the {what} {quote(name)}", "use it, or take it out", code=code)


def _place(policy: Policy, section: str, name: str) -> Mark:
    places = (one.mark for one in policy.origins if (one.section, one.name, one.part) == (section, name, ""))
    return next(places, Mark("", 1, 1))


# ---------------------------------------------------------------- what refers to what


def _referred(policy: Policy, nodes: list[Part]) -> Iterator[str]:
    """`$name` of every param and list that something refers to."""
    found: list[Right | Arith] = []
    for node in nodes:
        found.extend(rights(node))
    for rule in policy.rules.values():
        for then in rule.then:
            found.extend(rights_of(then))
        if rule.hold is not None:
            found.extend(one for one in (rule.hold.sweeps, rule.hold.seconds) if one is not None)
    for feature in policy.features.values():
        found.extend(one for one in (feature.window, feature.min_points, feature.floor) if one is not None)
        found.extend(feature.where.rights if feature.where is not None else ())
    for right in chain.from_iterable(terms(one) for one in found):
        if isinstance(right, ParamRef):
            yield f"${right.name}"
        elif isinstance(right, Const) and right.source.startswith("$"):
            yield right.source


def _paths(policy: Policy, nodes: list[Part]) -> Iterator[Path]:
    """Every path that something reads, but for those in texts."""
    for node in nodes:
        yield from paths(node)
    for rule in policy.rules.values():
        for then in rule.then:
            for right in rights_of(then):
                yield from paths_of(right)


def _texts(policy: Policy) -> str:
    """All that is said, where fields are read as `{field}`."""
    said = [then.say for rule in policy.rules.values() for then in rule.then if isinstance(then, Raise)]
    said += [one.say for one in policy.exemptions]
    return "\n".join(said)


def _unread(policy: Policy, nodes: list[Part], read: list[Path]) -> Iterator[Problem]:
    named = {right.value for node in nodes for test in compares(node) if test.op == "matches" for right in test.rights
             if isinstance(right, Const)}  # fmt: skip
    named.update(path.field.split(".")[1] for path in read if path.field.startswith("lines."))
    texts = _texts(policy)
    for name, pattern in policy.patterns.items():
        if pattern.kind == "marker" and name not in named and f"lines.{name}." not in texts:
            yield _unused(pattern.mark, "marker", name, "SR006")
    fields = {path.field for path in read if path.kind == STEP}
    fields.update(need for rule in policy.rules.values() for need in rule.needs)
    for name, feature in policy.features.items():
        if name not in fields and f"{{{name}}}" not in texts:
            yield _unused(feature.mark, "feature", name, "SR007")


def _signals(policy: Policy, nodes: list[Part]) -> Iterator[Problem]:
    counted = {node.name for node in nodes if isinstance(node, Signalled)}
    given = {one.name: one for rule in policy.rules.values() for one in rule.then if isinstance(one, Signal)}
    for name, one in given.items():
        if name not in counted:
            message = f"no at_least counts the signal {quote(name)}"
            yield Problem(one.mark, message, "count it, or take it out", code="SR008")
    for origin in policy.origins:
        if origin.section == "signals" and origin.name not in given:
            message = f"no rule gives the signal {quote(origin.name)}"
            yield Problem(origin.mark, message, "give it with then: signal", code="SR008")
    for node in nodes:
        if isinstance(node, AtLeast) and node.n is not None:
            yield from _out_of_reach(policy, node, node.n, given)


def _out_of_reach(policy: Policy, node: AtLeast, n: Right, given: Collection[str]) -> Iterator[Problem]:
    """A quorum above the number of what can hold, told where a later layer wrote the number."""
    mark = node.mark
    if isinstance(n, ParamRef):
        param = policy.params[n.name]
        values = [param.default, *(row.value for row in param.overrides)]
        changed = (one.mark for one in policy.origins if one.section == "params" and one.name == n.name and one.over)
        mark = next(changed, mark)
    else:
        values = [n.value] if isinstance(n, Const) else []
    numbers = [value for value in values if isinstance(value, int | float)]
    able = sum(not isinstance(one, Signalled) or one.name in given for one in node.of)
    if numbers and able < min(numbers):
        message = f"at least {min(numbers)} can not be: only {able} of these can ever hold"
        yield Problem(mark, message, "lower n, or give the signals", code="SR018")


def _new_words(policy: Policy) -> Iterator[Problem]:
    used = {("flags", one.flag) for rule in policy.rules.values() for one in rule.then if isinstance(one, Raise)}
    used |= {("flags", one.as_flag) for one in policy.exemptions if one.as_flag is not None}
    used |= {("actions", one.action) for rule in policy.rules.values() for one in rule.then if isinstance(one, Act)}
    for origin in policy.origins:
        if origin.section in {"flags", "actions"} and (origin.section, origin.name) not in used:
            yield _unused(origin.mark, origin.section.rstrip("s"), origin.name, "SR010")
