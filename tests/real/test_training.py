"""Fine-tuning runs made now, with Hugging Face's Trainer 4 and 5 and TRL's: the facts are what the trainer holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sweeprules.collectors.metrics.sft import series_of
from sweeprules.collectors.metrics.trainer_log import checkpoint_kind
from sweeprules.engine.facts import Reason, Unknown
from tests.real import reading, venvs

pytestmark = pytest.mark.deep

NAMES = {"loss": "loss", "grad_norm": "grad_norm", "learning_rate": "learning_rate"}
STEPS = 24
SETTINGS = {
    "max_steps": STEPS,
    "logging_steps": 3,
    "save_steps": 12,
    "eval_strategy": "steps",
    "eval_steps": 12,
    "per_device_train_batch_size": 4,
    "learning_rate": 0.01,
}


@dataclass(frozen=True, slots=True)
class Run:
    """A log, the folder that it left, and what the trainer held."""

    log: bytes
    folder: Path
    truth: dict[str, Any]


ROOMS = {
    "trainer-4": ("trainer", (venvs.TORCH, "transformers>=4.57,<5", "accelerate", "datasets")),
    "trainer-5": ("trainer", (venvs.TORCH, "transformers>=5,<6", "accelerate", "datasets", "trl")),
    "trl": ("sft", (venvs.TORCH, "transformers>=5,<6", "accelerate", "datasets", "trl")),
}


def place(name: str) -> tuple[str, tuple[str, ...], str]:
    way, packages = ROOMS[name]
    return way, packages, "trainer-5" if name == "trl" else name


@pytest.fixture(scope="module", params=sorted(ROOMS))
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, venvs.Room]:
    way, packages, name = place(request.param)
    return way, venvs.room(tmp_path_factory, name, packages)


@pytest.fixture(scope="module")
def made(kind: tuple[str, venvs.Room], tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(kind, tmp_path_factory.mktemp("run"))


def run(kind: tuple[str, venvs.Room], folder: Path, *, at_once: bool = True, **more: Any) -> Run:
    """`at_once`: each row is written when it is printed; else Python holds rows back, as it does for a file or pipe."""
    way, room = kind
    argv = ("python", venvs.PROGRAMS / "finetune.py", way, folder, json.dumps({**SETTINGS, **more}))
    log = room.run(argv, folder, PYTHONUNBUFFERED="1" if at_once else "")
    return Run(log, folder, reading.truth(folder))


def test_steps_and_numbers_are_those_of_the_trainer(made: Run) -> None:
    numbers = reading.whole(reading.sft, made.log)
    assert (numbers.facts["step"], numbers.facts["max_step"]) == (made.truth["step"], made.truth["max_step"])
    assert (numbers.facts["step"], numbers.facts["step_source"]) == (STEPS, "bar")
    reading.same_points(numbers, made.truth["history"], NAMES)
    last = reading.logged(made.truth["history"])[STEPS]
    assert numbers.facts["loss"] == pytest.approx(last["loss"], rel=5e-4)
    assert numbers.facts["epoch"] == pytest.approx(last["epoch"], rel=5e-4)
    assert (numbers.facts["has_nan"], numbers.facts["nan_suspect"], numbers.facts["malformed_lines"]) == (
        False,
        False,
        0,
    )


def test_a_log_that_grows_never_runs_ahead_and_ends_as_if_read_at_once(made: Run) -> None:
    cuts = sorted({*range(97, len(made.log), 61), len(made.log)})
    newest = 0
    for cut, numbers in reading.grown(reading.sft, made.log, cuts):
        step = numbers.facts.get("step")
        if isinstance(step, int):
            assert newest <= step <= STEPS, cut
            newest = step
            assert b"%d/%d" % (step, STEPS) in made.log[:cut], cut
    last = reading.whole(reading.sft, made.log)
    for name in ("step", "max_step", "loss", "grad_norm", "learning_rate", "epoch", "has_nan"):
        assert numbers.facts[name] == last.facts[name], name
    kept = series_of(numbers.memo).points
    assert [(one.step, one.get("loss")) for one in kept] == [(one.step, one.get("loss")) for one in last.points]


def test_what_it_saved_is_a_model_that_loads(made: Run) -> None:
    out = made.folder / "out"
    assert checkpoint_kind(path.name for path in out.iterdir()) == "direct"
    assert checkpoint_kind(path.name for path in (out / "checkpoint-12").iterdir()) == "direct"
    held = json.loads((out / "checkpoint-12" / "trainer_state.json").read_text())
    assert (held["global_step"], held["max_steps"]) == (12, STEPS)


def test_rows_that_were_held_back_are_given_no_step_and_the_bar_tells_it(
    kind: tuple[str, venvs.Room], tmp_path: Path
) -> None:
    made = run(kind, tmp_path, at_once=False, max_steps=400)
    rows = reading.logged(made.truth["history"])
    numbers = reading.whole(reading.sft, made.log)
    assert numbers.facts["step"] == 400
    assert numbers.facts["loss"] == pytest.approx(rows[399]["loss"], rel=5e-4)
    for point in numbers.points:
        assert point.get("loss") == pytest.approx(rows[point.step]["loss"], rel=5e-4), point.step
    steps = [
        found.facts.get("step") for _, found in reading.grown(reading.sft, made.log, range(500, len(made.log), 500))
    ]
    known = [step for step in steps if isinstance(step, int)]
    assert known == sorted(known)


def test_a_run_that_goes_on_from_its_checkpoint(kind: tuple[str, venvs.Room], tmp_path: Path) -> None:
    first = run(kind, tmp_path, max_steps=12)
    again = run(kind, tmp_path, resume=True)
    numbers = reading.whole(reading.sft, again.log)
    assert (numbers.facts["step"], numbers.facts["max_step"]) == (STEPS, again.truth["max_step"])
    fresh = [row for row in again.truth["history"] if row["step"] > first.truth["step"]]
    reading.same_points(numbers, fresh, NAMES)


def test_a_loss_that_is_no_number_is_said_to_be_none(kind: tuple[str, venvs.Room], tmp_path: Path) -> None:
    made = run(kind, tmp_path, learning_rate=1e30, max_grad_norm=0.0, logging_nan_inf_filter=False)
    assert any(row["loss"] != row["loss"] for row in reading.logged(made.truth["history"]).values())
    numbers = reading.whole(reading.sft, made.log)
    assert numbers.facts["has_nan"] is True
    assert isinstance(numbers.facts["loss"], Unknown)
    assert numbers.facts["loss"].reason == Reason.NAN


def test_the_filter_that_prints_a_nan_as_zero_is_not_taken_for_a_perfect_loss(
    kind: tuple[str, venvs.Room], tmp_path: Path
) -> None:
    made = run(kind, tmp_path, learning_rate=1e30, max_grad_norm=1.0, logging_nan_inf_filter=True)
    rows = reading.logged(made.truth["history"])
    assert rows[STEPS]["loss"] == 0
    facts = reading.whole(reading.sft, made.log).facts
    assert facts["has_nan"] is True or facts["nan_suspect"] is True


def test_a_loss_of_zero_without_a_gradient_norm_is_doubted_and_not_called_a_nan(
    kind: tuple[str, venvs.Room], tmp_path: Path
) -> None:
    made = run(kind, tmp_path, learning_rate=1e30, max_grad_norm=0.0, logging_nan_inf_filter=True)
    last = reading.logged(made.truth["history"])[STEPS]
    facts = reading.whole(reading.sft, made.log).facts
    if "grad_norm" in last:
        assert facts["has_nan"] is True or facts["nan_suspect"] is True
    else:
        assert (facts["has_nan"], isinstance(facts["nan_suspect"], Unknown)) == (False, True)


def test_without_a_bar_no_step_is_made_up(kind: tuple[str, venvs.Room], tmp_path: Path) -> None:
    made = run(kind, tmp_path, disable_tqdm=True)
    numbers = reading.whole(reading.sft, made.log)
    assert numbers.facts["loss"] == pytest.approx(reading.logged(made.truth["history"])[STEPS]["loss"], rel=5e-4)
    assert isinstance(numbers.facts["step"], Unknown)
