"""Does anything that brings about what a rule test expects read anything that the test gives?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.evaluate.effects import needed_path
from sweeprules.engine.evaluate.plan import DECIDE_KIND, FEATURE_KIND, Behind, Node, index, plan
from sweeprules.engine.language.ast import Act, Condition, Flagged, Path, Policy, Raise
from sweeprules.engine.language.shape import listed
from sweeprules.engine.language.walk import conditions_of, parts
from sweeprules.engine.testexpect import Expect
from sweeprules.engine.testsound import Part
from sweeprules.engine.testwriting import paths

Place = tuple[str, str]
"""A kind and one of its facts; a relation has the kind ``."""

_NEUTRAL = frozenset({("job", "cluster"), ("job", "job_id"), ("cluster", "name"), ("step", "step"), ("sweep", "now")})
"""Names of things and the clock: they are given so that there is something to speak of."""
_SHOWN = 4
"""Facts that a hint names."""


def unread(parts_: Collection[Part], given: frozenset[Place], mark: Mark, policy: Policy) -> Iterator[Problem]:
    """The mistake of a test whose outcome none of the `given` facts has a say in; `mark` is where it gives them.

    A test that gives nothing is about the unknown, and one that expects a health, or no flag or action at all, is about
    all rules: of these nothing is said.
    """
    told = given - _NEUTRAL
    if not told or any(_open(part.expect) for part in parts_):
        return
    reading = _reading(_Same(policy))
    read = frozenset(place for part in parts_ for place in reading.of(part.expect, part.kind))
    if read and told.isdisjoint(read):
        names = sorted(name for _, name in told)
        facts = sorted(name for kind, name in read - _NEUTRAL if kind)
        hint = f"they read {', '.join(facts[:_SHOWN])}{' and so on' if len(facts) > _SHOWN else ''}"
        yield Problem(mark, f"no rule behind what is expected reads {listed(names)}", hint)


def _open(expect: Expect) -> bool:
    """Does every rule have a say in it? So it is with messages too: what they tell stands in no condition."""
    says = any(raised.says for raised in expect.raised.values())
    return bool(expect.health) or says or () in (expect.flags, expect.actions, expect.exempt, expect.blocked)


class _Same:
    """A policy as the very object that it is: its maps can not be hashed, and comparing them takes long."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __hash__(self) -> int:
        return id(self.policy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.policy is self.policy


@lru_cache(maxsize=4)
def _reading(same: _Same) -> _Reading:
    return _Reading(same.policy)


class _Reading:
    """What rules, decided fields, exemptions and routes of a policy read, with all that they build on."""

    def __init__(self, policy: Policy) -> None:
        idx = index(policy)
        self._policy, self._computed = policy, idx.computed
        self._plan, self._behind = plan(policy, idx), Behind(policy, idx)
        self._own: dict[Node, frozenset[Place]] = {}

    def of(self, expect: Expect, kind: str) -> frozenset[Place]:
        """The places that have a say in what is expected of a subject of a kind."""
        flags, actions = _names(expect)
        nodes = {self._rule(name) for name in expect.truth}
        nodes |= {Node("field", name, kind) for name in expect.decided}
        # What is read and not decided comes from a log or a recorded sweep, or from the test itself.
        found: set[Place] = {(kind, name) for name in expect.decided if (kind, name) not in self._computed}
        for rule in self._policy.rules.values():
            raised = {effect.flag for effect in rule.then if isinstance(effect, Raise)}
            asked = {effect.action for effect in rule.then if isinstance(effect, Act)}
            if asked & actions:
                nodes.add(self._rule(rule.id))
                # An exemption of a flag behind an action takes the action away.
                flags |= raised | {one.flag for one in parts(rule.when) if isinstance(one, Flagged)}
            elif raised & flags or flags & set(rule.replaces):
                nodes.add(self._rule(rule.id))
        for condition, on in self._aside(flags, actions):
            nodes |= {self._rule(name) for name in self._behind.rules(condition, on)}
            nodes |= {Node("field", name, of) for of, name in _places(condition)}
            found |= _places(condition)
        return frozenset(found.union(*(self._read(node) for node in self._plan.closure(nodes))))

    def _rule(self, name: str) -> Node:
        return Node("rule", name, self._policy.rules[name].on)

    def _aside(self, flags: set[str], actions: set[str]) -> Iterator[tuple[Condition, str]]:
        """Conditions that are no rule's, with the kind that each is about."""
        for one in self._policy.exemptions:
            if one.as_flag in flags or not flags.isdisjoint(one.flags):
                yield one.when, one.on
        for name in actions & self._policy.routes.keys():
            for route in self._policy.routes[name]:
                if route.when is not None:
                    yield route.when, DECIDE_KIND

    def _read(self, node: Node) -> frozenset[Place]:
        if node not in self._own:
            self._own[node] = frozenset(_places(self._said(node)))
        return self._own[node]

    def _said(self, node: Node) -> object:
        if node.what == "rule":
            rule = self._policy.rules[node.name]
            return rule, tuple(conditions_of(rule)), tuple(needed_path(name, rule.on) for name in rule.needs)
        if node.kind == FEATURE_KIND and node.name in self._policy.features:
            feature = self._policy.features[node.name]
            return feature, Path((), feature.series, FEATURE_KIND, "number")
        name = "bucket" if node.name == "bucket_sure" else node.name
        return self._policy.decide.get(name, ())


def _names(expect: Expect) -> tuple[set[str], set[str]]:
    causes = {
        name.partition("@")[0] for one in expect.raised.values() for name in (*one.explained_by, *one.not_explained_by)
    }
    flags = {*(expect.flags or ()), *expect.not_flags, *(expect.exempt or ()), *expect.raised, *causes}
    actions = {*(expect.actions or ()), *expect.not_actions, *(expect.blocked or ()), *expect.templates}
    return flags, actions | {action for action, _ in expect.args}


def _places(node: object) -> set[Place]:
    """The facts and relations that paths below a part of a policy name."""
    found = list(paths(node))
    places = {(path.kind, path.field) for path in found if path.type != "relation"}
    places |= {("", path.field) for path in found if path.type == "relation"}
    return places | {("", name) for path in found for name in path.relations}
