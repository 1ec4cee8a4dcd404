"""Numbers drawn from a seed, the same in each release of Python: those of `random` are kept only for `random()`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import unpack
from typing import TypeVar

T = TypeVar("T")
_WORD = 64
"""Bits of one draw."""


class Draws:
    """An endless row of draws; rows of equal seeds are equal. Nothing secret may be made of them."""

    __slots__ = ("_block", "_left", "_seed")

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode("utf-8", "surrogatepass")
        self._block = 0
        self._left: list[int] = []

    def _word(self) -> int:
        if not self._left:
            digest = blake2b(self._seed + self._block.to_bytes(8, "little"))
            self._left = list(unpack("<8Q", digest.digest()))
            self._block += 1
        return self._left.pop()

    def chance(self, share: float) -> bool:
        """True with this probability, from 0 to 1."""
        return self._word() < share * (1 << _WORD)

    def below(self, end: int) -> int:
        """A whole number from 0 to `end` - 1, each as often; `end` is at least 1."""
        return self._word() * end >> _WORD

    def pick(self, values: Sequence[T]) -> T:
        """One of the values, of which there is at least one."""
        return values[self.below(len(values))]
