"""What a site's changes take away from rules that it did not change, and exemptions that cover nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import (
    Const,
    Exemption,
    Flagged,
    ParamRef,
    Policy,
    Raise,
    Rule,
    RuleIs,
    Signal,
    Signalled,
    Test,
)
from sweeprules.engine.language.findings_rules import can_fire
from sweeprules.engine.language.findings_words import every_part
from sweeprules.engine.language.origins import Overlay
from sweeprules.engine.language.possible import Possible
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.walk import conditions_of, parts, rights

SOON = 7 * 86400.0
"""Seconds before its end in which an exemption is told of: time enough for its owner to come back to it."""


def overlay_findings(policy: Policy, catalogue: Catalogue, now: float | None) -> Iterator[Problem]:
    """Overrides that silence others (SR017, SR020), exemptions that run out (SR015, SR019) or match nothing (SR016)."""
    raised = {one.flag for rule in policy.rules.values() for one in rule.then if isinstance(one, Raise)}
    given = {one.name for rule in policy.rules.values() for one in rule.then if isinstance(one, Signal)}
    askers = _askers(policy)
    for overlay in policy.overlays:
        if overlay.section == "rules":
            yield from _silenced(overlay, raised, given, askers)
    yield from _out_of_reach(policy, Possible(policy, catalogue))
    yield from _undecided(policy)
    for exemption in policy.exemptions:
        if now is not None and exemption.expires is not None:
            yield from _ending(exemption, exemption.expires - now)
        if not raised.intersection(exemption.flags):
            message = f"no rule raises {listed(exemption.flags)}, so the exemption {quote(exemption.id)} covers nothing"
            yield Problem(exemption.mark, message, "name a flag that is raised", code="SR016")


def _ending(exemption: Exemption, left: float) -> Iterator[Problem]:
    """An exemption by the seconds that it has left."""
    hint = "take it out, or give it a later date"
    if left <= 0:
        message = f"the exemption {quote(exemption.id)} has expired and covers nothing"
        yield Problem(exemption.mark, message, hint, code="SR015")
    elif left <= SOON:
        days = int(left // 86400)
        when = f"in {days} day{'' if days == 1 else 's'}" if days else "within a day"
        owner = f" of {exemption.owner}" if exemption.owner else ""
        yield Problem(exemption.mark, f"the exemption {quote(exemption.id)}{owner} ends {when}", hint, code="SR019")


def _out_of_reach(policy: Policy, possible: Possible) -> Iterator[Problem]:
    """Values of a later layer with which rules of an earlier one can never fire."""
    changed = {
        f"${one.name}": one
        for one in policy.origins
        if one.section in {"params", "lists"} and one.over is not None and not one.part
    }
    for rule in policy.rules.values() if changed else ():
        read = {f"${name}": changed[f"${name}"] for name in _named(rule) if f"${name}" in changed}
        if read and not can_fire(possible, rule):
            for name, origin in sorted(read.items()):
                message = f"with this value of {quote(name)} the rule {quote(rule.id)} can never fire"
                yield Problem(origin.mark, message, f"the rule is at {rule.mark}", code="SR017")


def _named(rule: Rule) -> set[str]:
    """The params and lists that the conditions of a rule read."""
    found: set[str] = set()
    for condition in (rule.when, *((rule.unless,) if rule.unless is not None else ())):
        for node in parts(condition):
            for right in rights(node):
                if isinstance(right, ParamRef):
                    found.add(right.name)
                elif isinstance(right, Const) and right.source.startswith("$"):
                    found.add(right.source[1:])
    return found


def _undecided(policy: Policy) -> Iterator[Problem]:
    """Words that rules ask a decided field for and that none of its choices gives."""
    words = {name: {choice.value for choice in choices} for name, choices in policy.decide.items()}
    places = {one.name: one.mark for one in policy.origins if one.section == "decide" and one.over is not None}
    for node in every_part(policy):
        if not isinstance(node, Test) or node.compare.op not in {"eq", "in"} or node.path.kind != "job":
            continue
        given = words.get(node.path.field)
        asked = [value for right in node.compare.rights if isinstance(right, Const) for value in _words(right.value)]
        if given is None or not asked or given.intersection(asked) or "previous" in node.path.relations:
            continue
        field = node.path.field
        here = f", which {node.mark} asks for" if field in places else ""
        message = f"no choice of {quote(field)} gives {listed(asked)}{here}"
        yield Problem(places.get(field, node.mark), message, f"the choices give {listed(sorted(given))}", code="SR020")


def _words(value: Value) -> tuple[str, ...]:
    return tuple(one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str))


_Askers = dict[tuple[str, str], dict[str, Mark]]
"""What is asked for (kind and name) -> the rules that ask, and where."""


def _askers(policy: Policy) -> _Askers:
    found: _Askers = {}
    for rule in policy.rules.values():
        for condition in conditions_of(rule):
            for node in parts(condition):
                if isinstance(node, Flagged):
                    found.setdefault(("flag", node.flag), {})[rule.id] = node.mark
                elif isinstance(node, Signalled):
                    found.setdefault(("signal", node.name), {})[rule.id] = node.mark
                elif isinstance(node, RuleIs):
                    found.setdefault(("rule", node.id), {})[rule.id] = node.mark
    return found


def _silenced(overlay: Overlay, raised: set[str], given: set[str], askers: _Askers) -> Iterator[Problem]:
    verb = "disabling" if overlay.disabled else "replacing"
    lost = [("flag", name) for name in overlay.flags if name not in raised]
    lost += [("signal", name) for name in overlay.signals if name not in given]
    for kind, name in lost:
        asking = askers.get((kind, name), {})
        if asking:
            message = f"{verb} {quote(overlay.name)} leaves no rule that gives the {kind} {quote(name)}"
            yield Problem(overlay.mark, message, f"{_places(asking)} builds on it", code="SR017")
        elif kind == "flag" and not overlay.disabled:
            message = f"the flag {quote(name)} of the {quote(overlay.name)} that this replaces is raised by no rule now"
            yield Problem(overlay.mark, message, f"the replaced one is at {overlay.over}", code="SR017")
    asking = askers.get(("rule", overlay.name), {}) if overlay.disabled else {}
    if asking:
        message = f"{quote(overlay.name)} is disabled and its truth is still asked for"
        yield Problem(overlay.mark, message, f"{_places(asking)} builds on it", code="SR017")


def _places(asking: dict[str, Mark]) -> str:
    return listed(f"{name} ({mark})" for name, mark in asking.items()).replace(" or ", " and ")
