"""Points of a training run: what each step printed, kept over sweeps and links, and as the subjects of rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from sweeprules.engine.facts import (
    ABSENT,
    Absent,
    Completeness,
    FactValue,
    Reason,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
)

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
"""What a memo is made of."""

KEEP = 64
"""Points of earlier sweeps that are kept of a link: more than any window of the shipped rules reaches back."""
MOST = 512
"""Points of one link in one sweep."""
REWARDS = 8192
"""Steps of a link whose reward is kept for the choice of a checkpoint."""
FIRST = 1
"""The number of the first attempt."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one step printed: field -> number, or unknown. `time` is epoch seconds, `position` a byte of the log.

    `link` is the job id; a reader of one log leaves it empty. `attempt` counts from 1 how often the log went back.
    """

    step: int
    attempt: int
    link: str
    time: float | None
    values: Mapping[str, FactValue]
    position: int

    def get(self, name: str) -> FactValue:
        """The value of a field; absent when this step did not print it."""
        return self.values.get(name, ABSENT)


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one link, in the order in which they were printed.

    `rewards` is the first reward that was seen of each step (None: no number), `printed` the fields that any step ever
    printed. `whole` says that every byte of the log was read, `begun` that no older point was let go.
    """

    points: tuple[Point, ...] = ()
    rewards: Mapping[int, float | None] = field(default_factory=dict)
    printed: frozenset[str] = frozenset()
    whole: bool = True
    begun: bool = True

    def extended(self, new: Sequence[Point], *, whole: bool, rewards: Mapping[int, float | None]) -> Series:
        """With the points that a sweep read anew, and the rewards of all steps that it read, kept ones or not."""
        joined = (*self.points, *new)
        room = min(MOST, len(new) + KEEP)
        merged = {**rewards, **self.rewards}
        order = sorted(merged)[-REWARDS:]
        printed = self.printed.union(*(point.values for point in new))
        return Series(
            joined[-room:],
            MappingProxyType({step: merged[step] for step in order}),
            printed,
            self.whole and whole,
            self.begun and len(joined) <= room,
        )

    @property
    def latest(self) -> tuple[Point, ...]:
        """One point a step, the last attempt, the lowest step first."""
        best = {point.step: point for point in self.points}
        return tuple(best[step] for step in sorted(best))

    @property
    def newest(self) -> Point | None:
        """The point that was printed last."""
        return self.points[-1] if self.points else None

    def encode(self) -> dict[str, Json]:
        """JSON-ready; `decode` gives an equal value back."""
        return {
            "points": [_plain(point) for point in self.points],
            "rewards": [[step, reward] for step, reward in self.rewards.items()],
            "printed": sorted(self.printed),
            "whole": self.whole,
            "begun": self.begun,
        }

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> Series:
        """The value of `encode`; an empty mapping is a link that nobody read."""
        if not data:
            return cls()
        points = tuple(_point(one) for one in data["points"])
        rewards = MappingProxyType({int(step): reward for step, reward in data["rewards"]})
        return cls(points, rewards, frozenset(data["printed"]), bool(data["whole"]), bool(data["begun"]))


def _plain(point: Point) -> Json:
    values = {name: _plain_value(value) for name, value in point.values.items()}
    return [point.step, point.attempt, point.link, point.time, point.position, values]


def _plain_value(value: FactValue) -> Json:
    if isinstance(value, Unknown):
        return {"unknown": str(value.reason), "detail": value.detail}
    return value if isinstance(value, int | float | str) else None


def _point(data: Sequence[Any]) -> Point:
    step, attempt, link, time, position, values = data
    read = {name: _value(value) for name, value in values.items()}
    return Point(step, attempt, link, time, MappingProxyType(read), position)


def _value(value: Any) -> FactValue:
    if isinstance(value, Mapping):
        reason = str(value["unknown"])
        return Unknown(Reason(reason) if reason in set(Reason) else reason, str(value["detail"]))
    return ABSENT if value is None else value


@dataclass(frozen=True, slots=True)
class Merged:
    """The points of a run over all its links.

    `display` has one point a step, of the latest attempt; `rewards` the first reward that was seen of each step.
    `printed` are the fields of all links, `whole` and `begun` hold only when they do of every link.
    """

    display: tuple[Point, ...]
    rewards: Mapping[int, float | None]
    printed: frozenset[str]
    whole: bool
    begun: bool


def merge(links: Iterable[tuple[str, Series]]) -> Merged:
    """The links of a run, as (job id, series), the first link first."""
    best: dict[int, Point] = {}
    rewards: dict[int, float | None] = {}
    printed: frozenset[str] = frozenset()
    whole = begun = True
    for link, series in links:
        best |= {point.step: replace(point, link=point.link or link) for point in series.latest}
        rewards = {**series.rewards, **rewards}
        printed |= series.printed
        whole, begun = whole and series.whole, begun and series.begun
    display = tuple(best[step] for step in sorted(best))
    ordered = MappingProxyType({step: rewards[step] for step in sorted(rewards)})
    return Merged(display, ordered, printed, whole, begun)


NO_LONGER = Unknown(Reason.NOT_READ, "the run prints this key, and this step did not")
CUT = Unknown(Reason.CUT, "only the end of the log was read, and there the key is not")


def step_subjects(
    job: Ref,
    series: Series,
    fields: Iterable[str],
    *,
    link: str = "",
    run: Merged | None = None,
    source: Source | None = None,
) -> tuple[Subject, ...]:
    """The steps of one link as subjects `cluster:id/step`, the lowest first; of a step made again, the last attempt.

    `fields` are the numbers that a step may have. One that no line of the run printed is absent, or unknown where not
    all of the log was read; one that other lines print is unknown. `run` are all links, when they are joined.
    """
    printed = series.printed | (run.printed if run else frozenset())
    whole = series.whole and (run is None or run.whole)
    missing: dict[str, FactValue] = {
        name: NO_LONGER if name in printed else ABSENT if whole else CUT for name in dict.fromkeys(fields)
    }
    found = []
    for point in series.latest:
        key = f"{job.key}/{point.step}"
        facts: dict[str, FactValue] = {
            **missing,
            **{name: value for name, value in point.values.items() if name in missing},
            "step": point.step,
            "attempt": point.attempt,
            "link": point.link or link or job.key.rpartition(":")[2],
            "time": Unknown(Reason.NOT_READ, "the line carries no time") if point.time is None else point.time,
        }
        sources = {} if source is None else dict.fromkeys(facts, replace(source, position=point.position))
        relations = {"job": Relation((job,))}
        found.append(Subject(Ref("step", key), MappingProxyType(facts), MappingProxyType(sources), relations))
    return tuple(found)


def step_relation(series: Series, steps: Sequence[Subject]) -> Relation:
    """The relation `steps` of the link: partial when older points were not read or not kept."""
    members = tuple(step.ref for step in steps)
    if series.whole and series.begun:
        return Relation(members)
    why = "older steps are not kept" if series.whole else str(Reason.CUT)
    return Relation(members, Completeness.PARTIAL, why)


def as_number(value: FactValue | None) -> float | None:
    """A finite number that was read; None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def without_absent(values: Mapping[str, FactValue]) -> dict[str, FactValue]:
    """The fields that a line holds."""
    return {name: value for name, value in values.items() if not isinstance(value, Absent)}
