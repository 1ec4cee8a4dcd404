"""A program run over a world: batch after batch through the child, ruleset after ruleset."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeprules.engine.durable.columns import Columns
from sweeprules.engine.durable.encode import UnencodableError, json_text
from sweeprules.engine.durable.facts import BATCH, BATCH_CHARACTERS, Encoder, Row, batch_text
from sweeprules.engine.durable.found import Found, Given
from sweeprules.engine.durable.pack import Unit
from sweeprules.engine.durable.program import Decide, Program
from sweeprules.engine.durable.runner import Child, ChildLostError
from sweeprules.engine.durable.wire import request
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language.ast import Policy

_SALTS = ("", "a.", "b.", "c.")
"""Prefixes of ids: a batch in which two ids share a hash is sent again under the next one."""


@dataclass(frozen=True, slots=True)
class DurableTruths:
    """What durable-rules found: rule id (`exemption:ID` for exemptions) -> the subjects on which it is true, or false.

    `false` holds only the rules that others negate. `skipped` are subjects that could not be encoded, with why;
    `left_out` rules that fit in no ruleset, with why. `firings` counts all that fired.
    """

    true: Mapping[str, frozenset[Ref]]
    false: Mapping[str, frozenset[Ref]]
    skipped: Mapping[Ref, str]
    left_out: Mapping[str, str]
    firings: int


class Session:
    """One child for many runs: rulesets are numbered through, since the engine can not reload one."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.loaded = 0

    def load(self, unit: Unit) -> int:
        """Load a ruleset; its number in the child."""
        number = self.loaded
        self.loaded += 1
        self.child.ask({"op": "load", "unit": number, "actions": unit.actions}, json_text(unit.definition))
        return number


def run(
    program: Program, policy: Policy, world: World, session: Session, given: Given, held: Held = NOTHING_HELD
) -> DurableTruths:
    """Run all steps; ChildLostError when the child can not go on."""
    runner = _Run(program, session, Found(policy, world, program.index, given, held))
    for step in program.steps:
        if isinstance(step, Decide):
            runner.found.decide(step.kind, step.name)
        else:
            runner.unit(step)
    return runner.result()


class _Run:
    def __init__(self, program: Program, session: Session, found: Found) -> None:
        self._program = program
        self._session = session
        self._keys = tuple(program.numbers)
        self._firings = 0
        self.found = found
        self.found.sets = {key: set() for key in program.numbers if key not in program.left_out}
        self._columns = Columns(self.found.values, self.found, program.index.computed)
        self._subjects: dict[str, list[Subject]] = {}
        for subject in found.world.subjects.values():
            if subject.judged:
                self._subjects.setdefault(subject.ref.kind, []).append(subject)

    def unit(self, unit: Unit) -> None:
        """Run one ruleset over all subjects of its kinds."""
        subjects = [s for kind in unit.kinds for s in self._subjects.get(kind, ())]
        if not subjects:
            return
        number = self._session.load(unit)
        sent: deque[Sequence[Row]] = deque()

        def requests() -> Iterator[bytes]:
            for count, rows in enumerate(self._batches(unit, subjects)):
                sent.append(rows)
                yield _request(number, unit, rows, f"{count}", _SALTS[0])

        again: list[Sequence[Row]] = []
        for reply in self._session.child.stream(requests()):
            rows = sent.popleft()
            if reply.get("error") == "collision":
                again.append(rows)
            else:
                self._take(reply, rows)
        for count, rows in enumerate(again):
            self._salted(number, unit, rows, count)

    def _salted(self, number: int, unit: Unit, rows: Sequence[Row], count: int) -> None:
        for salt in _SALTS[1:]:
            (reply,) = self._session.child.stream([_request(number, unit, rows, f"{salt}{count}", salt)])
            if reply.get("error") != "collision":
                self._take(reply, rows)
                return
        raise ChildLostError("engine", "ids of one batch collide under every salt")

    def _batches(self, unit: Unit, subjects: Sequence[Subject]) -> Iterator[Sequence[Row]]:
        encoder = Encoder(unit, self._columns)
        rows: list[Row] = []
        size = 0
        for subject in subjects:
            if subject.ref in self.found.skipped:
                continue
            seeds = tuple((seed.t, seed.k) for seed in unit.seeds if self.found.holds(seed.node, subject.ref))
            try:
                rows.append(encoder.row(subject, seeds))
            except UnencodableError as error:
                self.found.skipped[subject.ref] = str(error)
                continue
            size += rows[-1].size
            if len(rows) == BATCH or size > BATCH_CHARACTERS:
                yield rows
                rows, size = [], 0
        if rows:
            yield rows

    def _take(self, reply: Mapping[str, object], rows: Sequence[Row]) -> None:
        if "error" in reply:
            raise ChildLostError("engine", f"{reply['error']}: {reply.get('detail', '')}")
        fired, count = reply.get("fired"), reply.get("count")
        if not isinstance(fired, list) or not isinstance(count, int):
            raise ChildLostError("garbage", "a reply without firings")
        self._firings += count
        sets, keys = self.found.sets, self._keys
        try:
            for node, j in zip(fired[::2], fired[1::2], strict=True):
                sets[keys[node]].add(rows[j].ref)
        except (IndexError, KeyError, TypeError, ValueError):
            raise ChildLostError("garbage", "a reply names what was not asked") from None

    def result(self) -> DurableTruths:
        """The findings by rule, without what was skipped or left out."""
        skipped = self.found.skipped
        sides: dict[str, dict[str, frozenset[Ref]]] = {"true": {}, "false": {}}
        for key, refs in self.found.sets.items():
            if key[0] in ("rule", "exemption") and key not in self._program.left_out:
                name = key[1] if key[0] == "rule" else f"exemption:{key[1]}"
                sides[key[2]][name] = frozenset(refs - skipped.keys()) if skipped else frozenset(refs)
        out = {key[1]: why for key, why in self._program.left_out.items() if key[0] == "rule" and key[2] == "true"}
        return DurableTruths(sides["true"], sides["false"], skipped, out, self._firings)


def _request(number: int, unit: Unit, rows: Sequence[Row], sid: str, salt: str) -> bytes:
    head = {"op": "batch", "unit": number, "sid": sid, "salt": salt, "most": unit.most * len(rows) + 1}
    return request(dict(head), batch_text(rows, sid, salt))
