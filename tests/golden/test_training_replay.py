"""Recorded answers alone give what was looked for further back and in directories; and how far back decides the key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sweeprules.cli import looking
from sweeprules.cli.loading import Loaded, choose_site, compile_site
from sweeprules.cli.runs import reach
from sweeprules.collectors.metrics.points import KEEP
from sweeprules.engine.facts import Ref
from sweeprules.store.cassette import parse_cassette
from tests.golden.harness.again import same_again
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import read

SCENARIOS = {one.name: one for one in read(Path(__file__).parent / "scenarios" / "x_older.yaml")}
FACTS = {
    "x_older-older-the-window-of-ten-steps-lies-two-megabytes-back": ("1801", {"step": 41, "max_step": 300}),
    "x_older-sft-completion-is-proved-by-the-trainers-own-log-alone": (
        "3801",
        {"percentage": 100.0, "checkpoint_kind": "direct"},
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_sweep_is_the_same_without_the_cluster(name: str, tmp_path: Path) -> None:
    job, facts = FACTS[name]
    found = [subjects[Ref("job", f"leonardo:{job}")] for subjects in same_again(Runner(SCENARIOS[name], tmp_path))]
    assert [{fact: one.get(fact) for fact in facts} for one in found] == [facts] * len(SCENARIOS[name].steps)


def test_a_log_is_looked_through_once(tmp_path: Path) -> None:
    scenario = SCENARIOS["x_older-older-the-window-of-ten-steps-lies-two-megabytes-back"]
    runner = Runner(scenario, tmp_path)
    searches = []
    for step in scenario.steps:
        known = set((runner.state / "cassettes").glob("*"))
        runner.sweep(step)
        (tape,) = set((runner.state / "cassettes").iterdir()) - known
        asked = parse_cassette(tape.read_bytes(), str(tape)).observations
        searches.append(sum(one.argv[0] == "grep" for one in asked))
    assert searches == [1, 0]


def test_how_far_back_rules_look_is_their_longest_window_and_a_part_of_the_key() -> None:
    loaded = compile_site(choose_site(Path(__file__).parents[2] / "demo"))
    shipped = reach(loaded.policy)
    assert 11 <= shipped < KEEP - 10
    wide = _with_window(loaded, shipped + 9)
    assert reach(wide.policy) == shipped + 10 and looking.first_key(wide) != looking.first_key(loaded)
    assert reach(_with_window(loaded, 500).policy) == KEEP


def _with_window(loaded: Loaded, steps: int) -> Loaded:
    params = loaded.policy.params
    wide = replace(params["collapse_window"], default=steps)
    return replace(loaded, policy=replace(loaded.policy, params={**params, "collapse_window": wide}))
