"""Draws: the same for the same seed, everywhere, and spread evenly."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.draws import Draws

MANY = 20_000


def test_the_row_of_a_seed_is_the_same_everywhere() -> None:
    """The figures were reckoned once: another release of Python, or another machine, draws them too."""
    draws = Draws("rules/a.yaml:1 $floor 30m made 1h")
    assert [draws.below(1000) for _ in range(10)] == [684, 591, 755, 716, 600, 293, 903, 597, 984, 724]


@given(st.text(max_size=20), st.integers(1, 10**6))
def test_equal_seeds_draw_alike_and_within_bounds(seed: str, end: int) -> None:
    one, other = Draws(seed), Draws(seed)
    found = [one.below(end) for _ in range(20)]
    assert found == [other.below(end) for _ in range(20)]
    assert all(0 <= value < end for value in found)


def test_another_seed_draws_another_row() -> None:
    one, other = Draws("a"), Draws("b")
    assert [one.below(1000) for _ in range(10)] != [other.below(1000) for _ in range(10)]


def test_each_value_comes_about_as_often() -> None:
    draws = Draws("dice")
    found = Counter(draws.pick("abcdef") for _ in range(MANY))
    assert set(found) == set("abcdef")
    assert all(abs(count - MANY / 6) < 300 for count in found.values()), found


def test_a_chance_holds_as_often_as_it_says() -> None:
    draws = Draws("chance")
    assert abs(sum(draws.chance(0.08) for _ in range(MANY)) - 0.08 * MANY) < 200
    assert not any(draws.chance(0.0) for _ in range(1000))
    assert all(draws.chance(1.0) for _ in range(1000))
