"""How a run's numbers went, as one line of bars each: the shape at a glance, its range in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sweeprules.engine.facts import Reason, Subject, Unknown
from sweeprules.reports.boxes import wrap
from sweeprules.reports.numbers import number

SERIES = ("reward", "entropy", "grad_norm", "loss")
"""The numbers that are drawn, where a run prints them."""
_BARS, _SPOILT = "▁▂▃▄▅▆▇█", "×"
_PLAIN_BARS, _PLAIN_SPOILT = "_.-=+*#@", "x"
_UNREAD, _GAP = "?", " "
_MOST, _LEAST = 60, 8
_LABEL = 11


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A series as it is drawn: one of a number, `nan` or `unread` at each step that has one of them."""

    points: Sequence[tuple[int, float | None]]
    unread: Sequence[int]
    first: int
    last: int


def sparks(steps: Sequence[Subject], width: int, *, plain: bool = False) -> list[str]:
    """A line for each of `SERIES` that some step has, of at most `width` columns, its words under it where need be.

    `steps` are those of a run, one of each number, the lowest first. A column stands for as many steps as it must; of
    several it shows the one farthest from the middle of all, so that no spike is lost. `×` is not a number, `?` could
    not be read, a blank is a step that is not there. `plain` draws with ASCII.
    """
    numbered = [(at, step) for step in steps for at in [step.get("step")] if isinstance(at, int)]
    if not numbered:
        return []
    span = (numbered[0][0], numbered[-1][0])
    return [line for name in SERIES for line in _line(name, numbered, span, width, plain)]


def _line(
    name: str, steps: Sequence[tuple[int, Subject]], span: tuple[int, int], width: int, plain: bool
) -> Iterator[str]:
    drawn = _read(name, steps, span)
    if not drawn.points:
        return
    label = f"  {name.replace('_', ' '):{_LABEL}}"
    columns = max(_LEAST, min(_MOST, width - len(label)))
    bars = label + _bars(drawn, columns, _stride([at for at, _ in steps]), plain)
    words = _words(drawn)
    if len(bars) + 2 + len(words) <= width:
        yield f"{bars}  {words}"
        return
    yield bars.rstrip()
    yield from (f"    {part}" for part in wrap(words, width - 4))


def _read(name: str, steps: Sequence[tuple[int, Subject]], span: tuple[int, int]) -> _Drawn:
    points: list[tuple[int, float | None]] = []
    unread: list[int] = []
    for at, step in steps:
        match step.get(name):
            case Unknown(reason=Reason.NAN):
                points.append((at, None))
            case Unknown(reason=reason) if reason != Reason.NOT_READ:
                unread.append(at)
            case bool():
                pass
            case int() | float() as value:
                points.append((at, _finite(value)))
            case _:
                pass
    return _Drawn(points, unread, *span)


def _finite(value: float) -> float | None:
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _stride(steps: Sequence[int]) -> int:
    """How far apart the steps usually are: a trainer may print every tenth."""
    apart = [b - a for a, b in pairwise(steps) if b > a]
    return max(1, int(median(apart))) if apart else 1


def _bars(drawn: _Drawn, columns: int, stride: int, plain: bool) -> str:
    levels, spoilt = (_PLAIN_BARS, _PLAIN_SPOILT) if plain else (_BARS, _SPOILT)
    count = min(columns, (drawn.last - drawn.first) // stride + 1)
    cells: list[list[float | None]] = [[] for _ in range(count)]
    for at, value in drawn.points:
        cells[_place(at, drawn, count)].append(value)
    unread = {_place(at, drawn, count) for at in drawn.unread}
    known = [value for _, value in drawn.points if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    middle = median(known) if known else 0.0
    shown = ""
    for place, values in enumerate(cells):
        if not values:
            shown += _UNREAD if place in unread else _GAP
            continue
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values):
            shown += spoilt
            continue
        shown += levels[_level(max(numbers, key=lambda value: abs(value / 2 - middle / 2)), low, high, len(levels))]
    return shown


def _place(at: int, drawn: _Drawn, count: int) -> int:
    return 0 if drawn.last == drawn.first else (at - drawn.first) * (count - 1) // (drawn.last - drawn.first)


def _level(value: float, low: float, high: float, count: int) -> int:
    # Halved, so that the distance of two huge numbers is one too.
    reach = high / 2 - low / 2
    return 0 if reach <= 0 else min(count - 1, int((value / 2 - low / 2) / reach * count))


def _words(drawn: _Drawn) -> str:
    known = [value for _, value in drawn.points if value is not None]
    parts = []
    if known:
        same = min(known) == max(known)
        parts.append(f"{number(known[-1])} throughout" if same else _range(known))
    steps = f"steps {drawn.first} to {drawn.last}" if drawn.last > drawn.first else f"step {drawn.first}"
    parts.append(steps)
    spoilt = len(drawn.points) - len(known)
    parts += [f"{spoilt} not a number"] if spoilt else []
    parts += [f"{len(drawn.unread)} unread"] if drawn.unread else []
    return "; ".join(parts)


def _range(known: Sequence[float]) -> str:
    return f"{number(min(known))} to {number(max(known))}, last {number(known[-1])}"
