"""What a rule test can not mean: expectations that exclude each other, and those that no rule can ever meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import Act, Policy, Raise
from sweeprules.engine.testasks import ByHand
from sweeprules.engine.testexpect import Expect

_UNRULED = frozenset({"secret-risk", "exemption-expired", "engine-divergence"})
"""Flags that are raised without a rule (catalogue)."""


def unsound(expects: Mapping[Ref, Expect], by_hand: ByHand | None, policy: Policy, mark: Mark) -> Iterator[Problem]:
    """The mistakes of a test as a whole; `mark` is where it expects."""
    flags, actions = _brought_about(policy, by_hand)
    # An exempt flag that is told under another name is not there under its own.
    renamed = frozenset(name for one in policy.exemptions if one.as_flag for name in one.flags)
    for expect in expects.values():
        yield from _excluded(expect, renamed, mark)
        named = {*(expect.flags or ()), *expect.not_flags, *expect.exempt}
        asked = {*(expect.actions or ()), *expect.not_actions, *expect.blocked, *expect.templates}
        other = expect.truth or expect.decided or expect.health or expect.flags == () or expect.actions == ()
        if (named or asked) and not other and named.isdisjoint(flags) and asked.isdisjoint(actions):
            what = ", ".join(sorted(named | asked))
            yield Problem(
                mark, f"the test matches no rule: none brings about {what}", "name what some rule brings about"
            )


def _brought_about(policy: Policy, by_hand: ByHand | None) -> tuple[set[str], set[str]]:
    effects = [effect for rule in policy.rules.values() for effect in rule.then]
    flags = {effect.flag for effect in effects if isinstance(effect, Raise)} | _UNRULED
    flags |= {one.as_flag for one in policy.exemptions if one.as_flag}
    actions = {effect.action for effect in effects if isinstance(effect, Act)}
    if by_hand is not None:
        return flags | set(by_hand.flags), actions | set(by_hand.actions)
    return flags, actions


def _excluded(expect: Expect, renamed: frozenset[str], mark: Mark) -> Iterator[Problem]:
    pairs: tuple[tuple[str, Iterable[str], str, Iterable[str]], ...] = (
        ("exempt", set(expect.exempt) - renamed, "not_flags", expect.not_flags),
        ("templates", expect.templates, "not_actions", expect.not_actions),
    )
    for yes, wanted, no, unwanted in pairs:
        for name in sorted(set(wanted) & set(unwanted)):
            yield Problem(mark, f"{name} is expected and not expected", f"leave it out of {yes} or {no}")
    if expect.flags == () and expect.exempt:
        yield Problem(mark, "no flag is expected, and an exempt one", "leave flags: [] out, or exempt")
    if expect.actions == () and (expect.blocked or expect.templates):
        yield Problem(mark, "no action is expected, and one that is blocked or has a template", "leave actions: [] out")
