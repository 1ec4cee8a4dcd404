"""No destructive action is reachable through something that is not known.

Wherever an unknown could make a condition hold (or fail, where its denial is asked for) on the way to such an action,
the loader says so. The way leads through rules, flags, signals, decided and set fields, right sides, overrides of
params, what an action collects, and its routes. An unsure `bucket` is let through on the subject of the action alone:
there it blocks the action when it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import (
    Act,
    Add,
    All,
    Any,
    Arith,
    AtLeast,
    Choice,
    Collect,
    Compare,
    Condition,
    Const,
    Feature,
    Flagged,
    Not,
    ParamRef,
    Path,
    Policy,
    Quantified,
    Raise,
    Right,
    Route,
    Rule,
    RuleIs,
    Set,
    Signal,
    Signalled,
    Test,
)
from sweeprules.engine.language.edges import DECIDE, own_path
from sweeprules.engine.language.scope import STEP
from sweeprules.engine.language.shape import listed
from sweeprules.engine.language.walk import paths_of, rights_of, terms
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN

BUCKET, SURE = "bucket", "bucket_sure"
_HOME = {"job": (), "step": ("job",), "run": ("row",)}
"""Kind of a rule's subject -> the way to the job on which its actions land, where an unsure bucket blocks them."""


class _Leak(NamedTuple):
    """A place where something unknown can make a rule true (or false, where its denial is asked for)."""

    mark: Mark
    what: str


class _Asked(NamedTuple):
    """A rule that is asked to be true or false, or a decided field; `away`: of another subject than the action's."""

    name: str
    holds: bool
    away: bool


def unproved(policy: Policy) -> list[Problem]:
    """Every place through which an unknown reaches a rule that fires a destructive action, with all that it reaches."""
    walker = _Walker(policy)
    found: dict[tuple[Mark, str], dict[str, None]] = {}
    for rule in policy.rules.values():
        for one in rule.then:
            if isinstance(one, Act) and policy.actions[one.action].destructive:
                for leak in walker.leaks(rule, one):
                    reached = found.setdefault((leak.mark, leak.what), {})
                    reached[f"`{one.action}` of rule `{rule.id}`"] = None
    return [_leak(mark, what, list(reached)) for (mark, what), reached in found.items()]


def _leak(mark: Mark, what: str, reached: list[str]) -> Problem:
    verb = "destroys" if len(reached) == 1 else "destroy"
    names = listed(reached).replace(" or ", " and ")
    return Problem(mark, f"{what} is on the way to {names}, which {verb} something", "ask for what is known")


@dataclass(frozen=True, slots=True)
class _Found:
    """What one walk gave: leaks, and what it rests on in turn."""

    leaks: list[_Leak] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _At:
    """Where a walk is: the kind of the rule's subject, whether that is another than the action's, inside a `where`.

    `sure` are the paths whose `bucket_sure: true` is asked for beside what is read.
    """

    kind: str
    away: bool
    inside: bool = False
    sure: frozenset[tuple[str, ...]] = frozenset()

    def off(self, path: Path) -> bool:
        """Whether a path leads to another subject than the one on which the action lands."""
        if self.away or path.relations != _HOME.get(self.kind, ("",)):
            return True
        return self.inside and path.scope != "outer"


class _Walker:
    """Follows a rule to what it rests on: its conditions, and what stands behind flags, signals and fields."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._behind: dict[tuple[str, str], list[str]] = {}
        for rule in policy.rules.values():
            for one in rule.then:
                if isinstance(one, Raise):
                    self._behind.setdefault(("flag", one.flag), []).append(rule.id)
                elif isinstance(one, Signal):
                    self._behind.setdefault(("signal", one.name), []).append(rule.id)
                elif isinstance(one, Set | Add):
                    self._behind.setdefault((rule.on, one.field), []).append(rule.id)

    def leaks(self, rule: Rule, act: Act) -> Iterator[_Leak]:
        """The leaks on the way to an action of a rule: to the rule's truth, to the arguments and to the routes."""
        found = _Found()
        reader = _Reader(self._policy, self._behind, found)
        reader.act(act, _At(rule.on, False))
        reader.routes(self._policy.routes.get(act.action, ()), _At("job", False))
        yield from found.leaks
        seen: set[_Asked] = set()
        queue = [_Asked(rule.id, True, False), *found.asked]
        for one in queue:
            if one not in seen:
                seen.add(one)
                found = _Found()
                _Reader(self._policy, self._behind, found).asked(one)
                yield from found.leaks
                queue += found.asked


class _Reader:
    """Reads conditions for what could hold of the unknown."""

    def __init__(self, policy: Policy, behind: Mapping[tuple[str, str], list[str]], found: _Found) -> None:
        self._policy = policy
        self._behind = behind
        self._found = found
        self._readers: dict[type, Callable[..., None]] = {
            All: self._all,
            Any: self._each,
            Not: self._not,
            Test: self._test,
            Flagged: self._flagged,
            Signalled: self._signal,
            RuleIs: self._rule_is,
            AtLeast: self._at_least,
            Quantified: self._quantified,
        }

    # ------------------------------------------------------------ where a walk begins

    def asked(self, one: _Asked) -> None:
        """Reads a rule, or the choices of a decided field."""
        if one.name.startswith(DECIDE):
            self._choices(self._policy.decide[one.name.removeprefix(DECIDE)], _At("job", one.away))
        else:
            self._rule(self._policy.rules[one.name], one.holds, _At(self._policy.rules[one.name].on, one.away))

    def _rule(self, rule: Rule, holds: bool, at: _At) -> None:
        self._read(rule.when, holds, at)
        if rule.unless is not None:
            self._read(rule.unless, not holds, at)
            if holds and rule.if_unknown == "fire":
                self._leak(rule.mark, "`if_unknown: fire`")
        held = (rule.hold.sweeps, rule.hold.seconds) if rule.hold is not None else ()
        self._rights((side for side in held if side is not None), rule.mark, at)
        for name in rule.needs:
            self._path(own_path(name, rule.on), rule.mark, at)
        for one in rule.then:
            if isinstance(one, Set | Add):
                self._rights(rights_of(one), one.mark, at)

    def _choices(self, choices: Iterable[Choice], at: _At) -> None:
        for choice in choices:
            if choice.when is not None:
                self._read(choice.when, True, at)
                # A later choice is taken where this one is false.
                self._read(choice.when, False, at)

    def act(self, act: Act, at: _At) -> None:
        """What an action's arguments are made of: nothing is collected because nobody knows what it is."""
        self._rights(rights_of(act), act.mark, at)
        for arg in act.args.values():
            if isinstance(arg, Collect):
                self._path(arg.of, act.mark, at)
                inner = replace(at, inside=True, sure=frozenset())
                self._path(arg.field, act.mark, inner)
                if arg.where is not None:
                    self._read(arg.where, True, inner)

    def routes(self, routes: Sequence[Route], at: _At) -> None:
        """The routes of an action. One that is unknown blocks it when it is judged; here, what holds of the unknown."""
        last = max((index for index, route in enumerate(routes) if route.template is not None), default=-1)
        for index, route in enumerate(routes):
            if route.when is not None and route.template is not None:
                self._read(route.when, True, at)
            if route.when is not None and index < last:
                # The next template is taken where this one is false; what ends in `blocked` destroys nothing.
                self._read(route.when, False, at)

    # ------------------------------------------------------------ conditions

    def _read(self, node: Condition | Signalled, holds: bool, at: _At) -> None:
        self._readers[type(node)](node, holds, at)

    def _leak(self, mark: Mark, what: str) -> None:
        self._found.leaks.append(_Leak(mark, what))

    def _all(self, node: All, holds: bool, at: _At) -> None:
        sure = (
            {item.path.relations for item in node.items if isinstance(item, Test) and _asks_sure(item)}
            if holds
            else set()
        )
        self._each(node, holds, replace(at, sure=at.sure | sure))

    def _each(self, node: All | Any, holds: bool, at: _At) -> None:
        for item in node.items:
            self._read(item, holds, at)

    def _not(self, node: Not, holds: bool, at: _At) -> None:
        self._read(node.item, not holds, at)

    def _test(self, node: Test, holds: bool, at: _At) -> None:
        test = node.compare
        asks_unknown = (test.op == "unknown" and test.wanted == holds) or (test.op == "known" and test.wanted != holds)
        if asks_unknown:
            self._leak(node.mark, f"a test that holds of the unknown (`{node.text[:40]}`)")
        self._compare(test, holds, node.mark, at)
        if not _asks_sure(node) or not holds:
            self._path(node.path, node.mark, at)

    def _compare(self, test: Compare, holds: bool, mark: Mark, at: _At) -> None:
        if test.default is not None:
            self._leak(mark, "a `default` for the unknown")
        if test.possible and holds:
            self._leak(mark, "a `possible` count")
        self._rights((one for right in test.rights for one in terms(right)), mark, at)

    def _flagged(self, node: Flagged, holds: bool, at: _At) -> None:
        self._follow("flag", node.flag, (holds,), at.away or at.inside)

    def _signal(self, node: Signalled, holds: bool, at: _At) -> None:
        self._follow("signal", node.name, (holds,), at.away or at.inside)

    def _rule_is(self, node: RuleIs, holds: bool, at: _At) -> None:
        reached = {node.wanted} if holds else {TRUE, FALSE, UNKNOWN} - {node.wanted}
        if UNKNOWN in reached:
            self._leak(node.mark, f"an unknown truth of rule `{node.id}`")
        away = at.away or at.inside
        self._found.asked.extend(_Asked(node.id, truth == TRUE, away) for truth in sorted(reached - {UNKNOWN}))

    def _at_least(self, node: AtLeast, holds: bool, at: _At) -> None:
        if node.evaluable is not None:
            self._leak(node.mark, "`evaluable`, which counts what is unknown,")
            self._compare(node.evaluable, holds, node.mark, at)
        elif node.ignoring:
            self._leak(node.mark, "`ignoring`, which asks for something unknown,")
        if node.n is not None:
            self._rights(terms(node.n), node.mark, at)
            if holds and not self._at_least_one(node.n):
                self._leak(node.mark, "a quorum that can be 0, which holds whatever is known,")
        for item in node.of:
            self._read(item, holds, at)

    def _at_least_one(self, right: Right) -> bool:
        if isinstance(right, ParamRef):
            param = self._policy.params[right.name]
            values = (param.default, *(row.value for row in param.overrides))
        else:
            values = (right.value,) if isinstance(right, Const) else ()
        return bool(values) and all(isinstance(value, int | float) and value > 0 for value in values)

    def _quantified(self, node: Quantified, holds: bool, at: _At) -> None:
        self._path(node.of, node.mark, at)
        inner = replace(at, inside=True, sure=frozenset())
        if node.compare is not None:
            self._compare(node.compare, holds, node.mark, at)
        if node.summed is not None:
            self._path(node.summed, node.mark, inner)
        for part in (node.where, node.holds):
            if part is not None:
                # A member that is not selected can make `every` hold and a count small: both ways count.
                self._read(part, True, inner)
                if part is node.where or node.compare is not None or not holds:
                    self._read(part, False, inner)

    # ------------------------------------------------------------ what a value rests on

    def _follow(self, kind: str, name: str, holds: Iterable[bool], away: bool) -> None:
        """Rests on the rules behind a flag, a signal or a field."""
        for rule in self._behind.get((kind, name), ()):
            self._found.asked.extend(_Asked(rule, each, away) for each in holds)

    def _path(self, path: Path, mark: Mark, at: _At) -> None:
        """A field that rules set has its value by those that are true and by those that are not."""
        away = at.off(path)
        if path.kind == STEP and path.field in self._policy.features:
            self._feature(self._policy.features[path.field], at)
        self._follow(path.kind, path.field, (True, False), away)
        if path.kind != "job":
            return
        decided = BUCKET if path.field == SURE else path.field
        if decided in self._policy.decide:
            self._found.asked.append(_Asked(f"{DECIDE}{decided}", True, away))
        if decided == BUCKET and BUCKET in self._policy.decide and away and path.relations not in at.sure:
            self._leak(mark, "a bucket that may be unsure (ask `bucket_sure: true` beside it)")

    def _feature(self, feature: Feature, at: _At) -> None:
        """A feature is as wide as its params say."""
        sides = [one for one in (feature.window, feature.min_points, feature.floor) if one is not None]
        if feature.where is not None:
            sides += feature.where.rights
        self._rights(sides, feature.mark, replace(at, kind=STEP))

    def _rights(self, rights: Iterable[Right | Arith], mark: Mark, at: _At) -> None:
        for right in rights:
            for path in paths_of(right):
                self._path(path, mark, at)
            if isinstance(right, ParamRef) and at.kind in _HOME:
                self._overrides(right, mark, at)

    def _overrides(self, param: ParamRef, mark: Mark, at: _At) -> None:
        """A param is worth what the bucket and the tags of the job say."""
        keys = {key for row in self._policy.params[param.name].overrides for key in row.match}
        for key, name in (("bucket", BUCKET), ("tag", "tags")):
            if key in keys:
                self._path(Path(_HOME[at.kind], name, "job", ""), mark, at)


def _asks_sure(node: Test) -> bool:
    """Whether a condition is `bucket_sure: true`."""
    if node.path.field != SURE:
        return False
    test = node.compare
    return test.op == "eq" and all(isinstance(right, Const) and right.value is True for right in test.rights)
