"""Rows that a condition is computed over, all at once: the judged subjects of a kind, or the members in a `where`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.evaluate.leaf import Values, leaf, pack
from sweeprules.engine.evaluate.resolve import Lens, Scope, Thing
from sweeprules.engine.evaluate.truths import CODE, Table
from sweeprules.engine.facts import NOT_READ, Absent, FactValue, Subject, Unknown
from sweeprules.engine.language import ast

_BLOCK = 512

Holder = Thing | Unknown | Absent


class Frame:
    """A table of things. In a `where`, `up[row]` is the row of the thing around it in `parent`."""

    def __init__(
        self,
        lens: Lens,
        kind: str,
        things: Sequence[Thing],
        table: Table | None = None,
        parent: Frame | None = None,
        up: Sequence[int] = (),
        names: Sequence[str] = (),
    ) -> None:
        self.lens = lens
        self.kind = kind
        self.things = things
        self.table = table
        self.parent = parent
        self.up = up
        self.count = len(things)
        self.ones = int.from_bytes(b"\x01" * self.count, "little")
        self._facts: list[Mapping[str, FactValue]] = [t.facts if isinstance(t, Subject) else t for t in things]
        self._names = names
        self._read: dict[str, list[FactValue]] = {}
        self._values: dict[str, Values] = {}
        self._leaves: dict[str, int] = {}
        self._holders: dict[tuple[str, ...], list[Holder]] = {}

    def scope(self, row: int) -> Scope:
        """One row as the row-by-row resolver sees it."""
        outer = None if self.parent is None else self.parent.scope(self.up[row])
        return Scope(self.things[row], outer)

    def holders(self, relations: tuple[str, ...]) -> Sequence[Holder]:
        """What stands at the end of a chain of relations, for each row."""
        if not relations:
            return self.things
        found = self._holders.get(relations)
        if found is None:
            hop = self.lens.holder
            found = self._holders[relations] = [hop(relations, thing) for thing in self.things]
        return found

    def raw(self, path: ast.Path, fields: frozenset[tuple[str, str]]) -> Sequence[FactValue]:
        """The values of a path; `fields` are those that rules decide."""
        if path.scope == "outer" and self.parent is not None:
            inner = ast.Path(path.relations, path.field, path.kind, path.type)
            above = self.parent.raw(inner, fields)
            return [above[row] for row in self.up]
        name = path.field
        if not path.relations:
            return self._own(name, (self.kind, name) in fields)
        fact = self.lens.fact
        return [h if isinstance(h, Unknown | Absent) else fact(h, name) for h in self.holders(path.relations)]

    def _own(self, name: str, decided: bool) -> Sequence[FactValue]:
        if not decided:
            return self._gathered(name)
        if self.table is not None and name in self.table.fields:
            return self.table.fields[name]
        fact = self.lens.fact
        return [fact(thing, name) for thing in self.things]

    def _gathered(self, name: str) -> Sequence[FactValue]:
        # All fields that any rule reads are taken in one go, a block of subjects at a time: facts of many subjects do
        # not fit the processor's cache, and to come back for each field costs twice the time.
        if name not in self._names:
            return [facts.get(name, NOT_READ) for facts in self._facts]
        if not self._read:
            self._read = {n: [] for n in self._names}
            for start in range(0, self.count, _BLOCK):
                block = self._facts[start : start + _BLOCK]
                for each, values in self._read.items():
                    values += [facts.get(each, NOT_READ) for facts in block]
        return self._read[name]

    def test(self, test: ast.Test, fields: frozenset[tuple[str, str]], volatile: frozenset[tuple[str, str]]) -> int:
        """The truths of one test. What reads a `volatile` field is computed afresh each time."""
        path, kept = test.path, (test.path.kind, test.path.field) not in volatile
        rights = self._constants(test.compare)
        if rights is None:
            return self._row_by_row(test.compare, self.raw(path, fields))
        # repr and not ==: 1, 1.0 and True are equal to Python and must not share a test.
        where, key = repr(path), repr((path, test.compare))
        if kept and key in self._leaves:
            return self._leaves[key]
        column = self._values.get(where) if kept else None
        if column is None:
            column = Values(self.raw(path, fields), path.type)
        truths = leaf(test.compare, column, rights, self.lens.policy.patterns)
        if kept:
            self._values[where], self._leaves[key] = column, truths
        return truths

    def _constants(self, test: ast.Compare) -> tuple[FactValue, ...] | None:
        values: list[FactValue] = []
        for right in test.rights:
            if isinstance(right, ast.Const):
                values.append(right.value)
            elif isinstance(right, ast.ParamRef) and not self.lens.policy.params[right.name].overrides:
                values.append(self.lens.policy.params[right.name].default)
            else:
                return None
        return tuple(values)

    def _row_by_row(self, test: ast.Compare, lefts: Sequence[FactValue]) -> int:
        right, patterns = self.lens.right, self.lens.policy.patterns
        codes: list[int] = []
        for row, left in enumerate(lefts):
            scope = self.scope(row)
            rights = [right(r, scope) for r in test.rights]
            codes.append(CODE[compare(test, left, rights, patterns)])
        return pack(codes)
