"""The log of an RL run as it grows, is begun anew, or comes in pieces."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import read_rl, restarted, series_of
from sweeprules.collectors.metrics.stream import read_rl_pieces
from tests.collectors.metrics import rl_logs
from tests.collectors.metrics.test_rl import UTC, read, steps

OVERLAP = 4096


def test_a_step_that_comes_again_is_a_new_attempt_and_the_first_reward_stays() -> None:
    first, second = rl_logs.learning(1, 6), rl_logs.learning(4, 8)
    for metrics in second.values():
        metrics["reward/avg_raw_reward"] = 0.9
    numbers = read(rl_logs.run(first) + rl_logs.run(second))
    assert steps(numbers) == [*((n, 1) for n in range(1, 7)), *((n, 2) for n in range(4, 9))]
    series = series_of(numbers.memo)
    assert [point.attempt for point in series.latest] == [1, 1, 1, 2, 2, 2, 2, 2]
    assert series.rewards[5] == pytest.approx(0.23)
    assert series.rewards[7] == 0.9


def test_the_same_line_once_more_is_no_attempt() -> None:
    line = 'WANDB_MIRROR kind=train step=5 metrics={"kl": 0.25}\n'
    assert steps(read(line * 3)) == [(5, 1)]
    assert steps(read(line + line.replace("0.25", "0.26"))) == [(5, 1), (5, 2)]


def test_a_log_that_is_begun_anew_keeps_the_points_of_the_attempt_before() -> None:
    before = read(rl_logs.run(rl_logs.learning(1, 6))).memo
    numbers = read(rl_logs.run(rl_logs.learning(6, 7)), before=restarted(before))
    assert steps(numbers)[-3:] == [(6, 1), (6, 2), (7, 2)]
    assert numbers.facts["step"] == 7


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("overlap", [0, OVERLAP])
@pytest.mark.parametrize("shown", [{}, {"mirror": False}, {"console": False}])
def test_reading_as_it_grows_tells_the_same_as_reading_it_at_once(
    seed: int, overlap: int, shown: dict[str, bool]
) -> None:
    rng = random.Random(seed)
    data = rl_logs.run(rl_logs.learning(1, 12), **shown) + rl_logs.run(rl_logs.learning(9, 15), **shown)
    data = data.replace(b'"trainer/epoch": 0', b'"trainer/epoch": ', 1)
    memo: Mapping[str, Any] | None = None
    numbers = Numbers()
    until = 0
    for size in rl_logs.pieces(data, rng):
        start = max(0, until - overlap)
        chunk = Chunk(data[start:size], start, whole_start=start in (0, until))
        numbers = read_rl(chunk, rl_logs.aliases(), UTC, memo, whole=True)
        memo, until = numbers.memo, max(data.rfind(b"\n", 0, size), data.rfind(b"\r", 0, size)) + 1
    once = read(data)
    kept, full = series_of(memo), series_of(once.memo)
    assert (kept.rewards, kept.printed) == (full.rewards, full.printed)
    # What began before the stretch is placed where the stretch begins, and its time is not seen.
    told = [replace(point, position=0, time=None) for point in kept.points]
    assert told == [replace(point, position=0, time=None) for point in full.points]
    assert numbers.facts == once.facts


@pytest.mark.parametrize("size", [700, 5000, 100_000])
def test_reading_in_pieces_tells_the_same_as_reading_it_at_once(size: int) -> None:
    data = rl_logs.run(rl_logs.learning(1, 12)) + rl_logs.run(rl_logs.learning(9, 15))
    numbers = read_rl_pieces((data[at : at + size] for at in range(0, len(data), size)), rl_logs.aliases(), UTC)
    assert numbers.facts == read(data).facts
    assert steps(numbers) == steps(read(data))


def test_the_newest_line_is_read_before_it_is_ended_but_not_before_it_is_whole() -> None:
    line = 'WANDB_MIRROR kind=train step=3 metrics={"kl": 0.25}'
    half = read(f"x\n{line[:-5]}")
    assert (steps(half), half.facts["malformed_lines"]) == ([], 0)
    whole = read(f"x\n{line}")
    assert steps(whole) == [(3, 1)]
    assert steps(read(f"x\n{line}\n", before=whole.memo)) == [(3, 1)]
