"""Which things build on each other in a circle, and an order in which each stands after what it builds on."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def components(keys: Sequence[K], needs: Mapping[K, Sequence[K]]) -> Iterator[list[K]]:
    """The strongly connected components, each after those that it needs (Tarjan 1972), without recursion."""
    order: dict[K, int] = {}
    low: dict[K, int] = {}
    stack: list[K] = []
    open_: set[K] = set()

    def enter(key: K) -> None:
        order[key] = low[key] = len(order)
        stack.append(key)
        open_.add(key)

    for root in keys:
        if root in order:
            continue
        enter(root)
        work = [(root, iter(needs[root]))]
        while work:
            key, rest = work[-1]
            for other in rest:
                if other not in order:
                    enter(other)
                    work.append((other, iter(needs[other])))
                    break
                if other in open_:
                    low[key] = min(low[key], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == order[key]:
                    cut = stack.index(key)
                    group = stack[cut:]
                    del stack[cut:]
                    open_.difference_update(group)
                    yield group
