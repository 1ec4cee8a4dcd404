"""Work on many values without the garbage collector walking over all of them again and again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def collected_after(work: Callable[P, R]) -> Callable[P, R]:
    """The same function, during which no cycles are collected; those that it leaves are collected later as ever.

    Judging makes millions of small values that live to its end. Every so many of them the collector would look at all
    that there are, facts included, so that a world of ten times the jobs took thirteen times as long.
    """

    @wraps(work)
    def quietly(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return work(*args, **kwargs)
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            gc.enable()

    return quietly
