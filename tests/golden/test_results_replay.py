"""Recorded answers alone give the results of trials again: in a replay, and as the world that a backtest finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sweeprules.cli import looking
from sweeprules.cli.loading import choose_site, compile_site
from sweeprules.engine.facts import Ref, World
from sweeprules.store.cassette import parse_cassette
from sweeprules.store.worlds import Worlds
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import read

SCENARIO = Path(__file__).parent / "scenarios" / "s11.yaml"


def test_two_sweeps_of_trials_are_the_same_without_the_cluster(tmp_path: Path) -> None:
    (scenario,) = read(SCENARIO)
    runner = Runner(scenario, tmp_path)
    known: set[Path] = set()
    for step in scenario.steps:
        seen = runner.sweep(step)
        (tape,) = set((runner.state / "cassettes").iterdir()) - known
        known.add(tape)
        again = runner.command("replay", str(tape), "--output", "json")
        assert json.loads(again.stdout) == seen.document
        data = tape.read_bytes()
        loaded = compile_site(choose_site(runner.world.site))
        kept = looking.kept(Worlds(runner.state / "worlds"), looking.key_of(data, looking.site_key(loaded)))
        made, whole = looking.Reader(parse_cassette(data, str(tape))).see(loaded)
        assert whole and kept is not None
        assert kept.world == World({ref: replace(one, sources={}) for ref, one in made.world.subjects.items()})
        done = [kept.world.subjects[Ref("job", f"tacc:{job_id}")].get("trials_done") for job_id in (70, 71)]
        assert done == [142, 100]
