"""Features: numbers over a series of a run's steps, for a whole run at once.

Means and lines are exact sums of the points, rounded once, so that no order and no way of adding up shows in a result.
The window of a mean or a trend are the points before the current one; a share and a slope look at the last points with
the current one among them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from typing import Any as Anything

from sweeprules.engine.evaluate.compare import same
from sweeprules.engine.evaluate.leaf import Values, leaf, unpack
from sweeprules.engine.evaluate.series import Points
from sweeprules.engine.evaluate.truths import F, T
from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown
from sweeprules.engine.language.ast import Compare, Feature, Pattern

NOT_A_NUMBER = Unknown(Reason.NAN)
NO_QUOTIENT = Unknown(Reason.CALC, "a mean of 0 and no floor")
NOT_FINITE = Unknown(Reason.CALC, "no finite number")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the params of a feature are worth on one job; unknown where they turn on what is unknown."""

    window: FactValue
    min_points: FactValue
    floor: FactValue
    rights: tuple[FactValue, ...]

    @property
    def unknown(self) -> Unknown | None:
        """The first that is unknown."""
        every = (self.window, self.min_points, self.floor, *self.rights)
        return next((value for value in every if isinstance(value, Unknown)), None)


class Column:
    """One field along a series. `bad` holds for each point why it can not be computed with, None where it can."""

    def __init__(self, points: Points, field: str, numbers: bool) -> None:
        self.points = points
        self.values: list[FactValue] = [UNTOLD if s is None else s.get(field) for s in points.subjects]
        self.bad = [_bad(value, numbers) for value in self.values]
        self.gap = [False, *(b - a > points.stride for a, b in pairwise(points.steps))]
        self.clean = not any(self.bad) and not any(self.gap)
        # Where the last point that is bad and the last step after a gap stand, up to each point.
        self.last_bad = _last(bad is not None for bad in self.bad)
        self.last_gap = _last(self.gap)

    def current(self, i: int) -> Unknown | Absent | None:
        """What a feature is at a point whose own value can not be computed with."""
        value = self.values[i]
        return value if isinstance(value, Absent) else self.bad[i]

    def hole(self, first: int, last: int) -> Unknown | None:
        """Why the points from the first to the last can not be computed with; None where they can."""
        bad = self.last_bad[last] if last >= 0 else -1
        if bad >= first:
            return self.bad[bad]
        if last >= 0 and self.last_gap[last] > first:
            return Unknown(Reason.NOT_READ, f"steps before {self.points.steps[self.last_gap[last]]} are missing")
        return None

    def before(self) -> Unknown:
        """Why there is no point before the first."""
        return WARMING_UP if self.points.whole else Unknown(self.points.reason)


UNTOLD = Unknown(Reason.CONFLICT, "which attempt is the last one")
WARMING_UP = Unknown(Reason.WARMING_UP)


def _bad(value: FactValue, numbers: bool) -> Unknown | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else NOT_A_NUMBER
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Absent):
        return Unknown(Reason.NOT_READ, "a point is not there")
    if numbers and (isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _TOO_BIG):
        return Unknown(Reason.MALFORMED)
    return None


_TOO_BIG = 2**1023


def _last(marks: Iterable[bool]) -> list[int]:
    found, latest = [], -1
    for i, mark in enumerate(marks):
        if mark:
            latest = i
        found.append(latest)
    return found


class Numbers(Column):
    """A series of numbers, with exact sums of its points and of their products with the step."""

    def __init__(self, points: Points, field: str) -> None:
        super().__init__(points, field, numbers=True)
        self.x: list[Anything] = [0.0 if bad else value for value, bad in zip(self.values, self.bad, strict=True)]
        ratios: list[tuple[int, int]] = [value.as_integer_ratio() for value in self.x]
        self.scale: int = max((den for _, den in ratios), default=1)
        scaled = [num * (self.scale // den) for num, den in ratios]
        self.at = [step - points.steps[0] for step in points.steps] if points.steps else []
        self.sums = [0, *accumulate(scaled)]
        self._scaled = scaled
        self._lines: tuple[list[int], list[int], list[int]] | None = None

    @property
    def lines(self) -> tuple[list[int], list[int], list[int]]:
        """Sums of steps, of their squares, and of steps times points."""
        if self._lines is None:
            squares = [0, *accumulate(x * x for x in self.at)]
            products = [0, *accumulate(map(operator.mul, self.at, self._scaled))]
            self._lines = ([0, *accumulate(self.at)], squares, products)
        return self._lines

    def mean(self, first: int, end: int) -> float:
        """The mean of the points from the first up to and without the end."""
        return (self.sums[end] - self.sums[first]) / ((end - first) * self.scale)

    def line(self, first: int, end: int) -> tuple[int, int]:
        """The slope of the fitted line as a fraction of the scale: numerator, denominator (0 for a single step)."""
        steps, squares, products = self.lines
        n, x = end - first, steps[end] - steps[first]
        y, xx, xy = self.sums[end] - self.sums[first], squares[end] - squares[first], products[end] - products[first]
        return n * xy - x * y, n * xx - x * x

    def slope(self, first: int, end: int) -> float:
        """What the fitted line gains a step."""
        rise, run = self.line(first, end)
        return rise / (run * self.scale)

    def fitted(self, first: int, end: int, at: int) -> float:
        """Where the fitted line stands at a point."""
        rise, run = self.line(first, end)
        n, x, y = end - first, self.lines[0][end] - self.lines[0][first], self.sums[end] - self.sums[first]
        return (y * run + (n * self.at[at] - x) * rise) / (n * run * self.scale)


# ---------------------------------------------------------------- one run


def compute(feature: Feature, column: Column, settings: Settings, patterns: Mapping[str, Pattern]) -> list[FactValue]:
    """The values of a feature at every point of a series, under the same settings."""
    unknown = settings.unknown
    if unknown is not None:
        return [unknown] * len(column.values)
    if feature.is_ == "since_change":
        return _since(column)
    if feature.is_ in ("consecutive", "share"):
        assert feature.where is not None
        holds = _holding(feature.where, column, settings, patterns)
        return _consecutive(column, holds) if feature.is_ == "consecutive" else _share(column, holds, settings)
    assert isinstance(column, Numbers)
    return _numbers(feature.is_, column, settings)


def _whole(value: FactValue) -> int:
    return value if isinstance(value, int) else 0


def _window(settings: Settings) -> tuple[int, int]:
    """The window, and the least number of points in it."""
    window = _whole(settings.window)
    return window, window if isinstance(settings.min_points, Absent) else _whole(settings.min_points)


def _ready(column: Column, i: int, end: int, window: int, least: int) -> Unknown | Absent | None:
    """Why there is no result at a point whose window ends before `end`; None where there is one."""
    own = column.current(i)
    if own is not None:
        return own
    if min(end, window) < least or (end < window and not column.points.whole):
        return column.before()
    # A step that is missing just before the current one is missing in its window.
    return column.hole(max(0, end - window), i)


def _numbers(kind: str, column: Numbers, settings: Settings) -> list[FactValue]:
    window, least = _window(settings)
    floor = settings.floor if isinstance(settings.floor, int | float) else None
    own = 1 if kind == "slope" else 0
    count = len(column.values)

    def one(i: int) -> FactValue:
        end = i + own
        why = _ready(column, i, end, window, least)
        return _told(kind, column, i, max(0, end - window), floor) if why is None else why

    if column.clean and kind in _MEANS and least <= window:
        quick = _of_means(kind, column, window, 0.0 if floor is None else float(floor))
        if quick is not None:
            return [*map(one, range(min(window, count))), *quick]
    return [one(i) for i in range(count)]


_MEANS = ("ratio_to_mean", "deviation_from_mean")


def _result(kind: str, column: Numbers, i: int, first: int, floor: float | None) -> float | None:
    x = column.x[i]
    if kind == "slope":
        return column.slope(first, i + 1)
    middle = column.fitted(first, i, i) if kind == "deviation_from_trend" else column.mean(first, i)
    size = middle if kind == "ratio_to_mean" else abs(middle)
    size = size if floor is None else max(size, floor)
    if size == 0:
        return None
    return x / size if kind == "ratio_to_mean" else abs(x - middle) / size  # type: ignore[no-any-return]


def _told(kind: str, column: Numbers, i: int, first: int, floor: float | None) -> FactValue:
    try:
        value = _result(kind, column, i, first, floor)
    except OverflowError:
        return NOT_FINITE
    if value is None:
        return NO_QUOTIENT
    return value if math.isfinite(value) else NOT_FINITE


def _of_means(kind: str, column: Numbers, window: int, floor: float) -> list[float] | None:
    """The results where the whole window is there, in a few passes; None where one is not a finite number."""
    sums = map(operator.sub, column.sums[window:-1], column.sums)
    means = list(map(operator.truediv, sums, repeat(window * column.scale)))
    xs = column.x[window:]
    try:
        if kind == "ratio_to_mean":
            found = [x / (m if m > floor else floor) for x, m in zip(xs, means, strict=True)]
        else:
            found = [abs(x - m) / max(abs(m), floor) for x, m in zip(xs, means, strict=True)]
    except ZeroDivisionError:
        return None
    return found if all(map(math.isfinite, found)) else None


# ---------------------------------------------------------------- counts


def _holding(where: Compare, column: Column, settings: Settings, patterns: Mapping[str, Pattern]) -> bytes:
    kind = next(
        (_KINDS.get(type(v), "number") for v, bad in zip(column.values, column.bad, strict=True) if not bad), ""
    )
    return unpack(leaf(where, Values(column.values, kind), settings.rights, patterns), len(column.values))


_KINDS: dict[type, str] = {str: "text", bool: "boolean"}


def _doubt(column: Column, holds: bytes, i: int) -> Unknown | Absent | None:
    """Why it can not be told whether a point holds."""
    own = column.current(i)
    return own if own is not None or holds[i] in (F, T) else Unknown(Reason.MALFORMED)


def _consecutive(column: Column, holds: bytes) -> list[FactValue]:
    found: list[FactValue] = []
    run: int | Unknown = 0 if column.points.whole else column.before()
    for i, held in enumerate(holds):
        doubt = _doubt(column, holds, i)
        if doubt is not None:
            found.append(doubt)
            run = doubt if isinstance(doubt, Unknown) else Unknown(Reason.NOT_READ, "a point is not there")
            continue
        if held == F:
            run = 0
        elif column.gap[i]:
            run = column.hole(i - 1, i) or Unknown(Reason.NOT_READ)
        elif isinstance(run, int):
            run += 1
        found.append(run)
    return found


def _share(column: Column, holds: bytes, settings: Settings) -> list[FactValue]:
    window, least = _window(settings)
    true = [0, *accumulate(int(code == T) for code in holds)]
    odd = _last(code not in (F, T) for code in holds)
    found: list[FactValue] = []
    for i in range(len(holds)):
        first = max(0, i + 1 - window)
        why = _doubt(column, holds, i) or _ready(column, i, i + 1, window, least)
        if why is None and odd[i] >= first:
            why = Unknown(Reason.MALFORMED)
        found.append((true[i + 1] - true[first]) / (i + 1 - first) if why is None else why)
    return found


def _since(column: Column) -> list[FactValue]:
    times = [UNTOLD if s is None else s.get("time") for s in column.points.subjects]
    found: list[FactValue] = []
    start: FactValue = times[0] if times and column.points.whole else column.before()
    for i, time in enumerate(times):
        own = column.current(i)
        if own is not None:
            found.append(own)
            continue
        if i and column.bad[i - 1] is not None:
            start = column.bad[i - 1]  # type: ignore[assignment]
        elif i and column.gap[i]:
            start = column.hole(i - 1, i) or Unknown(Reason.NOT_READ)
        elif i and not same(column.values[i], column.values[i - 1]):
            start = time
        found.append(_elapsed(start, time))
    return found


def _elapsed(start: FactValue, end: FactValue) -> FactValue:
    for time in (end, start):
        if isinstance(time, Unknown):
            return time
        if isinstance(time, Absent | bool) or not isinstance(time, int | float):
            return Unknown(Reason.NOT_READ, "the time of a step")
    assert isinstance(start, int | float)
    assert isinstance(end, int | float)
    return end - start if end >= start else Unknown(Reason.DISAGREE, "the times of its steps go back")
