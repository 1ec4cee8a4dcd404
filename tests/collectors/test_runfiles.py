"""What the directory of a training run holds, over real directories; what is not known to be the run's says nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from sweeprules.collectors.rundirs import Place
from sweeprules.collectors.runfiles import LATEST, RunFiles, Sought, read_files
from sweeprules.collectors.trials.steps import run
from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Unknown
from tests.collectors.trials.shell import CLOCK, NONCE, Login

MARKS = ("@r9f3c1d77@", "@f9f3c1d77@")
DONE = '{"current_steps": 916, "total_steps": 916, "percentage": 100.0}\n'


def look(sought: Iterable[Sought], login: Login | None = None) -> dict[str, RunFiles]:
    found, _ = run((login or Login()).ask, {"all": read_files(list(sought), NONCE, MARKS)})
    return dict(found["all"])


def sft(*places: Place, said: str = "", started: float | None = CLOCK - 900) -> Sought:
    return Sought("1", "sft", places, said, started)


def put(folder: Path, age: float = 60.0, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (CLOCK - age, CLOCK - age))
    return folder


def reason(value: FactValue) -> object:
    return value.reason if isinstance(value, Unknown) else value


@pytest.mark.parametrize(
    ("folder", "text", "found"),
    [
        ("", "140", 140),
        ("", " 140\n", 140),
        ("checkpoints__", "20\n", 20),
        ("ckpts__", "0", 0),
        ("", "", Reason.MALFORMED),
        ("", "global_step_140", Reason.MALFORMED),
        ("", "1" * 90, Reason.MALFORMED),
    ],
)
def test_the_newest_checkpoint_of_rl(tmp_path: Path, folder: str, text: str, found: int | Reason) -> None:
    root = put(tmp_path / "w" / "rl" / "a", **{f"{folder}{LATEST}": text})
    made = look([Sought("1", "rl", (Place("/w/none/here", False), Place(str(root), False)))])["1"]
    assert reason(made.facts["checkpoint_step"]) == found
    assert made.facts["run_dir"] == str(root)
    assert made.sources["checkpoint_step"].line.startswith(str(root))


def test_without_the_file_nothing_is_said_of_checkpoints(tmp_path: Path) -> None:
    root = put(tmp_path / "w" / "a", config="x")
    assert look([Sought("1", "rl", (Place(str(root), True),))])["1"].facts == {"run_dir": str(root)}
    assert look([Sought("1", "rl", (Place(str(root), False),))])["1"].facts == {}
    assert look([Sought("1", "rl", ())]) == {}


def test_model_and_completion_of_sft(tmp_path: Path) -> None:
    root = put(tmp_path / "w" / "a", trainer_log_DOT_jsonl=DONE, model_DOT_safetensors="x")
    made = look([sft(Place(str(root), True))])["1"]
    assert made.facts == {"run_dir": str(root), "checkpoint_kind": "direct", "percentage": 100.0}
    assert made.sources["percentage"].line.startswith(str(root))


def test_a_trainer_that_writes_no_such_file(tmp_path: Path) -> None:
    made = look([sft(Place(str(put(tmp_path / "w" / "a", config_DOT_json="x")), True))])["1"]
    assert made.facts["percentage"] is ABSENT and made.facts["checkpoint_kind"] == "none"


@pytest.mark.parametrize(("age", "started"), [(901.0, CLOCK - 900), (60.0, None)])
def test_a_file_of_an_earlier_run_says_nothing_of_this_one(tmp_path: Path, age: float, started: float | None) -> None:
    root = put(tmp_path / "w" / "a", age, trainer_log_DOT_jsonl=DONE)
    made = look([sft(Place(str(root), True), started=started)])["1"]
    assert reason(made.facts["percentage"]) == Reason.DISAGREE
    guessed = look([sft(Place(str(root), False), started=started)])["1"]
    assert reason(guessed.facts["percentage"]) == Reason.NOT_READ and "run_dir" not in guessed.facts


def test_a_directory_that_nobody_named_whole_is_the_runs_by_what_it_holds(tmp_path: Path) -> None:
    stranger = put(tmp_path / "w" / "x", model_DOT_safetensors="x")
    own = put(tmp_path / "w" / "out", model_DOT_safetensors="x")
    (own / "checkpoint-40").mkdir()
    places = (Place(str(stranger), False), Place(str(own), False))
    assert look([sft(*places, said="out/checkpoint-40")])["1"].facts["run_dir"] == str(own)
    assert "run_dir" not in look([sft(*places, said="out/checkpoint-60")])["1"].facts
    fresh = put(tmp_path / "w" / "new", trainer_log_DOT_jsonl=DONE)
    assert look([sft(Place(str(fresh), False))])["1"].facts["percentage"] == 100.0


def test_a_directory_that_is_not_there_says_nothing_of_the_model(tmp_path: Path) -> None:
    made = look([sft(Place(str(tmp_path / "on" / "a" / "node"), True))])["1"]
    assert [reason(made.facts[name]) for name in ("checkpoint_kind", "percentage")] == [Reason.NOT_READ] * 2
    empty = tmp_path / "w" / "empty"
    empty.mkdir(parents=True)
    assert look([sft(Place(str(empty), True))])["1"].facts["checkpoint_kind"] == "none"


def test_only_where_no_name_of_a_checkpoint_is_there_was_none_written(tmp_path: Path) -> None:
    root = put(tmp_path / "w" / "a", config_DOT_json="x")
    assert look([sft(Place(str(root), True))])["1"].facts["checkpoint_step"] is ABSENT
    (root / "checkpoint-40").mkdir()
    assert reason(look([sft(Place(str(root), True))])["1"].facts["checkpoint_step"]) == Reason.NOT_READ
    shards = put(tmp_path / "w" / "b", zero_to_fp32_DOT_py="x")
    assert reason(look([sft(Place(str(shards), True))])["1"].facts["checkpoint_step"]) == Reason.NOT_READ
    model = put(tmp_path / "w" / "c", model_DOT_safetensors="x")
    assert "checkpoint_step" not in look([sft(Place(str(model), True))])["1"].facts


def test_what_could_not_be_read_is_not_taken_for_missing(tmp_path: Path) -> None:
    root = put(tmp_path / "w" / "a", trainer_log_DOT_jsonl=DONE)
    made = look([sft(Place(str(root), True))], Login(fail=frozenset({1})))["1"]
    assert reason(made.facts["percentage"]) == Reason.READ_FAILED == reason(made.facts["checkpoint_kind"])
    rl = look([Sought("1", "rl", (Place(str(root), True),))], Login(fail=frozenset({1})))["1"]
    assert not isinstance(rl.facts.get("checkpoint_step"), Absent | int)


def test_many_runs_take_one_round_and_few_commands(tmp_path: Path) -> None:
    runs = [put(tmp_path / "w" / f"r{n}", **{LATEST: str(n)}) for n in range(40)]
    login = Login()
    found = look([Sought(str(n), "rl", (Place(str(root), False),)) for n, root in enumerate(runs)], login)
    assert {job: files.facts["checkpoint_step"] for job, files in found.items()} == {str(n): n for n in range(40)}
    assert [len(batch) for batch in login.calls] == [1]
