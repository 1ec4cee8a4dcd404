"""Nodes as rulesets: which stand together, in which order, and the rules in the safe subset that find each of them.

A ruleset holds nodes that may build on each other while it runs (a flag raised, a rule true); what needs
a finished set (a truth that is not true, a decided field, a count over other subjects) waits for a later one. Inside a
ruleset a node that others use is a derived fact; across rulesets it is a column. The engine's fixed limits bound each
ruleset: `PATTERNS` patterns that one fact can match, and `CONDITIONS` first-level conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeprules.engine.durable.child import SENTINEL
from sweeprules.engine.durable.compile import Compiled, Ladder, Node
from sweeprules.engine.durable.dnf import Atom, Beside, Branch, Column, Derived, Holds, Is, Key, LimitIs, Op

PATTERNS = 58
"""Most patterns of a ruleset that one fact may match; at 65 pending matches the engine fails."""
CONDITIONS = 450
"""Most conditions in a ruleset; at 512 different first-level ones the engine hangs."""
FIELDS = 240
"""Most columns of one fact, beside its own few; the engine holds 252 fields."""
JOINS = 24
"""Most comparisons between two facts in one rule; the engine holds 29."""
_GUARD = {"_one": {"x": "_one"}}
"""Ends every join: the engine reads past the end of one whose last comparison fails."""


class TooBigError(Exception):
    """Raised for a node that fits in no ruleset; it is left to the native evaluator."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A fact for each subject on which a node of an earlier ruleset holds: an operand of a quorum."""

    node: Key
    t: str
    k: int


@dataclass(frozen=True, slots=True)
class Unit:
    """One ruleset: its definition and actions as the child takes them, and the facts that it wants.

    `columns` are the fields of each kind's subjects, `limits` those of their limits. `most` bounds the firings of one.
    """

    number: int
    nodes: tuple[Key, ...]
    definition: Mapping[str, Any]
    actions: Mapping[str, Any]
    kinds: tuple[str, ...]
    columns: Mapping[str, tuple[tuple[str, Column], ...]]
    limits: Mapping[str, tuple[tuple[str, Column], ...]]
    seeds: tuple[Seed, ...]
    most: int


def kind_type(kind: str) -> str:
    """The type of the facts that hold the subjects of a kind."""
    return f"s_{kind}"


def limit_type(kind: str) -> str:
    """The type of the facts that hold their limits."""
    return f"l_{kind}"


@dataclass(slots=True)
class Names:
    """Columns of one fact type, named by form and order: no text of a policy or a cluster becomes a field's name."""

    names: dict[Column, str] = field(default_factory=dict)

    def of(self, column: Column) -> str:
        """The column's field name."""
        return self.names.setdefault(column, f"{column.form}{len(self.names)}")

    def items(self) -> tuple[tuple[str, Column], ...]:
        """Name and column of each field."""
        return tuple((name, column) for column, name in self.names.items())


class Builder:
    """Writes the rules of one ruleset. `numbers` are those of nodes in reports; `earlier` are finished nodes."""

    def __init__(self, number: int, compiled: Compiled, numbers: Mapping[Key, int], earlier: Iterable[Key]) -> None:
        self.number = number
        self.nodes: list[Key] = []
        self._compiled = compiled
        self._numbers = numbers
        self._earlier = frozenset(earlier)
        self._rules: dict[str, dict[str, Any]] = {}
        self._actions: dict[str, dict[str, Any]] = {}
        self._columns: dict[str, Names] = {}
        self._limits: dict[str, Names] = {}
        self._seeds: dict[Seed, None] = {}
        self._patterns: Counter[str] = Counter()
        self._conditions = 0
        self._emits: dict[Key, list[dict[str, Any]]] = {}
        self._most = 1
        self._ladders = 0

    # ------------------------------------------------------------ adding

    def take(self, nodes: Sequence[Node]) -> bool:
        """Add nodes that stand together if there is room for them; TooBigError for one that fits nowhere."""
        alone = Builder(self.number, self._compiled, self._numbers, self._earlier)
        alone._write(nodes)
        if not self._has_room(alone):
            return False
        self._write(nodes)
        return True

    def _write(self, nodes: Sequence[Node]) -> None:
        self.nodes += [node.key for node in nodes]
        for node in nodes:
            if isinstance(node.body, Ladder):
                self._ladder(node, node.body)
            else:
                for branch in node.body:
                    self._branch(node, branch)

    def _has_room(self, more: Builder) -> bool:
        """Whether the ruleset with another's rules would stay within the engine's limits."""
        patterns = self._patterns + more._patterns
        return (
            max(patterns.values(), default=0) <= PATTERNS
            and self._conditions + more._conditions <= CONDITIONS
            and all(
                len(mine.get(kind, Names()).names.keys() | names.names.keys()) <= FIELDS
                for mine, theirs in ((self._columns, more._columns), (self._limits, more._limits))
                for kind, names in theirs.items()
            )
        )

    def _names(self, kind: str) -> Names:
        return self._columns.setdefault(kind, Names())

    def _limit_names(self, kind: str) -> Names:
        return self._limits.setdefault(kind, Names())

    # ------------------------------------------------------------ rules

    def _rule(
        self, name: str, patterns: list[dict[str, Any]], alias: str, head: int, facts: list[dict[str, Any]]
    ) -> None:
        full = f"{name}.{len(self._rules)}"
        self._rules[full] = {"all": patterns}
        self._actions[full] = {"alias": alias, "head": head, "facts": facts}
        for pattern in patterns:
            for condition in pattern.values():
                tests = condition["$and"]
                self._conditions += len(tests)
                self._patterns[tests[0]["t"]] += 1
        self._most += 1

    def _branch(self, node: Node, branch: Branch) -> None:
        """One branch: a subject with its limits or its first derived fact, then one more derived fact at a time."""
        own = {atom for atom in branch if not isinstance(atom, Derived)}
        derived = sorted({atom.node for atom in branch if isinstance(atom, Derived)})
        own |= {Is(Column(Holds(key), "c"), "eq", 1) for key in derived if key in self._earlier}
        waiting = [key for key in derived if key not in self._earlier]
        beside = [atom for atom in own if isinstance(atom, Beside | LimitIs)]
        subject = self._subject(node.kind, own)
        if beside:
            if sum(isinstance(atom, Beside) for atom in own) > JOINS:
                raise TooBigError(f"{node.key[1]} compares with too many limits")
            patterns = [
                {"x": self._limit(node.kind, own)},
                {"y": self._join(subject, [{"g": {"x": "j"}}, *self._compared(node.kind, own)])},
            ]
            alias = "y"
        elif not waiting:
            patterns, alias = [{"m": subject}], "m"
        elif own or len(waiting) == 1:
            first = waiting.pop(0)
            patterns = [{"x": self._derived(first)}, {"y": self._join(subject, [{"j": {"x": "j"}}])}]
            alias = "x"
            if not own:
                patterns, alias = [{"m": self._derived(first)}], "m"
        else:
            first, second = waiting.pop(0), waiting.pop(0)
            patterns = [{"x": self._derived(first)}, {"y": self._join(self._derived(second), [{"j": {"x": "j"}}])}]
            alias = "x"
        for key in waiting:
            between = f"m{self._numbers[node.key]}.{len(self._rules)}"
            self._rule(between, patterns, alias, -1, [{"t": between}])
            patterns = [{"x": {"$and": [{"t": between}]}}, {"y": self._join(self._derived(key), [{"j": {"x": "j"}}])}]
            alias = "x"
        self._rule(f"n{self._numbers[node.key]}", patterns, alias, self._numbers[node.key], self._emit(node.key))

    def _ladder(self, node: Node, ladder: Ladder) -> None:
        """A quorum: operands are facts with an ordinal, and each rung is one more operand of a higher ordinal."""
        base = f"q{self._numbers[node.key]}"
        for k, key in enumerate(ladder.operands):
            if key in self._earlier:
                self._seeds[Seed(key, base, k)] = None
            else:
                self._emit(key).append({"t": base, "k": k})
        below = base
        for rung in range(2, ladder.needed + 1):
            higher = self._join({"$and": [{"t": base}]}, [{"j": {"x": "j"}}, {"$gt": {"k": {"x": "k"}}}])
            patterns = [{"x": {"$and": [{"t": below}]}}, {"y": higher}]
            if rung == ladder.needed:
                self._rule(f"n{self._numbers[node.key]}", patterns, "x", self._numbers[node.key], self._emit(node.key))
            else:
                above = f"{base}.{rung}"
                self._rule(above, patterns, "x", -1, [{"t": above, "from": "y"}])
                below = above
        self._most += len(ladder.operands) ** 2 * ladder.needed

    def _emit(self, key: Key) -> list[dict[str, Any]]:
        """The facts that a node's rules assert: a list shared by all of them, filled as others come to need it."""
        return self._emits.setdefault(key, [])

    # ------------------------------------------------------------ patterns

    def _subject(self, kind: str, own: Iterable[Atom]) -> dict[str, Any]:
        names = self._names(kind)
        tests = [_against(names.of(a.column), a.op, a.value) for a in _ordered(own) if isinstance(a, Is)]
        return {"$and": [{"t": kind_type(kind)}, *tests]}

    def _limit(self, kind: str, own: Iterable[Atom]) -> dict[str, Any]:
        names = self._limit_names(kind)
        tests = [_against(names.of(a.limit), a.op, a.value) for a in _ordered(own) if isinstance(a, LimitIs)]
        return {"$and": [{"t": limit_type(kind)}, *tests]}

    def _compared(self, kind: str, own: Iterable[Atom]) -> list[dict[str, Any]]:
        names, limits = self._names(kind), self._limit_names(kind)
        return [
            _against(names.of(a.column), a.op, {"x": limits.of(a.limit)})
            for a in _ordered(own)
            if isinstance(a, Beside)
        ]

    def _derived(self, key: Key) -> dict[str, Any]:
        t = f"d{self._numbers[key]}"
        facts = self._emit(key)
        if {"t": t} not in facts:
            facts.append({"t": t})
        return {"$and": [{"t": t}]}

    def _join(self, pattern: Mapping[str, Any], joins: list[dict[str, Any]]) -> dict[str, Any]:
        return {"$and": [*pattern["$and"], *joins, _GUARD]}

    # ------------------------------------------------------------ the whole

    def unit(self) -> Unit:
        """The finished ruleset, with a rule that mentions each fact type and the sentinel's."""
        kinds = tuple(sorted({self._compiled.nodes[key].kind for key in self.nodes}))
        types = [kind_type(kind) for kind in kinds]
        types += [limit_type(kind) for kind in self._limits if self._limits[kind].names]
        types += sorted({seed.t for seed in self._seeds})
        definition = dict(self._rules)
        for t in types:
            definition[f"any.{t}"] = {
                "all": [{"x": {"$and": [{"t": t}]}}, {"y": self._join({"$and": [{"t": "never"}]}, [{"j": {"x": "j"}}])}]
            }
        definition[SENTINEL] = {"all": [{"m": {"$and": [{"t": SENTINEL}]}}]}
        return Unit(
            self.number,
            tuple(self.nodes),
            definition,
            self._actions,
            kinds,
            {kind: self._names(kind).items() for kind in kinds},
            {kind: names.items() for kind, names in self._limits.items() if names.names},
            tuple(self._seeds),
            self._most,
        )


_WORDS: dict[Op, str] = {"neq": "$neq", "lt": "$lt", "lte": "$lte", "gt": "$gt", "gte": "$gte", "eq": ""}


def _against(name: str, op: Op, value: object) -> dict[str, Any]:
    return {name: value} if op == "eq" else {_WORDS[op]: {name: value}}


def _ordered(own: Iterable[Atom]) -> list[Atom]:
    # Sets have no order of their own: texts do, so that a policy always compiles to the same rules.
    return sorted(own, key=repr)
