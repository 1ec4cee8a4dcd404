"""Batches of facts: some subjects with their limits and seeds, as one text under one sid, ended by the sentinel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sweeprules.engine.durable.child import SENTINEL
from sweeprules.engine.durable.columns import Columns, Reader
from sweeprules.engine.durable.encode import MAX_FIELDS, UnencodableError
from sweeprules.engine.durable.pack import Unit, kind_type, limit_type
from sweeprules.engine.facts import Ref, Subject

BATCH = 100
"""Subjects of one batch: fast from 20 to 200, and few enough that a fact's 32-bit id rarely meets another's."""


BATCH_CHARACTERS = 2**20
"""A batch is closed early once its columns have so many characters: a frame holds fifteen times that in bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One subject as it goes into a batch: its columns, its limits and its seeds, all but ids written."""

    ref: Ref
    kind: str
    columns: str
    limits: str | None
    seeds: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Characters of the columns."""
        return len(self.columns) + len(self.limits or "")


class Encoder:
    """Writes the subjects of one ruleset."""

    def __init__(self, unit: Unit, columns: Columns) -> None:
        self._readers = {kind: columns.readers(kind, unit.columns[kind]) for kind in unit.kinds}
        self._limits = {kind: columns.readers(kind, named, True) for kind, named in unit.limits.items()}

    def row(self, subject: Subject, seeds: tuple[tuple[str, int], ...]) -> Row:
        """One subject; UnencodableError for a value that durable-rules would misread."""
        kind = subject.ref.kind
        limits = self._limits.get(kind)
        text = None if limits is None else _fields(limits, subject)
        return Row(subject.ref, kind, _fields(self._readers[kind], subject), text, seeds)


def _fields(readers: Sequence[Reader], subject: Subject) -> str:
    parts: list[str] = []
    for reader in readers:
        value = reader.get(subject)
        for name, write in reader.writes:
            text = write(value)
            if text is not None:
                parts.append(f',"{name}":{text}')
    if len(parts) > MAX_FIELDS - 8:
        raise UnencodableError(f"{len(parts)} fields in one fact")
    return "".join(parts)


def batch_text(rows: Sequence[Row], sid: str, salt: str) -> str:
    """The facts of a batch: limits first (like ones once), then seeds and subjects, the sentinel last."""
    limits: dict[tuple[str, str], int] = {}
    subjects: list[str] = []
    head = f'"sid":"{sid}","_one":1'
    for j, row in enumerate(rows):
        group = ""
        if row.limits is not None:
            group = f',"g":"g{limits.setdefault((row.kind, row.limits), len(limits))}"'
        for t, k in row.seeds:
            subjects.append(f'{{"t":"{t}",{head},"id":"{salt}{t}.{k}.{j}","j":"{j}","k":{k}}}')
        subjects.append(f'{{"t":"{kind_type(row.kind)}",{head},"id":"{salt}s{j}","j":"{j}"{group}{row.columns}}}')
    given = [
        f'{{"t":"{limit_type(kind)}",{head},"id":"{salt}g{number}","j":"g{number}"{text}}}'
        for (kind, text), number in limits.items()
    ]
    end = f'{{"t":"{SENTINEL}",{head},"id":"{salt}z","j":"z"}}'
    return "[" + ",".join((*given, *subjects, end)) + "]"
