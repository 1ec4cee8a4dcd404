"""What a rule test can not mean: expectations that exclude each other, and those that no rule can ever meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.evaluate.plan import CARRIED
from sweeprules.engine.language.ast import Act, Flagged, Policy, Raise, Rule
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.walk import parts as parts_of
from sweeprules.engine.testasks import ByHand
from sweeprules.engine.testexpect import Expect
from sweeprules.engine.truth import TRUE

_UNRULED = frozenset({"secret-risk", "exemption-expired", "engine-divergence"})
"""Flags that are raised without a rule (catalogue)."""
_FLAGGED = ("flagged", "exempt", "starting")
"""Words of health that a job without any flag never has."""
_NEVER = "nothing could make it fail: leave it out"


@dataclass(frozen=True, slots=True)
class Part:
    """What a test expects of one of its subjects: the kind of this, what is written, and what it says."""

    kind: str
    node: Node
    expect: Expect

    def at(self, key: str, name: str = "") -> Mark:
        """Where a name stands under a key; the key itself where it stands nowhere."""
        key = key if self.node.get(key) is not None else key.partition(".")[0]
        value = self.node.get(key)
        if value is None or not name:
            return self.node.key_mark(key)
        marks = {item.text: item.mark for item in (*value.items, value)} | {e.key: e.mark for e in value.entries}
        return marks.get(name, self.node.key_mark(key))


@dataclass(frozen=True, slots=True)
class _Effects:
    """What can come of a policy on one kind of subject: name -> the rules behind it."""

    flags: Mapping[str, Set[str]]
    actions: Mapping[str, Set[str]]
    exempt: Set[str]
    """Flags that an exemption covers, and those that it raises in their place."""
    renamed: Set[str]
    """Flags that an exemption tells under another name: true rules may raise them, and they are not there."""
    replaced: Set[str]


def unsound(parts: Iterable[Part], about: str, by_hand: ByHand | None, policy: Policy) -> Iterator[Problem]:
    """The mistakes of a test as a whole; `about` is the kind of what it is about.

    Two expectations exclude each other, or one names what nothing brings about: it fails or holds in every world.
    """
    for part in parts:
        effects = _effects(policy, part.kind, by_hand if part.kind == about else None)
        yield from _excluded(part, effects)
        yield from _never(part, effects)
        for name, truth in part.expect.truth.items():
            rule = policy.rules[name]
            # Of steps and runs a test asks the newest one, and their flags are those of any.
            if rule.on == part.kind and rule.on not in CARRIED:
                yield from _though_true(part, rule, effects) if truth is TRUE else _though_not(part, rule, effects)


def _effects(policy: Policy, kind: str, by_hand: ByHand | None) -> _Effects:
    flags: dict[str, set[str]] = {name: {""} for name in (*_UNRULED, *(by_hand.flags if by_hand else ()))}
    actions: dict[str, set[str]] = {name: {""} for name in (by_hand.actions if by_hand else ())}
    for rule in policy.rules.values():
        if kind not in (rule.on, CARRIED[rule.on][1] if rule.on in CARRIED else rule.on):
            continue
        for name in _raises(rule):
            flags.setdefault(name, set()).add(rule.id)
        for name in _asks(rule):
            actions.setdefault(name, set()).add(rule.id)
    exemptions = [one for one in policy.exemptions if one.on == kind]
    told = {one.as_flag for one in exemptions if one.as_flag}
    for name in told:
        flags.setdefault(name, set()).add("")
    covered = {name for one in exemptions for name in one.flags}
    renamed = {name for one in exemptions if one.as_flag for name in one.flags}
    replaced = {name for rule in policy.rules.values() for name in rule.replaces}
    return _Effects(flags, actions, covered | told, renamed, replaced)


def _raises(rule: Rule) -> list[str]:
    return [effect.flag for effect in rule.then if isinstance(effect, Raise)]


def _asks(rule: Rule) -> list[str]:
    return [effect.action for effect in rule.then if isinstance(effect, Act)]


# ---------------------------------------------------------------- names


def _never(part: Part, effects: _Effects) -> Iterator[Problem]:
    expect = part.expect
    for key, names in _flag_lists(expect):
        for name in names:
            if name not in effects.flags:
                hint = _NEVER if key == "not_flags" else "name a flag that a rule raises, or write the rule"
                yield Problem(part.at(key, name), f"no rule raises {name} on a {part.kind}", hint)
            elif key == "exempt" and name not in effects.exempt:
                hint = "name a flag that an exemption covers, or write the exemption"
                yield Problem(part.at(key, name), f"no exemption covers {name} on a {part.kind}", hint)
    for key, names in _action_lists(expect):
        for name in names:
            if name not in effects.actions:
                hint = _NEVER if key == "not_actions" else "name an action that a rule asks for, or write the rule"
                yield Problem(part.at(key, name), f"no rule asks for {name} on a {part.kind}", hint)


def _flag_lists(expect: Expect) -> Iterator[tuple[str, Sequence[str]]]:
    yield "flags", expect.flags or ()
    yield "not_flags", expect.not_flags
    yield "exempt", expect.exempt or ()
    yield "raised", tuple(expect.raised)


def _action_lists(expect: Expect) -> Iterator[tuple[str, Sequence[str]]]:
    yield "actions", expect.actions or ()
    yield "not_actions", expect.not_actions
    yield "blocked", expect.blocked or ()
    yield "templates", tuple(expect.templates)
    yield "args", tuple(dict.fromkeys(action for action, _ in expect.args))


# ---------------------------------------------------------------- contradictions


def _excluded(part: Part, effects: _Effects) -> Iterator[Problem]:
    expect = part.expect
    wanted = {"exempt": set(expect.exempt or ()) - effects.renamed, "raised": set(expect.raised)}
    asked = {"templates": set(expect.templates), "args": {action for action, _ in expect.args}}
    for lists, no, unwanted in ((wanted, "not_flags", expect.not_flags), (asked, "not_actions", expect.not_actions)):
        for yes, names in lists.items():
            for name in sorted(names & set(unwanted)):
                hint = f"leave it out of {yes} or {no}"
                yield Problem(part.at(no, name), f"{name} is expected and not expected", hint)
    for name, raised in expect.raised.items():
        for cause in sorted(set(raised.explained_by) & set(raised.not_explained_by)):
            message = f"{cause} is expected to explain {name}, and not to"
            yield Problem(part.at("raised", name), message, "leave it out of explained_by or not_explained_by")
    yield from _nothing(part)


def _nothing(part: Part) -> Iterator[Problem]:
    """An empty list says that there is none at all."""
    expect = part.expect
    if expect.flags == () and (expect.exempt or expect.raised):
        named = ", ".join(sorted({*(expect.exempt or ()), *expect.raised}))
        hint = "leave flags: [] out, or the others"
        yield Problem(part.at("flags"), f"no flag is expected, and {named} is", hint)
    if expect.flags == () and expect.health in _FLAGGED:
        message = f"no flag is expected, and a job without one is never {expect.health}"
        yield Problem(part.at("health"), message, "leave flags: [] out, or health")
    asked = {*(expect.blocked or ()), *expect.templates, *(action for action, _ in expect.args)}
    if expect.actions == () and asked:
        message = f"no action is expected, and {', '.join(sorted(asked))} is"
        yield Problem(part.at("actions"), message, "leave actions: [] out, or the others")


def _though_true(part: Part, rule: Rule, effects: _Effects) -> Iterator[Problem]:
    """A rule that is true brings about what must not be there."""
    expect = part.expect
    for name in _raises(rule):
        if name in effects.renamed or name in effects.replaced:
            continue
        if name in expect.not_flags or expect.flags == ():
            key = "not_flags" if name in expect.not_flags else "flags"
            yield _both(part, key, name, f"{name} must not be there, and rule {rule.id}, which raises it, must be true")
    away = effects.replaced | effects.exempt
    if away and (away & set(_raises(rule)) or _asks_for_flags(rule)):
        # An action goes with the flags behind it, replaced or exempt.
        return
    for name in _asks(rule):
        if name in expect.not_actions or expect.actions == ():
            key = "not_actions" if name in expect.not_actions else "actions"
            message = f"{name} must not be there, and rule {rule.id}, which asks for it, must be true"
            yield _both(part, key, name, message)


def _asks_for_flags(rule: Rule) -> bool:
    return any(isinstance(found, Flagged) for found in parts_of(rule.when))


def _though_not(part: Part, rule: Rule, effects: _Effects) -> Iterator[Problem]:
    """What one rule alone brings about is not there unless it is true."""
    for key, names in _flag_lists(part.expect):
        for name in names if key != "not_flags" else ():
            if effects.flags.get(name) == {rule.id}:
                yield _alone(part, key, name, rule, "raises")
    for key, names in _action_lists(part.expect):
        for name in names if key != "not_actions" else ():
            if effects.actions.get(name) == {rule.id}:
                yield _alone(part, key, name, rule, "asks for")


def _alone(part: Part, key: str, name: str, rule: Rule, does: str) -> Problem:
    word = part.expect.truth[rule.id].word
    return _both(part, key, name, f"{name} is expected, and rule {rule.id}, which alone {does} it, must be {word}")


def _both(part: Part, key: str, name: str, message: str) -> Problem:
    return Problem(part.at(key, name), message, f"change {key} or truth: one of them can not be")
