"""Rules that ask for one action with unlike arguments, and flags that are named and that no rule raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import (
    Act,
    All,
    Any,
    Collect,
    Condition,
    Const,
    FieldRef,
    Flagged,
    Policy,
    Raise,
    Right,
    Rule,
)
from sweeprules.engine.language.canon import plain_data
from sweeprules.engine.language.possible import Asked, Possible, Wish
from sweeprules.engine.language.shape import listed, quote

SHIPPED = "builtin:"
"""How the name of a file begins that a site extends."""
_CARRIED = frozenset({"step", "run"})
"""Kinds whose rules ask for actions on their job."""
_TEXTS = frozenset({"text", "enum"})
_LISTS = frozenset({"list", "map", "record-list"})
_Arg = Right | Collect | tuple[Right, ...]


class _Asker(NamedTuple):
    rule: Rule
    act: Act

    @property
    def shipped(self) -> bool:
        return self.act.mark.file.startswith(SHIPPED)


def action_findings(policy: Policy, catalogue: Catalogue, release: int) -> Iterator[Problem]:
    """Arguments of one action that go against each other (SR022), and flags named that no rule raises (SR023).

    A flag that waits for a stage after `release` counts as raised.
    """
    askers: dict[tuple[str, str], list[_Asker]] = {}
    for rule in policy.rules.values():
        for act in (one for one in rule.then if isinstance(one, Act)):
            kind = "job" if rule.on in _CARRIED else rule.on
            askers.setdefault((act.action, kind), []).append(_Asker(rule, act))
    possible = Possible(policy, catalogue)
    for (_, kind), several in askers.items():
        yield from _against_each_other(policy, possible, kind, several)
    yield from _unraised(policy, catalogue, release)


# ---------------------------------------------------------------- unlike arguments


def _against_each_other(policy: Policy, possible: Possible, kind: str, askers: Sequence[_Asker]) -> Iterator[Problem]:
    """One finding for each rule of a site, or for the later one of two in one layer, over all that go against it."""
    for index, own in enumerate(askers):
        others = {}
        for other in (one for at, one in enumerate(askers) if _told_at(own, index, one, at)):
            names = _unlike(policy, own, other)
            if names and _both(policy, possible, own.rule, other.rule):
                others[f"{other.rule.id} ({other.act.mark})"] = names
        if others:
            unlike = sorted({name for names in others.values() for name in names})
            action = quote(own.act.action)
            yield Problem(
                own.act.mark,
                f"another rule asks for {action} on the same {kind} with unlike {_and(unlike)}: where both are true "
                f"{'it is' if len(unlike) == 1 else 'they are'} unknown, and {action} is BLOCKED",
                f"{_and(others)} asks for it already; leave it to that one, or give the same arguments",
                code="SR022",
            )


def _told_at(own: _Asker, index: int, other: _Asker, at: int) -> bool:
    if own.rule.id == other.rule.id or (own.shipped and not other.shipped):
        return False
    return (other.shipped and not own.shipped) or at < index


def _unlike(policy: Policy, own: _Asker, other: _Asker) -> tuple[str, ...]:
    """The arguments that two rules give, and that can not be joined to one value.

    What is read from facts may be the same, so between two rules of one layer only constants are told.
    """
    action = policy.actions[own.act.action]
    both = [name for name in action.args if name in own.act.args and name in other.act.args]
    pairs = [(name, own.act.args[name], other.act.args[name]) for name in both]
    across = other.shipped and not own.shipped
    return tuple(
        name
        for name, mine, theirs in pairs
        if _key(mine) != _key(theirs)
        and not (_is_list(mine) and _is_list(theirs))
        and not (_is_text(mine) and _is_text(theirs) and not action.destructive)
        and (across or (isinstance(mine, Const) and isinstance(theirs, Const)))
    )


def _key(arg: _Arg) -> str:
    return json.dumps(plain_data(arg), sort_keys=True)


def _is_list(arg: _Arg) -> bool:
    return isinstance(arg, tuple | Collect) or (isinstance(arg, FieldRef) and arg.path.type in _LISTS)


def _is_text(arg: _Arg) -> bool:
    if isinstance(arg, FieldRef):
        return arg.path.type in _TEXTS
    return isinstance(arg, Const) and isinstance(arg.value, str)


def _both(policy: Policy, possible: Possible, one: Rule, two: Rule) -> bool:
    """Whether two rules can be true of one subject; of different kinds that is not told, so they can."""
    if one.on != two.on:
        return True
    return possible.together([wish for rule in (one, two) for wish in _true(policy, rule)])


def _true(policy: Policy, rule: Rule) -> Iterator[Wish]:
    yield Wish(_opened(policy, rule.when, rule.on), Asked.TRUE)
    if rule.unless is not None:
        yield Wish(rule.unless, Asked.FALSE if rule.if_unknown == "hold" else Asked.NOT_TRUE)


def _opened(policy: Policy, condition: Condition, kind: str) -> Condition:
    """The condition with each flag that it asks for in words of the rules that raise it."""
    if isinstance(condition, All):
        return All(tuple(_opened(policy, item, kind) for item in condition.items), condition.mark)
    if isinstance(condition, Any):
        return Any(tuple(_opened(policy, item, kind) for item in condition.items), condition.mark)
    if not isinstance(condition, Flagged):
        return condition
    raisers = [rule for rule in policy.rules.values() if _raises(rule, condition.flag)]
    if not raisers or any(rule.on != kind for rule in raisers):
        return condition
    return Any(tuple(rule.when for rule in raisers), condition.mark)


def _raises(rule: Rule, flag: str) -> bool:
    return any(isinstance(one, Raise) and one.flag == flag for one in rule.then)


def _and(names: Sequence[str] | Mapping[str, object]) -> str:
    return listed(names).replace(" or ", " and ")


# ---------------------------------------------------------------- flags that no rule raises


def _unraised(policy: Policy, catalogue: Catalogue, release: int) -> Iterator[Problem]:
    raised = {one.flag for rule in policy.rules.values() for one in rule.then if isinstance(one, Raise)}
    there = raised | catalogue.builtin | {one.as_flag for one in policy.exemptions if one.as_flag}
    there |= {flag for flag, stage in catalogue.flag_feeds.items() if stage > release}
    for rule in policy.rules.values():
        for key, flags in (("explains", rule.explains), ("replaces", rule.replaces)):
            yield from _named(rule.mark, f"{key} of {quote(rule.id)}", flags, there)
    for exemption in policy.exemptions:
        if raised.intersection(exemption.flags):
            yield from _named(exemption.mark, f"the exemption {quote(exemption.id)}", exemption.flags, there)


def _named(mark: Mark, what: str, flags: Sequence[str], there: Set[str]) -> Iterator[Problem]:
    missing = [flag for flag in flags if flag not in there]
    if missing and not mark.file.startswith(SHIPPED):
        message = f"{what} names {_and([quote(flag) for flag in missing])}, which no rule raises"
        yield Problem(mark, message, "name a flag that is raised, or leave it out", code="SR023")
