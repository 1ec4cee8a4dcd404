"""What the second stage asks of the results of jobs: trials, suites and the logs beside, in one go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from types import MappingProxyType
from typing import Any

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import table
from sweeprules.collectors.trials.memo import TrialsMemo, decode
from sweeprules.collectors.trials.places import Place, Wanted, beside, directories, is_own
from sweeprules.collectors.trials.rounds import Reading, trials
from sweeprules.collectors.trials.sidelogs import Found, sidelogs
from sweeprules.collectors.trials.steps import Steps, side_by_side
from sweeprules.collectors.trials.suites import Files, suites
from sweeprules.engine.facts import Unknown

MOST_DIRECTORIES = 600
"""Directories that are looked into for trials in one sweep of a cluster, and as many for the logs beside them."""
MOST_SUITES = 200
"""Directories that are looked into for standard evaluations in one sweep of a cluster."""


@dataclass(frozen=True, slots=True)
class Results:
    """What one second stage read of the results of jobs.

    `wanted`, `places` and `beside` are by job id, `readings` and `suites` by directory. A job that is wanted and has no
    places was left for want of room.
    """

    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)
    suites: Mapping[str, Files | Unknown] = field(default_factory=dict)
    beside: Mapping[str, Found] = field(default_factory=dict)


_Update = Callable[[Results], Results]


def read_results(
    wanted: Sequence[Wanted],
    kept: Mapping[str, Mapping[str, Json]],
    nonce: str,
    marks: tuple[str, str],
    zone: tzinfo = UTC,
) -> Steps[Results]:
    """The results of the wanted jobs, in four rounds at most.

    `kept` is by job id what earlier sweeps left (`facts.Made.memo`); `marks` are the separators of `stat` records,
    `nonce` the sweep's random word, `zone` that of times without an offset.
    """
    of_trials = [one for one in wanted if one.kind == "trials"]
    places = dict(directories(of_trials, MOST_DIRECTORIES))
    places |= directories([one for one in wanted if one.kind == "suite"], MOST_SUITES)
    start = Results(wanted=MappingProxyType({one.job_id: one for one in wanted}), places=MappingProxyType(places))
    readers: dict[str, Steps[_Update]] = {
        "trials": _trials(start, kept, nonce, zone),
        "suites": _suites(start, nonce),
        "beside": _beside(start, kept, marks),
    }
    updates = yield from side_by_side(readers)
    for name in sorted(updates):
        start = updates[name](start)
    return start


def _trials(start: Results, kept: Mapping[str, Mapping[str, Json]], nonce: str, zone: tzinfo) -> Steps[_Update]:
    paths = _paths(start, "trials")
    memos: dict[str, TrialsMemo] = {}
    for left in kept.values():
        memos |= {path: decode(table(memo)) for path, memo in table(left.get("trials")).items()}
    found = yield from trials(paths, memos, nonce, zone)
    return lambda results: replace(results, readings=found)


def _suites(start: Results, nonce: str) -> Steps[_Update]:
    found = yield from suites(_paths(start, "suite"), nonce)
    return lambda results: replace(results, suites=found)


def _beside(start: Results, kept: Mapping[str, Mapping[str, Json]], marks: tuple[str, str]) -> Steps[_Update]:
    """The logs beside those of jobs that serve a model for their own trials."""
    asked = {
        job_id: beside(one, start.places.get(job_id, ()))
        for job_id, one in start.wanted.items()
        if one.kind == "trials" and one.bucket != "rl"
    }
    left = MOST_DIRECTORIES
    taken: dict[str, tuple[str, ...]] = {}
    for job_id, paths in asked.items():
        if len(paths) <= left:
            taken[job_id] = paths
            left -= len(paths)
    memos: dict[str, Mapping[str, Any]] = {}
    for memo in kept.values():
        memos |= {path: table(one) for path, one in table(memo.get("beside")).items()}
    wanted = start.wanted
    found = yield from sidelogs(taken, memos, *marks, lambda job_id, folder, name: is_own(wanted[job_id], folder, name))
    return lambda results: replace(results, beside=found)


def _paths(start: Results, kind: str) -> tuple[str, ...]:
    found = (
        place.path for job_id, places in start.places.items() if start.wanted[job_id].kind == kind for place in places
    )
    return tuple(dict.fromkeys(found))
