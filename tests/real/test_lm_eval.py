"""An evaluation that lm-eval's dummy model makes now, of a task of ours: the scores are what its tracker holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sweeprules.collectors.trials.standard import Results, read_results, standard_facts
from sweeprules.collectors.trials.steps import run
from sweeprules.collectors.trials.suites import suites
from sweeprules.engine.facts import ABSENT, Reason, Unknown
from tests.collectors.trials.shell import NONCE, Login
from tests.real import venvs

pytestmark = pytest.mark.deep

SEEDS = (42, 43)
TASK = """task: word_pairs
dataset_path: json
dataset_kwargs: {data_files: {test: word_pairs.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: answer
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[str, Any]]]:
    """The directory of the results, and by seed what the evaluation returned."""
    room = venvs.room(tmp_path_factory, "lm-eval", (venvs.TORCH, "lm-eval>=0.4.9,<0.5"))
    folder = tmp_path_factory.mktemp("lm-eval")
    (folder / "tasks").mkdir()
    (folder / "tasks" / "word_pairs.yaml").write_text(TASK)
    docs = ({"question": f"What goes with {n}?", "choices": ["red", "blue"], "answer": n % 2} for n in range(12))
    (folder / "word_pairs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    truth = {}
    for seed in SEEDS:
        out = folder / "out" / f"seed{seed}"
        room.run(("python", venvs.PROGRAMS / "dummy_eval.py", folder / "tasks", out, str(seed)), folder)
        truth[seed] = json.loads((folder / f"truth{seed}.json").read_text())
    return folder / "out", truth


def test_the_scores_of_each_file_are_those_that_the_evaluation_returned(
    ran: tuple[Path, dict[int, dict[str, Any]]],
) -> None:
    out, truth = ran
    for seed, held in truth.items():
        (path,) = (out / f"seed{seed}").rglob("results_*.json")
        found = read_results(path.read_bytes())
        assert isinstance(found, Results)
        assert dict(found.scores) == {("word_pairs", name): held[name] for name in ("acc,none", "acc_norm,none")}
        assert found.tasks == ("word_pairs",)


def test_a_sweep_finds_them_and_takes_the_mean_over_the_seeds(ran: tuple[Path, dict[int, dict[str, Any]]]) -> None:
    out, truth = ran
    found, _ = run(Login().ask, {0: suites([str(out)], NONCE)})
    files = found[0][str(out)]
    assert not isinstance(files, Unknown)
    standard = standard_facts(files)
    accs = [held["acc,none"] for held in truth.values()]
    assert standard.scores["word_pairs acc,none"] == pytest.approx(sum(accs) / len(accs))
    assert (standard.facts["seeds_found"], standard.facts["results_nonempty"]) == (len(SEEDS), True)
    assert standard_facts(files, None).facts["stage"] is ABSENT


def test_a_file_that_is_cut_anywhere_has_no_score(ran: tuple[Path, dict[int, dict[str, Any]]]) -> None:
    out, _ = ran
    data = next(out.rglob("results_*.json")).read_bytes()
    for cut in range(0, len(data.rstrip()) - 1, 53):
        found = read_results(data[:cut])
        assert isinstance(found, Unknown)
        assert found.reason in (Reason.MALFORMED, Reason.NOT_READ, Reason.CUT)
