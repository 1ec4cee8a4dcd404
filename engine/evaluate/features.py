"""The features of a policy on the steps of a world: one run, one field and one setting at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sweeprules.engine.evaluate.feature import UNTOLD, Column, Numbers, Settings, compute
from sweeprules.engine.evaluate.resolve import Lens, Scope
from sweeprules.engine.evaluate.series import Points, Runs
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Ref, Subject
from sweeprules.engine.language import ast

AGAIN = Absent("superseded")
"""What a feature is on a step that was made again later: the series goes on with the last attempt."""
_COUNTED = frozenset({"consecutive", "share", "since_change"})


class Explained(NamedTuple):
    """What a feature of a step was made of: the value there, and the points of its window."""

    current: FactValue
    window: tuple[FactValue, ...]


@dataclass(slots=True)
class Spots:
    """Steps by job (with one step of each) and place in its series; `elsewhere` is what those are that have none."""

    steps: Sequence[Subject]
    jobs: list[tuple[Subject, Subject]]
    places: list[tuple[int, int]]
    elsewhere: dict[int, FactValue]


class Features:
    """Computes features; series and sums of a run are kept and shared by all features over them."""

    def __init__(self, lens: Lens, runs: Runs) -> None:
        self._lens = lens
        self._runs = runs
        self._columns: dict[tuple[int, str, bool], Column] = {}
        self._placed: dict[int, Spots] = {}
        self._settings: dict[tuple[str, Ref], Settings] = {}

    def column(self, feature: ast.Feature, steps: Sequence[Subject]) -> list[FactValue]:
        """The values of a feature on steps."""
        spots = self._spots(steps)
        done: dict[tuple[int, str], list[FactValue]] = {}
        series = [self._series(feature, step, job, done) for job, step in spots.jobs]
        if not series:
            return [spots.elsewhere[row] for row in range(len(steps))]
        found = [series[job][place] for job, place in spots.places]
        for row, value in spots.elsewhere.items():
            found[row] = value
        return found

    def _spots(self, steps: Sequence[Subject]) -> Spots:
        """Where each step stands in the series of its job; worked out once for all features."""
        kept = self._placed.get(id(steps))
        if kept is not None:
            return kept
        numbers: dict[Ref, int] = {}
        spots = self._placed[id(steps)] = Spots(steps, [], [], {})
        for row, step in enumerate(steps):
            job = self._lens.hop(step, "job")
            points = self._runs.of_job(job) if isinstance(job, Subject) else None
            place = None if points is None else points.at.get(step.ref)
            if place is None or not isinstance(job, Subject):
                spots.elsewhere[row] = NOT_READ if points is None else _elsewhere(points, step)
                spots.places.append((0, 0))
                continue
            number = numbers.setdefault(job.ref, len(spots.jobs))
            if number == len(spots.jobs):
                spots.jobs.append((job, step))
            spots.places.append((number, place))
        return spots

    def _series(
        self, feature: ast.Feature, step: Subject, job: Subject, done: dict[tuple[int, str], list[FactValue]]
    ) -> list[FactValue]:
        """A feature along the run of a job, under the params of that job."""
        points, settings = self._runs.of_job(job), self._set(feature, step, job)
        # repr and not ==: 1, 1.0 and True are equal to Python and must not share a result.
        key = (id(points), repr(settings))
        if key not in done:
            done[key] = compute(feature, self._along(points, feature), settings, self._lens.policy.patterns)
        return done[key]

    def _along(self, points: Points, feature: ast.Feature) -> Column:
        numbers = feature.is_ not in _COUNTED
        key = (id(points), feature.series, numbers)
        if key not in self._columns:
            make = Numbers(points, feature.series) if numbers else Column(points, feature.series, numbers=False)
            self._columns[key] = make
        return self._columns[key]

    def _set(self, feature: ast.Feature, step: Subject, job: Subject) -> Settings:
        # Params are the same on all steps of a job, and so is what overrides of them read.
        key = (feature.name, job.ref)
        found = self._settings.get(key)
        if found is None:
            scope = Scope(step)
            parts = (feature.window, feature.min_points, feature.floor)
            window, least, floor = (ABSENT if p is None else self._lens.right(p, scope) for p in parts)
            rights = () if feature.where is None else feature.where.rights
            found = Settings(window, least, floor, tuple(self._lens.right(r, scope) for r in rights))
            self._settings[key] = found
        return found

    def forget(self) -> None:
        """Read the params again: what their overrides turn on may have been decided since."""
        self._settings.clear()

    def explained(self, feature: ast.Feature, step: Subject) -> Explained | None:
        """What a feature was made of on a step; None where its series is not known."""
        points = self._runs.of(step)
        place = None if points is None else points.at.get(step.ref)
        job = self._lens.hop(step, "job")
        if points is None or place is None or not isinstance(job, Subject):
            return None
        window = self._set(feature, step, job).window
        values = self._along(points, feature).values
        width = window if isinstance(window, int) else place
        own = 1 if feature.is_ in ("share", "slope") else 0
        return Explained(values[place], tuple(values[max(0, place + own - width) : place + own]))


def _elsewhere(points: Points, step: Subject) -> FactValue:
    """What a feature is on a step that is not the one that counts for its number."""
    if step.ref in points.again:
        return AGAIN
    number = step.get("step")
    untold = number in points.steps and points.subjects[points.steps.index(number)] is None
    return UNTOLD if untold else NOT_READ


def unjudged(world: Mapping[Ref, Subject]) -> list[Subject]:
    """The steps that rules read and are not about."""
    return [subject for ref, subject in world.items() if ref.kind == "step" and not subject.judged]
