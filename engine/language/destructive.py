"""No destructive action is reachable through something that is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import (
    Act,
    Add,
    All,
    Any,
    AtLeast,
    Condition,
    Flagged,
    Not,
    Policy,
    Quantified,
    Raise,
    Rule,
    RuleIs,
    Set,
    Signal,
    Signalled,
    Test,
)
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN


class _Leak(NamedTuple):
    """A place where something unknown can make a rule true (or false, where its denial is asked for)."""

    mark: Mark
    what: str


_Asked = tuple[str, bool]


def unproved(policy: Policy) -> list[Problem]:
    """Every place through which an unknown reaches a rule that fires a destructive action."""
    walker = _Walker(policy)
    found: dict[Problem, None] = {}
    for rule in policy.rules.values():
        for one in rule.then:
            if isinstance(one, Act) and policy.actions[one.action].destructive:
                for leak in walker.leaks(rule.id):
                    what = f"{leak.what} is on the way to `{one.action}` of rule `{rule.id}`, which destroys something"
                    found[Problem(leak.mark, what, "ask for what is known")] = None
    return list(found)


class _Walker:
    """Follows a rule to what it rests on: its conditions, and the rules behind flags, signals and set fields."""

    def __init__(self, policy: Policy) -> None:
        self._rules = policy.rules
        self._behind: dict[tuple[str, str], list[str]] = {}
        for rule in policy.rules.values():
            for one in rule.then:
                if isinstance(one, Raise):
                    self._behind.setdefault(("flag", one.flag), []).append(rule.id)
                elif isinstance(one, Signal):
                    self._behind.setdefault(("signal", one.name), []).append(rule.id)
                elif isinstance(one, Set | Add):
                    self._behind.setdefault((rule.on, one.field), []).append(rule.id)

    def leaks(self, name: str) -> Iterator[_Leak]:
        """The leaks on the way to a rule's truth."""
        asked: dict[_Asked, None] = {(name, True): None}
        queue: list[_Asked] = [(name, True)]
        for one in queue:
            found = _Found(self._behind, [], [])
            _read_rule(found, self._rules[one[0]], one[1])
            yield from found.leaks
            for more in found.rules:
                if more not in asked:
                    asked[more] = None
                    queue.append(more)


class _Found(NamedTuple):
    """What one rule gave: leaks, and the rules that it rests on in turn."""

    behind: dict[tuple[str, str], list[str]]
    leaks: list[_Leak]
    rules: list[_Asked]

    def follow(self, kind: str, name: str, holds: bool) -> None:
        """Rests on the rules behind a flag, a signal or a field."""
        self.rules.extend((rule, holds) for rule in self.behind.get((kind, name), ()))


def _read_rule(found: _Found, rule: Rule, holds: bool) -> None:
    _read(found, rule.when, holds)
    if rule.unless is not None:
        _read(found, rule.unless, not holds)
        if holds and rule.if_unknown == "fire":
            found.leaks.append(_Leak(rule.mark, "`if_unknown: fire`"))


def _read(found: _Found, node: Condition | Signalled, holds: bool) -> None:
    _READERS[type(node)](found, node, holds)


def _read_all(found: _Found, node: All | Any, holds: bool) -> None:
    for item in node.items:
        _read(found, item, holds)


def _read_not(found: _Found, node: Not, holds: bool) -> None:
    _read(found, node.item, not holds)


def _read_test(found: _Found, node: Test, holds: bool) -> None:
    test = node.compare
    asks_unknown = (test.op == "unknown" and test.wanted == holds) or (test.op == "known" and test.wanted != holds)
    if asks_unknown:
        found.leaks.append(_Leak(node.mark, f"a test that holds of the unknown (`{node.text[:40]}`)"))
    if test.default is not None:
        found.leaks.append(_Leak(node.mark, "a `default` for the unknown"))
    if test.possible and holds:
        found.leaks.append(_Leak(node.mark, "a `possible` count"))
    found.follow(node.path.kind, node.path.field, True)


def _read_flagged(found: _Found, node: Flagged, holds: bool) -> None:
    found.follow("flag", node.flag, holds)


def _read_signal(found: _Found, node: Signalled, holds: bool) -> None:
    found.follow("signal", node.name, holds)


def _read_rule_is(found: _Found, node: RuleIs, holds: bool) -> None:
    reached = {node.wanted} if holds else {TRUE, FALSE, UNKNOWN} - {node.wanted}
    if UNKNOWN in reached:
        found.leaks.append(_Leak(node.mark, f"an unknown truth of rule `{node.id}`"))
    found.rules.extend((node.id, truth == TRUE) for truth in sorted(reached - {UNKNOWN}))


def _read_at_least(found: _Found, node: AtLeast, holds: bool) -> None:
    if node.evaluable is not None:
        found.leaks.append(_Leak(node.mark, "`evaluable`, which counts what is unknown,"))
    for item in node.of:
        _read(found, item, holds)


def _read_quantified(found: _Found, node: Quantified, holds: bool) -> None:
    if node.compare is not None and node.compare.possible and holds:
        found.leaks.append(_Leak(node.mark, "a `possible` count"))
    if node.compare is not None and node.compare.default is not None:
        found.leaks.append(_Leak(node.mark, "a `default` for the unknown"))
    for part in (node.where, node.holds):
        if part is not None:
            # A member that is not selected can make `every` hold and a count small: both ways count.
            _read(found, part, True)
            if part is node.where or node.compare is not None or not holds:
                _read(found, part, False)


_READERS: dict[type, Callable[..., None]] = {
    All: _read_all,
    Any: _read_all,
    Not: _read_not,
    Test: _read_test,
    Flagged: _read_flagged,
    Signalled: _read_signal,
    RuleIs: _read_rule_is,
    AtLeast: _read_at_least,
    Quantified: _read_quantified,
}
