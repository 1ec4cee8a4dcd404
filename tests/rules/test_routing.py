"""What each flag leads to in the shipped rules is what the catalogue's routing says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from sweeprules.engine.language import ast
from sweeprules.engine.language.node import plain
from sweeprules.engine.language.yamltext import read
from sweeprules.store import builtin
from tests.rules.shipped import catalogue, policy

# Flags whose readers are not there yet: no shipped rule raises them.
_LATER = """
    wrong-kubeconfig exemption-expired probe-kill preempted write-path-violation eval-negative-delta iris-zero-pods
    iris-gone iris-unconfirmed inode-over-soft inode-near-hard cleanup-incomplete tree-drift snapshot-cap
    snapshot-per-launch sandbox-pressure fk-conflict
"""
LATER = frozenset(_LATER.split())


def _routing() -> Mapping[str, list[str]]:
    document = plain(read(builtin.catalogue_text(), builtin.CATALOGUE))
    assert isinstance(document, dict)
    by_flag: Mapping[str, list[str]] = document["routing"]["by_flag"]
    return by_flag


def _asked(condition: ast.Condition) -> Iterator[str]:
    if isinstance(condition, ast.Flagged):
        yield condition.flag
    elif isinstance(condition, ast.All | ast.Any):
        for item in condition.items:
            yield from _asked(item)
    elif isinstance(condition, ast.Quantified) and condition.holds is not None:
        yield from _asked(condition.holds)


def _raised() -> set[str]:
    return {e.flag for rule in policy().rules.values() for e in rule.then if isinstance(e, ast.Raise)}


def _actions_of(flag: str) -> set[str]:
    """The actions of the rules that raise a flag or, raising nothing themselves, wait for it."""
    found: set[str] = set()
    for rule in policy().rules.values():
        own = {e.flag for e in rule.then if isinstance(e, ast.Raise)}
        if flag in (own or set(_asked(rule.when))):
            found |= {e.action for e in rule.then if isinstance(e, ast.Act)}
    return found


@pytest.mark.parametrize("flag", sorted(_raised()))
def test_a_flag_leads_where_the_catalogue_says(flag: str) -> None:
    assert _actions_of(flag) == set(_routing().get(flag, ()))


def test_every_flag_is_raised_exempt_builtin_or_of_a_later_release() -> None:
    known = catalogue()
    silent = set(known.flags) - _raised() - known.builtin - known.exempt
    assert silent == LATER


def test_a_flag_of_a_later_release_is_not_one_that_is_fed_now() -> None:
    document = plain(read(builtin.catalogue_text(), builtin.CATALOGUE))
    assert isinstance(document, dict)
    assert sorted(flag for flag in LATER if document["flags"][flag]["feeds"] == 1) == []


def test_every_action_with_a_template_has_routes() -> None:
    wanted = {name for name, action in policy().actions.items() if action.templates}
    assert wanted == set(policy().routes)


def test_a_route_that_destroys_is_never_chosen_by_default() -> None:
    chosen = {
        name
        for name, routes in policy().routes.items()
        if policy().actions[name].destructive and any(r.when is None and r.template for r in routes)
    }
    assert chosen == set()
