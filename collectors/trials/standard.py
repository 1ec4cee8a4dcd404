"""Results of standard evaluations: lm-eval's and evalchemy's `results_*.json`, one directory a seed."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import parse_object, text
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

MAX_SCORES = 500
_RESULTS = re.compile(r"results(?:_.*)?\.json", re.DOTALL)
_SEED = re.compile(r"seed[_-]?(\d{1,9})", re.IGNORECASE)
_NO_SCORE = re.compile(
    r"(?:.*(?:std|stderr|std_err|stdev)(?:,.*)?|alias|name|sample_len|samples|n|n-samples|num_.*|total.*|date|seed|"
    r"version|effective|original|.*(?:_seconds|_time|_tokens|_count|_repeat))",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Results:
    """One results file.

    `scores` are the finite numbers by task and metric as printed (`exact_match,strict-match`, `accuracy_avg`), 0 to 1
    or whatever the metric's own unit is. `tasks` are all tasks with an entry; `nan` those metrics that are no number
    because they are NaN or infinite.
    """

    scores: Mapping[tuple[str, str], float]
    tasks: tuple[str, ...]
    nan: tuple[tuple[str, str], ...] = ()


def read_results(data: bytes) -> Results | Unknown:
    """One results file; `malformed` while it is written, and for a file without `results`. Never raises."""
    found = parse_object(data)
    if isinstance(found, Unknown):
        return found
    results = found.get("results")
    if not isinstance(results, dict):
        return Unknown(Reason.MALFORMED, "this is no results file: it has no results")
    scores: dict[tuple[str, str], float] = {}
    nan: list[tuple[str, str]] = []
    for task, entry in results.items():
        for metric, value in _metrics(entry):
            key = (text(task), metric)
            if not math.isfinite(value):
                nan.append(key)
            elif len(scores) < MAX_SCORES:
                scores[key] = value
    tasks = tuple(dict.fromkeys(text(task) for task in results))
    return Results(MappingProxyType(scores), tasks[:MAX_SCORES], tuple(nan[:MAX_SCORES]))


def _metrics(entry: Json) -> Iterable[tuple[str, float]]:
    """The numbers that are scores: no spreads, sizes, dates or durations. A bare number is a score without a name."""
    if isinstance(entry, int | float) and not isinstance(entry, bool):
        yield "", _float(entry)
    if isinstance(entry, dict):
        for name, value in entry.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and not _NO_SCORE.fullmatch(name):
                yield text(name), _float(value)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_results(name: str) -> bool:
    """True for `results.json` and `results_TIME.json`, also as the last part of a path."""
    return _RESULTS.fullmatch(name.rpartition("/")[2]) is not None


def seed_of(path: str) -> int | None:
    """The seed whose directory a path leads through (`seed42/...`); None for none."""
    found = [match for part in path.split("/") if (match := _SEED.fullmatch(part)) is not None]
    return int(found[-1][1]) if found else None


def newest(paths: Iterable[str]) -> tuple[str, ...]:
    """Of the results files of each directory the newest by the time in its name."""
    best: dict[str, str] = {}
    for path in paths:
        folder = path.rpartition("/")[0]
        if is_results(path):
            best[folder] = max(best.get(folder, ""), path)
    return tuple(sorted(best.values()))


# ---------------------------------------------------------------- the suite


@dataclass(frozen=True, slots=True)
class Suite:
    """What a standard evaluation is to bring (domain page 5.7): a task at the first seed, one over all, one apart."""

    seeds: tuple[int, ...] = tuple(range(42, 52))
    first: str = "MATH500"
    seeded: str = "AIME24"
    apart: str = "gsm8k"


SUITE = Suite()


@dataclass(frozen=True, slots=True)
class Standard:
    """A run's results over its files.

    `scores` holds one number a task, as a fraction, and the task's metric after it where it prints several
    (`gsm8k exact_match,strict-match`). `spread` is the sample standard deviation of a task over its seeds, where there
    are two or more. `missing` are the parts of the suite without a finite score, in the order in which they are made.
    """

    facts: Mapping[str, FactValue]
    scores: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def standard_facts(files: Mapping[str, Results | Unknown], suite: Suite | None = SUITE) -> Standard:
    """`scores`, `seeds_found`, `stage` and `results_nonempty` from the results files of one run, by path.

    One file that could not be read makes the scores unknown; an empty `files` says that a whole listing found none.
    `suite` None: any lm-eval run, which has no seeds and names no stage.
    """
    broken = next((one for one in files.values() if isinstance(one, Unknown)), None)
    read = {path: one for path, one in files.items() if isinstance(one, Results)}
    scores, spread = _gathered(read)
    missing = _missing(read, suite) if suite else ()
    facts: dict[str, FactValue] = {
        "results_nonempty": _nonempty(read, files, broken),
        "scores": broken or _scores(scores, read),
        "seeds_found": _seeds(read, broken) if suite else ABSENT,
        "stage": (broken or (missing[0] if missing else "complete")) if suite else ABSENT,
    }
    return Standard(MappingProxyType(facts), MappingProxyType(scores), MappingProxyType(spread), missing)


def _nonempty(read: Mapping[str, Results], files: Mapping[str, Results | Unknown], broken: Unknown | None) -> FactValue:
    """One score is enough; that there is none is known only where every file was read."""
    if any(one.scores for one in read.values()):
        return True
    return broken if broken is not None else (False if files else ABSENT)


def _scores(scores: Mapping[str, float], read: Mapping[str, Results]) -> FactValue:
    if any(one.nan for one in read.values()):
        task, metric = next(one.nan[0] for one in read.values() if one.nan)
        return Unknown(Reason.NAN, f"{task} {metric} is not a number".replace("  ", " "))
    return MappingProxyType(dict(scores)) if scores else ABSENT


def _seeds(read: Mapping[str, Results], broken: Unknown | None) -> FactValue:
    if broken is not None:
        return broken
    return len({seed for path, one in read.items() if one.scores and (seed := seed_of(path)) is not None})


def _gathered(read: Mapping[str, Results]) -> tuple[dict[str, float], dict[str, float]]:
    """Each score's mean over the seeds that have it, and its sample deviation; a file without a seed stands alone."""
    values: dict[tuple[str, str], dict[int | None, float]] = {}
    for path in sorted(read):
        for key, value in read[path].scores.items():
            values.setdefault(key, {})[seed_of(path)] = value
    metrics: dict[str, set[str]] = {}
    for task, metric in values:
        metrics.setdefault(task, set()).add(metric)
    scores: dict[str, float] = {}
    spread: dict[str, float] = {}
    for (task, metric), by_seed in sorted(values.items()):
        name = task if len(metrics[task]) == 1 else f"{task} {metric}"
        scores[name] = statistics.fmean(by_seed.values())
        if len(by_seed) > 1:
            spread[name] = statistics.stdev(by_seed.values())
    return scores, spread


def _missing(read: Mapping[str, Results], suite: Suite) -> tuple[str, ...]:
    def has(task: str, seed: int | None) -> bool:
        return any(
            key[0] == task for path, one in read.items() if seed is None or seed_of(path) == seed for key in one.scores
        )

    parts: list[str] = []
    if not has(suite.first, suite.seeds[0]):
        parts.append(f"{suite.first} seed{suite.seeds[0]}")
    found = sum(has(suite.seeded, seed) for seed in suite.seeds)
    if found < len(suite.seeds):
        parts.append(f"{suite.seeded} seeds {found}/{len(suite.seeds)}")
    if not has(suite.apart, None):
        parts.append(suite.apart)
    return tuple(parts)


def results_paths(root: str, listed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The newest results file of each directory, from the names of every directory that was listed under `root`."""
    paths = (f"{folder}/{name}" for folder, names in listed.items() if folder.startswith(root) for name in names)
    return newest(paths)
