"""A policy as a program for durable-rules: rulesets in the order in which they run, and fields decided between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sweeprules.engine.durable.compile import Compiler, Ladder, Node
from sweeprules.engine.durable.dnf import Beside, Column, Derived, Is, Key, LimitIs
from sweeprules.engine.durable.encode import check_names
from sweeprules.engine.durable.graph import components
from sweeprules.engine.durable.pack import Builder, TooBigError, Unit
from sweeprules.engine.durable.reads import Source, fields_of, of_column, of_feature, of_right, sources
from sweeprules.engine.evaluate.plan import DECIDE_KIND, Index, index
from sweeprules.engine.language.ast import Add, Flagged, ParamRef, Path, Policy, RuleIs, Set

_BUILDS = "it builds on a rule that is left out"
AFTER, BESIDE = 1, 0
"""What a node builds on: something that must be finished before its ruleset starts, or that may run in it."""


@dataclass(frozen=True, slots=True)
class Decide:
    """A step of a program: give a field of a kind its value on each subject, from what is finished."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Program:
    """The steps in order. `numbers` is each node's number in reports; `left_out` says why a node is in no ruleset."""

    steps: tuple[Decide | Unit, ...]
    nodes: Mapping[Key, Node]
    numbers: Mapping[Key, int]
    index: Index
    left_out: Mapping[Key, str]

    @property
    def units(self) -> tuple[Unit, ...]:
        """The rulesets."""
        return tuple(step for step in self.steps if isinstance(step, Unit))


def program(policy: Policy) -> Program:
    """Compile a policy; NameCollisionError where two field names could not be told apart by the engine."""
    compiler = Compiler(policy)
    return _Planner(policy, compiler, index(policy)).plan()


def columns_of(node: Node) -> Iterator[Column]:
    """The columns that a node compares."""
    if isinstance(node.body, Ladder):
        return
    for branch in node.body:
        for atom in branch:
            if isinstance(atom, Is | Beside):
                yield atom.column
            if isinstance(atom, Beside | LimitIs):
                yield atom.limit


class _Planner:
    def __init__(self, policy: Policy, compiler: Compiler, idx: Index) -> None:
        self._policy = policy
        self._compiler = compiler
        self._index = idx
        self._edges: dict[Key, dict[Key, int]] = {}
        self._left_out: dict[Key, str] = {}

    def plan(self) -> Program:
        compiled = self._compiler.everything()
        # Reading an edge may ask for the other side of a rule, which adds nodes.
        waiting = list(compiled.nodes)
        while waiting:
            key = waiting.pop()
            if key not in self._edges:
                self._edges[key] = self._edges_of(key)
                waiting += self._edges[key]
        groups = list(components(sorted(self._edges), {k: sorted(e) for k, e in self._edges.items()}))
        for group in groups:
            self._refuse(group)
        # What was compiled and then needed by nothing (a branch that can not hold) is in no ruleset and has no number.
        numbers = {key: number for number, key in enumerate(k for k in sorted(self._edges) if k[0] != "field")}
        steps = tuple(self._steps(groups, numbers))
        check_names(name for step in steps if isinstance(step, Unit) for name in _names(step))
        return Program(steps, compiled.nodes, numbers, self._index, self._left_out)

    # ------------------------------------------------------------ what builds on what

    def _edges_of(self, key: Key) -> dict[Key, int]:
        if key[0] == "field":
            return self._field_edges(key[1], key[2])
        node = self._compiler.compiled.nodes[key]
        edges: dict[Key, int] = {}
        if isinstance(node.body, Ladder):
            edges.update(dict.fromkeys(node.body.operands, BESIDE))
        else:
            edges.update({a.node: BESIDE for branch in node.body for a in branch if isinstance(a, Derived)})
        for column in columns_of(node):
            for item in of_column(column):
                edges.update(self._read(item))
        return edges

    def _read(self, item: Source | Key) -> dict[Key, int]:
        """What reading something waits for: both sides of rules, and fields that are decided."""
        if isinstance(item, Path | ParamRef):
            found = [pair for pair in fields_of(self._policy, item) if pair in self._index.computed]
            return {("field", *pair): BESIDE for pair in found}
        if isinstance(item, tuple):
            if item[0] == "rule":
                self._compiler.rule(item[1], item[2] == "true")
            return {item: AFTER}
        if isinstance(item, Flagged):
            rules = [rule.id for rule in self._index.raisers.get(item.flag, ())]
        elif isinstance(item, RuleIs):
            rules = [item.id]
        else:
            signallers = self._index.signallers
            rules = [rule.id for (_, name), given in signallers.items() if name == item.name for rule in given]
        return {self._compiler.rule(rule, want): AFTER for rule in rules for want in (True, False)}

    def _field_edges(self, kind: str, name: str) -> dict[Key, int]:
        edges: dict[Key, int] = {}
        if (kind, name) in self._index.features:
            for item in of_feature(self._policy.features[name]):
                edges.update(self._read(item))
            return edges
        listed = "bucket" if name == "bucket_sure" else name
        for choice in self._policy.decide.get(listed, ()) if kind == DECIDE_KIND else ():
            for item in () if choice.when is None else sources(choice.when):
                edges.update(self._read(item))
        for rule in self._index.setters.get((kind, name), ()):
            edges.update({self._compiler.rule(rule.id, want): AFTER for want in (True, False)})
            for effect in rule.then:
                if isinstance(effect, Set | Add) and effect.field == name:
                    for item in of_right(effect.right):
                        edges.update(self._read(item))
        return edges

    # ------------------------------------------------------------ in which order

    def _steps(self, groups: list[list[Key]], numbers: Mapping[Key, int]) -> Iterator[Decide | Unit]:
        levels = self._levels(groups)
        done: list[Key] = []
        count = 0
        for level in range(max(levels.values(), default=0) + 1):
            here = [g for g in groups if levels[g[0]] == level and g[0] not in self._left_out]
            yield from (Decide(key[1], key[2]) for group in here for key in group if key[0] == "field")
            builder: Builder | None = None
            for group in here:
                nodes = [self._compiler.compiled.nodes[key] for key in group if key[0] != "field"]
                if not nodes or self._too_late(group) or (builder is not None and builder.take(nodes)):
                    continue
                if builder is not None and builder.nodes:
                    yield builder.unit()
                    done, count = done + builder.nodes, count + 1
                builder = Builder(count, self._compiler.compiled, numbers, done)
                if not self._fits_alone(builder, nodes):
                    builder = None
            if builder is not None and builder.nodes:
                yield builder.unit()
                done, count = done + builder.nodes, count + 1

    def _fits_alone(self, builder: Builder, nodes: list[Node]) -> bool:
        try:
            if builder.take(nodes):
                return True
            reason = "it fits in no ruleset"
        except TooBigError as error:
            reason = str(error)
        self._left_out.update({node.key: reason for node in nodes})
        return False

    def _too_late(self, group: list[Key]) -> bool:
        """Whether a group builds on one that turned out to fit in no ruleset."""
        late = any(other in self._left_out for key in group for other in self._edges[key])
        if late:
            self._left_out.update(dict.fromkeys(group, _BUILDS))
        return late

    def _refuse(self, group: list[Key]) -> None:
        """Leave out what builds on what is left out, and the false side of what builds on itself."""
        reason = next((self._left_out[key] for key in group if key in self._left_out), "")
        if any(other in self._left_out for key in group for other in self._edges[key] if other not in group):
            reason = _BUILDS
        recursive = len(group) > 1 or group[0] in self._edges[group[0]]
        if recursive and any(key[-1] == "false" for key in group):
            reason = "its falsity builds on itself"
        if recursive and any(weight for key in group for o, weight in self._edges[key].items() if o in group):
            reason = "it waits for itself"
        if reason:
            self._left_out.update(dict.fromkeys(group, reason))

    def _levels(self, groups: list[list[Key]]) -> dict[Key, int]:
        """Level by level, each group stands after what it waits for; groups come in the order of their dependencies."""
        levels: dict[Key, int] = {}
        for group in groups:
            level = 0
            for key in group:
                for other, weight in self._edges[key].items():
                    if other not in group:
                        level = max(level, levels[other] + weight)
            levels.update(dict.fromkeys(group, level))
        return levels


def _names(unit: Unit) -> Iterable[str]:
    yield from ("t", "sid", "id", "j", "g", "k", "_one")
    for fields in (*unit.columns.values(), *unit.limits.values()):
        yield from (name for name, _ in fields)
