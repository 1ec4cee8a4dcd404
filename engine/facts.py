"""Facts: what was read of the world, what could not be read, and what is not there, each with its source.

In memory a time is epoch seconds (UTC), a duration seconds, a size bytes, a ratio 0 to 1: plain int or float. Lists
are tuples. The unit and type of each field stand in the catalogue, never in the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Why a fact is unknown (catalogue f). A scheduler state that is new to us is `new-state:WORD`, plain text."""

    NOT_READ = "not-read"
    READ_FAILED = "read-failed"
    CUT = "cut"
    MALFORMED = "malformed"
    NAN = "nan"
    WARMING_UP = "warming-up"
    FIRST_SIGHT = "first-sight"
    STALE_SOURCE = "stale-source"
    DISAGREE = "disagree"
    VANISHED = "vanished"
    NO_EXPORT = "no-export"
    CALC = "calc"
    CONFLICT = "conflict"
    SUSPENDED = "suspended"
    NO_LOG_BY_DESIGN = "no-log-by-design"


NEW_STATE = "new-state:"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Asked for, and not known. `reason` is a `Reason` or `new-state:WORD`; `detail` a short masked line for people."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """Asked with success, and not there. `reason` is `not-applicable` where the question does not fit the subject."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A count whose exact value depends on unknown states: at least `sure`, at most `possible` (None: no upper end)."""

    sure: int
    possible: int | None


ABSENT = Absent()
NOT_APPLICABLE = Absent("not-applicable")
NOT_READ = Unknown(Reason.NOT_READ)

Scalar = bool | int | float | str
Value = Scalar | Interval | tuple["Value", ...] | Mapping[str, "Value"]
FactValue = Value | Unknown | Absent


class Ref(NamedTuple):
    """A subject's name: its kind and its key (a job's is `cluster:id`; one of an earlier sweep has `key@sweep`)."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was read: observation, command and login, and the quoted line (masked, at most 300 characters)."""

    observation: str
    command: str
    login: str
    line: str = ""
    at: float | None = None
    position: int | None = None


class Completeness(StrEnum):
    """How much of a relation was read."""

    WHOLE = "whole"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Relation:
    """The members of one relation of a subject, and whether these are all of them.

    `reason` says why it is partial or unknown. A single-valued relation has at most one member.
    """

    members: tuple[Ref, ...] = ()
    completeness: Completeness = Completeness.WHOLE
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that rules are about, with its facts (dotted names), their sources and its relations.

    `judged` is False for what only stands in a relation (an earlier sweep's subject, a link that ended before): rules
    read it and are not about it. A field that is not in `facts` was not read: `NOT_READ`.
    """

    ref: Ref
    facts: Mapping[str, FactValue]
    sources: Mapping[str, Source] = field(default_factory=dict)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    judged: bool = True

    def get(self, name: str) -> FactValue:
        """The value of one field; `NOT_READ` when nobody read it."""
        return self.facts.get(name, NOT_READ)


@dataclass(frozen=True, slots=True)
class World:
    """All subjects of one sweep; the one subject of kind `sweep` holds `now`."""

    subjects: Mapping[Ref, Subject]

    def of_kind(self, kind: str) -> list[Subject]:
        """The judged subjects of a kind, ordered by key."""
        return sorted((s for s in self.subjects.values() if s.ref.kind == kind and s.judged), key=lambda s: s.ref.key)


def known(value: FactValue) -> bool:
    """True when it is a value: neither unknown nor absent."""
    return not isinstance(value, Unknown | Absent)
