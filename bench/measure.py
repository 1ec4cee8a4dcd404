"""Measurements in processes of their own, and medians of interleaved repeats of them."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TIMEOUT = 900.0
"""Seconds that one measurement may take."""


class MeasurementError(Exception):
    """Raised when a measurement ended badly; the message ends with what it printed last."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The repeats of one measurement: seconds of wall and of processor, peak memory in MB
    (`child_mb` of the child process, None where it can not be told), what fired."""

    walls: tuple[float, ...]
    cpus: tuple[float, ...]
    peak_mb: float
    child_mb: float | None
    firings: int
    digest: str

    @property
    def wall(self) -> float:
        """Median of the wall clock."""
        return statistics.median(self.walls)

    @property
    def cpu(self) -> float:
        """Median of the processor time."""
        return statistics.median(self.cpus)


def ratio(slow: Sample, fast: Sample) -> float:
    """How many times faster by the wall clock: the median of the ratios of repeats that ran next to each other."""
    return statistics.median(s / f for s, f in zip(slow.walls, fast.walls, strict=True))


def cpu_ratio(slow: Sample, fast: Sample) -> float:
    """The same by processor time."""
    return slow.cpu / fast.cpu if fast.cpu else float("inf")


def interleaved(engines: Sequence[str], count: int, repeats: int) -> Mapping[str, Sample]:
    """Measure engines in turn, so often, so that what else runs on the machine meets all of them."""
    rows: dict[str, list[Mapping[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(repeats):
        for engine in engines:
            rows[engine].append(one(engine, count))
    return {engine: sample(found) for engine, found in rows.items()}


def in_turn(engine: str, counts: Sequence[int], repeats: int) -> list[Sample]:
    """Measure one engine at several sizes in turn, so often."""
    rows = [[one(engine, count) for count in counts] for _ in range(repeats)]
    return [sample(found) for found in zip(*rows, strict=True)]


def one(engine: str, count: int) -> Mapping[str, Any]:
    """One measurement in a process of its own."""
    return json.loads(output([sys.executable, "-m", "bench.one", engine, str(count)]))


def sample(rows: Iterable[Mapping[str, Any]]) -> Sample:
    """Repeats of one measurement; MeasurementError when they did not all fire the same."""
    found = list(rows)
    digests = {row["digest"] for row in found}
    if len(digests) != 1:
        raise MeasurementError(f"repeats of one measurement fired differently: {sorted(digests)}")
    return Sample(
        tuple(row["wall"] for row in found),
        tuple(row["cpu"] for row in found),
        max(row["peak_mb"] for row in found),
        max((row["child_mb"] for row in found if row["child_mb"] is not None), default=None),
        found[0]["firings"],
        digests.pop(),
    )


def output(argv: Sequence[str]) -> str:
    """What a command printed; MeasurementError when it ended badly or took too long."""
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{' '.join(argv[1:])} took over {TIMEOUT:.0f} s") from None
    if ran.returncode != 0:
        raise MeasurementError(f"{' '.join(argv[1:])} ended with {ran.returncode}: {ran.stderr.strip()[-400:]}")
    return ran.stdout


def processor_s() -> float:
    """Seconds of processor time that this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
