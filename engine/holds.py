"""What rules with `for:` remember from one sweep to the next: how long their conditions have held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from sweeprules.engine.facts import Absent, FactValue, Ref, Unknown
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, of

RECENT = 20
"""Looks that are kept of each rule and subject, to tell one that flaps: at eight sweeps a day two days and a half."""

Key = tuple[str, Ref]
"""A rule id and a subject."""


@dataclass(frozen=True, slots=True)
class HoldState:
    """What a rule with `for:` has been on one subject, as of the last sweep that could tell.

    `sweeps` counts the looks in a row in which it was true, up to the last look; 0 while it is false. `first_sweep` and
    `first_at` (epoch seconds) are those of the first look of that row, `last_at` of the last look of all. `recent` are
    the last looks, oldest first: `1` true, `0` false. A look is a sweep in which the rule was not unknown there.
    """

    sweeps: int
    first_sweep: str = ""
    first_at: float | None = None
    last_at: float | None = None
    recent: str = ""

    @property
    def changes(self) -> int:
        """How often the rule turned round in the looks that are kept."""
        return sum(a != b for a, b in pairwise(self.recent))


Held = Mapping[Key, HoldState]
NOTHING_HELD: Held = {}


def enough(sweeps: FactValue | None, seconds: FactValue | None, state: HoldState | None, now: FactValue) -> Truth:
    """Whether a rule that is true now has been so for long enough.

    `sweeps` is the number of looks that are needed, this one included, or else `seconds` the time since the first of
    them; `now` is the clock of this sweep. What is not known makes it unknown.
    """
    wanted = seconds if sweeps is None else sweeps
    if isinstance(wanted, Unknown):
        return UNKNOWN
    if not isinstance(wanted, int | float):
        return FALSE
    before = 0 if state is None else state.sweeps
    if sweeps is not None:
        return of(before + 1 >= wanted)
    if state is None or not before or state.first_at is None:
        return FALSE
    if isinstance(now, Unknown | Absent) or not isinstance(now, int | float):
        return UNKNOWN
    return of(now - state.first_at >= wanted)


def advance(before: Held, looks: Mapping[Key, Truth], now: float, sweep: str) -> dict[Key, HoldState]:
    """The states after a sweep, from those before it and what each rule with `for:` was without its hold.

    A rule that was unknown, or a subject that was not there, keeps its state: such a sweep neither starts a hold nor
    ends it. Whether the sweep as a whole was complete does not matter, for each truth says itself whether it was seen.
    States of rules that have been false for `RECENT` looks are dropped. `now` is the sweep's clock, `sweep` its id.
    """
    after = dict(before)
    for key, truth in looks.items():
        state = before.get(key)
        if truth is UNKNOWN or (truth is FALSE and state is None):
            continue
        found = _true(state, now, sweep) if truth is TRUE else _false(state, now)
        if "1" in found.recent:
            after[key] = found
        else:
            after.pop(key, None)
    return after


def _true(state: HoldState | None, now: float, sweep: str) -> HoldState:
    recent = _more(state, "1")
    if state is None or not state.sweeps:
        return HoldState(1, sweep, now, now, recent)
    return replace(state, sweeps=state.sweeps + 1, last_at=now, recent=recent)


def _false(state: HoldState | None, now: float) -> HoldState:
    return HoldState(0, last_at=now, recent=_more(state, "0"))


def _more(state: HoldState | None, look: str) -> str:
    return ((state.recent if state is not None else "") + look)[-RECENT:]
