"""The page of the shipped policy: what a site extends and can override by name."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generator.markdown import code, codes, page, table
from sweeprules.cli.effective import consequence, value_kind
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.language.ast import Param, Policy

INTRO = """What holds in a site that says `extends: builtin`. A site overrides each of these by its name:
`sweeprules rules --effective` shows what then counts, and where it stands."""
METHODS = {
    "ratio_to_mean": "value / max(mean of the window before it, floor)",
    "deviation_from_mean": "abs(value - mean) / max(abs(mean), floor), mean of the window before it",
    "deviation_from_trend": "the same against the line fitted to the window",
    "consecutive": "how many points in a row up to this one pass `where`",
    "share": "which share of the window passes `where`",
    "slope": "the slope of the line fitted to the window, a step",
    "since_change": "for how long the value has been the same",
}


def policy_page(policy: Policy) -> str:
    """Rules, parameters, lists, patterns, features, decisions, routes and exemptions."""
    return page(
        "The shipped policy", INTRO, _rules(policy), _params(policy), _lists(policy), _patterns(policy),
        _features(policy), _exemptions(policy), _routes(policy),
    )  # fmt: skip


def _section(title: str) -> Iterator[str]:
    yield f"## {title}"
    yield ""


def _rules(policy: Policy) -> Iterator[str]:
    yield from _section("Rules")
    rows = (
        (code(rule.id), rule.on, "; ".join(consequence(one) for one in rule.then) or "a truth alone", rule.why)
        for rule in sorted(policy.rules.values(), key=lambda rule: rule.id)
    )
    yield from table(("Rule", "On", "What follows", "Why"), rows)


def _params(policy: Policy) -> Iterator[str]:
    yield from _section("Parameters")
    rows = ((code(one.name), _value(one), one.why) for one in policy.params.values())
    yield from table(("Parameter", "Default, and other values", "Why"), rows)


def _value(one: Param) -> str:
    kind = value_kind(one.source)
    unit = f" {one.unit}" if one.unit else ""
    others = (
        f"; {', '.join(f'{key} {word}' for key, word in sorted(row.match.items()))}: {humanise(row.value, kind)}{unit}"
        for row in one.overrides
    )
    return f"{humanise(one.default, kind)}{unit}{''.join(others)}"


def _lists(policy: Policy) -> Iterator[str]:
    yield from _section("Lists")
    yield from table(("List", "Members"), ((code(name), codes(values)) for name, values in policy.lists.items()))


def _patterns(policy: Policy) -> Iterator[str]:
    yield from _section("Patterns")
    rows = (
        (code(one.name), one.kind, code(one.literal), code(one.regex) if one.regex else "", one.never_means)
        for one in policy.patterns.values()
    )
    yield from table(("Pattern", "Kind", "Literal", "Regex", "Never means"), rows)


def _features(policy: Policy) -> Iterator[str]:
    yield from _section("Features")
    yield "A feature is a number over a series of steps. What can be made of one:"
    yield ""
    yield from table(("`is`", "Value"), ((code(name), text) for name, text in METHODS.items()))
    if policy.features:
        rows = ((code(one.name), code(one.series), code(one.is_)) for one in policy.features.values())
        yield from table(("Feature", "Series", "Is"), rows)


def _exemptions(policy: Policy) -> Iterator[str]:
    yield from _section("Exemptions")
    rows = ((code(one.id), codes(one.flags), code(one.as_flag or ""), one.why) for one in policy.exemptions)
    yield from table(("Exemption", "Covers", "As", "Why"), rows)


def _routes(policy: Policy) -> Iterator[str]:
    yield from _section("Routes")
    rows = (
        (code(name), codes(dict.fromkeys(one.template or "blocked" for one in routes)))
        for name, routes in policy.routes.items()
    )
    yield from table(("Action", "Leads to"), rows)
