"""A backtest against reading the same cassettes once.

Reading once is what nobody can do without: open each cassette, unpack it, check every line and make its observations.
The backtest compares the recorded policy with one in which a threshold differs. `first` makes the worlds of all
cassettes, `again` finds them where the first left them, as each later backtest does.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import MeasurementError
from bench.sweeps import swept
from sweeprules.cli.rule_sets import RuleSet
from sweeprules.cli.trial import try_all
from sweeprules.store.cassette import read_cassette
from sweeprules.store.worlds import Worlds

RUNNING, PENDING, SWEEPS, REPEATS = 200, 200, 2, 5
MONTH = 60
"""Cassettes of a later backtest, the same ones again and again; a month of 8 sweeps a day has 240."""
LINES = 100
"""Lines that each log gained before a sweep, one in five of them a training step: about 10 KB."""
TRIED = 'policy: 1\ntitle: Tried\nparams:\n  grace: {default: 20m, why: "another threshold"}\n'


@dataclass(frozen=True, slots=True)
class Backtest:
    """Processor seconds a cassette: of reading it, of a first backtest and of a later one; the least of the repeats."""

    jobs: int
    read: float
    first: float
    again: float


def measure() -> Backtest:
    """Sweep a faked cluster, and backtest what was kept."""
    with swept(RUNNING, PENDING, SWEEPS, written) as (runner, sweep):
        paths = sorted((runner.state / "cassettes").iterdir())
        rules, kept = runner.state.parent / "tried", runner.state.parent / "worlds"
        rules.mkdir()
        (rules / "tried.yaml").write_text(TRIED)
        old, new = RuleSet(None), RuleSet(rules)

        many = paths * (MONTH // len(paths))

        def backtest(chosen: list[Path]) -> None:
            if try_all(old, new, chosen, Worlds(kept)).failed:
                raise MeasurementError("a cassette could not be judged")

        def afresh() -> None:
            shutil.rmtree(kept, ignore_errors=True)
            backtest(paths)

        # Once uncounted: imports, the compiled policies and the hash of the code are no part of a cassette's cost.
        backtest(paths)
        read = _least(lambda: _read(paths), len(paths), REPEATS)
        first = _least(afresh, len(paths), REPEATS)
        again = _least(lambda: backtest(many), len(many), 2)
        return Backtest(sweep.jobs, read, first, again)


def written(job: int, sweep: int) -> list[str]:
    """The lines of one log up to a sweep."""
    rng = random.Random(job)
    return [_line(rng, job, number) for number in range(LINES * (sweep + 1))]


def _line(rng: random.Random, job: int, number: int) -> str:
    if number % 5:
        took, tokens = rng.random() * 100, rng.randrange(9999)
        return f"(RayTrainer pid={1000 + job}) rollout {number} took {took:.2f}s, {tokens} tokens"
    numbers = f"'policy/raw_grad_norm': {rng.random():.4f}, 'policy/policy_entropy': {rng.random():.4f}"
    return (
        f"2026-07-11 10:{number // 60 % 60:02d}:{number % 60:02d} Training Step Progress: {number}/9000 {{{numbers}}}"
    )


def _read(paths: list[Path]) -> None:
    for path in paths:
        read_cassette(path)


def _least(work: Callable[[], None], count: int, repeats: int) -> float:
    found = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        found.append((time.process_time() - started) / count)
    return min(found)
