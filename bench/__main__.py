"""`make bench`: how fast and how big, as ratios of measurements that ran side by side. Options: `--quick`, `--part`."""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import backtests, cli, latency, logs, trials
from bench.measure import MeasurementError, Sample, cpu_ratio, in_turn, interleaved, ratio
from bench.sweeps import FIRST_ID, swept

STORED = 5_000
"""Jobs of the store that `explain` is measured on."""
SIZES = (1_000, 10_000, 100_000)
TURNS = ("native", "clips", "checked", "plain-durable", "durable", "verdicts")
"""Engines in the order in which they take turns: those that are compared stand side by side."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was compared, what came out, and what the budget asks for (empty: nothing)."""

    what: str
    measured: str
    budget: str
    met: bool | None


PARTS = ("engine", "cli", "sweep", "backtest", "logs", "trials")


def main() -> int:
    """Print the table; 1 when a budget is missed, 2 when something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out 100,000 jobs")
    parser.add_argument("--part", choices=PARTS, help="only these rows")
    options = parser.parse_args()
    print(_machine(), flush=True)
    missed = failed = False
    parts = {
        "engine": engine_rows(options.quick),
        "cli": cli_rows(),
        "sweep": sweep_rows(options.quick),
        "backtest": backtest_rows(),
        "logs": log_rows(options.quick),
        "trials": trial_rows(options.quick),
    }
    for name, rows in parts.items():
        if options.part not in (None, name):
            continue
        try:
            for row in rows:
                print(_line(row), flush=True)
                missed |= row.met is False
        except MeasurementError as error:
            print(f"could not be measured: {error}", flush=True)
            failed = True
    print(_machine(), flush=True)
    return 2 if failed else int(missed)


def _machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"-- {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}; load {load} --"


def _line(row: Row) -> str:
    met = {True: "met", False: "MISSED", None: ""}[row.met]
    return f"{row.what:<58} {row.measured:<34} {row.budget:<24} {met}".rstrip()


# ---------------------------------------------------------------- engine


def engine_rows(quick: bool) -> Iterator[Row]:
    """Evaluators on the 45-rule workload."""
    found: dict[int, Mapping[str, Sample]] = {}
    for size in SIZES[:2] if quick else SIZES:
        repeats = {1_000: 7, 10_000: 5, 100_000: 3}[size]
        found[size] = interleaved(TURNS, size, repeats)
        yield from _sized(size, found[size])
    yield from _grown(found)
    yield from _shipped(SIZES[:2] if quick else SIZES)


def _sized(size: int, samples: Mapping[str, Sample]) -> Iterator[Row]:
    jobs = f"{size:,} jobs"
    digests = {sample.digest for sample in samples.values()}
    fired = f"{samples['native'].firings:,} firings, {' '.join(sorted(digests))}"
    yield Row(f"{jobs}: all {len(samples)} engines fire the same", fired, "one digest", len(digests) == 1)
    for engine in TURNS:
        sample = samples[engine]
        speed = f"{size / sample.wall:,.0f} jobs/s, {sample.cpu / size * 1e6:.1f} us cpu a job"
        yield Row(f"{jobs}: {engine}", speed, "", None)
    for fast, slow, least in (
        ("native", "clips", 5.0),
        ("verdicts", "clips", 5.0 if size > SIZES[0] else None),
        ("checked", "plain-durable", 1.0 if size > SIZES[0] else None),
        ("durable", "plain-durable", None),
    ):
        times = ratio(samples[slow], samples[fast])
        measured = f"{times:.1f} x ({cpu_ratio(samples[slow], samples[fast]):.1f} x by cpu)"
        budget = "" if least is None else f"at least {least:g} x"
        yield Row(f"{jobs}: {slow} / {fast}", measured, budget, None if least is None else times >= least)


def _grown(found: Mapping[int, Mapping[str, Sample]]) -> Iterator[Row]:
    sizes = sorted(found)
    first, last = sizes[0], sizes[-1]
    for engine in ("native", "checked"):
        few, many = in_turn(engine, (first, last), 5)
        growth, wall = (many.cpu / last) / (few.cpu / first), (many.wall / last) / (few.wall / first)
        measured = f"{growth:.2f} x a job by cpu ({wall:.2f} x by wall)"
        yield Row(f"{engine}: from {first:,} to {last:,} jobs", measured, "at most 1.2 x", growth <= 1.2)
    for engine in ("native", "checked"):
        yield _memory(engine, last, found[last][engine])


def _shipped(sizes: Sequence[int]) -> Iterator[Row]:
    """The shipped rules over jobs of which one in five has a window of steps."""
    samples = [in_turn("shipped", (size,), 1 if size == SIZES[-1] else 3)[0] for size in sizes]
    for size, sample in zip(sizes, samples, strict=True):
        speed = f"{sample.cpu / size * 1e6:.0f} us cpu a job, {sample.peak_mb:.0f} MB"
        yield Row(f"{size:,} jobs: shipped rules, steps and verdicts", speed, "", None)
    growth = (samples[-1].cpu / sizes[-1]) / (samples[0].cpu / sizes[0])
    what = f"shipped rules: from {sizes[0]:,} to {sizes[-1]:,} jobs"
    yield Row(what, f"{growth:.2f} x a job by cpu", "at most 1.2 x", growth <= 1.2)


def _memory(engine: str, size: int, sample: Sample) -> Row:
    what = f"{engine}: peak memory of {size:,} jobs"
    child = 0.0 if engine == "native" else sample.child_mb
    if child is None:
        return Row(what, f"{sample.peak_mb:.0f} MB, and its child's, which can not be told here", "", None)
    peak = sample.peak_mb + child
    budget, met = ("under 400 MB", peak < 400.0) if size == SIZES[-1] else ("", None)
    return Row(what, f"{peak:.0f} MB", budget, met)


# ---------------------------------------------------------------- command line


def cli_rows() -> Iterator[Row]:
    """Start-up of the command line."""
    yield _compared(cli.help_start())
    with swept(500, STORED - 500) as (runner, _):
        yield _compared(cli.explain_start(runner, str(FIRST_ID + 77), STORED))


def _compared(comparison: cli.Comparison) -> Row:
    measured = f"{comparison.times:.2f} x ({comparison.slow_s * 1e3:.0f} / {comparison.fast_s * 1e3:.0f} ms)"
    return Row(comparison.what, measured, f"at most {comparison.most:g} x", comparison.times <= comparison.most)


# ---------------------------------------------------------------- sweeps


def sweep_rows(quick: bool) -> Iterator[Row]:
    """Round trips of whole sweeps, and what one costs over a real sshd."""
    for running in (10,) if quick else (10, 3_000):
        with swept(running, sweeps=2) as (_, sweep):
            trips = max(sweep.connections)
            most = 4 + max(0, math.ceil((running - 300) / 300))
            measured = f"{' and '.join(map(str, sweep.connections))} in two sweeps, {sweep.seconds:.1f} s each"
            yield Row(f"round trips for {running:,} running logs", measured, f"at most {most}", trips <= most)
    if latency.sshd() is None:
        yield Row("a round trip over a real sshd", "not measured: no sshd here", "", None)
        return
    took = latency.measure()
    measured = f"{took.new * 1e3:.0f} ms new, {took.shared * 1e3:.0f} ms over a ControlMaster"
    yield Row("a round trip over a real sshd", measured, "", None)


# ---------------------------------------------------------------- logs


def log_rows(quick: bool) -> Iterator[Row]:
    """Readers of logs against `grep -c` over the same pipe, and the memory that a log of any length takes."""
    for kind in logs.KINDS:
        found = logs.measure(kind, 40 if quick else 200, 200 if quick else logs.LONG)
        measured = f"{found.share:.1%} ({found.cpu_share:.1%} by cpu), {found.reader:.0f} MB/s"
        what = f"{kind} log of {found.size_mb:.0f} MB / grep -c, piped"
        yield Row(what, measured, f"at least {logs.LEAST:.0%}, aim {logs.AIM:.0%}", found.share >= logs.LEAST)
        memory = f"{found.peak_mb:.0f} MB"
        yield Row(f"{kind} log of {found.long_mb:,.0f} MB: peak memory", memory, "under 100 MB", found.peak_mb < 100)


# ---------------------------------------------------------------- trials


def trial_rows(quick: bool) -> Iterator[Row]:
    """Results of an evaluation's trials at first sight, against `json.load` of each file."""
    files = trials.FILES // 10 if quick else trials.FILES
    for cost in trials.measure(files):
        measured = f"{cost.wall:.2f} x ({cost.cpu:.2f} x by cpu), {cost.peak_mb:.0f} MB"
        yield Row(f"{files:,} trial results: {cost.way} / bare json.load", measured, "", None)


# ---------------------------------------------------------------- backtest


def backtest_rows() -> Iterator[Row]:
    """A backtest of two rule sets against reading the cassettes once, by processor time."""
    took = backtests.measure()
    yield Row(f"reading a cassette of {took.jobs} jobs", f"{took.read * 1e3:.0f} ms cpu", "", None)
    for name, seconds, most in (("first backtest", took.first, None), ("later backtest", took.again, 5.0)):
        times = seconds / took.read
        measured = f"{times:.1f} x ({seconds * 1e3:.0f} ms cpu a cassette)"
        budget = "" if most is None else f"at most {most:g} x"
        yield Row(f"{name} / reading the cassettes once", measured, budget, None if most is None else times <= most)


if __name__ == "__main__":
    sys.exit(main())
