"""The gaps between signs of progress: as they are seen, kept from sweep to sweep, and over the jobs of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sweeprules.engine.facts import FactValue

VERSION = 1
KEEP = 256
"""Gaps of one kind that are kept, the newest."""
KINDS = 12
"""Kinds of gaps (phase and pattern) that are kept of a job."""
SWEPT = "sweeps"
"""The stream of what sweeps saw, for jobs whose lines tell no time."""
STEADY = "steady"
_LONGEST = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Moved:
    """One sign of progress: the pattern, how far (`step` or `n` of its fields, None without), and when.

    `time` is what the line prints, epoch seconds; `clock` the seconds that the bar at or right before it has run.
    """

    pattern: str
    far: int | None
    time: float | None
    clock: float | None
    position: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """The newest gaps of one kind, in seconds, the oldest first; `count` is how many there ever were."""

    newest: tuple[float, ...] = ()
    count: int = 0

    def extended(self, more: Sequence[float]) -> Gaps:
        """With further gaps behind."""
        return Gaps((*self.newest, *more)[-KEEP:], self.count + len(more)) if more else self

    def encode(self) -> list[Any]:
        """JSON-ready; `decode` gives an equal value back."""
        return [self.count, *self.newest]

    @classmethod
    def decode(cls, data: Sequence[Any]) -> Gaps:
        """The value of `encode`."""
        return cls(tuple(float(gap) for gap in data[1:]), int(data[0]))


@dataclass(frozen=True, slots=True)
class Last:
    """The newest sign of progress of one stream, as `Moved` has it."""

    far: int | None
    time: float | None
    clock: float | None


@dataclass(frozen=True, slots=True)
class CadenceMemo:
    """What was learned of one attempt: gaps by (phase, stream), and the newest sign of each stream."""

    gaps: Mapping[tuple[str, str], Gaps] = field(default_factory=dict)
    lasts: Mapping[str, Last] = field(default_factory=dict)
    started: float | None = None

    def encode(self) -> dict[str, Any]:
        """JSON-ready; `decode` gives an equal value back."""
        return {
            "version": VERSION,
            "gaps": [[phase, stream, *gaps.encode()] for (phase, stream), gaps in sorted(self.gaps.items())],
            "lasts": {name: [last.far, last.time, last.clock] for name, last in sorted(self.lasts.items())},
            "started": self.started,
        }

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> CadenceMemo:
        """The value of `encode`. Other versions: ValueError."""
        if data.get("version") != VERSION:
            raise ValueError(
                f"the kept cadence has version {data.get('version')!r}; this release reads version {VERSION}"
            )
        gaps = {(one[0], one[1]): Gaps.decode(one[2:]) for one in data["gaps"]}
        return cls(gaps, {name: Last(*last) for name, last in data["lasts"].items()}, data["started"])

    def inherited(self) -> CadenceMemo:
        """What the next link of a run starts from: between two links no gap is counted."""
        return CadenceMemo(self.gaps)


@dataclass(frozen=True, slots=True)
class Signs:
    """What one sweep saw of a job's progress.

    `moved` are the new signs and `breaks` the places where another phase began (position, phase), both as the scan of
    its log has them; `gap` says that bytes before them were not read. `far` is the step or the number of results that
    this sweep saw, None where it saw none, and `at` the time of the sweep. `started` is the start of the attempt.
    """

    moved: tuple[Moved, ...] = ()
    breaks: tuple[tuple[int, str], ...] = ()
    gap: bool = False
    far: int | None = None
    at: float | None = None
    started: float | None = None


def learn(memo: CadenceMemo | None, signs: Signs) -> CadenceMemo:
    """What was known, with the gaps that this sweep saw. A new attempt keeps the gaps, and starts its clocks anew."""
    before = memo or CadenceMemo()
    if not _same_attempt(before.started, signs.started):
        before = before.inherited()
    lasts = {} if signs.gap else dict(before.lasts)
    if signs.gap and SWEPT in before.lasts:
        lasts[SWEPT] = before.lasts[SWEPT]
    fresh: dict[tuple[str, str], list[float]] = {}
    places: dict[str, int] = {}
    for sign in signs.moved:
        last = lasts.get(sign.pattern)
        if last is not None and sign.far is not None and sign.far == last.far:
            continue
        gap = between(last, sign) if last is not None else None
        if gap is not None:
            phase = _phase_between(places.get(sign.pattern, -1), sign.position, signs.breaks)
            fresh.setdefault((phase, sign.pattern), []).append(gap)
        lasts.pop(sign.pattern, None)
        lasts[sign.pattern] = Last(sign.far, sign.time, sign.clock)
        places[sign.pattern] = sign.position
    swept = _swept(lasts, signs)
    if swept is not None:
        fresh[STEADY, SWEPT] = [swept]
    gaps = dict(before.gaps)
    for kind, more in fresh.items():
        gaps[kind] = gaps.get(kind, Gaps()).extended([round(gap, 1) for gap in more])
    started = signs.started if signs.started is not None else before.started
    return CadenceMemo(MappingProxyType(_bounded(gaps, fresh)), MappingProxyType(_newest(lasts)), started)


def _newest(lasts: Mapping[str, Last]) -> dict[str, Last]:
    """Those of the streams that moved last, and of what sweeps saw."""
    return {name: last for name, last in list(lasts.items())[-KINDS:] if name != SWEPT} | (
        {SWEPT: lasts[SWEPT]} if SWEPT in lasts else {}
    )


def _bounded(gaps: Mapping[tuple[str, str], Gaps], fresh: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Gaps]:
    order = sorted(gaps, key=lambda kind: (kind in fresh, gaps[kind].count, kind), reverse=True)
    return {kind: gaps[kind] for kind in order[:KINDS]}


def between(last: Last, sign: Moved) -> float | None:
    """Seconds between two signs of one stream; None where they do not tell, or where the job went back in between."""
    if last.far is not None and sign.far is not None and sign.far <= last.far:
        return None
    if last.time is not None and sign.time is not None:
        gap = sign.time - last.time
    elif last.clock is not None and sign.clock is not None:
        gap = sign.clock - last.clock
    else:
        return None
    return gap if 0 <= gap <= _LONGEST else None


def _phase_between(low: int, high: int, breaks: Sequence[tuple[int, str]]) -> str:
    return next((phase for position, phase in breaks if low < position < high), STEADY)


def _swept(lasts: dict[str, Last], signs: Signs) -> float | None:
    """Seconds a step or a result between two sweeps: one gap, however many steps lie between them."""
    if signs.far is None or signs.at is None:
        return None
    last = lasts.get(SWEPT)
    if last is not None and last.far is not None and last.far == signs.far:
        return None
    lasts[SWEPT] = Last(signs.far, signs.at, None)
    if last is None or last.far is None or last.time is None or signs.far < last.far or signs.at <= last.time:
        return None
    return (signs.at - last.time) / (signs.far - last.far)


def _same_attempt(one: float | None, other: float | None) -> bool:
    return one is None or other is None or abs(one - other) < 1


def signs_of(
    moved: tuple[Moved, ...],
    breaks: tuple[tuple[int, str], ...],
    facts: Mapping[str, FactValue],
    now: float,
    *,
    gap: bool,
) -> Signs:
    """What a sweep saw of a job, from the reading of its log and its facts (`step`, `trials_done`, `started`)."""
    far = next((n for n in (facts.get("step"), facts.get("trials_done")) if isinstance(n, int)), None)
    started = facts.get("started")
    begun = float(started) if isinstance(started, int | float) else None
    return Signs(moved, breaks, gap, far, now, begun)


def moved_at(moved: Sequence[Moved]) -> float | None:
    """The newest printed time of a sign of progress."""
    return max((one.time for one in moved if one.time is not None), default=None)


def encode_history(history: Mapping[str, Gaps]) -> dict[str, Any]:
    """JSON-ready; `decode_history` gives an equal value back."""
    return {"version": VERSION, "kinds": [[name, *gaps.encode()] for name, gaps in history.items()]}


def decode_history(data: Mapping[str, Any]) -> dict[str, Gaps]:
    """The value of `encode_history`; an empty mapping is what there is before the first job. Else: ValueError."""
    if not data:
        return {}
    if data.get("version") != VERSION:
        raise ValueError(f"the kept cadences have version {data.get('version')!r}; this release reads {VERSION}")
    return {one[0]: Gaps.decode(one[1:]) for one in data["kinds"]}
