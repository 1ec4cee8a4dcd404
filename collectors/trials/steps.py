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
    every: list[Observation] = []
    joined = side_by_side(readers)
    try:
        batch = next(joined)
        while True:
            observed = call(tuple(batch))
            every.extend(observed)
            batch = joined.send(observed)
    except StopIteration as end:
        done: dict[K, T] = end.value
    return done, tuple(every)


def side_by_side(readers: Mapping[K, Steps[T]]) -> Steps[dict[K, T]]:
    """Several readers as one, each of its rounds made of one round of every reader that still asks."""
    done: dict[K, T] = {}
    waiting: dict[K, tuple[Steps[T], Sequence[Command]]] = {}
    for key, reader in readers.items():
        _advance(key, reader, None, done, waiting)
    while waiting:
        turn = list(waiting.items())
        waiting = {}
        observed = yield tuple(command for _, (_, batch) in turn for command in batch)
        at = 0
        for key, (reader, batch) in turn:
            share = observed[at : at + len(batch)]
            at += len(batch)
            _advance(key, reader, share, done, waiting)
    return done


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
