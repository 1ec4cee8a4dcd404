"""Every golden scenario, from what Slurm prints and what the logs hold to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.harness.expect import differences
from tests.golden.harness.run import Runner, Seen
from tests.golden.harness.scenario import Scenario, load

SCENARIOS = load(Path(__file__).parent / "scenarios")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario: Scenario, tmp_path: Path) -> None:
    """Sweeps once a step, and compares."""
    runner = Runner(scenario, tmp_path)
    before: Seen | None = None
    for number, step in enumerate(scenario.steps, start=1):
        seen = runner.sweep(step)
        found = differences(step.expect, seen, before, runner)
        if found:
            pytest.fail(told(scenario, number, found, seen), pytrace=False)
        before = seen


def told(scenario: Scenario, number: int, found: list[str], seen: Seen) -> str:
    """What differs, and all that the sweep printed."""
    sweep = seen.sweep
    listed = "\n".join(f"  - {line}" for line in found)
    return (
        f"{scenario.name}, sweep {number} ({scenario.about}):\n{listed}\n"
        f"exit {sweep.exit}\n{sweep.stdout}{sweep.stderr}\n{seen.text}"
    )


def test_there_are_scenarios() -> None:
    """An empty folder would pass."""
    names = {scenario.name.partition("-")[0].upper() for scenario in SCENARIOS}
    wanted = "S02 S03 S04 S05 S06 S08 S09 S12 S13 S16 S30 S31 S45 S46 S49 S50 S68 S69 S82 S88"
    assert not set(wanted.split()) - names
