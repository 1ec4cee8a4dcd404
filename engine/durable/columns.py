"""Subjects as facts: each column read once and written in its form, or left out where there is nothing to say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Protocol

from sweeprules.engine.durable.dnf import (
    Blocked,
    Carried,
    Column,
    Counted,
    Evaluable,
    Field,
    Form,
    Held,
    Holds,
    Key,
    Lowered,
    Origin,
    RightSide,
    RuleTruth,
)
from sweeprules.engine.durable.encode import ABSENT_TEXT, BIG_TEXT, UnencodableError, number_text, string_text
from sweeprules.engine.durable.leaves import ABSENT, KNOWN, UNKNOWN
from sweeprules.engine.durable.lower import Findings, Lowering
from sweeprules.engine.durable.values import Here, Values
from sweeprules.engine.facts import NOT_READ, Absent, FactValue, Interval, Ref, Subject, Unknown
from sweeprules.engine.language.ast import Hold
from sweeprules.engine.truth import Truth

Get = Callable[[Subject], FactValue]
Write = Callable[[FactValue], str | None]
_UP, _DOWN, _GONE = BIG_TEXT, f"-{BIG_TEXT}", encode_basestring(ABSENT_TEXT)


class Finished(Findings, Protocol):
    """What the columns read of finished rulesets."""

    def holds(self, node: Key, ref: Ref) -> bool:
        """Whether a node is true of a subject."""

    def carried(self, rule: str, subject: Subject) -> Truth:
        """The truth of a rule about steps or runs, as it counts for a job."""

    def held(self, rule: str, hold: Hold, subject: Subject) -> Truth:
        """Whether a rule that is true now has been so for long enough."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One origin, and the fields that are written from it: name and how."""

    get: Get
    writes: tuple[tuple[str, Write], ...]


class Columns:
    """Makes readers of columns over one world."""

    def __init__(self, values: Values, found: Finished, decided: frozenset[tuple[str, str]]) -> None:
        self._values = values
        self._lowering = Lowering(values, found)
        self._found = found
        self._decided = decided

    def readers(self, kind: str, columns: Sequence[tuple[str, Column]], limit: bool = False) -> tuple[Reader, ...]:
        """The readers of one fact type. A limit's columns are always there: a join on a missing one is an error."""
        grouped: dict[Origin, list[tuple[str, Write]]] = {}
        for name, column in columns:
            write = (LIMIT_FORMS if limit else FORMS)[column.form]
            grouped.setdefault(column.origin, []).append((name, write))
        return tuple(Reader(self._get(origin, kind), tuple(writes)) for origin, writes in grouped.items())

    def _get(self, origin: Origin, kind: str) -> Get:
        values, lowering = self._values, self._lowering
        match origin:
            case Field():
                return self._field(origin, kind)
            case RightSide(right=right, fold=fold):
                return lambda s: _folded(values.right(right, Here(s)), fold)
            case Counted(of=count):
                return lambda s: lowering.counted(count, Here(s))
            case Lowered(condition=condition):
                return lambda s: int(lowering.truth(condition, Here(s)))
            case Evaluable(of=quorum):
                return lambda s: lowering.evaluable(quorum, Here(s))
        return self._finished(origin)

    def _finished(self, origin: Holds | RuleTruth | Carried | Held | Blocked) -> Get:
        """What is read of finished rulesets."""
        found = self._found
        match origin:
            case Holds(node=node):
                return lambda s: int(found.holds(node, s.ref))
            case RuleTruth(rule=rule):
                return lambda s: int(found.ruled(rule, s.ref))
            case Carried(rule=rule):
                return lambda s: int(found.carried(rule, s))
            case Held(rule=rule, hold=hold):
                return lambda s: int(found.held(rule, hold, s))
            case Blocked(of=quorum):
                return lambda s: int(found.blocked(quorum, Here(s)))

    def _field(self, origin: Field, kind: str) -> Get:
        path, fold = origin.path, origin.fold
        name = path.field
        decided = bool(path.relations) or (kind, name) in self._decided
        if not decided and not origin.default and not fold:
            return lambda s: s.facts.get(name, NOT_READ)
        replaced = origin.default

        def get(subject: Subject) -> FactValue:
            value = self._values.path(path, Here(subject))
            if replaced and isinstance(value, Unknown | Absent):
                value = replaced[0]
            return _folded(value, fold)

        return get


def _folded(value: FactValue, fold: bool) -> FactValue:
    return value.casefold() if fold and isinstance(value, str) else value


# ---------------------------------------------------------------- forms


def _number(value: FactValue) -> str | None:
    if type(value) is int:
        return number_text(value)
    if type(value) is float:
        return number_text(value) if math.isfinite(value) else None
    if isinstance(value, Unknown | Absent):
        return None
    raise UnencodableError(f"a {type(value).__name__} where a number was expected")


def _low(value: FactValue) -> str | None:
    return number_text(value.sure) if isinstance(value, Interval) else _number(value)


def _high(value: FactValue) -> str | None:
    if isinstance(value, Interval):
        return _UP if value.possible is None else number_text(value.possible)
    return _number(value)


def _up(value: FactValue) -> str | None:
    return _UP if isinstance(value, Absent) else _number(value)


def _down(value: FactValue) -> str | None:
    return _DOWN if isinstance(value, Absent) else _number(value)


def _string(value: FactValue) -> str | None:
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, Unknown | Absent):
        return None
    raise UnencodableError(f"a {type(value).__name__} where a text was expected")


def _string_or_gone(value: FactValue) -> str | None:
    return _GONE if isinstance(value, Absent) else _string(value)


def _boolean(value: FactValue) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Unknown | Absent):
        return None
    raise UnencodableError(f"a {type(value).__name__} where a boolean was expected")


def _boolean_word(value: FactValue) -> str | None:
    if isinstance(value, Absent):
        return '"A"'
    plain = _boolean(value)
    return None if plain is None else '"T"' if plain == "true" else '"F"'


def _state(value: FactValue) -> str:
    if isinstance(value, Unknown):
        return str(UNKNOWN)
    return str(ABSENT if isinstance(value, Absent) else KNOWN)


def _code(value: FactValue) -> str:
    if isinstance(value, int):
        return str(int(value))
    raise UnencodableError("a truth that is none")


FORMS: dict[Form, Write] = {
    "n": _number,
    "l": _low,
    "h": _high,
    "u": _up,
    "d": _down,
    "s": _string,
    "a": _string_or_gone,
    "b": _boolean,
    "w": _boolean_word,
    "p": _state,
    "c": _code,
}


def _limit_state(value: FactValue) -> str:
    endless = isinstance(value, float) and not math.isfinite(value)
    return str(UNKNOWN) if endless else _state(value)


LIMIT_FORMS: dict[Form, Write] = {
    "n": lambda value: _number(value) or "0",
    "s": lambda value: _string(value) or '""',
    "p": _limit_state,
}
