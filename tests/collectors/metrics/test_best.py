"""Which checkpoint is chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.metrics.best import best_step, smoothed
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Reason, Unknown

REWARDS: dict[int, float | None] = {4: 0.1, 8: 0.7, 12: 0.25, 16: 0.55}


def test_the_mean_trails_and_is_seeded_with_the_first_reward() -> None:
    assert smoothed({5: 0.2, 10: 0.5, 15: 0.4, 20: 0.6}) == pytest.approx({5: 0.2, 10: 0.3, 15: 1 / 3, 20: 0.42222222})


@pytest.mark.parametrize(
    ("saved", "max_step", "expected"),
    [
        (20, 80, 20),
        (15, 80, 15),
        (22, 80, 20),
        (20, 17, 15),
        (20, ABSENT, 20),
        (5, 80, 5),
        (9, 80, 5),
        (4, 80, ABSENT),
        (ABSENT, 80, ABSENT),
    ],
)
def test_a_save_that_is_there_and_within_the_plan_is_chosen(
    saved: FactValue, max_step: FactValue, expected: FactValue
) -> None:
    rewards = {5: 0.2, 10: 0.5, 15: 0.4, 20: 0.6}
    assert best_step(rewards, 5, saved, max_step, whole=True) == expected


def test_the_first_save_counts_only_alone() -> None:
    rewards: dict[int, float | None] = {1: 0.9, 2: 0.9, 3: 0.2, 4: 0.1, 5: 0.1, 6: 0.1}
    assert best_step(rewards, 2, 3, 10, whole=True) == 2
    assert best_step(rewards, 2, 6, 10, whole=True) == 4


@pytest.mark.parametrize("which", ["interval", "saved", "max_step"])
def test_what_is_not_known_leaves_the_choice_unknown(which: str) -> None:
    given: dict[str, FactValue] = {"interval": 4, "saved": 16, "max_step": 40}
    assert isinstance(best_step(REWARDS, **{**given, which: NOT_READ}, whole=True), Unknown)
    assert best_step(REWARDS, **given, whole=True) == 16


def test_a_candidate_without_a_reward_leaves_the_choice_unknown() -> None:
    rewards = {step: reward for step, reward in REWARDS.items() if step != 12}
    chosen = best_step(rewards, 4, 16, 40, whole=True)
    assert isinstance(chosen, Unknown)
    assert "12" in chosen.detail


def test_a_log_of_which_only_the_end_was_read_leaves_the_choice_unknown() -> None:
    assert best_step(REWARDS, 4, 16, 40, whole=False) == Unknown(Reason.CUT, "no reward before step 4 was read")
    assert best_step({1: 0.1, **REWARDS}, 4, 16, 40, whole=False) == 16


def test_a_reward_that_is_no_number_is_passed_over_and_never_chosen() -> None:
    rewards = {**REWARDS, 12: None}
    assert smoothed(rewards)[16] == pytest.approx(smoothed({4: 0.1, 8: 0.7, 16: 0.55})[16])
    assert best_step({4: None, 8: None, 12: None}, 4, 12, 40, whole=True) == Unknown(
        Reason.NAN, "no saved step has a reward that is a number"
    )


@given(
    st.dictionaries(st.integers(1, 40), st.floats(-1, 1), min_size=1),
    st.integers(1, 9),
    st.integers(0, 50),
    st.integers(1, 50),
)
def test_what_is_chosen_is_a_save_that_no_other_candidate_beats(
    rewards: dict[int, float], interval: int, saved: int, last: int
) -> None:
    chosen = best_step(rewards, interval, saved, last, whole=True)
    if not isinstance(chosen, int):
        return
    assert chosen % interval == 0
    assert chosen <= min(saved, last)
    smooth = smoothed(rewards)
    others = range(2 * interval, min(saved, last) + 1, interval)
    assert all(smooth[chosen] >= smooth[step] for step in others)
