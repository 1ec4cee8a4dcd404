"""Strong Kleene logic: true, false and unknown, ordered so that `all` is the least and `any` the greatest."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Truth(IntEnum):
    """A truth value; the order FALSE < UNKNOWN < TRUE is what the connectives compute with."""

    FALSE = 0
    UNKNOWN = 1
    TRUE = 2

    @property
    def word(self) -> str:
        """The word that people and JSON see: `true`, `false` or `unknown`."""
        return _WORDS[self]


_WORDS = {Truth.FALSE: "false", Truth.UNKNOWN: "unknown", Truth.TRUE: "true"}
FALSE, UNKNOWN, TRUE = Truth.FALSE, Truth.UNKNOWN, Truth.TRUE


def negate(truth: Truth) -> Truth:
    """Kleene negation: unknown stays unknown."""
    return _NEGATED[truth]


_NEGATED = (TRUE, UNKNOWN, FALSE)


def every(truths: Iterable[Truth]) -> Truth:
    """Kleene conjunction; the loader refuses an empty one, so an empty input here is a ValueError (by `min`)."""
    return min(truths)


def some(truths: Iterable[Truth]) -> Truth:
    """Kleene disjunction; an empty input is a ValueError (by `max`)."""
    return max(truths)


def of(value: bool) -> Truth:
    """The truth of a plain boolean."""
    return TRUE if value else FALSE
