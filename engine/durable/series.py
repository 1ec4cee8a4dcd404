"""Features, looks and holds read plainly, one step at a time: the second reading that the native evaluator is held to.

Each window is added up anew in exact fractions; nothing is shared with the columns of the native evaluator.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sweeprules.engine.durable.lower import Lowering
from sweeprules.engine.durable.values import Here, Many, Values
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Reason, Ref, Subject, Unknown
from sweeprules.engine.holds import HoldState
from sweeprules.engine.language.ast import Feature, Hold, Path, Rule
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

_STEPS = Path((), "steps", "job", "relation")
_LINKS = Path((), "links", "run", "relation")


class Run:
    """The steps of a run by number, each with the link and attempt that counts; `open` says why some may be missing."""

    def __init__(self, attempts: Mapping[int, list[tuple[int, Subject]]], reason: str) -> None:
        self.open = reason
        self.numbers = sorted(attempts)
        self.last = {number: _last(those) for number, those in attempts.items()}
        self.number = {step.ref: number for number, those in attempts.items() for _, step in those}
        counts = Counter(b - a for a, b in pairwise(self.numbers))
        self.stride = sorted(counts, key=lambda distance: (-counts[distance], distance))[0] if counts else 1

    def again(self, step: Subject) -> bool:
        """Whether a step was made again later."""
        number = self.number.get(step.ref)
        last = None if number is None else self.last[number]
        return last is not None and last.ref != step.ref

    def upto(self, number: int, count: int, own: bool) -> list[int]:
        """The last steps before a step, or up to it."""
        end = (bisect_right if own else bisect_left)(self.numbers, number)
        return self.numbers[max(0, end - count) : end]

    def before(self, number: int) -> int | None:
        """The step before a step."""
        found = self.upto(number, 1, own=False)
        return found[0] if found else None


def _last(those: list[tuple[int, Subject]]) -> Subject | None:
    """The last attempt of a step; None where nobody can tell."""
    link = max(place for place, _ in those)
    mine = [step for place, step in those if place == link]
    if len(mine) == 1:
        return mine[0]
    tries = [step.get("attempt") for step in mine]
    if not all(isinstance(n, int) for n in tries):
        return None
    top = [step for step in mine if step.get("attempt") == max(n for n in tries if isinstance(n, int))]
    return top[0] if len(top) == 1 else None


class Series:
    """Reads series through `values`; `lowering` decides the tests of `where`."""

    def __init__(self, values: Values, lowering: Lowering) -> None:
        self._values = values
        self._lowering = lowering
        self._runs: dict[tuple[str, tuple[Ref, ...]], Run] = {}
        self._newest: dict[Ref, int | None] = {}
        self._kept: dict[tuple[str, int, str], dict[int, FactValue]] = {}

    # ------------------------------------------------------------ the run

    def run(self, job: Subject) -> Run:
        """The steps of the run that a job is a link of."""
        jobs, reason = self._links(job)
        key = (reason, tuple(link.ref for link in jobs))
        if key not in self._runs:
            self._runs[key] = self._gathered(jobs, reason)
        return self._runs[key]

    def _gathered(self, jobs: list[Subject], reason: str) -> Run:
        found: dict[int, list[tuple[int, Subject]]] = {}
        for place, link in enumerate(jobs):
            if "steps" not in link.relations:
                if self._values.fact(link, "state") != "PENDING":
                    reason = reason or Reason.NOT_READ
                continue
            many = self._values.many(_STEPS, link)
            if not isinstance(many, Many) or many.open:
                reason = reason or link.relations["steps"].reason or Reason.NOT_READ
            for step in many.items if isinstance(many, Many) else ():
                number = step.get("step")
                if isinstance(step, Subject) and isinstance(number, int) and not isinstance(number, bool):
                    found.setdefault(number, []).append((place, step))
                else:
                    reason = reason or Reason.NOT_READ
        return Run(found, reason)

    def _links(self, job: Subject) -> tuple[list[Subject], str]:
        run = self._values.step(job, "run") if "run" in job.relations else ABSENT
        if isinstance(run, Unknown):
            return [job], str(run.reason)
        if isinstance(run, Absent) or "links" not in run.relations:
            return [job], ""
        many = self._values.many(_LINKS, run)
        if not isinstance(many, Many):
            return [job], str(many.reason) or Reason.NOT_READ
        reason = (run.relations["links"].reason or Reason.CUT) if many.open else ""
        return [link for link in many.items if isinstance(link, Subject)], reason

    # ------------------------------------------------------------ features

    def feature(self, feature: Feature, step: Subject) -> FactValue:
        """The value of a feature on a step."""
        job = self._values.step(step, "job")
        if not isinstance(job, Subject):
            return NOT_READ
        run = self.run(job)
        number = run.number.get(step.ref)
        if number is None:
            named = step.get("step")
            untold = isinstance(named, int) and named in run.last and run.last[named] is None
            return Unknown(Reason.CONFLICT) if untold else NOT_READ
        if run.last[number] is None:
            return Unknown(Reason.CONFLICT)
        if run.again(step):
            return Absent("superseded")
        here = Here(step)
        sides = [feature.window, feature.min_points, feature.floor]
        window, least, floor = (ABSENT if side is None else self._values.right(side, here) for side in sides)
        rights = [self._values.right(side, here) for side in (feature.where.rights if feature.where else ())]
        for value in (window, least, floor, *rights):
            if isinstance(value, Unknown):
                return value
        kept = self._kept.setdefault((feature.name, id(run), repr(rights)), {})
        return _Along(self, feature, run, here, kept).at(number, window, window if least is ABSENT else least, floor)

    def holds(self, feature: Feature, value: FactValue, here: Here) -> Truth:
        """Whether a point satisfies the `where` of a feature."""
        assert feature.where is not None
        return self._lowering.test(feature.where, value, here)

    # ------------------------------------------------------------ looks

    def looks(self, rule: Rule, step: Subject) -> bool:
        """Whether a rule raises flags from a step."""
        job = self._values.step(step, "job")
        number = step.get("step")
        if not isinstance(job, Subject):
            return True
        if self.run(job).again(step):
            return False
        newest = self.newest(job)
        if rule.judge == "any" or not isinstance(number, int) or newest is None:
            return True
        if rule.judge == "latest":
            return number >= newest
        met = {job.ref}
        earlier = self._values.step(job, "previous")
        while isinstance(earlier, Subject) and earlier.ref not in met:
            met.add(earlier.ref)
            seen = [n for n in (earlier.get("step"), self.newest(earlier)) if isinstance(n, int)]
            if seen and min(seen) < newest:
                return number > min(seen)
            earlier = self._values.step(earlier, "previous")
        return True

    def newest(self, job: Subject) -> int | None:
        """The newest step of a job that was not made again."""
        if job.ref not in self._newest:
            many, run = self._values.many(_STEPS, job), self.run(job)
            steps = [s for s in many.items if isinstance(s, Subject)] if isinstance(many, Many) else []
            numbers = [n for s in steps if not run.again(s) and isinstance(n := s.get("step"), int)]
            self._newest[job.ref] = max(numbers, default=None)
        return self._newest[job.ref]

    # ------------------------------------------------------------ holds

    def held(self, hold: Hold, here: Here, state: HoldState | None, now: FactValue) -> Truth:
        """Whether a rule that is true now has been so for long enough."""
        side = hold.seconds if hold.sweeps is None else hold.sweeps
        wanted = NOT_READ if side is None else self._values.right(side, here)
        if isinstance(wanted, Unknown):
            return UNKNOWN
        if not isinstance(wanted, int | float):
            return FALSE
        looks = state.sweeps if state is not None else 0
        if hold.sweeps is not None:
            return TRUE if looks >= wanted - 1 else FALSE
        if looks == 0 or state is None or state.first_at is None:
            return FALSE
        if not isinstance(now, int | float):
            return UNKNOWN
        return TRUE if state.first_at + wanted <= now else FALSE


@dataclass(frozen=True, slots=True)
class _Along:
    """One feature on one run, seen from one step."""

    reader: Series
    feature: Feature
    run: Run
    here: Here
    kept: dict[int, FactValue]
    """For a count or a start: what it was at each step that was asked about."""

    def at(self, number: int, window: FactValue, least: FactValue, floor: FactValue) -> FactValue:
        own = self._value(number)
        if isinstance(own, Absent):
            return own
        trouble = self._trouble(number)
        if trouble is not None:
            return trouble
        kind = self.feature.is_
        if kind == "consecutive":
            return self._consecutive(number)
        if kind == "since_change":
            return self._since(number)
        assert isinstance(window, int)
        assert isinstance(least, int)
        if kind == "share" and self._doubtful(number):
            return Unknown(Reason.MALFORMED)
        own_too = kind in ("share", "slope")
        chosen = self.run.upto(number, window, own_too)
        if len(chosen) < least or (len(chosen) < window and self.run.open):
            return Unknown(self.run.open or Reason.WARMING_UP)
        hole = self._hole(chosen, number)
        if hole is not None:
            return hole
        return self._share(chosen) if kind == "share" else self._number(kind, chosen, number, floor)

    def _hole(self, chosen: list[int], number: int) -> Unknown | None:
        """Why a window can not be computed with."""
        for n in reversed(chosen):
            trouble = self._trouble(n)
            if trouble is not None:
                return trouble
        steps = chosen if chosen[-1] == number else [*chosen, number]
        return NOT_READ if self._torn(steps) else None

    def _value(self, number: int) -> FactValue:
        step = self.run.last[number]
        return Unknown(Reason.CONFLICT) if step is None else step.get(self.feature.series)

    def _trouble(self, number: int) -> Unknown | None:
        """Why a point can not be computed with."""
        value = self._value(number)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Absent):
            return NOT_READ
        if isinstance(value, float) and not math.isfinite(value):
            return Unknown(Reason.NAN)
        counted = self.feature.is_ in ("consecutive", "share", "since_change")
        whole = isinstance(value, int) and not isinstance(value, bool) and -(2**1023) < value < 2**1023
        return None if counted or whole or isinstance(value, float) else _MALFORMED

    def _torn(self, steps: list[int]) -> bool:
        return any(steps[i + 1] - steps[i] > self.run.stride for i in range(len(steps) - 1))

    def _doubtful(self, number: int) -> bool:
        return self.reader.holds(self.feature, self._value(number), self.here) is UNKNOWN

    def _share(self, steps: list[int]) -> FactValue:
        truths = [self.reader.holds(self.feature, self._value(n), self.here) for n in steps]
        return _MALFORMED if UNKNOWN in truths else float(Fraction(truths.count(TRUE), len(truths)))

    def _consecutive(self, number: int) -> FactValue:
        """One more than at the step before, where this one holds too; walked back as far as nothing is kept."""
        waiting: list[int] = []
        here: int | None = number
        value: FactValue = Unknown(self.run.open) if self.run.open else 0
        while here is not None:
            if here in self.kept:
                value = self.kept[here]
                break
            waiting.append(here)
            here = self.run.before(here)
        for step in reversed(waiting):
            value = self.kept[step] = self._one_more(step, value)
        return value

    def _one_more(self, step: int, before: FactValue) -> FactValue:
        trouble = self._trouble(step)
        if trouble is None and self._doubtful(step):
            trouble = _MALFORMED
        if trouble is not None:
            return trouble
        if self.reader.holds(self.feature, self._value(step), self.here) is FALSE:
            return 0
        previous = self.run.before(step)
        if previous is not None and self._torn([previous, step]):
            return self._trouble(previous) or NOT_READ
        return before + 1 if isinstance(before, int) else before

    def _since(self, number: int) -> FactValue:
        """The time since the step from which on the value is the same."""
        waiting: list[int] = []
        here: int | None = number
        start: FactValue = NOT_READ
        while here is not None:
            if here in self.kept:
                start = self.kept[here]
                break
            waiting.append(here)
            here = self.run.before(here)
        for step in reversed(waiting):
            start = self.kept[step] = self._start(step, start)
        return self._time(number, start)

    def _start(self, step: int, before: FactValue) -> FactValue:
        previous = self.run.before(step)
        if previous is None:
            return Unknown(self.run.open) if self.run.open else self._when(step)
        trouble = self._trouble(previous)
        if trouble is not None:
            return trouble
        if self._torn([previous, step]):
            return NOT_READ
        return before if _alike(self._value(previous), self._value(step)) else self._when(step)

    def _when(self, number: int) -> FactValue:
        step = self.run.last[number]
        return Unknown(Reason.CONFLICT) if step is None else step.get("time")

    def _time(self, number: int, start: FactValue) -> FactValue:
        end = self._when(number)
        for time in (end, start):
            if isinstance(time, Unknown):
                return time
            if isinstance(time, bool) or not isinstance(time, int | float):
                return NOT_READ
        assert isinstance(start, int | float)
        assert isinstance(end, int | float)
        return Unknown(Reason.DISAGREE) if end < start else end - start

    def _number(self, kind: str, steps: list[int], number: int, floor: FactValue) -> FactValue:
        points = [(Fraction(n), _fraction(self._value(n))) for n in steps]
        mean = sum((y for _, y in points), Fraction()) / len(points)
        if kind in ("slope", "deviation_from_trend"):
            centre = sum((x for x, _ in points), Fraction()) / len(points)
            spread = sum(((x - centre) ** 2 for x, _ in points), Fraction())
            slope = sum(((x - centre) * (y - mean) for x, y in points), Fraction()) / spread
            if kind == "slope":
                return _rounded(slope)
            mean += slope * (number - centre)
        middle = _rounded(mean)
        if not isinstance(middle, float):
            return middle
        own = self._value(number)
        assert isinstance(own, int | float)
        size = middle if kind == "ratio_to_mean" else abs(middle)
        if isinstance(floor, int | float):
            size = max(size, floor)
        if size == 0:
            return Unknown(Reason.CALC)
        result = own / size if kind == "ratio_to_mean" else abs(own - middle) / size
        return result if math.isfinite(result) else Unknown(Reason.CALC)


_MALFORMED = Unknown(Reason.MALFORMED)


def _fraction(value: FactValue) -> Fraction:
    assert isinstance(value, int | float)
    return Fraction(value)


def _rounded(value: Fraction) -> FactValue:
    try:
        return float(value)
    except OverflowError:
        return Unknown(Reason.CALC)


def _alike(left: FactValue, right: FactValue) -> bool:
    return isinstance(left, bool) is isinstance(right, bool) and left == right
