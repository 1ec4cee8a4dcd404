"""One test over a whole column of values at once: the fast half of the native evaluator.

A column is split once into its plain values (all of one type), the unknown, the absent, and the few that fit nothing.
Every test on it then runs over the plain ones at the speed of `map`, and once for each of the other sorts.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any as Anything

from sweeprules.engine.evaluate.compare import compare, is_number
from sweeprules.engine.evaluate.texts import BadPatternError, matcher
from sweeprules.engine.evaluate.truths import CODE, T, U
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Unknown
from sweeprules.engine.language.ast import Compare, Pattern

Patterns = Mapping[str, Pattern]

_PLAIN: dict[str, tuple[type, ...]] = {"text": (str,), "enum": (str,), "boolean": (bool,)}
_NUMBERS = (int, float)
_FILLER: dict[tuple[type, ...], FactValue] = {(str,): "", (bool,): False, _NUMBERS: 0}
_CODED_UP_TO = 250
_SAMPLE = 4096


class Values:
    """A column of fact values, sorted out. Masks hold 1 in the byte of each row that they are about."""

    def __init__(self, values: Sequence[FactValue], kind: str) -> None:
        self.values = values
        self.count = len(values)
        self.ones = int.from_bytes(b"\x01" * self.count, "little")
        self.unknown = 0
        self.absent = 0
        self.others: list[int] = []
        self.plain = self.ones
        self.types = _PLAIN.get(kind, _NUMBERS if kind not in ("list", "map", "record-list") else ())
        self.filled: Sequence[Anything] = values
        if not (set(map(type, values)) <= set(self.types) and _all_finite(values, self.types)):
            self._sort_out()
        self._codes: tuple[bytes, list[Anything]] | None = None
        self._coded = False

    def _sort_out(self) -> None:
        unknown, absent, odd = bytearray(self.count), bytearray(self.count), bytearray(self.count)
        filler = _FILLER.get(self.types)
        filled: list[Anything] = list(self.values)
        for row, value in enumerate(self.values):
            if type(value) in self.types and (type(value) is not float or math.isfinite(value)):
                continue
            filled[row] = filler
            if isinstance(value, Unknown):
                unknown[row] = 1
            elif isinstance(value, Absent):
                absent[row] = 1
            else:
                odd[row] = 1
                self.others.append(row)
        self.filled = filled
        self.unknown, self.absent = int.from_bytes(unknown, "little"), int.from_bytes(absent, "little")
        self.plain = self.ones ^ self.unknown ^ self.absent ^ int.from_bytes(odd, "little")

    @property
    def codes(self) -> tuple[bytes, list[Anything]] | None:
        """A code a row and the value of each code; None for too many values, or numbers (1 and 1.0 hash alike)."""
        if not self._coded:
            self._coded = True
            if self.types != _NUMBERS and len(set(self.filled[:_SAMPLE])) <= _CODED_UP_TO:
                distinct = list(dict.fromkeys(self.filled))
                if len(distinct) <= _CODED_UP_TO:
                    code = {value: i for i, value in enumerate(distinct)}
                    self._codes = bytes(map(code.__getitem__, self.filled)), distinct
        return self._codes


def _all_finite(values: Sequence[Anything], types: tuple[type, ...]) -> bool:
    if types != _NUMBERS:
        return True
    try:
        return all(map(math.isfinite, values))
    except OverflowError:
        return False


def leaf(test: Compare, column: Values, rights: tuple[FactValue, ...], patterns: Patterns) -> int:
    """The truths of one test with the same right sides in every row, a code a row, as one integer."""
    truths = 0
    if column.plain and column.types:
        plain = _plain(test, column, rights, patterns)
        truths = plain if column.plain == column.ones else plain & (column.plain * 3)
    if column.unknown:
        truths |= column.unknown * CODE[compare(test, NOT_READ, rights, patterns)]
    if column.absent:
        truths |= column.absent * CODE[compare(test, ABSENT, rights, patterns)]
    if column.others:
        odd = bytearray(column.count)
        for row in column.others:
            odd[row] = CODE[compare(test, column.values[row], rights, patterns)]
        truths |= int.from_bytes(odd, "little")
    return truths


def _plain(test: Compare, column: Values, rights: tuple[FactValue, ...], patterns: Patterns) -> int:
    if test.op in ("known", "unknown", "absent") or any(isinstance(r, Unknown | Absent) for r in rights):
        return column.ones * CODE[compare(test, _FILLER[column.types], rights, patterns)]
    if column.types == _NUMBERS:
        return _numbers(test, column, rights, patterns)
    coded = column.codes
    if coded is not None:
        codes, distinct = coded
        table = bytes(CODE[compare(test, value, rights, patterns)] for value in distinct)
        return int.from_bytes(codes.translate(table.ljust(256, b"\0")), "little")
    return _texts(test, column, rights, patterns)


_OPERATORS: dict[str, Callable[[Anything, Anything], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _numbers(test: Compare, column: Values, rights: tuple[FactValue, ...], patterns: Patterns) -> int:
    if not all(is_number(r) and math.isfinite(r) for r in rights if isinstance(r, int | float)) or not all(
        map(is_number, rights)
    ):
        return _row_by_row(test, column, rights, patterns)
    if test.op in _OPERATORS:
        return _holds(_OPERATORS[test.op], column, rights[0])
    if test.op == "between":
        return _holds(operator.ge, column, rights[0]) & _holds(operator.le, column, rights[1])
    return _row_by_row(test, column, rights, patterns)


def _holds(test: Callable[[Anything, Anything], bool], column: Values, right: FactValue) -> int:
    return int.from_bytes(bytes(map(test, column.filled, repeat(right))), "little") * T


def _texts(test: Compare, column: Values, rights: tuple[FactValue, ...], patterns: Patterns) -> int:
    wanted = rights[0] if rights else None
    if test.op in ("prefix", "glob", "regex", "contains") and isinstance(wanted, str):
        try:
            holds = matcher(test.op, wanted, test.fold)
        except BadPatternError:
            return column.ones * U
        return int.from_bytes(bytes(map(holds, column.filled)), "little") * T
    return _row_by_row(test, column, rights, patterns)


def _row_by_row(test: Compare, column: Values, rights: tuple[FactValue, ...], patterns: Patterns) -> int:
    return pack([CODE[compare(test, value, rights, patterns)] for value in column.filled])


def pack(codes: Sequence[int]) -> int:
    """A column from its codes."""
    return int.from_bytes(bytes(codes), "little")


def unpack(truths: int, count: int) -> bytes:
    """The codes of a column."""
    return truths.to_bytes(count, "little")


def negated(truths: int, ones: int) -> int:
    """Kleene negation of a whole column: swaps true and false, and unknown stays."""
    flipped = truths ^ (ones * 3)
    return ((flipped & ones) << 1) | ((flipped >> 1) & ones)
