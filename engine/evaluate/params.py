"""A parameter's value at one place: the most specific override that matches, else its default."""

from __future__ import annotations

from dataclasses import dataclass

from sweeprules.engine.evaluate.compare import OpenList, same
from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown, Value
from sweeprules.engine.language.ast import Override, Param
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, every, of, some


@dataclass(frozen=True, slots=True)
class Place:
    """What overrides are matched with: the names of the job (none: not about one), tags, cluster, bucket."""

    job: tuple[FactValue, ...] | Unknown
    tags: FactValue
    cluster: FactValue
    bucket: FactValue


def param_value(param: Param, place: Place) -> FactValue:
    """The value of a parameter that has overrides, by the precedence job, tag, bucket+cluster, cluster, bucket.

    Unknown `conflict` when two overrides of one level differ, and unknown `not-read` when it turns on a tag, bucket or
    cluster that is unknown.
    """
    in_doubt: list[Value] = []
    for level in range(_LEVELS):
        rows = [(row, _matches(row, place)) for row in param.overrides if _level(row) == level]
        sure = [row.value for row, truth in rows if truth is TRUE]
        in_doubt += [row.value for row, truth in rows if truth is UNKNOWN]
        if any(not same(sure[0], value) for value in sure[1:]):
            return Unknown(Reason.CONFLICT, f"two overrides of ${param.name} match")
        if sure:
            return _settled(param, sure[0], in_doubt)
    return _settled(param, param.default, in_doubt)


def _settled(param: Param, value: Value, in_doubt: list[Value]) -> FactValue:
    if all(same(value, other) for other in in_doubt):
        return value
    return Unknown(Reason.NOT_READ, f"${param.name} turns on a tag, bucket or cluster that is unknown")


_LEVELS = 5


def _level(row: Override) -> int:
    keys = row.match.keys()
    if "job" in keys:
        return 0
    if "tag" in keys:
        return 1
    if "cluster" in keys:
        return 2 if "bucket" in keys else 3
    return 4


def _matches(row: Override, place: Place) -> Truth:
    return every(_part(key, wanted, place) for key, wanted in row.match.items())


def _part(key: str, wanted: str, place: Place) -> Truth:
    if key == "job":
        if isinstance(place.job, Unknown):
            return UNKNOWN
        return some((FALSE, *(_equals(name, wanted) for name in place.job)))
    if key == "tag":
        return _tagged(place.tags, wanted)
    return _equals(place.cluster if key == "cluster" else place.bucket, wanted)


def _equals(value: FactValue, wanted: str) -> Truth:
    if isinstance(value, Unknown):
        return UNKNOWN
    return of(not isinstance(value, Absent) and same(value, wanted))


def _tagged(tags: FactValue, wanted: str) -> Truth:
    if isinstance(tags, Unknown):
        return UNKNOWN
    if isinstance(tags, tuple) and wanted in tags:
        return TRUE
    return UNKNOWN if isinstance(tags, OpenList) else FALSE
