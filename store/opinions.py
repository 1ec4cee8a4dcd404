"""What people said about the flags of kept sweeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opinion:
    """A person's word on what a sweep said of one job (`cluster:id`).

    `raised` says whether the sweep raised `flag` there, `right` whether that was right; `at` is epoch seconds. An
    empty `flag` stands for every flag, on a job that had none.
    """

    job: str
    sweep: str
    flag: str
    raised: bool
    right: bool
    at: float
    note: str = ""

    @property
    def expected(self) -> bool:
        """Whether a good policy raises the flag on the job."""
        return self.raised == self.right


def insert(connection: sqlite3.Connection, said: Iterable[Opinion]) -> None:
    """Write opinions over those on the same flag, job and sweep; the caller holds the transaction.

    Raises `sqlite3.Error`.
    """
    connection.executemany(
        "INSERT OR REPLACE INTO opinions VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(one.job, one.sweep, one.flag, int(one.raised), int(one.right), one.at, one.note) for one in said],
    )


def select(connection: sqlite3.Connection) -> tuple[Opinion, ...]:
    """Every opinion, oldest first. Raises `sqlite3.Error`."""
    query = "SELECT job, sweep, flag, raised, is_right, at, note FROM opinions ORDER BY at, job, flag"
    return tuple(
        Opinion(job, sweep, flag, bool(raised), bool(right), at, note)
        for job, sweep, flag, raised, right, at, note in connection.execute(query)
    )
