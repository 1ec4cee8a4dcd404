"""How much time usually passes between two signs of progress: learned from a job's own, else from earlier jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from sweeprules.collectors.gaps import STEADY, SWEPT, CadenceMemo, Gaps, Signs, learn
from sweeprules.engine.facts import NOT_APPLICABLE, FactValue, Reason, Unknown

_OTHER_WORK = "of another phase of the work"
_BULK = "of the bulk of the results, and the last ones may end by their timeouts"
KEYS = 512
"""Kinds of jobs of which gaps are kept: bucket, size, cluster and phase."""
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:[.p]\d{1,2})?)[bB](?![A-Za-z0-9])")
NAMES = ("cadence", "cadence_source", "cadence_gaps", "cadence_basis")
"""The facts of a cadence."""
NOT_JUDGED: Mapping[str, FactValue] = MappingProxyType(dict.fromkeys(NAMES, NOT_APPLICABLE))
"""The facts of a job that is not judged by its output."""


@dataclass(frozen=True, slots=True)
class Params:
    """What the policy says of cadence, for one job. `default` is in seconds, or unknown where it can not be told.

    `least` is how many gaps tell a cadence, `spread` how many medians long a gap may be before it is a standstill,
    `floor` and `ceiling` bound the result in seconds. `tail` is the share of results at the end of an evaluation in
    which the gaps of its bulk count for nothing. A marker stands still once `sweeps` complete sweeps saw it so for more
    than `wedge_floor` seconds and `wedge_factor` cadences.
    """

    default: FactValue
    least: int = 10
    spread: float = 10.0
    floor: float = 1.0
    ceiling: float = 6 * 3600.0
    tail: float = 0.2
    wedge_floor: float = 7200.0
    wedge_factor: float = 5.0
    sweeps: int = 2


def cadence_facts(
    signs: Signs,
    phase: str,
    memo: CadenceMemo | None,
    history: Mapping[str, Gaps],
    key: str,
    params: Params,
    *,
    remaining: float | None = None,
) -> tuple[dict[str, FactValue], CadenceMemo]:
    """`cadence` (seconds), `cadence_source`, `cadence_gaps` and `cadence_basis` of a job, and what the next sweep
    starts from.

    A cadence is the 99th percentile of the gaps between two signs of progress within one phase, once there are enough:
    of the job itself (`learned`), else of earlier jobs of its kind (`history`, by `history_key`), else the policy's
    `default`. Of several streams of signs the slowest counts, since a bar that fills between two steps says nothing of
    the step's own length. In a phase of which nothing was learned, and near the end of an evaluation (`remaining`, the
    share of results still to come), the cadence is never shorter than the default; nor is a default than the few gaps
    that were seen.
    """
    after = learn(memo, signs)
    careful = _OTHER_WORK if _strange(phase) else ""
    if remaining is not None and remaining <= params.tail:
        careful = _BULK
    own = _own(after, phase, params)
    if own is not None:
        return _judged(*own, "learned", params, careful=careful), after
    kept = history.get(f"{key} {phase_of(phase)}", Gaps())
    found = worth(kept.newest, params)
    if found is not None:
        return _judged(*found, "history", params, careful=careful), after
    steady = _own(after, STEADY, params) if phase_of(phase) != STEADY else None
    if steady is not None:
        return _judged(*steady, "learned", params, careful=_OTHER_WORK), after
    return _default(params, _seen(after, phase_of(phase), params)), after


def _judged(seconds: float, gaps: int, source: str, params: Params, *, careful: str) -> dict[str, FactValue]:
    """What gaps tell; where they tell it of other work, which is what `careful` says, the default when it is longer."""
    default = params.default
    if careful and isinstance(default, int | float) and default > seconds:
        whose = "its own" if source == "learned" else "earlier jobs'"
        return _said(default, "default", gaps, f"the default; {whose} {_gaps(gaps)} are {careful}")
    whose = "" if source == "learned" else " of earlier jobs of its kind"
    return _said(seconds, source, gaps, f"p99 of {_gaps(gaps)}{whose}")


def _default(params: Params, seen: tuple[float, int]) -> dict[str, FactValue]:
    """The policy's default; where the few gaps that were seen are longer, it is known to be too short: they count."""
    longest, gaps = seen
    default = params.default
    if isinstance(default, Unknown):
        return {**dict.fromkeys(NAMES, default), "cadence_gaps": gaps}
    if isinstance(default, int | float) and longest > default:
        return _said(longest, "default", gaps, f"the median of {_gaps(gaps)}; the default is shorter")
    return _said(default, "default", gaps, f"the default; {_gaps(gaps)} seen" if gaps else "the default")


def _said(seconds: FactValue, source: str, gaps: int, basis: str) -> dict[str, FactValue]:
    return dict(zip(NAMES, (seconds, source, gaps, basis), strict=True))


def _gaps(count: int) -> str:
    return f"{count} gap" if count == 1 else f"{count} gaps"


def phase_of(phase: str) -> str:
    """The phase whose gaps tell of this one: only steady work, saving and evaluation repeat."""
    return phase if phase in ("checkpoint", "eval") else STEADY


def _strange(phase: str) -> bool:
    """True for a phase that comes once, of which steady work tells nothing."""
    return phase not in ("", STEADY, "checkpoint", "eval")


def worth(gaps: Sequence[float], params: Params) -> tuple[float, int] | None:
    """The 99th percentile (nearest rank) and of how many gaps; None when they are too few.

    A gap of more than `spread` medians is a standstill that ended, and no part of the cadence.
    """
    if len(gaps) < params.least:
        return None
    longest = params.spread * max(median(gaps), params.floor)
    kept = sorted(gap for gap in gaps if gap <= longest)
    if len(kept) < params.least:
        return None
    rank = max(0, math.ceil(0.99 * len(kept)) - 1)
    return min(max(kept[rank], params.floor), params.ceiling), len(kept)


def _own(memo: CadenceMemo, phase: str, params: Params) -> tuple[float, int] | None:
    of = phase_of(phase)
    kinds = ((of, name) for name in (_slowest(memo, of), SWEPT) if name is not None)
    return next((found for kind in kinds if (found := worth(memo.gaps.get(kind, Gaps()).newest, params))), None)


def _slowest(memo: CadenceMemo, phase: str) -> str | None:
    """The stream of printed signs with the longest gaps; one of steady work that has none yet is the slowest of all."""
    streams = {*memo.lasts, *(name for of, name in memo.gaps if of == phase)} - {SWEPT}

    def length(name: str) -> tuple[float, str]:
        gaps = memo.gaps.get((phase, name), Gaps()).newest
        return (median(gaps) if gaps else math.inf), name

    there = streams if phase == STEADY else {name for name in streams if (phase, name) in memo.gaps}
    return max(there, key=length, default=None)


def _seen(memo: CadenceMemo, phase: str, params: Params) -> tuple[float, int]:
    """The median of the slowest stream's gaps, too few to tell a cadence, and how many they are."""
    found = [gaps.newest for (of, _), gaps in memo.gaps.items() if of == phase and gaps.newest]
    slow = max(found, key=median, default=())
    return (min(median(slow), params.ceiling), len(slow)) if slow else (0.0, 0)


# ---------------------------------------------------------------- over jobs


def model_size(*names: FactValue | None) -> str:
    """How many parameters a model has by its name, as `8b` or `1.5b`: the first name that tells; else `?`."""
    for name in names:
        found = _SIZE.search(re.sub(r"[-_/]", " ", name)) if isinstance(name, str) else None
        if found is not None:
            return f"{float(found[1].replace('p', '.')):g}b"
    return "?"


def history_key(bucket: str, size: str, cluster: str) -> str:
    """The kind of a job for what is remembered over jobs."""
    return f"{bucket} {size} {cluster}"


def history_after(
    history: Mapping[str, Gaps], learned: Iterable[tuple[str, CadenceMemo | None, CadenceMemo]]
) -> dict[str, Gaps]:
    """The history with what a sweep learned anew: of each job its kind, the memo it was learned on, and the new one.

    Of a job whose lines tell no time the gaps between sweeps count, of any other those of its slowest stream.
    """
    after = dict(history)
    for key, before, now in learned:
        for phase in sorted({phase for phase, _ in now.gaps}):
            new = _new(phase, before, now)
            if new:
                name = f"{key} {phase}"
                # The newest stand last: they are the ones to stay when there are too many.
                after[name] = after.pop(name, Gaps()).extended(new)
    return dict(list(after.items())[-KEYS:])


def _new(phase: str, before: CadenceMemo | None, now: CadenceMemo) -> tuple[float, ...]:
    slow = _slowest(now, phase)
    kind = (phase, slow) if slow is not None and (phase, slow) in now.gaps else (phase, SWEPT)
    gaps = now.gaps.get(kind, Gaps())
    known = before.gaps.get(kind, Gaps()).count if before is not None else 0
    fresh = min(gaps.count - known, len(gaps.newest))
    return gaps.newest[len(gaps.newest) - fresh :] if fresh > 0 else ()


def remaining_share(facts: Mapping[str, FactValue]) -> float | None:
    """The share of results that an evaluation still has to give; None where that can not be told."""
    pairs = (("trials_done", "trials_planned"), ("lines.trial-mean.n", "lines.trial-mean.m"))
    for done, planned in pairs:
        n, m = facts.get(done), facts.get(planned)
        if isinstance(n, int) and isinstance(m, int) and m > 0:
            return max(0.0, 1 - n / m)
    return None


def unread(why: Unknown | None = None) -> dict[str, FactValue]:
    """The facts of a job whose bucket is not known."""
    said: FactValue = why or Unknown(Reason.NOT_READ, "the bucket is unknown")
    return dict.fromkeys(NAMES, said)
