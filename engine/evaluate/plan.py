"""In which order a policy is computed: what each rule and decided field builds on, and what builds on itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from sweeprules.engine.language import ast

K = TypeVar("K")

CARRIED = {"step": ("job", "job", "steps"), "run": ("row", "job", "run")}
"""Kind -> the relation over which its flags and actions are raised on a job, that kind, and the relation back."""

DECIDE_KIND = "job"
"""The kind whose fields a `decide` list decides."""

FEATURE_KIND = "step"
"""The kind whose fields features are."""


class Node(NamedTuple):
    """One thing to compute: a rule, or a field of a kind once all that decides it is known."""

    what: Literal["rule", "field"]
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Step:
    """Nodes that are computed together; `recursive` ones again until nothing changes."""

    nodes: tuple[Node, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Index:
    """Where to look things up in a policy: who raises a flag or signal, who decides a field."""

    raisers: Mapping[str, tuple[ast.Rule, ...]]
    signallers: Mapping[tuple[str, str], tuple[ast.Rule, ...]]
    setters: Mapping[tuple[str, str], tuple[ast.Rule, ...]]
    fields: frozenset[tuple[str, str]]
    """(kind, field) of all that rules decide."""
    features: frozenset[tuple[str, str]] = frozenset()
    """(kind, field) of all features."""

    @property
    def computed(self) -> frozenset[tuple[str, str]]:
        """All fields that are no facts as they were read."""
        return self.fields | self.features


def index(policy: ast.Policy) -> Index:
    """Index a policy; the rules of each entry are in order of their ids, whatever file they came from."""
    raisers: dict[str, list[ast.Rule]] = {}
    signallers: dict[tuple[str, str], list[ast.Rule]] = {}
    setters: dict[tuple[str, str], list[ast.Rule]] = {}
    for _, rule in sorted(policy.rules.items()):
        for effect in rule.then:
            if isinstance(effect, ast.Raise):
                _once(raisers.setdefault(effect.flag, []), rule)
            elif isinstance(effect, ast.Signal):
                _once(signallers.setdefault((rule.on, effect.name), []), rule)
            elif isinstance(effect, ast.Set | ast.Add):
                _once(setters.setdefault((rule.on, effect.field), []), rule)
    fields = {*setters, *((DECIDE_KIND, name) for name in policy.decide)}
    if "bucket" in policy.decide:
        fields.add((DECIDE_KIND, "bucket_sure"))
    features = frozenset((FEATURE_KIND, name) for name in policy.features)
    return Index(_frozen(raisers), _frozen(signallers), _frozen(setters), frozenset(fields), features)


def carries(policy: ast.Policy, rule: ast.Rule, flag: str, kind: str) -> bool:
    """Is a flag that a rule raises on a step or run the flag of its job, and `job` the kind asked about?"""
    if rule.on not in CARRIED or kind != CARRIED[rule.on][1]:
        return False
    return rule.on not in policy.flags[flag].subjects


def _once(rules: list[ast.Rule], rule: ast.Rule) -> None:
    if rule not in rules:
        rules.append(rule)


def _frozen(table: dict[K, list[ast.Rule]]) -> dict[K, tuple[ast.Rule, ...]]:
    return {key: tuple(rules) for key, rules in table.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps, the undecided fields that they read (kind -> names), and the nodes that each node reads itself."""

    steps: tuple[Step, ...]
    reads: Mapping[str, tuple[str, ...]]
    needs: Mapping[Node, Sequence[Node]]

    def closure(self, goals: Iterable[Node]) -> frozenset[Node]:
        """The goals that the policy has, and all that they build on."""
        found: set[Node] = set()
        open_ = [goal for goal in goals if goal in self.needs]
        while open_:
            node = open_.pop()
            if node not in found:
                found.add(node)
                open_.extend(self.needs[node])
        return frozenset(found)


def plan(policy: ast.Policy, idx: Index) -> Plan:
    """The steps in an order in which each stands after what it builds on.

    It is worked out from the rules themselves, so that any order of rules and files gives the same; only what depends
    on itself (positively: the loader refuses the rest) shares a step.
    """
    nodes = [Node("field", name, kind) for kind, name in sorted(idx.computed)]
    nodes += [Node("rule", rule.id, rule.on) for _, rule in sorted(policy.rules.items())]
    reader = _Reader(policy, idx)
    needs = {node: sorted(set(reader.of(node))) for node in nodes}
    steps = [
        Step(tuple(sorted(group)), len(group) > 1 or group[0] in needs[group[0]]) for group in _components(nodes, needs)
    ]
    reads: dict[str, set[str]] = {}
    for kind, name in reader.paths - idx.computed:
        reads.setdefault(kind, set()).add(name)
    return Plan(tuple(steps), {kind: tuple(sorted(names)) for kind, names in reads.items()}, needs)


class _Reader:
    def __init__(self, policy: ast.Policy, idx: Index) -> None:
        self._policy = policy
        self._index = idx
        self.paths: set[tuple[str, str]] = set()
        """(kind, field) of each path that was met and starts at the subject itself."""

    def of(self, node: Node) -> Iterator[Node]:
        """The nodes that a node reads."""
        if node.what == "rule":
            rule = self._policy.rules[node.name]
            yield from self.condition(rule.when, rule.on)
            if rule.unless is not None:
                yield from self.condition(rule.unless, rule.on)
            if rule.hold is not None:
                yield from self._rights(rule.hold.sweeps, rule.hold.seconds)
            for name in rule.needs:
                yield from self._field(DECIDE_KIND if name.startswith("job.") else rule.on, name.removeprefix("job."))
        elif (node.kind, node.name) in self._index.features:
            yield from self._feature(self._policy.features[node.name])
        else:
            yield from self._setting(node)

    def _feature(self, feature: ast.Feature) -> Iterator[Node]:
        yield from self._rights(feature.window, feature.min_points, feature.floor)
        yield from self._compare(feature.where)
        yield from self._field(FEATURE_KIND, feature.series)

    def _setting(self, node: Node) -> Iterator[Node]:
        name = "bucket" if node.name == "bucket_sure" else node.name
        for choice in self._policy.decide.get(name, ()) if node.kind == DECIDE_KIND else ():
            if choice.when is not None:
                yield from self.condition(choice.when, node.kind)
        for rule in self._index.setters.get((node.kind, node.name), ()):
            yield Node("rule", rule.id, rule.on)
            for effect in rule.then:
                if isinstance(effect, ast.Set | ast.Add) and effect.field == node.name:
                    yield from self._right(effect.right)

    def condition(self, condition: ast.Condition | ast.Signalled, kind: str) -> Iterator[Node]:
        """The nodes that a condition about a kind reads."""
        if isinstance(condition, ast.All | ast.Any):
            yield from self._all(condition.items, kind)
        elif isinstance(condition, ast.Not):
            yield from self.condition(condition.item, kind)
        elif isinstance(condition, ast.Test):
            yield from self._path(condition.path)
            yield from self._compare(condition.compare)
        elif isinstance(condition, ast.AtLeast):
            yield from self._all(condition.of, kind)
            yield from () if condition.n is None else self._right(condition.n)
            yield from self._compare(condition.evaluable)
        elif isinstance(condition, ast.Quantified):
            yield from self._quantified(condition)
        else:
            yield from self._rules(condition, kind)

    def _all(self, items: Iterable[ast.Condition | ast.Signalled], kind: str) -> Iterator[Node]:
        for item in items:
            yield from self.condition(item, kind)

    def _quantified(self, condition: ast.Quantified) -> Iterator[Node]:
        yield from self._path(condition.of)
        for inner in (condition.where, condition.holds):
            if inner is not None:
                yield from self.condition(inner, condition.member_kind)
        yield from self._compare(condition.compare)
        if condition.summed is not None:
            yield from self._path(condition.summed)

    def _rules(self, condition: ast.Flagged | ast.RuleIs | ast.Signalled, kind: str) -> Iterator[Node]:
        if isinstance(condition, ast.RuleIs):
            yield Node("rule", condition.id, self._policy.rules[condition.id].on)
            return
        if isinstance(condition, ast.Flagged):
            rules = self._index.raisers.get(condition.flag, ())
        else:
            rules = self._index.signallers.get((kind, condition.name), ())
        for rule in rules:
            yield Node("rule", rule.id, rule.on)

    def _compare(self, compare: ast.Compare | None) -> Iterator[Node]:
        yield from self._rights(*(compare.rights if compare is not None else ()))

    def _rights(self, *rights: ast.Right | None) -> Iterator[Node]:
        for right in rights:
            if right is not None:
                yield from self._right(right)

    def _right(self, right: ast.Right | ast.Arith) -> Iterator[Node]:
        if isinstance(right, ast.FieldRef):
            yield from self._path(right.path)
        elif isinstance(right, ast.Calc):
            yield from self._right(right.root)
        elif isinstance(right, ast.Arith):
            for arg in right.args:
                yield from self._right(arg)
        elif isinstance(right, ast.Pick):
            yield from self._path(right.of)
            yield from self._path(right.field)
        elif isinstance(right, ast.ParamRef) and self._policy.params[right.name].overrides:
            keys = {key for row in self._policy.params[right.name].overrides for key in row.match}
            for key in sorted(keys & _PARAM_FIELDS.keys()):
                yield from self._field(DECIDE_KIND, _PARAM_FIELDS[key])

    def _path(self, path: ast.Path) -> Iterator[Node]:
        if _EARLIER in path.relations:
            return iter(())
        if not path.relations and path.type != "relation":
            self.paths.add((path.kind, path.field))
        return self._field(path.kind, path.field)

    def _field(self, kind: str, name: str) -> Iterator[Node]:
        if (kind, name) in self._index.computed:
            yield Node("field", name, kind)


class Behind:
    """Which rules a condition builds on, directly or through whatever lies between."""

    def __init__(self, policy: ast.Policy, idx: Index) -> None:
        self._reader = _Reader(policy, idx)

    def rules(self, condition: ast.Condition | ast.Signalled, kind: str) -> frozenset[str]:
        """The ids of all rules, on whatever subjects, whose truth may change that of a condition about a kind."""
        waiting = list(self._reader.condition(condition, kind))
        met: set[Node] = set()
        while waiting:
            node = waiting.pop()
            if node not in met:
                met.add(node)
                waiting += self._reader.of(node)
        return frozenset(node.name for node in met if node.what == "rule")


# What stood at the last sweep is a fact; no rule of this sweep changes it.
_EARLIER = "previous"
_PARAM_FIELDS = {"bucket": "bucket", "tag": "tags"}


def _components(nodes: list[Node], needs: Mapping[Node, list[Node]]) -> Iterator[list[Node]]:
    """Tarjan's strongly connected components, each after those it needs; chains may be too long for recursion."""
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    for root in nodes:
        if root in order:
            continue
        work = [(root, iter(needs[root]))]
        _enter(root, order, low, stack, on_stack)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    yield _leave(node, stack, on_stack)
            elif following not in order:
                _enter(following, order, low, stack, on_stack)
                work.append((following, iter(needs[following])))
            elif following in on_stack:
                low[node] = min(low[node], order[following])


def _enter(node: Node, order: dict[Node, int], low: dict[Node, int], stack: list[Node], on_stack: set[Node]) -> None:
    order[node] = low[node] = len(order)
    stack.append(node)
    on_stack.add(node)


def _leave(root: Node, stack: list[Node], on_stack: set[Node]) -> list[Node]:
    group: list[Node] = []
    while True:
        node = stack.pop()
        on_stack.discard(node)
        group.append(node)
        if node == root:
            return group
