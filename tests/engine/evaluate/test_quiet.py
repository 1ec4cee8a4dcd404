"""No cycles are collected during work, and the collector is left as it was found."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from sweeprules.engine.evaluate.quiet import collected_after


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


@collected_after
def deep(levels: int) -> list[bool]:
    """Whether cycles are collected at each level, on the way in and on the way out."""
    before = gc.isenabled()
    inner = deep(levels - 1) if levels else []
    return [before, *inner, gc.isenabled()]


@collected_after
def broken(levels: int) -> None:
    if levels:
        broken(levels - 1)
    raise ValueError(str(gc.isenabled()))


@pytest.mark.parametrize("levels", [0, 1, 3])
def test_it_is_off_during_the_work_and_on_after_it(levels: int) -> None:
    assert not any(deep(levels))
    assert gc.isenabled()


@pytest.mark.parametrize("levels", [0, 2])
def test_an_exception_leaves_it_on(levels: int) -> None:
    with pytest.raises(ValueError, match="False"):
        broken(levels)
    assert gc.isenabled()


def test_an_exception_that_is_caught_inside_does_not_end_the_pause() -> None:
    @collected_after
    def catches() -> bool:
        with pytest.raises(ValueError, match="False"):
            broken(0)
        return gc.isenabled()

    assert catches() is False
    assert gc.isenabled()


def test_who_runs_without_it_still_does() -> None:
    gc.disable()
    assert not any(deep(1))
    with pytest.raises(ValueError, match="False"):
        broken(1)
    assert not gc.isenabled()
