"""Holds over sweeps: what starts them, what ends them, and what does neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import ABSENT, NOT_READ, Ref
from sweeprules.engine.holds import RECENT, HoldState, advance, enough
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

KEY = ("rule", Ref("job", "leo:1"))
HOUR = 3600.0


def over(*truths: Truth) -> HoldState | None:
    """The state after sweeps an hour apart."""
    states: dict[tuple[str, Ref], HoldState] = {}
    for i, truth in enumerate(truths):
        states = advance(states, {KEY: truth}, i * HOUR, f"s{i}")
    return states.get(KEY)


def test_a_hold_counts_the_looks_in_a_row_since_its_first() -> None:
    assert over(TRUE) == HoldState(1, "s0", 0.0, 0.0, "1")
    assert over(FALSE, TRUE, TRUE) == HoldState(2, "s1", HOUR, 2 * HOUR, "11")
    assert over(TRUE, TRUE, FALSE) == HoldState(0, "", None, 2 * HOUR, "110")
    assert over(TRUE, FALSE, TRUE) == HoldState(1, "s2", 2 * HOUR, 2 * HOUR, "101")


def test_a_sweep_that_could_not_tell_neither_starts_nor_ends_a_hold() -> None:
    assert over(UNKNOWN) is None
    assert over(TRUE, UNKNOWN, UNKNOWN) == over(TRUE)
    assert over(TRUE, UNKNOWN, TRUE) == HoldState(2, "s0", 0.0, 2 * HOUR, "11")
    assert over(TRUE, FALSE, UNKNOWN) == over(TRUE, FALSE)


def test_a_subject_that_was_not_there_keeps_its_state() -> None:
    state = HoldState(2, "s0", 0.0, HOUR, "11")
    assert advance({KEY: state}, {}, 9 * HOUR, "s9") == {KEY: state}


def test_what_has_been_false_for_long_is_forgotten_and_history_is_bounded() -> None:
    assert over(*[FALSE] * 3) is None
    assert over(TRUE, *[FALSE] * (RECENT - 1)) is not None
    assert over(TRUE, *[FALSE] * RECENT) is None
    long = over(*[TRUE] * (3 * RECENT))
    assert long is not None
    assert (long.sweeps, len(long.recent)) == (3 * RECENT, RECENT)


def test_flapping_is_the_number_of_changes() -> None:
    state = over(TRUE, FALSE, TRUE, UNKNOWN, TRUE, FALSE)
    assert state is not None
    assert state.changes == 3


@given(st.lists(st.sampled_from(list(Truth)), max_size=2 * RECENT))
def test_unknown_sweeps_could_as_well_not_have_been(truths: list[Truth]) -> None:
    seen = [t for t in truths if t is not UNKNOWN]
    state, plain = over(*truths), over(*seen)
    assert (state is None) == (plain is None)
    if state is not None and plain is not None:
        assert (state.sweeps, state.recent, state.changes) == (plain.sweeps, plain.recent, plain.changes)


TWICE = HoldState(1, "s0", 1000.0, 1000.0, "1")


@pytest.mark.parametrize(
    ("sweeps", "seconds", "state", "now", "expected"),
    [
        (2, None, None, 0, FALSE),
        (2, None, TWICE, 0, TRUE),
        (3, None, TWICE, 0, FALSE),
        (2, None, HoldState(0, last_at=5.0, recent="10"), 0, FALSE),
        (NOT_READ, None, TWICE, 0, UNKNOWN),
        (ABSENT, None, TWICE, 0, FALSE),
        (2, None, TWICE, NOT_READ, TRUE),
        (None, 60, TWICE, 1059, FALSE),
        (None, 60, TWICE, 1060, TRUE),
        (None, 60, TWICE, 10, FALSE),
        (None, 60, None, 1060, FALSE),
        (None, 60, TWICE, NOT_READ, UNKNOWN),
        (None, NOT_READ, TWICE, 1060, UNKNOWN),
    ],
)
def test_enough(sweeps: object, seconds: object, state: HoldState | None, now: object, expected: Truth) -> None:
    assert enough(sweeps, seconds, state, now) is expected  # type: ignore[arg-type]
