"""Which saved checkpoint of an RL run is worth keeping: the one with the best smoothed reward over all its links."""

from __future__ import annotations

from collections.abc import Mapping

from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Unknown

ALPHA = 1 / 3
"""Weight of the newest reward (domain page 5.1); seeded with the first."""


def best_step(
    rewards: Mapping[int, float | None], interval: FactValue, saved: FactValue, max_step: FactValue, *, whole: bool
) -> FactValue:
    """The step of the best checkpoint that is saved; absent while nothing is.

    `rewards` are those that were seen first of each step of the run, None for one that is no number; `interval` the
    steps between two saves, `saved` the newest save, `max_step` the planned end (absent: none). `whole` says that all
    logs were read from their start. Unknown while the reward of a candidate is, or what comes before the candidates:
    the best of those that happen to be known may not be the best. The first save counts only where it is the only one.
    """
    if isinstance(saved, Absent):
        return ABSENT
    for value, what in ((saved, "the newest save"), (interval, "the save interval")):
        if not _whole_number(value):
            return value if isinstance(value, Unknown) else Unknown(Reason.NOT_READ, f"{what} is not known")
    if isinstance(max_step, Unknown):
        return max_step
    assert isinstance(saved, int) and isinstance(interval, int)
    last = min(saved, max_step) if isinstance(max_step, int) else saved
    if interval < 1 or last < interval:
        return ABSENT
    candidates = range(2 * interval if last >= 2 * interval else interval, last + 1, interval)
    smooth = smoothed(rewards)
    missing = next((step for step in candidates if step not in rewards), None)
    if missing is not None:
        return Unknown(Reason.NOT_READ if whole else Reason.CUT, f"the reward of step {missing} was not read")
    if not whole and min(rewards) > 1:
        return Unknown(Reason.CUT, f"no reward before step {min(rewards)} was read")
    known = [step for step in candidates if step in smooth]
    if not known:
        return Unknown(Reason.NAN, "no saved step has a reward that is a number")
    return max(known, key=lambda step: smooth[step])


def smoothed(rewards: Mapping[int, float | None]) -> dict[int, float]:
    """Step -> trailing mean of the rewards up to it, in the order of the steps; those that are no number left out."""
    found: dict[int, float] = {}
    mean: float | None = None
    for step in sorted(rewards):
        reward = rewards[step]
        if reward is None:
            continue
        mean = reward if mean is None else ALPHA * reward + (1 - ALPHA) * mean
        found[step] = mean
    return found


def _whole_number(value: FactValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
