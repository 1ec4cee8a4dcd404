"""What a reader of metrics makes of one log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeprules.collectors.metrics.points import Json, Point
from sweeprules.engine.facts import FactValue


@dataclass(frozen=True, slots=True)
class Numbers:
    """The facts of the job, the points of this sweep, and what the next sweep starts from.

    A reader whose kind of log this is not has no facts, no points and an empty memo: it says nothing. A reader whose
    kind it is says absent only of what the whole log would have shown. `memo` is JSON-ready; `quotes` holds the line
    behind a fact.
    """

    facts: Mapping[str, FactValue] = field(default_factory=dict)
    points: tuple[Point, ...] = ()
    memo: Mapping[str, Json] = field(default_factory=dict)
    quotes: Mapping[str, str] = field(default_factory=dict)
