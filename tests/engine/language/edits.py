"""Texts with some of their words dropped, doubled, swapped or replaced."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

Edit = tuple[str, int, str]
"""How, at which word, and what is put there."""


def edits(words: Sequence[str], pieces: Sequence[str], most: int) -> st.SearchStrategy[list[Edit]]:
    """One to `most` edits of a text of these words."""
    how = st.sampled_from(["drop", "double", "swap", "put"])
    return st.lists(st.tuples(how, st.integers(0, len(words) - 1), st.sampled_from(pieces)), min_size=1, max_size=most)


def edited(words: Sequence[str], made: Sequence[Edit]) -> str:
    """The text after the edits, one by one."""
    found = list(words)
    for how, at, piece in made:
        if how == "drop":
            found[at] = ""
        elif how == "double":
            found[at] *= 2
        elif how == "swap":
            found[at], found[-1 - at] = found[-1 - at], found[at]
        else:
            found[at] = piece
    return "".join(found)
