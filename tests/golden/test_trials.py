"""The directories of trials that scenarios describe: read back by the readers of a sweep, they say what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeprules.collectors.trials.counts import Terms, trial_facts
from sweeprules.collectors.trials.rounds import trials as reader
from sweeprules.collectors.trials.standard import standard_facts
from sweeprules.collectors.trials.steps import run
from sweeprules.collectors.trials.suites import suites
from sweeprules.engine.facts import FactValue, Unknown
from tests.collectors.trials.shell import CLOCK, NONCE, Login
from tests.golden.harness import trials


def facts(root: Path, given: dict[str, Any]) -> dict[str, FactValue]:
    trials.write(root, "eval_a_tb2", given, CLOCK)
    directory = str(root / given.get("dir", "trace_jobs/eval_a_tb2"))
    found, _ = run(Login().ask, {"trials": reader([directory], {}, NONCE)})
    return trial_facts(found["trials"][directory], Terms())


@pytest.mark.parametrize("form", ["new", "old"])
def test_a_few_words_make_whole_trials(tmp_path: Path, form: str) -> None:
    given = {
        "done": 8, "running": 2, "planned": 12, "reward": "1x3 0x4 -", "exceptions": {"AgentTimeoutError": 2},
        "turns": "2x4 4x4", "tokens": "-x2 700x6", "seconds": "3x2 90x6", "age": "4m", "format": form,
    }  # fmt: skip
    found = facts(tmp_path, given)
    counts = ("trials_planned", "trials_started", "trials_done", "trials_valid", "trials_errored")
    assert [found[name] for name in counts] == [12, 10, 8, 7, 2]
    assert found["pass_rate"] == 3 / 7
    assert found["exceptions"] == {"AgentTimeoutError": 2}
    assert (found["avg_turns"], found["newest_result_age"], found["agent"]) == (3.0, 240.0, "terminus-2")


def test_a_half_written_result_leaves_the_counts_open(tmp_path: Path) -> None:
    found = facts(tmp_path, {"done": 3, "half": 1, "aggregate": False})
    assert found["trials_started"] == 4
    assert isinstance(found["trials_done"], Unknown)
    assert facts(tmp_path, {"done": 4, "aggregate": False})["trials_done"] == 4


def test_what_was_whole_stays_as_it_was(tmp_path: Path) -> None:
    facts(tmp_path, {"dir": "x", "done": 3})
    before = {path: path.read_bytes() for path in (tmp_path / "x").glob("*/result.json")}
    assert facts(tmp_path, {"dir": "x", "done": 5, "running": 1, "reward": "0"})["pass_rate"] == 3 / 5
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("given", [{"rewards": 1}, {"done": 1, "exceptions": {"X": 2}}, {"done": 2, "reward": "1x3"}])
def test_what_does_not_fit_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        trials.write(tmp_path, "j", given, CLOCK)


def test_a_suite_of_a_standard_evaluation(tmp_path: Path) -> None:
    trials.write_suite(tmp_path, {"MATH500": 0.41, "AIME24": "0.3x10", "gsm8k": 0.7})
    trials.write_suite(tmp_path, {"dir": "empty", "empty": True})
    paths = [str(tmp_path / "results"), str(tmp_path / "empty")]
    found, _ = run(Login().ask, {"suites": suites(paths, NONCE)})
    whole, empty = (found["suites"][path] for path in paths)
    assert not isinstance(whole, Unknown) and not isinstance(empty, Unknown)
    told = standard_facts(whole).facts
    assert (told["stage"], told["seeds_found"], told["results_nonempty"]) == ("complete", 10, True)
    assert standard_facts(empty).facts["results_nonempty"] is False
