"""What a site's changes take away from rules that it did not change, and exemptions that cover nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import Flagged, Policy, Raise, RuleIs, Signal, Signalled
from sweeprules.engine.language.origins import Overlay
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.walk import conditions_of, parts


def overlay_findings(policy: Policy, now: float | None) -> Iterator[Problem]:
    """Overrides that silence others (SR017), exemptions that ran out (SR015) or match nothing (SR016)."""
    raised = {one.flag for rule in policy.rules.values() for one in rule.then if isinstance(one, Raise)}
    given = {one.name for rule in policy.rules.values() for one in rule.then if isinstance(one, Signal)}
    askers = _askers(policy)
    for overlay in policy.overlays:
        if overlay.section == "rules":
            yield from _silenced(overlay, raised, given, askers)
    for exemption in policy.exemptions:
        if now is not None and exemption.expires is not None and exemption.expires <= now:
            message = f"the exemption {quote(exemption.id)} has expired and covers nothing"
            yield Problem(exemption.mark, message, "take it out, or give it a later date", code="SR015")
        if not raised.intersection(exemption.flags):
            message = f"no rule raises {listed(exemption.flags)}, so the exemption {quote(exemption.id)} covers nothing"
            yield Problem(exemption.mark, message, "name a flag that is raised", code="SR016")


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
