"""Recorded answers alone give the results of trials again: in a replay, and as the world that a backtest finds."""

from __future__ import annotations

from pathlib import Path

from sweeprules.engine.facts import Ref
from tests.golden.harness.again import same_again
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import read

SCENARIO = Path(__file__).parent / "scenarios" / "s11.yaml"


def test_two_sweeps_of_trials_are_the_same_without_the_cluster(tmp_path: Path) -> None:
    (scenario,) = read(SCENARIO)
    found = [
        [subjects[Ref("job", f"tacc:{job_id}")].get("trials_done") for job_id in (70, 71)]
        for subjects in same_again(Runner(scenario, tmp_path))
    ]
    assert found == [[142, 100], [142, 100]]
