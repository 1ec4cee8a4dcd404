"""Lines of trainers that print no mirror line."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import read_rl
from sweeprules.engine.facts import FactValue, Reason, Unknown
from tests.collectors.metrics import rl_logs

UTC = ZoneInfo("UTC")


def read(text: str, before: Numbers | None = None) -> Numbers:
    memo = before.memo if before is not None else None
    return read_rl(Chunk(text.encode(), 0), rl_logs.aliases(), UTC, memo, whole=True)


def column(numbers: Numbers, name: str) -> list[FactValue]:
    return [point.get(name) for point in numbers.points]


def test_a_dictionary_with_a_reward_and_no_step_is_numbered_in_its_order() -> None:
    row = "{{'loss': 0.0, 'grad_norm': {0}, 'reward': 0.5, 'reward_std': 0.2, 'epoch': 0.{0}}}\n"
    numbers = read("".join(row.format(n) for n in range(3)))
    assert [point.step for point in numbers.points] == [1, 2, 3]
    assert column(numbers, "grad_norm") == [0, 1, 2]
    assert column(numbers, "reward_spread") == [0.2] * 3
    assert isinstance(numbers.facts["step"], Unknown)
    later = read("".join(row.format(n) for n in range(5)), before=numbers)
    assert [point.step for point in later.points] == [1, 2, 3, 4, 5]


FRAME = "\r 20%|██        | {n}/50 [00:10<00:40,  1.0it/s]"


def test_the_bar_before_a_dictionary_counts_its_step() -> None:
    text = "".join(
        f"{FRAME.format(n=n)}{{'loss': '0.1', 'reward': '0.{n}', 'grad_norm': 'nan'}}\n" for n in (10, 20, 30)
    )
    numbers = read(text)
    assert [point.step for point in numbers.points] == [10, 20, 30]
    assert (numbers.facts["has_nan"], numbers.facts["max_step"], numbers.facts["step"]) == (True, 50, 30)


def test_the_bar_drawn_anew_behind_a_dictionary_counts_its_step_where_the_row_was_written_over_it() -> None:
    """Not every step is drawn before its row: 1 is seen where the row of 2 was written."""
    rows = [f"\r{' ' * 60}\r{{'loss': '0.1', 'reward': '0.{n}'}}\n\r{drawn(n)}" for n in (1, 2, 3)]
    numbers = read(f"\r{drawn(0)}" + "".join(rows))
    assert [(point.step, point.attempt) for point in numbers.points] == [(1, 1), (2, 1), (3, 1)]
    assert (numbers.facts["max_step"], numbers.facts["step"]) == (50, 3)


def test_dictionaries_that_came_all_at_once_are_numbered_and_not_given_the_step_of_the_bar() -> None:
    rows = "".join(f"{{'loss': '0.1', 'reward': '0.{n}'}}\n" for n in (1, 2, 3))
    numbers = read("".join(f"\r{drawn(n)}" for n in range(31)) + rows)
    assert [point.step for point in numbers.points] == [1, 2, 3]
    assert isinstance(numbers.facts["step"], Unknown)


def drawn(n: int) -> str:
    return f"{2 * n:3}%|          | {n}/50 [00:10<00:40,  1.0it/s]"


def test_a_dictionary_may_tell_its_step_itself() -> None:
    numbers = read("{'loss': 0.1, 'reward': 0.3, 'global_step/max_steps': '12/480', 'kl': 0.02}\n")
    assert (numbers.points[0].step, numbers.facts["max_step"], numbers.points[0].get("kl")) == (12, 480, 0.02)


def test_pairs_with_an_equals_sign() -> None:
    numbers = read("step=7 reward=0.31 grad_norm=0.4\n2026-08-01 step=8/90, reward=1,204.5, grad_norm=inf\n")
    assert [point.step for point in numbers.points] == [7, 8]
    assert column(numbers, "reward") == [0.31, 1204.5]
    assert (numbers.facts["has_nan"], numbers.facts["max_step"]) == (True, 90)


def test_pairs_with_a_colon() -> None:
    row = "(TaskRunner pid=9) step:{n} - actor/entropy:0.4{n} - actor/grad_norm:0.2 - critic/rewards/mean:0.{n}\n"
    numbers = read(row.format(n=3) + row.format(n=4))
    assert [point.step for point in numbers.points] == [3, 4]
    assert (column(numbers, "entropy"), column(numbers, "reward")) == ([0.43, 0.44], [0.3, 0.4])


def test_a_table() -> None:
    row = " iteration {n:8}/  90000 | learning rate: 1.5E-04 | grad norm: {g} | nan iterations: 0 |\n"
    numbers = read(row.format(n=7, g="0.81") + row.format(n=8, g="nan"))
    assert [point.step for point in numbers.points] == [7, 8]
    assert numbers.points[0].get("grad_norm") == 0.81
    assert numbers.facts["grad_norm"] == Unknown(Reason.NAN, "printed as nan")
    assert (numbers.facts["has_nan"], numbers.facts["max_step"]) == (True, 90000)


@pytest.mark.parametrize(
    "line",
    [
        "loading from step=5 of the schedule",
        "{'loss': 0.1, 'learning_rate': 2e-06, 'epoch': 0.1}",
        "step: 4 of the plan",
        " iteration of the loop",
        "retries step=4 sleep=0.5",
    ],
)
def test_what_only_looks_like_it_is_passed_over(line: str) -> None:
    assert read(line + "\n") == Numbers()


def test_a_log_with_a_mirror_line_is_read_by_that_alone() -> None:
    numbers = read('WANDB_MIRROR kind=train step=2 metrics={"kl": 0.5}\nstep=9 reward=0.1\n')
    assert [point.step for point in numbers.points] == [2]


def test_a_row_that_is_cut_is_no_row() -> None:
    numbers = read("step=7 reward=0.3\nstep=8 reward=0.")
    assert [point.step for point in numbers.points] == [7]
    broken = read("step=7 reward=0.3\n{'loss': 0.1, 'reward': 0.\n")
    assert ([point.step for point in broken.points], broken.facts["malformed_lines"]) == ([7], 1)


@pytest.mark.parametrize(
    "line",
    [
        "step=1 reward=0.25 grad_norm=0.2{}step=2 reward=0.5 grad_norm=0.9\n",
        "step:1 - critic/rewards/mean:0.25 - actor/grad_norm:0.2{}"
        "step:2 - critic/rewards/mean:0.5 - actor/grad_norm:0.9\n",
        " iteration 1/ 10 | reward: 0.25 | grad norm: 0.2 |{} iteration 2/ 10 | reward: 0.5 | grad norm: 0.9 |\n",
    ],
)
@pytest.mark.parametrize("between", ["", " ", " [rank3] "])
def test_records_that_are_glued_into_one_line_keep_their_own_numbers(line: str, between: str) -> None:
    numbers = read(line.format(between))
    assert [point.step for point in numbers.points] == [1, 2]
    assert (column(numbers, "reward"), column(numbers, "grad_norm")) == ([0.25, 0.5], [0.2, 0.9])


def test_a_line_that_counts_steps_of_two_kinds_is_one_record() -> None:
    numbers = read("step=5 global_step=20 env_step=900 reward=0.25\n")
    assert [(point.step, point.get("reward")) for point in numbers.points] == [(5, 0.25)]


@pytest.mark.parametrize(
    "line",
    [
        "step=1 reward=0,311\n",
        "step:1 - critic/rewards/mean:0,311\n",
        " iteration 1/ 10 | reward: 0,311 |\n",
        "{'loss': '0,012', 'reward': '0,311', 'step': '1'}\n",
    ],
)
def test_a_comma_for_the_decimal_point_makes_no_thousands(line: str) -> None:
    (value,) = column(read(line), "reward")
    assert isinstance(value, Unknown)
    assert value.reason == Reason.MALFORMED


def test_a_comma_behind_a_whole_number_is_no_part_of_it() -> None:
    numbers = read("step=1, reward=1, grad_norm=1,234\n")
    assert (column(numbers, "reward"), column(numbers, "grad_norm")) == ([1], [1234])


def test_a_dictionary_that_names_a_key_twice_is_of_two_rows_and_broken() -> None:
    numbers = read("{'loss': 0.1, 'reward': 0.25, 'step': 1}\n{'loss': 0.1, 'reward': 0.3, 'reward': 0.9, 'step': 2}\n")
    assert (column(numbers, "reward"), numbers.facts["malformed_lines"]) == ([0.25], 1)
