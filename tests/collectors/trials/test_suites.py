"""Results of whole evaluations on disk, found with the real tools in few rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.collectors.trials import suites
from sweeprules.collectors.trials.standard import Results, standard_facts
from sweeprules.collectors.trials.steps import run
from sweeprules.collectors.trials.suites import Files
from sweeprules.engine.facts import Reason, Unknown
from tests.collectors.trials.shell import NONCE, Login

TIME = "2027-01-05T10-00-00.123456"


def read(*roots: Path, login: Login | None = None) -> list[Files | Unknown]:
    found, _ = run((login or Login()).ask, {"s": suites.suites([str(root) for root in roots], NONCE)})
    return [found["s"][str(root)] for root in roots]


def write(path: Path, **tasks: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"results": tasks}))


def write_run(root: Path, seeds: range, *, model: str = "acme__m-1.5") -> None:
    for seed in seeds:
        write(root / f"seed{seed}" / model / f"results_{TIME}.json", AIME24={"accuracy_avg": seed / 100})
    write(
        root / "seed42" / model / "results_2027-01-06T10-00-00.1.json",
        MATH500={"accuracy": 0.5},
        AIME24={"accuracy_avg": 0.1},
    )
    write(root / "gsm8k" / f"results_{TIME}.json", gsm8k={"exact_match,strict-match": 0.25})
    (root / "meta.env").write_text("A=1\n")
    (root / "run-7.log").write_text("")


def test_a_whole_run_in_four_rounds(tmp_path):
    write_run(tmp_path / "run", range(42, 52))
    login = Login()
    (files,) = read(tmp_path / "run", login=login)
    assert not isinstance(files, Unknown)
    found = standard_facts(files)
    assert len(login.calls) == 4
    assert found.facts["seeds_found"] == 10 and found.facts["stage"] == "complete"
    assert found.scores["MATH500"] == 0.5 and found.scores["gsm8k"] == 0.25
    assert found.scores["AIME24"] == pytest.approx((0.1 + sum(range(43, 52)) / 100) / 10)


def test_a_run_of_lm_eval_lies_one_directory_deep(tmp_path):
    write(tmp_path / "out" / "qwen2.5" / f"results_{TIME}.json", t={"acc,none": 0.5})
    (files,) = read(tmp_path / "out")
    assert not isinstance(files, Unknown)
    assert standard_facts(files, None).facts["scores"] == {"t": 0.5}


def test_two_runs_share_their_rounds_and_nothing_else(tmp_path):
    write_run(tmp_path / "run", range(42, 44))
    write_run(tmp_path / "run2", range(42, 49))
    login = Login()
    one, two = read(tmp_path / "run", tmp_path / "run2", login=login)
    assert not isinstance(one, Unknown) and not isinstance(two, Unknown)
    assert (len(one), len(two), len(login.calls)) == (3, 8, 4)


def test_what_is_not_there_is_not_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    gone, empty = read(tmp_path / "gone", tmp_path / "empty")
    assert isinstance(gone, Unknown) and gone.reason == Reason.NOT_READ
    assert empty == {}


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_round_that_fails_makes_the_scores_unknown(tmp_path, call):
    write_run(tmp_path / "run", range(42, 52))
    (files,) = read(tmp_path / "run", login=Login(fail=frozenset({call})))
    if not isinstance(files, Unknown):
        facts = standard_facts(files).facts
        assert isinstance(facts["scores"], Unknown) and isinstance(facts["seeds_found"], Unknown)


def test_a_file_that_is_too_long_is_cut_and_not_malformed(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "EACH", 100)
    write(tmp_path / "run" / "seed42" / "results.json", MATH500={"accuracy": 0.5, "examples": ["x" * 500]})
    (files,) = read(tmp_path / "run")
    assert not isinstance(files, Unknown)
    assert {one.reason for one in files.values() if isinstance(one, Unknown)} == {Reason.CUT}
    assert not any(isinstance(one, Results) for one in files.values())
