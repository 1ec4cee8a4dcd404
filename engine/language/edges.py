"""What each rule and each decided field builds on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import (
    Add,
    All,
    Any,
    Arith,
    AtLeast,
    Calc,
    Compare,
    Condition,
    Const,
    FieldRef,
    Flagged,
    Not,
    ParamRef,
    Path,
    Pick,
    Policy,
    Quantified,
    Raise,
    Right,
    Rule,
    RuleIs,
    Set,
    Signal,
    Signalled,
    Test,
)
from sweeprules.engine.language.scope import STEP

DECIDE = "decide:"
"""Before the name of a decided field in the order of a policy."""
_EARLIER = "previous"
"""The relation to the last sweep, whose subjects are facts and no longer judged."""
_SURE = "bucket_sure"


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One dependency: `strict` when the other side has to be settled first, and through what."""

    to: str
    strict: bool
    through: str
    mark: Mark


def edges(policy: Policy) -> dict[str, set[Edge]]:
    """The dependencies of every rule and decided field."""
    reader = _Reader(policy)
    found = {f"{DECIDE}{name}": set(reader.of_choices(name)) for name in policy.decide}
    found.update({rule.id: set(reader.of_rule(rule)) for rule in policy.rules.values()})
    return found


@dataclass(frozen=True, slots=True)
class _At:
    """Where a walk is: the kind of the subject, why everything here is strict (empty: it is not), the last place."""

    kind: str
    strict: str
    mark: Mark

    def under(self, why: str, mark: Mark, kind: str = "") -> _At:
        """One step further down."""
        return _At(kind or self.kind, self.strict or why, mark)


class _Reader:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._setters: dict[tuple[str, str], list[str]] = {}
        self._raisers: dict[str, list[Rule]] = {}
        self._signals: dict[str, list[str]] = {}
        for rule in policy.rules.values():
            for one in rule.then:
                if isinstance(one, Set | Add):
                    self._setters.setdefault((rule.on, one.field), []).append(rule.id)
                elif isinstance(one, Raise):
                    self._raisers.setdefault(one.flag, []).append(rule)
                elif isinstance(one, Signal):
                    self._signals.setdefault(one.name, []).append(rule.id)

    def of_choices(self, name: str) -> Iterator[Edge]:
        """What a decided field builds on; an unknown entry is passed over, so nothing of it may still be open."""
        for choice in self._policy.decide[name]:
            if choice.when is not None:
                yield from self._condition(choice.when, _At("job", "decide", choice.mark))

    def of_rule(self, rule: Rule) -> Iterator[Edge]:
        """What a rule builds on."""
        at = _At(rule.on, "", rule.mark)
        yield from self._condition(rule.when, at)
        if rule.unless is not None:
            yield from self._condition(rule.unless, at.under("unless", rule.mark))
        for name in rule.needs:
            yield from self._field(own_path(name, rule.on), at.under("needs", rule.mark))
        for held in (rule.hold.sweeps, rule.hold.seconds) if rule.hold is not None else ():
            if held is not None:
                yield from self._right(held, at.under("for", rule.mark))
        for one in rule.then:
            if isinstance(one, Set | Add):
                yield from self._right(one.right, at.under("a field that is set", one.mark))

    def _condition(self, node: Condition | Signalled, at: _At) -> Iterator[Edge]:
        if isinstance(node, All | Any):
            for item in node.items:
                yield from self._condition(item, at)
        elif isinstance(node, Not):
            yield from self._condition(node.item, at.under("not", node.mark))
        elif isinstance(node, Test):
            yield from self._field(node.path, at.under("", node.mark))
            yield from self._compare(node.compare, at.under("", node.mark))
        elif isinstance(node, Flagged):
            yield from self._flagged(node, at)
        elif isinstance(node, RuleIs):
            yield Edge(node.id, True, at.strict or "rule", node.mark)
        elif isinstance(node, Signalled):
            for name in self._signals.get(node.name, ()):
                yield Edge(name, bool(at.strict), at.strict, node.mark)
        elif isinstance(node, AtLeast):
            yield from self._at_least(node, at)
        else:
            yield from self._quantified(node, at)

    def _flagged(self, node: Flagged, at: _At) -> Iterator[Edge]:
        subjects = self._policy.flags[node.flag].subjects
        for rule in self._raisers.get(node.flag, ()):
            if rule.on == at.kind:
                yield Edge(rule.id, bool(at.strict), at.strict, node.mark)
            elif at.kind in subjects and rule.on not in subjects:
                yield Edge(rule.id, True, at.strict or f"the flags of each {rule.on}", node.mark)

    def _at_least(self, node: AtLeast, at: _At) -> Iterator[Edge]:
        inner = at.under("evaluable" if node.evaluable is not None else "", node.mark)
        for item in node.of:
            yield from self._condition(item, inner)
        if node.n is not None:
            yield from self._right(node.n, inner)
        if node.evaluable is not None:
            yield from self._compare(node.evaluable, inner)

    def _quantified(self, node: Quantified, at: _At) -> Iterator[Edge]:
        yield from self._field(node.of, at.under("", node.mark))
        # A path through the last sweep leads to facts, which no rule of this sweep changes.
        if _EARLIER in (*node.of.relations, node.of.field):
            return
        inner = at.under(node.which, node.mark, node.member_kind)
        for part in (node.where, node.holds):
            if part is not None:
                yield from self._condition(part, inner)
        if node.compare is not None:
            yield from self._compare(node.compare, inner)
        if node.summed is not None:
            yield from self._field(node.summed, inner)

    def _compare(self, test: Compare, at: _At) -> Iterator[Edge]:
        for right in test.rights:
            yield from self._right(right, at)

    def _right(self, right: Right | Arith, at: _At) -> Iterator[Edge]:
        if isinstance(right, ParamRef):
            yield from self._param(right.name, at)
        elif isinstance(right, FieldRef):
            yield from self._field(right.path, at)
        elif isinstance(right, Calc):
            yield from self._right(right.root, at)
        elif isinstance(right, Arith):
            for arg in right.args:
                yield from self._right(arg, at)
        elif isinstance(right, Pick):
            yield from self._field(right.of, at)
            yield from self._field(right.field, at)
        elif not isinstance(right, Const):
            raise TypeError(f"not a right side: {right!r}")

    def _param(self, name: str, at: _At) -> Iterator[Edge]:
        keys = {key for row in self._policy.params[name].overrides for key in row.match}
        through = f"the overrides of ${name}"
        if "bucket" in keys:
            yield from self._field(own_path("bucket", "job"), at.under(through, at.mark))
        if "tag" in keys:
            yield from self._field(own_path("tags", "job"), at.under(through, at.mark))

    def _field(self, path: Path, at: _At) -> Iterator[Edge]:
        """A field that rules set or decide has to be settled before it is read."""
        if _EARLIER in path.relations:
            return
        if path.kind == STEP and path.field in self._policy.features:
            yield from self._feature(path.field, at)
        through = at.strict or f"the field {path.field}"
        if path.kind == "job" and (path.field in self._policy.decide or path.field == _SURE):
            name = path.field if path.field in self._policy.decide else "bucket"
            if name in self._policy.decide:
                yield Edge(f"{DECIDE}{name}", True, through, at.mark)
        for setter in self._setters.get((path.kind, path.field), ()):
            yield Edge(setter, True, through, at.mark)

    def _feature(self, name: str, at: _At) -> Iterator[Edge]:
        """A feature is as wide as its params say, which may depend on the job."""
        feature = self._policy.features[name]
        inner = at.under("", feature.mark)
        for right in (feature.window, feature.min_points, feature.floor):
            if right is not None:
                yield from self._right(right, inner)
        if feature.where is not None:
            yield from self._compare(feature.where, inner)


def own_path(name: str, kind: str) -> Path:
    """The path of a field that a rule needs."""
    head, _, tail = name.partition(".")
    return Path(("job",), tail, "job", "") if head == "job" and tail else Path((), name, kind, "")
