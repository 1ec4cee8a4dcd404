"""How far a start came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.cli.loading import load_catalogue
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import carry, prepare, scan
from sweeprules.collectors.metrics.rungs import WORDS, bringup_rung
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from sweeprules.engine.language.ast import Pattern
from sweeprules.engine.language.load import load_policy
from sweeprules.store.builtin import RULES, schema
from tests.collectors.metrics.test_rl import UTC

START = (
    ("revision", "MarinSkyRL now at 77aa01f"),
    ("staging", "(rank pid=4) Staging train_data on this node (rank 0/2)"),
    ("nodes", "Ray nodes alive: 2/2"),
    ("mesh", "Device mesh initialised"),
    ("weights", "Loading weights took 12.1 seconds"),
    ("engine", "Avg prompt throughput: 4.1 tokens/s, Avg generation throughput: 88.0 tokens/s, Running: 2 reqs"),
    ("trainer", "Resumed training from global_step 0"),
)


def shipped() -> dict[str, Pattern]:
    files = {"rules/bringup.yaml": (RULES / "bringup.yaml").read_bytes()}
    return dict(load_policy([files], load_catalogue(), schema=schema("rules")).patterns)


def rung(lines: list[str], patterns: dict[str, Pattern] | None = None, *, whole: bool = True) -> FactValue:
    patterns = patterns or shipped()
    reading = scan(Chunk("".join(f"{line}\n" for line in lines).encode(), 0), prepare(patterns), UTC)
    return bringup_rung(carry({}, reading), patterns.values(), whole=whole, stepped=False)


def test_each_line_of_a_start_is_one_rung_further() -> None:
    for place, (word, _) in enumerate(START):
        assert rung([line for _, line in START[: place + 1]]) == word


def test_the_words_are_those_of_the_catalogue() -> None:
    assert load_catalogue().kinds["job"].fields["bringup_rung"].words == WORDS
    assert {name.removeprefix("rung-") for name in shipped()} == set(WORDS) - {"admitted", "first-step"}


def test_nodes_count_once_all_of_them_are_there() -> None:
    assert rung([START[1][1], "Ray nodes alive: 1/2"]) == "staging"
    assert rung([START[1][1], "Ray nodes alive: 1/2", "Ray nodes alive: 2/2"]) == "nodes"


@pytest.mark.parametrize(("order", "word"), [(25, "revision"), (65, "weights"), (95, "trainer"), (5, ABSENT)])
def test_a_rung_of_the_site_stands_for_the_one_below_it(order: int, word: FactValue) -> None:
    patterns = shipped()
    patterns["warm-cache"] = replace(patterns["rung-staging"], name="warm-cache", literal="warming", order=order)
    assert rung(["warming the cache"], patterns) == word


def test_no_rung_and_a_finished_step() -> None:
    assert rung(["hello"]) is ABSENT
    assert rung(["hello"], whole=False) == Unknown(Reason.CUT, "only the end of the log was read")
    assert bringup_rung({}, shipped().values(), whole=False, stepped=True) == "first-step"
