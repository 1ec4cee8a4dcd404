"""Whole sweeps of faked clusters: how often a login is called on, and a store to explain from.

The clusters are those of the golden scenarios: a fake ssh notes every connection and hands the command to a shell in
which squeue, sacct and scontrol are fakes too. The logs are real files.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import MeasurementError
from tests.golden.harness import run as harness
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import DEFAULT_NOW, Scenario, Step, moment

CLUSTER = "bench"
# The fakes are scripts that print thousands of jobs, and this machine may be busy.
harness.PATIENCE = 900.0
NAMES = ("rl__a2-8B-{0}", "sft_b-{0}", "datagen_c-{0}", "eval_d-{0}")
FIRST_ID = 100_001
Written = Callable[[int, int], list[str]]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Connections to the login (`ssh` calls) of each sweep, and the mean of their seconds."""

    jobs: int
    connections: tuple[int, ...]
    seconds: float


def progress(job: int, sweep: int) -> list[str]:
    """The least that a log says: one progress line a sweep."""
    return [f"Training Step Progress: {job}/9000"] * (1 + min(sweep, 1))


@contextmanager
def swept(
    running: int, pending: int = 0, sweeps: int = 1, written: Written = progress
) -> Iterator[tuple[Runner, Sweep]]:
    """Sweep a cluster of running jobs, each with a log, and pending ones; the runner's store holds the sweeps.

    `written` gives the lines of a job's log (by its number) up to a sweep (counted from 0).
    """
    with tempfile.TemporaryDirectory(prefix="sweeprules-bench-") as folder:
        steps = tuple(_step(running, pending, number, written) for number in range(sweeps))
        runner = Runner(Scenario(f"bench-{running}", "", moment(DEFAULT_NOW), steps), Path(folder))
        started = time.perf_counter()
        connections = [_connections(runner, step, running + pending) for step in steps]
        seconds = (time.perf_counter() - started) / sweeps
        yield runner, Sweep(running + pending, tuple(connections), seconds)


def _step(running: int, pending: int, sweep: int, written: Written) -> Step:
    jobs: dict[str, Any] = {}
    for i in range(running):
        name = NAMES[i % len(NAMES)].format(i)
        jobs[str(FIRST_ID + i)] = {
            "name": name,
            "started": "-5h",
            "workdir": f"w{i % 50}",
            "log": {"age": "2m", "lines": written(i, sweep)},
        }
    for i in range(running, running + pending):
        jobs[str(FIRST_ID + i)] = {"name": NAMES[i % len(NAMES)].format(i), "state": "PENDING", "workdir": "queued"}
    clusters = {CLUSTER: {"logins": {"login01": {}}, "jobs": jobs}}
    return Step(3 * 3600.0 * sweep, clusters, site={}, rules={}, run=("--engine", "native"), expect={})


def _connections(runner: Runner, step: Step, count: int) -> int:
    seen = runner.sweep(step)
    if seen.sweep.exit not in (0, 1) or len(seen.document.get("jobs", ())) != count:
        last = seen.sweep.stderr.strip()[-300:]
        raise MeasurementError(f"a sweep of {count} jobs ended with {seen.sweep.exit}: {last}")
    return sum(call["argv"] == ["ssh"] for call in seen.calls)
