"""What is forgotten, and when."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from sweeprules.store.files import drop_leftovers

_FORGET = """DELETE FROM sweeps WHERE now < ? AND seq NOT IN (
    SELECT seq FROM newest_whole
    UNION SELECT seq FROM (SELECT max(seq) AS seq FROM sweeps) WHERE seq IS NOT NULL
    UNION SELECT seq FROM (SELECT max(seq) AS seq FROM sweeps WHERE complete = 1) WHERE seq IS NOT NULL
)"""


def forget(connection: sqlite3.Connection, now: float, keep_sweeps: float, keep_cassettes: float) -> int:
    """Delete sweeps and cassette names older than these seconds; returns how many sweeps went.

    What the next sweep starts from stays, however old. The caller holds the transaction. Raises `sqlite3.Error`.
    """
    gone = connection.execute(_FORGET, (now - keep_sweeps,)).rowcount
    connection.execute(
        "UPDATE sweeps SET cassette = NULL WHERE now < ? AND seq < (SELECT max(seq) FROM sweeps)",
        (now - keep_cassettes,),
    )
    return gone


def named_cassettes(connection: sqlite3.Connection) -> frozenset[str]:
    """The cassette files that kept sweeps name. Raises `sqlite3.Error`."""
    rows = connection.execute("SELECT cassette FROM sweeps WHERE cassette IS NOT NULL").fetchall()
    return frozenset(row[0] for row in rows)


def drop_cassettes(folder: Path, named: frozenset[str]) -> None:
    """Remove the cassettes that no sweep names any more, and half-written ones; what can not be removed stays."""
    drop_leftovers(folder)
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.suffix == ".cassette" and path.name not in named:
                path.unlink(missing_ok=True)
