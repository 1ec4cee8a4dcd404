"""A run of TRL's GRPO that is made now: the facts are what the trainer holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeprules.engine.facts import Unknown
from tests.real import reading, venvs
from tests.real.test_training import ROOMS

pytestmark = pytest.mark.deep

NAMES = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "reward": "reward",
    "reward_std": "reward_spread",
    "entropy": "entropy",
    "learning_rate": "learning_rate",
}
STEPS = 14


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> venvs.Room:
    return venvs.room(tmp_path_factory, "trainer-5", ROOMS["trl"][1])


def run(room: venvs.Room, folder: Path, **more: str) -> tuple[bytes, dict[str, Any]]:
    log = room.run(("python", venvs.PROGRAMS / "grpo.py", folder, str(STEPS)), folder, **more)
    return log, reading.truth(folder)


@pytest.fixture(scope="module")
def made(room: venvs.Room, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, Any]]:
    return run(room, tmp_path_factory.mktemp("grpo"))


def test_steps_and_numbers_are_those_of_the_trainer(made: tuple[bytes, dict[str, Any]]) -> None:
    log, truth = made
    numbers = reading.whole(reading.rl, log)
    assert (numbers.facts["step"], numbers.facts["max_step"]) == (truth["step"], truth["max_step"])
    reading.same_points(numbers, truth["history"], NAMES)
    assert {point.attempt for point in numbers.points} == {1}
    assert (numbers.facts["has_nan"], numbers.facts["malformed_lines"], numbers.facts["phase"]) == (False, 0, "steady")


def test_rows_that_were_held_back_are_numbered_in_their_order(room: venvs.Room, tmp_path: Path) -> None:
    log, truth = run(room, tmp_path, PYTHONUNBUFFERED="")
    numbers = reading.whole(reading.rl, log)
    reading.same_points(numbers, truth["history"], NAMES)
    step = numbers.facts["step"]
    assert isinstance(step, Unknown) or step == truth["step"]


def test_a_log_that_grows_line_by_line_is_told_the_same(made: tuple[bytes, dict[str, Any]]) -> None:
    """Cut behind the bar that is drawn anew after each row, and in the middle of rows."""
    log, truth = made
    behind = [log.index(b"]", at) + 1 for at in range(len(log)) if log.startswith(b"\n\r", at) and b"]" in log[at:]]
    inside = [at + 200 for at in range(len(log)) if log.startswith(b"{'loss'", at)]
    cuts = sorted({*behind, *inside, len(log)})
    assert len(cuts) > STEPS
    *_, (_, numbers) = reading.grown(reading.rl, log, cuts)
    reading.same_points(numbers, truth["history"], NAMES)
    assert {point.attempt for point in numbers.points} == {1}
