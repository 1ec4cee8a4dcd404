"""Readers that ask in turns, so that many of them share each round trip.

A reader is a generator: it yields the commands of a round, is sent their observations, and returns what it read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from typing import TypeVar

from sweeprules.collectors.transport.command import Command
from sweeprules.engine.observation import Observation

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

Observed = tuple[Observation, ...]
Steps = Generator[Sequence[Command], Observed, T]
Ask = Callable[[Sequence[Command]], Observed]


def run(call: Ask, readers: Mapping[K, Steps[T]]) -> tuple[dict[K, T], Observed]:
    """What every reader returns, by its key, and all that was observed: as many calls as the longest of them asks."""
    done: dict[K, T] = {}
    waiting: dict[K, tuple[Steps[T], Sequence[Command]]] = {}
    every: list[Observation] = []
    for key, reader in readers.items():
        _advance(key, reader, None, done, waiting)
    while waiting:
        turn = list(waiting.items())
        waiting = {}
        observed = call(tuple(command for _, (_, batch) in turn for command in batch))
        every.extend(observed)
        at = 0
        for key, (reader, batch) in turn:
            share = observed[at : at + len(batch)]
            at += len(batch)
            _advance(key, reader, share, done, waiting)
    return done, tuple(every)


def _advance(
    key: K,
    reader: Steps[T],
    share: Observed | None,
    done: dict[K, T],
    waiting: dict[K, tuple[Steps[T], Sequence[Command]]],
) -> None:
    """To the reader's next round that asks for something, or to its end."""
    try:
        batch = next(reader) if share is None else reader.send(share)
        while not batch:
            batch = reader.send(())
        waiting[key] = (reader, batch)
    except StopIteration as end:
        done[key] = end.value
