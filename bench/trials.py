"""Results of 20,000 trials, as a sweep reads them at first sight, against a bare `json.load` of each file.

`python -m bench.trials WAY FOLDER` is one measurement and prints what it took. The sweep's way is whole: names listed,
files read through `xargs head`, told apart, read into trials, summed up and remembered. The bare loop opens each path,
which it is given. A second row leaves the tools out: bytes in memory to sums.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure import MeasurementError, output, processor_s
from sweeprules.collectors.trials import ask
from sweeprules.collectors.trials.memo import encode
from sweeprules.collectors.trials.results import Trial, read_trial
from sweeprules.collectors.trials.rounds import trials
from sweeprules.collectors.trials.steps import run
from sweeprules.collectors.trials.tally import tally
from tests.collectors.trials.harbor import FakeTrial, dump
from tests.collectors.trials.shell import NONCE, Login

FILES = 20_000
REPEATS = 3
LONG_FRAME = '  File "/opt/env/lib/python3.12/site-packages/harbor/trial/trial.py", line 789, in _run_agent_phase\n'


def make(root: Path, files: int) -> None:
    """Results of about 4 KiB each, like real ones, a fourth with a traceback."""
    for at in range(files):
        failed = at % 4 == 0
        trial = FakeTrial(
            task=f"task-{at % 300}",
            id=f"{at:07d}",
            reward=None if at % 8 == 0 else float(at % 2),
            exception="AgentTimeoutError" if failed else None,
            extra={
                "pad": {f"setting_{number}": None for number in range(60)},
                "log": LONG_FRAME * (30 if failed else 0),
            },
        )
        (root / trial.name).mkdir(parents=True)
        (root / trial.name / "result.json").write_bytes(dump(trial.result()))


def bare(paths: Sequence[Path]) -> int:
    """`json.load` of every file, nothing more."""
    done = 0
    for path in paths:
        with path.open(encoding="utf-8") as file:
            done += "trial_name" in json.load(file)
    return done


def sweep(root: Path) -> int:
    """A first sweep with the real tools; all of it has to fit into one."""
    ask.BUDGET = 256 * ask.MIB
    found, _ = run(Login().ask, {0: trials([str(root)], {}, NONCE)})
    reading = found[0][str(root)]
    if reading.doubt is not None:
        raise MeasurementError(f"the sweep has not read every result: {reading.doubt}")
    for memo in reading.memos.values():
        json.dumps(encode(memo))
    return reading.sums.done


def readers(paths: Sequence[Path]) -> int:
    """Bytes to sums, the files read as the bare loop reads them."""
    found = []
    for path in paths:
        one = read_trial(path.read_bytes())
        if isinstance(one, Trial):
            found.append(one)
    return tally(found).done


OVER_PATHS: Mapping[str, Callable[[Sequence[Path]], int]] = {"bare": bare, "readers": readers}
"""The ways that are given the paths; finding them is no part of what is measured."""
WAYS = ("bare", "sweep", "readers")


def once(way: str, root: Path) -> dict[str, Any]:
    """One measurement in this process: seconds of wall and processor, children counted, and peak memory in MB."""
    work = partial(OVER_PATHS[way], list(root.glob("*/result.json"))) if way in OVER_PATHS else partial(sweep, root)
    before, begin = processor_s(), time.perf_counter()
    done = work()
    wall, cpu = time.perf_counter() - begin, processor_s() - before
    return {"done": done, "wall": wall, "cpu": cpu, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10}


@dataclass(frozen=True, slots=True)
class Cost:
    """A way against the bare loop: ratios of wall clock and of processor time, and its peak memory in MB."""

    way: str
    wall: float
    cpu: float
    peak_mb: float


def measure(files: int = FILES) -> list[Cost]:
    """The sweep and the readers, run in turn with the bare loop, each in a process of its own."""
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="sweeprules-bench-trials-") as folder:
        root = Path(folder) / "job"
        make(root, files)
        for _ in range(REPEATS):
            for way, rows in found.items():
                row = json.loads(output([sys.executable, "-m", "bench.trials", way, str(root)]))
                if row["done"] != files:
                    raise MeasurementError(f"{way} counted {row['done']} of {files} trials")
                rows.append(row)
    return [_cost(way, found[way], found["bare"]) for way in ("sweep", "readers")]


def _cost(way: str, rows: list[dict[str, Any]], bare_rows: list[dict[str, Any]]) -> Cost:
    wall, cpu = (
        statistics.median(a[name] / b[name] for a, b in zip(rows, bare_rows, strict=True)) for name in ("wall", "cpu")
    )
    return Cost(way, wall, cpu, max(row["mb"] for row in rows))


def main() -> int:
    """One measurement."""
    print(json.dumps(once(sys.argv[1], Path(sys.argv[2]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
