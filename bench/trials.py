"""Results of 20,000 trials, as a sweep reads them at first sight, against a bare `json.load` of each file.

`python -m bench.trials [--files N]` makes the files, then runs both in turn, each in a process of its own. The sweep's
way is whole: names listed, files read through `xargs head`, told apart, read into trials, summed up and remembered. The
bare loop opens each path, which it is given. A second row leaves the tools out: bytes in memory to sums.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


def bare(root: Path) -> int:
    """`json.load` of every file, nothing more."""
    done = 0
    for name in os.listdir(root):  # noqa: PTH208  the barest way there is
        with open(f"{root}/{name}/result.json", encoding="utf-8") as file:  # noqa: PTH123
            done += "trial_name" in json.load(file)
    return done


def sweep(root: Path) -> int:
    """A first sweep with the real tools; all of it has to fit into one."""
    ask.BUDGET = 256 * ask.MIB
    found, _ = run(Login().ask, {0: trials([str(root)], {}, NONCE)})
    reading = found[0][str(root)]
    kept = sum(len(json.dumps(encode(memo))) for memo in reading.memos.values())
    print(json.dumps({"doubt": str(reading.doubt), "kept": kept}), file=sys.stderr)
    return reading.sums.done


def readers(root: Path) -> int:
    """Bytes to sums, the files read as the bare loop reads them."""
    found = []
    for name in os.listdir(root):  # noqa: PTH208
        with open(f"{root}/{name}/result.json", "rb") as file:  # noqa: PTH123
            one = read_trial(file.read())
        if isinstance(one, Trial):
            found.append(one)
    return tally(found).done


WAYS: Mapping[str, Callable[[Path], int]] = {"bare": bare, "sweep": sweep, "readers": readers}


def once(way: str, root: Path) -> dict[str, Any]:
    """One measurement in this process: seconds of wall and processor, children counted, and peak memory in MB."""
    begin = time.perf_counter()
    done = WAYS[way](root)
    wall = time.perf_counter() - begin
    own, tools = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + tools.ru_utime + tools.ru_stime
    return {"done": done, "wall": wall, "cpu": cpu, "mb": own.ru_maxrss / 2**10}


def measured(files: int) -> dict[str, list[dict[str, Any]]]:
    """Repeats of each way, in turn."""
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="sweeprules-bench-trials-") as folder:
        make(Path(folder) / "job", files)
        for _ in range(REPEATS):
            for way, rows in found.items():
                command = [sys.executable, "-m", "bench.trials", "--way", way, "--root", f"{folder}/job"]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
                row = json.loads(ended.stdout)
                if row["done"] != files:
                    raise SystemExit(f"{way} counted {row['done']} of {files} trials: {ended.stderr}")
                rows.append(row)
    return found


def main() -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.trials", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--way", choices=tuple(WAYS))
    parser.add_argument("--root", type=Path)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(once(options.way, options.root)))
        return 0
    found = measured(options.files)
    for way in ("sweep", "readers"):
        ratios = {
            name: statistics.median(a[name] / b[name] for a, b in zip(found[way], found["bare"], strict=True))
            for name in ("wall", "cpu")
        }
        peak = max(row["mb"] for row in found[way])
        print(
            f"{options.files} trial results: {way} / bare json.load  "
            f"{ratios['wall']:.2f} x wall, {ratios['cpu']:.2f} x processor; {peak:.0f} MB at most"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
