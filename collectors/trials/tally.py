"""Sums over trials whose result is final: what is kept of thousands of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import count, number, table, text
from sweeprules.collectors.trials.results import MAX_NAME, Trial

LAST = 100
"""Trials over which the pass rate of RL is told (domain page 3.2)."""
MAX_TYPES = 100
"""Exception types that are told apart; further ones are counted as `OTHERS`."""
OTHERS = "others"
QUICK = 60
"""Whole seconds up to which it is kept how long an agent without a token ran."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over final trials.

    `exceptions` counts trials by type. `quick[n]` counts the trials without a token whose agent ran n seconds, part
    seconds counting whole. `last` are (finished, passed) of the newest `LAST`, oldest first; `undated` counts trials
    that do not say when they ended. `outside` says that some reward is below 0 or above 1. `episodes` and `total` are
    sums; `episodes_of` counts the trials that tell their episodes.
    """

    done: int = 0
    valid: int = 0
    errored: int = 0
    passed: int = 0
    zeros: int = 0
    total: float = 0.0
    outside: bool = False
    exceptions: Mapping[str, int] = field(default_factory=dict)
    quick: tuple[int, ...] = (0,) * (QUICK + 1)
    episodes: int = 0
    episodes_of: int = 0
    undated: int = 0
    newest: float | None = None
    last: tuple[tuple[float, bool], ...] = ()


def tally(trials: Iterable[Trial]) -> Tally:
    """The sums over some trials."""
    found = tuple(trials)
    rewards = [one.reward for one in found if one.valid and one.reward is not None]
    episodes = [one.episodes for one in found if one.episodes is not None]
    last = sorted((one.finished, _passed(one)) for one in found if one.finished is not None)
    quick = [0] * (QUICK + 1)
    exceptions: dict[str, int] = {}
    for one in found:
        if one.exception:
            exceptions[one.exception] = exceptions.get(one.exception, 0) + 1
        if _tokenless(one) and one.agent_seconds is not None and one.agent_seconds <= QUICK:
            quick[math.ceil(one.agent_seconds)] += 1
    return Tally(
        done=len(found),
        valid=len(rewards),
        errored=sum(exceptions.values()),
        passed=sum(reward > 0 for reward in rewards),
        zeros=sum(reward == 0 for reward in rewards),
        total=math.fsum(rewards),
        outside=any(not 0 <= reward <= 1 for reward in rewards),
        exceptions=_bounded(exceptions),
        quick=tuple(quick),
        episodes=sum(episodes),
        episodes_of=len(episodes),
        undated=len(found) - len(last),
        newest=last[-1][0] if last else None,
        last=tuple(last[-LAST:]),
    )


def plus(one: Tally, other: Tally) -> Tally:
    """The sums over the trials of both; no trial may stand in both."""
    newest = [moment for moment in (one.newest, other.newest) if moment is not None]
    exceptions = dict(one.exceptions)
    for name, times in other.exceptions.items():
        exceptions[name] = exceptions.get(name, 0) + times
    return Tally(
        done=one.done + other.done,
        valid=one.valid + other.valid,
        errored=one.errored + other.errored,
        passed=one.passed + other.passed,
        zeros=one.zeros + other.zeros,
        total=one.total + other.total,
        outside=one.outside or other.outside,
        exceptions=_bounded(exceptions),
        quick=tuple(a + b for a, b in zip(one.quick, other.quick, strict=True)),
        episodes=one.episodes + other.episodes,
        episodes_of=one.episodes_of + other.episodes_of,
        undated=one.undated + other.undated,
        newest=max(newest, default=None),
        last=tuple(sorted((*one.last, *other.last))[-LAST:]),
    )


def instant(found: Tally, seconds: float) -> int:
    """Trials without a token whose agent ran at most `seconds` (60 at most)."""
    return sum(found.quick[: math.floor(seconds) + 1])


def _passed(one: Trial) -> bool:
    return one.valid and one.reward is not None and one.reward > 0


def _tokenless(one: Trial) -> bool:
    """No token came from a model that should have been asked; a trial that passed can not have been without one."""
    return one.has_model and one.output_tokens is None and not _passed(one)


def _bounded(exceptions: dict[str, int]) -> dict[str, int]:
    if len(exceptions) <= MAX_TYPES:
        return exceptions
    ranked = sorted((name for name in exceptions if name != OTHERS), key=lambda name: (-exceptions[name], name))
    kept = {name: exceptions[name] for name in ranked[: MAX_TYPES - 1]}
    return {**kept, OTHERS: sum(exceptions.values()) - sum(kept.values())}


def encode(found: Tally) -> dict[str, Json]:
    """JSON-ready; `decode` gives an equal value back."""
    return {
        "done": found.done,
        "valid": found.valid,
        "errored": found.errored,
        "passed": found.passed,
        "zeros": found.zeros,
        "total": found.total,
        "outside": found.outside,
        "exceptions": dict(found.exceptions),
        "quick": list(found.quick),
        "episodes": found.episodes,
        "episodes_of": found.episodes_of,
        "undated": found.undated,
        "newest": found.newest,
        "last": [[moment, passed] for moment, passed in found.last],
    }


def decode(data: Mapping[str, Json]) -> Tally | None:
    """The value of `encode`; None when the data is of another shape, so that everything is read anew."""
    quick, last = data.get("quick"), data.get("last")
    if not isinstance(quick, list) or len(quick) != QUICK + 1 or not isinstance(last, list):
        return None
    counts = [count(data.get(name)) for name in _COUNTS]
    seconds = [count(one) for one in quick]
    pairs = [_pair(one) for one in last]
    total = number(data.get("total"))
    if total is None or None in counts or None in seconds or None in pairs:
        return None
    done, valid, errored, passed, zeros, episodes, episodes_of, undated = (one or 0 for one in counts)
    return Tally(
        done=done,
        valid=valid,
        errored=errored,
        passed=passed,
        zeros=zeros,
        total=total,
        outside=data.get("outside") is True,
        exceptions={text(name, MAX_NAME): count(times) or 0 for name, times in table(data.get("exceptions")).items()},
        quick=tuple(one or 0 for one in seconds),
        episodes=episodes,
        episodes_of=episodes_of,
        undated=undated,
        newest=number(data.get("newest")),
        last=tuple(pair for pair in pairs if pair is not None),
    )


_COUNTS = ("done", "valid", "errored", "passed", "zeros", "episodes", "episodes_of", "undated")


def _pair(value: Json) -> tuple[float, bool] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    moment = number(value[0])
    return None if moment is None or not isinstance(value[1], bool) else (moment, value[1])
