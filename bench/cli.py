"""Start-up of the command line against what the interpreter and one import cost anyway."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import MeasurementError
from tests.golden.harness.run import Runner

REPEATS = 11
TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One command against another: the median of the ratios of runs side by side, and both medians in seconds."""

    what: str
    times: float
    slow_s: float
    fast_s: float
    most: float


def help_start() -> Comparison:
    """`--help` against an import of click."""
    click = (sys.executable, "-c", "import click")
    return compare("--help / python -c 'import click'", (*sweeprules(), "--help"), click, 2.0)


def explain_start(runner: Runner, job: str, jobs: int) -> Comparison:
    """`explain` of one job of a store against `--help`; the runner's store is the one that it explains from."""
    asked = (*sweeprules(), "explain", job, "--site", str(runner.world.site), "--state", str(runner.state))
    return compare(f"explain from a store of {jobs:,} jobs / --help", asked, (*sweeprules(), "--help"), 3.0)


def sweeprules() -> tuple[str, ...]:
    """The installed command, as a user starts it."""
    script = Path(sys.executable).with_name("sweeprules")
    if not script.exists():
        raise MeasurementError(f"{script.name} is not installed beside {sys.executable}")
    return (str(script),)


def compare(what: str, slow: Sequence[str], fast: Sequence[str], most: float) -> Comparison:
    """Run two commands in turn, the first of each uncounted so that both are warm."""
    timed(slow)
    timed(fast)
    pairs = [(timed(slow), timed(fast)) for _ in range(REPEATS)]
    return Comparison(
        what,
        statistics.median(s / f for s, f in pairs),
        statistics.median(s for s, _ in pairs),
        statistics.median(f for _, f in pairs),
        most,
    )


def timed(argv: Sequence[str]) -> float:
    """Seconds that one command takes; MeasurementError unless it ends well."""
    started = time.perf_counter()
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{argv[0]} took over {TIMEOUT:.0f} s") from None
    took = time.perf_counter() - started
    if ran.returncode != 0:
        raise MeasurementError(f"{' '.join(argv)} ended with {ran.returncode}: {ran.stderr.strip()[-300:]}")
    return took
