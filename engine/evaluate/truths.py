"""What an evaluation found: the truth of every rule on every judged subject, and the fields that were decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from sweeprules.engine.facts import FactValue, Ref, Subject
from sweeprules.engine.holds import NOTHING_HELD, Held, Key
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

# Truths are kept as a byte a subject, so that a rule's column over all subjects is a `bytes`, and as an integer it is
# combined with others in a few machine instructions: `and` is &, `or` is |.
F, U, T = 0, 1, 3
TRUTH = (FALSE, UNKNOWN, UNKNOWN, TRUE)
CODE = {FALSE: F, UNKNOWN: U, TRUE: T}
_IS_TRUE = bytes(int(code == T) for code in range(256))
_NOT_FALSE = bytes(int(code != F) for code in range(256))


class Table:
    """The judged subjects of one kind, in the order of their columns."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self.subjects = subjects
        self.columns: dict[str, bytes] = {}
        """Rule id -> its truths, a code (F, U or T) a subject."""
        self.fields: dict[str, Sequence[FactValue]] = {}
        self._rows: dict[Ref, int] | None = None

    @property
    def rows(self) -> Mapping[Ref, int]:
        """Subject -> its row."""
        if self._rows is None:
            self._rows = {subject.ref: row for row, subject in enumerate(self.subjects)}
        return self._rows


class Truths(Mapping[Ref, Mapping[str, Truth]]):
    """Subject -> rule id -> truth, over the judged subjects and the rules about their kind."""

    def __init__(self, tables: Mapping[str, Table], held: Held = NOTHING_HELD) -> None:
        self.tables = tables
        self.held = held
        """What rules with `for:` had been when the sweep began."""
        self.bare: dict[str, bytes] = {}
        """Rule id -> the truths of a rule with `for:` without its hold."""
        self.unjudged: dict[str, Mapping[Ref, FactValue]] = {}
        """Feature -> its values on steps that are not judged."""

    def __getitem__(self, ref: Ref) -> Mapping[str, Truth]:
        table = self.tables[ref.kind]
        return _Row(table.columns, table.rows[ref])

    def __iter__(self) -> Iterator[Ref]:
        for table in self.tables.values():
            yield from (subject.ref for subject in table.subjects)

    def __len__(self) -> int:
        return sum(len(table.subjects) for table in self.tables.values())

    def truth(self, rule: str, ref: Ref) -> Truth:
        """The truth of a rule on a subject; unknown on one that is not judged."""
        table = self.tables.get(ref.kind)
        row = None if table is None else table.rows.get(ref)
        return UNKNOWN if table is None or row is None else TRUTH[table.columns[rule][row]]

    def field(self, ref: Ref, name: str) -> FactValue | None:
        """The decided or computed value of a field; None for any other, and for a subject that is not judged.

        Features are computed on all steps.
        """
        table = self.tables.get(ref.kind)
        if table is None or name not in table.fields:
            return None
        row = table.rows.get(ref)
        if row is None:
            return self.unjudged[name].get(ref) if name in self.unjudged and ref.kind == "step" else None
        return table.fields[name][row]

    def decided(self, ref: Ref) -> dict[str, FactValue]:
        """All decided fields of a judged subject; a step's features are among them."""
        table = self.tables[ref.kind]
        row = table.rows[ref]
        return {name: values[row] for name, values in table.fields.items()}

    def row(self, ref: Ref) -> tuple[Subject, Mapping[str, Truth], dict[str, FactValue]]:
        """A judged subject, the truths of the rules about it, and its decided fields, in one look."""
        table = self.tables[ref.kind]
        row = table.rows[ref]
        decided = {name: values[row] for name, values in table.fields.items()}
        return table.subjects[row], _Row(table.columns, row), decided

    def looks(self) -> dict[Key, Truth]:
        """What each rule with `for:` was on each judged subject without its hold: what `holds.advance` goes on with."""
        found: dict[Key, Truth] = {}
        for table in self.tables.values():
            for rule in self.bare.keys() & table.columns.keys():
                codes = zip(table.subjects, self.bare[rule], strict=True)
                found.update({(rule, subject.ref): TRUTH[code] for subject, code in codes})
        return found

    def true(self, rule: str, kind: str) -> list[Ref]:
        """The subjects on which a rule about `kind` is true."""
        return self._where(rule, kind, _IS_TRUE)

    def not_false(self, rule: str, kind: str) -> list[Ref]:
        """The subjects on which a rule about `kind` is true or unknown."""
        return self._where(rule, kind, _NOT_FALSE)

    def _where(self, rule: str, kind: str, wanted: bytes) -> list[Ref]:
        table = self.tables.get(kind)
        if table is None or rule not in table.columns:
            return []
        return [subject.ref for subject in compress(table.subjects, table.columns[rule].translate(wanted))]

    def firings(self) -> set[tuple[str, Ref]]:
        """All (rule id, subject) that are true: what a second evaluator must find too."""
        return {
            (rule, ref)
            for kind, table in self.tables.items()
            for rule in table.columns
            for ref in self.true(rule, kind)
        }


class _Row(Mapping[str, Truth]):
    __slots__ = ("_columns", "_row")

    def __init__(self, columns: Mapping[str, bytes], row: int) -> None:
        self._columns = columns
        self._row = row

    def __getitem__(self, rule: str) -> Truth:
        return TRUTH[self._columns[rule][self._row]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return repr(dict(self))
