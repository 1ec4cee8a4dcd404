"""Clusters side by side: each in a thread of its own, each within its deadline; a failure is a value."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from sweeprules.collectors.transport.command import Transport
from sweeprules.collectors.transport.connect import allow_list
from sweeprules.collectors.transport.session import Session
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord

T = TypeVar("T")
RESERVE = 0.15
"""Share of a sweep's deadline that is left for judging and printing."""
LATE = 5.0
"""Seconds that a thread may take beyond its deadline before the sweep goes on without it."""


class Sessions:
    """One session a cluster, and all that they observed, in an order that does not depend on who was quicker."""

    def __init__(
        self, records: Sequence[ClusterRecord], connect: Callable[[ClusterRecord], Transport], deadline: float
    ) -> None:
        self.deadline = deadline
        self._seen: dict[str, list[Observation]] = {record.name: [] for record in records}
        self._sessions = {
            record.name: Session(
                record.name,
                record.reach,
                connect(record),
                deadline,
                allow_list(record),
                on_observation=self._seen[record.name].append,
            )
            for record in records
        }

    def __getitem__(self, cluster: str) -> Session:
        return self._sessions[cluster]

    def observations(self) -> tuple[Observation, ...]:
        """Everything observed, cluster by cluster, each in the order in which it was asked."""
        return tuple(one for name in sorted(self._seen) for one in tuple(self._seen[name]))

    def close(self) -> None:
        """Let go of every connection."""
        for session in self._sessions.values():
            session.close()


def side_by_side(
    records: Sequence[ClusterRecord], work: Callable[[ClusterRecord], T], deadline: float, said: str
) -> tuple[dict[str, T], dict[str, BaseException | None]]:
    """The results of `work` by cluster, and the clusters without one: by what ended them, or None when late.

    `deadline` is in seconds of `time.monotonic()`. A thread that overstays is left behind; it can do no harm but read.
    """
    results: dict[str, T] = {}
    failures: dict[str, BaseException | None] = {}

    def one(record: ClusterRecord) -> None:
        try:
            results[record.name] = work(record)
        except Exception as error:  # noqa: BLE001  a cluster's fault must not end the sweep; it is raised in the report
            failures[record.name] = error
        progress(f"{record.name}: {said}")

    threads = {r.name: threading.Thread(target=one, args=(r,), name=r.name, daemon=True) for r in records}
    for thread in threads.values():
        thread.start()
    for name, thread in threads.items():
        thread.join(max(0.0, deadline + LATE - time.monotonic()))
        if thread.is_alive():
            failures[name] = None
    done = {name: result for name, result in tuple(results.items()) if name not in failures}
    return done, failures


def budget(deadline: float) -> float:
    """The clusters' deadline within the sweep's, both in seconds of `time.monotonic()`."""
    left = max(0.0, deadline - time.monotonic())
    return deadline - max(1.0, left * RESERVE)


def progress(text: str) -> None:
    """A line for a person who waits: only on a terminal, on stderr."""
    if sys.stderr.isatty():
        sys.stderr.write(f"sweeprules: {text}\n")
