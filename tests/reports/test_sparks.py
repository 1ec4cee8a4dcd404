"""The shape of a run's numbers on one line: spikes, gaps, what is no number, and a terminal without UTF-8."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import ABSENT, FactValue, Reason, Ref, Subject, Unknown
from sweeprules.reports.boxes import cells
from sweeprules.reports.sparks import sparks

NAN = Unknown(Reason.NAN)


def steps(values: dict[int, FactValue], name: str = "reward") -> list[Subject]:
    return [Subject(Ref("step", f"a:1/{at}"), {"step": at, name: value}) for at, value in sorted(values.items())]


def bars(values: dict[int, FactValue], name: str = "reward", width: int = 100, *, plain: bool = False) -> str:
    return sparks(steps(values, name), width, plain=plain)[0][13:].partition("  ")[0]


def test_a_rise_is_a_rise_and_its_range_stands_in_words() -> None:
    rising: dict[int, FactValue] = {at: at / 10 for at in range(1, 9)}
    assert sparks(steps(rising), 100) == ["  reward     ▁▂▃▄▅▆▇█  0.1 to 0.8, last 0.8; steps 1 to 8"]


def test_a_step_that_is_not_there_is_a_blank() -> None:
    assert bars({1: 0.0, 2: 1.0, 4: 1.0}) == "▁█ █"


def test_a_trainer_that_prints_every_tenth_step_has_no_gaps() -> None:
    assert bars({10: 1.0, 20: 2.0, 30: 3.0, 50: 1.0}, "loss") == "▁▅█ ▁"


def test_what_is_no_number_and_what_could_not_be_read_are_marked_and_counted() -> None:
    given_: dict[int, FactValue] = {
        1: 1.0,
        2: NAN,
        3: Unknown("malformed"),
        4: math.inf,
        5: 2.0,
        6: Unknown("not-read"),
    }
    (line,) = sparks(steps(given_), 100)
    assert line == "  reward     ▁×?×█   1 to 2, last 2; steps 1 to 6; 2 not a number; 1 unread"


def test_a_run_that_never_was_a_number_is_drawn_all_the_same() -> None:
    (line,) = sparks(steps({1: NAN, 2: NAN}), 100)
    assert line == "  reward     ××  steps 1 to 2; 2 not a number"


def test_a_level_line_says_so() -> None:
    assert sparks(steps({1: 0.5, 2: 0.5}), 100) == ["  reward     ▁▁  0.5 throughout; steps 1 to 2"]


def test_one_spike_in_thousands_of_steps_is_seen() -> None:
    flat: dict[int, FactValue] = {at: 0.2 for at in range(5000)}
    assert "█" in bars(flat | {2222: 9.0}, "grad_norm")
    assert bars(flat | {2222: -9.0}, "grad_norm").count("▁") == 1
    assert bars(flat | {2222: NAN}, "grad_norm").count("×") == 1


def test_a_terminal_without_utf8_gets_ascii() -> None:
    (line,) = sparks(steps({1: 0.0, 2: NAN, 3: 1.0, 5: 0.5}), 100, plain=True)
    assert line.isascii() and "_x@ +" in line


def test_only_what_a_run_prints_is_drawn_in_a_fixed_order() -> None:
    both = [
        Subject(Ref("step", f"a:1/{n}"), {"step": n, "loss": 1.0, "grad_norm": 2.0, "reward": ABSENT}) for n in (1, 2)
    ]
    assert [line.split()[0] for line in sparks(both, 100)] == ["grad", "loss"]
    assert sparks([], 100) == []
    assert sparks(steps({1: ABSENT}), 100) == []


numbers = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.just(NAN),
    st.just(ABSENT),
    st.just(Unknown("cut")),
    st.text(max_size=3),
)


@given(
    st.dictionaries(st.integers(0, 10**9), numbers, max_size=40),
    st.integers(40, 200),
    st.sampled_from(["reward", "loss"]),
    st.booleans(),
)
def test_any_series_fits(values: dict[int, FactValue], width: int, name: str, plain: bool) -> None:
    for line in sparks(steps(values, name), width, plain=plain):
        assert cells(line) <= width
        assert line.isprintable() and (line.isascii() or not plain)


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_long_run_takes_no_more_than_its_width(width: int) -> None:
    for line in sparks(steps({at: at * 1.2345e-5 for at in range(3000)}), width):
        assert cells(line) <= width
