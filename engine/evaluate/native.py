"""The reference evaluator: the truth of every rule on every judged subject.

It computes one rule over all subjects at a time, in columns of one byte a subject; `proof` is the same semantics read
rule by rule and subject by subject.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from sweeprules.engine.evaluate import settle
from sweeprules.engine.evaluate.conditions import GONE, Conditions
from sweeprules.engine.evaluate.effects import carried, field_value, holding, needed_path
from sweeprules.engine.evaluate.features import Features, unjudged
from sweeprules.engine.evaluate.frame import Frame
from sweeprules.engine.evaluate.leaf import Values, negated, pack, unpack
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.plan import DECIDE_KIND, FEATURE_KIND, Index, Node, Step, carries, index, plan
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.quiet import collected_after
from sweeprules.engine.evaluate.resolve import Lens
from sweeprules.engine.evaluate.series import Runs
from sweeprules.engine.evaluate.truths import CODE, TRUTH, F, T, Table, Truths, U
from sweeprules.engine.facts import FactValue, Subject, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language import ast

Column = Sequence[FactValue]


@collected_after
def evaluate(policy: ast.Policy, world: World, held: Held = NOTHING_HELD) -> Truths:
    """The truth of each rule on each judged subject of its kind, the fields that rules decide, and the features.

    `held` is what rules with `for:` had been up to the last sweep; `holds.advance(held, truths.looks(), ...)` is what
    they have been after this one. The result is a mapping subject -> rule id -> Truth; it depends on no order of rules,
    subjects or facts.
    """
    return Native(policy, world, held).run()


@collected_after
def evaluate_part(policy: ast.Policy, world: World, goals: Iterable[Node]) -> Truths:
    """As `evaluate`, but only of the rules and fields named, and of what they build on; nothing is held."""
    native = Native(policy, world)
    return native.run(native.plan.closure(goals))


class Judging(NamedTuple):
    """A policy, the world that it judges, and what its rules had held."""

    policy: ast.Policy
    world: World
    held: Held


@collected_after
def evaluate_pair(old: Judging, new: Judging, same: Container[Node]) -> tuple[Truths, Truths]:
    """As `evaluate` of each of the two, in less time.

    `same` is `reuse.alike` of the policies where both worlds hold the same subjects in the same order (the sweep's own
    facts of its policy apart), else empty.
    """
    first, second = Native(*old), Native(*new)
    return first.run(), second.run(before=first, same=same)


class Native:
    """One evaluation; the truths grow rule by rule."""

    def __init__(self, policy: ast.Policy, world: World, held: Held = NOTHING_HELD) -> None:
        self.policy = policy
        self.index: Index = index(policy)
        self.volatile: frozenset[tuple[str, str]] = frozenset()
        grouped: dict[str, list[Subject]] = {}
        for subject in world.subjects.values():
            if subject.judged:
                grouped.setdefault(subject.ref.kind, []).append(subject)
        for kind in {rule.on for rule in policy.rules.values()} | {kind for kind, _ in self.index.computed}:
            grouped.setdefault(kind, [])
        self.truths = Truths({kind: Table(subjects) for kind, subjects in grouped.items()}, held)
        self.lens = Lens(policy, world, self.truths)
        runs = Runs(self.lens)
        self._features = Features(self.lens, runs)
        self._looks = Looks(self.lens, runs)
        self.conditions = Conditions(self)
        self.plan = plan(policy, self.index)
        self._frames = {
            kind: Frame(self.lens, kind, table.subjects, table, names=self.plan.reads.get(kind, ()))
            for kind, table in self.truths.tables.items()
        }
        self._prover = Prover(policy, world, self.truths, self.index)
        self._bodies: dict[str, int] = {}
        self._unjudged = unjudged(world.subjects) if policy.features else []

    def run(
        self, only: Container[Node] | None = None, before: Native | None = None, same: Container[Node] = ()
    ) -> Truths:
        """Compute the steps of the plan, or `only` some nodes with all that they build on.

        What is `same` is taken from the evaluation `before`, which was of this world, unless it builds on a hold that
        was another there.
        """
        fresh = set() if before is None else self._held_otherwise(before)
        for step in self.plan.steps:
            if only is not None and step.nodes[0] not in only:
                continue
            if before is not None and step.nodes[0] in same and fresh.isdisjoint(self._reads(step)):
                self._take(step, before)
                continue
            fresh.update(step.nodes)
            if step.recursive:
                self._fixpoint(step)
            else:
                self._compute(step.nodes[0])
        return self.truths

    def _held_otherwise(self, before: Native) -> set[Node]:
        """The rules of which another state was held before the other evaluation."""
        ours, theirs = self.truths.held, before.truths.held
        unlike = {key[0] for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
        return {Node("rule", rule.id, rule.on) for rule in self.policy.rules.values() if rule.id in unlike}

    def _reads(self, step: Step) -> Iterator[Node]:
        yield from step.nodes
        for node in step.nodes:
            yield from self.plan.needs[node]

    def _take(self, step: Step, before: Native) -> None:
        """What another evaluation of this world found; a step's nodes build on each other, so they stand together."""
        for node in step.nodes:
            ours, theirs = self.truths.tables[node.kind], before.truths.tables[node.kind]
            if node.what == "field":
                ours.fields[node.name] = theirs.fields[node.name]
                if node.name in before.truths.unjudged:
                    self.truths.unjudged[node.name] = before.truths.unjudged[node.name]
                continue
            ours.columns[node.name] = theirs.columns[node.name]
            self._bodies[node.name] = before._bodies[node.name]
            if node.name in before.truths.bare:
                self.truths.bare[node.name] = before.truths.bare[node.name]

    def _fixpoint(self, step: Step) -> None:
        """The least fixpoint in the order false, unknown, true: what only supports itself stays false."""
        self.volatile = frozenset((n.kind, n.name) for n in step.nodes if n.what == "field")
        for node in step.nodes:
            if node.what == "rule":
                table = self.truths.tables[node.kind]
                table.columns[node.name] = bytes(len(table.subjects))
                self._bodies[node.name] = 0
        rows = sum(len(self.truths.tables[n.kind].subjects) for n in step.nodes)
        # A positive step changes each truth at most twice; past that the step was not positive.
        for _ in range(2 * rows + 2):
            before = [self._state(node) for node in step.nodes]
            for node in sorted(step.nodes, key=lambda n: n.what):
                self._compute(node)
            if before == [self._state(node) for node in step.nodes]:
                self.volatile = frozenset()
                return
        # Not positive after all: nothing is known of what contradicts itself.
        for node in step.nodes:
            if node.what == "rule":
                table = self.truths.tables[node.kind]
                table.columns[node.name] = bytes([U]) * len(table.subjects)
        for node in step.nodes:
            if node.what == "field":
                self._compute(node)
        self.volatile = frozenset()

    def _state(self, node: Node) -> object:
        table = self.truths.tables[node.kind]
        # The type tells an open list from a closed one with the same members.
        return (
            table.columns[node.name]
            if node.what == "rule"
            else [(type(value), value) for value in table.fields.get(node.name, ())]
        )

    def _compute(self, node: Node) -> None:
        frame, table = self._frames[node.kind], self.truths.tables[node.kind]
        if node.what == "rule":
            rule = self.policy.rules[node.name]
            body, needed = self._body(rule, frame), frame.ones * T
            for name in rule.needs:
                needed &= self._present(name, frame)
            if rule.hold is not None:
                bare = self.truths.bare[rule.id] = unpack(body & needed, frame.count)
                body &= self._held(rule, rule.hold, frame, bare)
            self._bodies[rule.id] = body
            table.columns[rule.id] = unpack(body & needed, frame.count)
        else:
            table.fields[node.name] = self._field(node.name, frame)

    def _body(self, rule: ast.Rule, frame: Frame) -> int:
        """`when` and not `unless`; an unknown `unless` holds the rule back unless it says `fire`."""
        truths = self.conditions.column(rule.when, frame)
        if rule.unless is None or not truths:
            return truths
        unless = self.conditions.column(rule.unless, frame)
        if rule.if_unknown == "fire":
            unless = (unless & (unless >> 1) & frame.ones) * T
        return truths & negated(unless, frame.ones)

    def _held(self, rule: ast.Rule, hold: ast.Hold, frame: Frame, bare: bytes) -> int:
        """Whether a rule has held for long enough where it is true now, or may be."""
        codes, subjects = bytearray(frame.count), self.truths.tables[frame.kind].subjects
        for row, code in enumerate(bare):
            if code != F:
                state = self.truths.held.get((rule.id, subjects[row].ref))
                codes[row] = CODE[holding(self.lens, hold, frame.scope(row), state)]
        return pack(codes)

    def _needed(self, name: str, frame: Frame) -> Values:
        path = needed_path(name, frame.kind)
        return Values(frame.raw(path, self.index.computed), path.type)

    def _present(self, name: str, frame: Frame) -> int:
        values = self._needed(name, frame)
        return (frame.ones ^ values.absent ^ values.unknown) * T | values.unknown * U

    # ------------------------------------------------------------ what conditions read of other rules

    def flagged(self, flag: str, frame: Frame) -> int:
        """The greatest truth of the rules that raise a flag, on each thing of a frame."""
        truths = 0
        for rule in self.index.raisers.get(flag, ()):
            if rule.on == frame.kind:
                truths |= int.from_bytes(self.rule(rule.id, frame), "little")
            elif carries(self.policy, rule, flag, frame.kind):
                truths |= pack(
                    [CODE[carried(self.lens, self.truths, rule, thing, self._looks)] for thing in frame.things]
                )
        return truths

    def rule(self, rule: str, frame: Frame) -> bytes:
        """The truths of a rule on each thing of a frame."""
        kind = self.policy.rules[rule].on
        return self._looked_up(frame, kind, lambda: self.truths.tables[kind].columns[rule])

    def signal(self, name: str, frame: Frame) -> bytes:
        """The truths of a signal on each thing of a frame, `GONE` where it is absent."""
        return self._looked_up(frame, frame.kind, lambda: self._signal(name, self._frames[frame.kind]))

    def _looked_up(self, frame: Frame, kind: str, column: Callable[[], bytes]) -> bytes:
        table = self.truths.tables.get(kind)
        if table is None or not frame.count:
            return bytes([U]) * frame.count
        if frame.table is table:
            return column()
        codes, rows = column(), table.rows
        found = (rows.get(thing.ref) if isinstance(thing, Subject) else None for thing in frame.things)
        return bytes(U if row is None else codes[row] for row in found)

    def _signal(self, name: str, frame: Frame) -> bytes:
        """A signal is absent where each rule that raises it needs something absent; else it is its greatest truth."""
        truths, there = 0, 0
        for rule in self.index.signallers.get((frame.kind, name), ()):
            body, absent = self._bodies[rule.id], 0
            for need in rule.needs:
                values = self._needed(need, frame)
                unknown = values.unknown * T
                body = (body & ~unknown) | values.unknown * U
                absent |= values.absent
            present = frame.ones ^ absent
            there |= present
            truths |= body & (present * T)
        return unpack(truths | (frame.ones ^ there) * GONE, frame.count)

    def operands(self, condition: ast.AtLeast, frame: Frame, row: int) -> bool:
        """Is some operand not evaluable for a reason that is not ignored? Asked of the few rows where it matters."""
        return self._prover.blocked(condition, frame.scope(row))

    # ------------------------------------------------------------ decided fields

    def _field(self, name: str, frame: Frame) -> Column:
        if (frame.kind, name) in self.index.features:
            return self._feature(self.policy.features[name])
        if frame.kind == DECIDE_KIND and name == "bucket_sure" and "bucket" in self.policy.decide:
            return self._decided("bucket", frame)[1]
        if frame.kind == DECIDE_KIND and name in self.policy.decide:
            return self._decided(name, frame)[0]
        rules = self.index.setters[(frame.kind, name)]
        columns = [self.truths.tables[frame.kind].columns[rule.id] for rule in rules]
        return [self._settled(name, rules, columns, frame, row) for row in range(frame.count)]

    def _feature(self, feature: ast.Feature) -> Column:
        if self.volatile:
            self._features.forget()
        found = self._features.column(feature, self._unjudged)
        self.truths.unjudged[feature.name] = {s.ref: value for s, value in zip(self._unjudged, found, strict=True)}
        return self._features.column(feature, self.truths.tables[FEATURE_KIND].subjects)

    def _decided(self, name: str, frame: Frame) -> tuple[Column, Column]:
        columns: list[bytes] = []
        names: list[str] = []
        for choice in self.policy.decide[name]:
            truths = frame.ones * T if choice.when is None else self.conditions.column(choice.when, frame)
            columns.append(unpack(truths, frame.count))
            names.append(choice.value)
        found: dict[tuple[int, ...], tuple[FactValue, bool]] = {}
        values: list[FactValue] = []
        sure: list[bool] = []
        for codes in zip(*columns, strict=True) if columns else repeat((), frame.count):
            outcome = found.get(codes)
            if outcome is None:
                claims = [(TRUTH[code], value) for code, value in zip(codes, names, strict=True)]
                outcome = found[codes] = settle.decide(claims, forgiving=name == "bucket")
            values.append(outcome[0])
            sure.append(outcome[1])
        return values, sure

    def _settled(
        self, name: str, rules: Sequence[ast.Rule], columns: Sequence[bytes], frame: Frame, row: int
    ) -> FactValue:
        subject = self.truths.tables[frame.kind].subjects[row]
        codes = [column[row] for column in columns]
        if not any(codes) and not any(isinstance(e, ast.Add) for rule in rules for e in rule.then):
            return subject.get(name)
        truths = {rule.id: TRUTH[code] for rule, code in zip(rules, codes, strict=True)}
        return field_value(self.lens, subject, name, rules, truths)
