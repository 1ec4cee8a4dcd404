"""Every golden scenario, from what Slurm prints and what the logs hold to the report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.golden.harness.expect import differences
from tests.golden.harness.run import Runner, Seen
from tests.golden.harness.scenario import Scenario, load

SCENARIOS = {scenario.name: scenario for scenario in load(Path(__file__).parent / "scenarios")}
Results = dict[str, "Future[str]"]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """What differs, by scenario, for all that were selected: they run side by side, since they mostly wait."""
    items = [item for item in request.session.items if getattr(item, "originalname", "") == "test_scenario"]
    chosen = [item.callspec.params["name"] for item in items]  # type: ignore[attr-defined]
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        started = {name: pool.submit(outcome, SCENARIOS[name], tmp_path_factory.mktemp("world")) for name in chosen}
        yield started
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, results: Results) -> None:
    """Sweeps once a step, and compares."""
    found = results[name].result()
    if found:
        pytest.fail(found, pytrace=False)


def outcome(scenario: Scenario, root: Path) -> str:
    """What differs in the first step that is not as expected, with all that its sweep printed; empty when all is."""
    runner = Runner(scenario, root)
    before: Seen | None = None
    for number, step in enumerate(scenario.steps, start=1):
        seen = runner.sweep(step)
        found = differences(step.expect, seen, before, runner)
        if found:
            return told(scenario, number, found, seen, runner.command("report").stdout)
        before = seen
    return ""


def told(scenario: Scenario, number: int, found: list[str], seen: Seen, report: str) -> str:
    """The differences and the report."""
    sweep = seen.sweep
    listed = "\n".join(f"  - {line}" for line in found)
    return (
        f"{scenario.name}, sweep {number} ({scenario.about}):\n{listed}\n"
        f"exit {sweep.exit}\n{sweep.stdout}{sweep.stderr}\n{report}"
    )


def test_every_scenario_of_this_release_is_there() -> None:
    """An empty folder would pass."""
    names = {name.partition("-")[0].upper() for name in SCENARIOS}
    wanted = "S02 S03 S04 S05 S06 S08 S09 S12 S13 S16 S30 S31 S45 S46 S49 S50 S68 S69 S82 S88"
    assert not set(wanted.split()) - names
