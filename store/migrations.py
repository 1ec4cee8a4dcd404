"""The database's shape, as numbered steps: a step that was released is never edited, a change is a new step."""

from __future__ import annotations

import sqlite3

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE sweeps (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            started REAL NOT NULL,
            finished REAL NOT NULL,
            now REAL NOT NULL,
            complete INTEGER NOT NULL,
            engine TEXT NOT NULL,
            policy_sha256 TEXT NOT NULL,
            report BLOB NOT NULL,
            cassette TEXT
        )""",
        "CREATE INDEX sweeps_complete ON sweeps (complete, seq)",
        """CREATE TABLE cluster_sweeps (
            cluster TEXT NOT NULL,
            seq INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
            status TEXT NOT NULL,
            PRIMARY KEY (cluster, seq)
        ) WITHOUT ROWID""",
        "CREATE INDEX cluster_sweeps_seq ON cluster_sweeps (seq)",
        """CREATE TABLE subjects (
            seq INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            cluster TEXT NOT NULL,
            judged INTEGER NOT NULL,
            facts BLOB NOT NULL,
            verdict BLOB,
            PRIMARY KEY (seq, kind, key)
        )""",
        """CREATE TABLE job_ids (
            text TEXT NOT NULL,
            seq INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
            key TEXT NOT NULL,
            shown_as TEXT NOT NULL,
            PRIMARY KEY (text, seq, key)
        ) WITHOUT ROWID""",
        "CREATE INDEX job_ids_seq ON job_ids (seq)",
        """CREATE TABLE prior (
            scope TEXT NOT NULL,
            name TEXT NOT NULL,
            seq INTEGER NOT NULL,
            document BLOB NOT NULL,
            PRIMARY KEY (scope, name)
        ) WITHOUT ROWID""",
        """CREATE TABLE since (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            flag TEXT NOT NULL,
            sweep TEXT NOT NULL,
            PRIMARY KEY (kind, key, flag)
        ) WITHOUT ROWID""",
        """CREATE VIEW heads AS
            SELECT seq, id, started, finished, now, complete, engine, policy_sha256 FROM sweeps""",
        """CREATE VIEW newest_whole AS
            SELECT cluster, max(seq) AS seq FROM cluster_sweeps WHERE status = 'swept' GROUP BY cluster""",
    ),
    (
        # No reference to a sweep: what a person said outlives the sweep that it was said of.
        """CREATE TABLE opinions (
            job TEXT NOT NULL,
            sweep TEXT NOT NULL,
            flag TEXT NOT NULL,
            raised INTEGER NOT NULL,
            is_right INTEGER NOT NULL,
            at REAL NOT NULL,
            note TEXT NOT NULL,
            PRIMARY KEY (job, sweep, flag)
        ) WITHOUT ROWID""",
    ),
)


class NewerSchemaError(Exception):
    """Raised when the database was written by a later version; `found` is its number."""

    def __init__(self, found: int) -> None:
        self.found = found
        super().__init__(f"schema {found} is newer than {len(STEPS)}")


def current(connection: sqlite3.Connection) -> int:
    """The number of the last step that was taken; 0 for a database without any. Raises `sqlite3.Error`."""
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").fetchone()
    if table is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()[0])


def migrate(connection: sqlite3.Connection, now: float) -> None:
    """Take the steps that are missing, all in one transaction; none is a quick look.

    Raises `NewerSchemaError`, and `sqlite3.Error` with nothing changed.
    """
    if check(connection) == len(STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have taken the steps meanwhile.
        done = check(connection)
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, at REAL NOT NULL)")
        for number, step in enumerate(STEPS[done:], start=done + 1):
            for statement in step:
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, now))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def check(connection: sqlite3.Connection) -> int:
    """The number of the last step. Raises `NewerSchemaError` when this version does not know it."""
    found = current(connection)
    if found > len(STEPS):
        raise NewerSchemaError(found)
    return found
