"""The store: what the sweeps saw and decided, kept in one SQLite file and a folder of cassettes."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sweeprules.engine.facts import Ref
from sweeprules.store import migrations, opinions, reading, retention, writing
from sweeprules.store.codec import CodecError, Json
from sweeprules.store.errors import StoreError
from sweeprules.store.files import PRIVATE_FILE
from sweeprules.store.kept import Found, StartingPoint, Stored, SweepInfo, SweepRecord, checked_id
from sweeprules.store.opinions import Opinion
from sweeprules.store.state import make_state

if TYPE_CHECKING:
    from sweeprules.store.cassette import Cassette

DATABASE = "sweeprules.sqlite3"
CASSETTES = "cassettes"
BUSY_SECONDS = 10.0
"""How long to wait for another process's transaction; writing 5,000 jobs takes about one second."""


def open_store(state: Path, now: float) -> Store:
    """The store in a state folder, made or brought to this version's shape when need be.

    `now` (epoch seconds) dates the migrations. Raises `StoreError`.
    """
    make_state(state)
    path = state / DATABASE
    return Store(state, _connect(path, now))


def open_kept(state: Path, now: float) -> Store | None:
    """The store in a state folder; None when no sweep was ever kept there. Raises `StoreError`."""
    return open_store(state, now) if (state / DATABASE).is_file() else None


def _connect(path: Path, now: float) -> sqlite3.Connection:
    with _named(path):
        # Made here and not by SQLite, so that no other user can read it even for a moment.
        path.touch(mode=PRIVATE_FILE, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        with _named(path):
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            _use_wal(connection)
            migrations.migrate(connection, now)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not wait for others here, whatever the timeout says: two first openers would meet.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turns what SQLite and the disk say into words for people."""
    where = str(path)
    try:
        yield
    except migrations.NewerSchemaError as error:
        what = f"was written by a newer sweeprules (schema {error.found}, this one knows {len(migrations.STEPS)})"
        raise StoreError(where, what, "update sweeprules, or name another folder with --state") from error
    except sqlite3.OperationalError as error:
        raise StoreError(where, f"the database can not be used now: {error}", _operational_hint(str(error))) from error
    except sqlite3.IntegrityError as error:
        raise StoreError(where, f"the database refused what was written: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(where, f"is damaged or no database: {error}", _DAMAGED) from error
    except CodecError as error:
        raise StoreError(where, f"holds a document that can not be read: {error}", _DAMAGED) from error
    except OSError as error:
        raise StoreError(
            where, f"can not be opened: {error.strerror or error}", "name another folder with --state"
        ) from error


_DAMAGED = "move it away, with its -wal and -shm files; the next sweep starts a new one, and cassettes still replay"


def _operational_hint(message: str) -> str:
    if "locked" in message or "busy" in message:
        return "another process is writing; try again"
    if "full" in message:
        return "make room; what was kept before is whole"
    return "check the folder's permissions and free space, or name another with --state"


class Store:
    """An open store. Every method raises `StoreError` for what it can not read or write; nothing is ever half kept."""

    def __init__(self, state: Path, connection: sqlite3.Connection) -> None:
        self.state = state
        self.path = state / DATABASE
        self._connection = connection

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the use of it; a second call does nothing."""
        self._connection.close()

    # ------------------------------------------------------------ sweeps

    def last(self) -> SweepInfo | None:
        """The newest sweep."""
        with _named(self.path):
            return reading.last_sweep(self._connection)

    def last_complete(self) -> SweepInfo | None:
        """The newest complete sweep."""
        with _named(self.path):
            return reading.last_complete(self._connection)

    def sweep(self, sweep_id: str) -> SweepInfo | None:
        """The sweep of this id; None when it is not kept."""
        with _named(self.path):
            return reading.sweep(self._connection, sweep_id)

    def sweeps(self) -> tuple[SweepInfo, ...]:
        """Every kept sweep, newest first."""
        with _named(self.path):
            return reading.sweeps(self._connection)

    def report(self, sweep_id: str) -> Json:
        """The report of a sweep as JSON; None when it is not kept."""
        with _named(self.path):
            return reading.report(self._connection, sweep_id)

    def starting_point(self, back: int = 1) -> StartingPoint:
        """All that the next sweep starts from, at one moment of the store: `back` whole sweeps are looked at."""
        with _named(self.path), self._transaction("BEGIN"):
            return reading.starting_point(self._connection, back)

    def save_sweep(self, record: SweepRecord) -> None:
        """Keep a finished sweep, whole or not at all; the sweep lock must be held.

        Raises ValueError for an id that can not name a file.
        """
        name = None
        if record.cassette is not None:
            # Before the transaction: a kill between the two leaves a file that no sweep names, and `prune` removes it.
            name = f"{checked_id(record.info.id)}.cassette"
            record.cassette.write(self.state / CASSETTES / name)
        with _named(self.path), self._transaction("BEGIN IMMEDIATE"):
            writing.insert_sweep(self._connection, record, name)

    def prune(self, now: float, keep_sweeps: float, keep_cassettes: float) -> int:
        """Forget what is older than these seconds, and say how many sweeps went; the sweep lock must be held.

        The newest sweep, the last complete one and each cluster's newest whole one always stay.
        """
        with _named(self.path):
            with self._transaction("BEGIN IMMEDIATE"):
                gone = retention.forget(self._connection, now, keep_sweeps, keep_cassettes)
                named = retention.named_cassettes(self._connection)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        retention.drop_cassettes(self.state / CASSETTES, named)
        return gone

    # ------------------------------------------------------------ subjects

    def find_jobs(self, text: str, sweep_id: str | None = None) -> Found:
        """The jobs that `id` or `cluster:id` names, links that ended among them; else ids that are spelled alike."""
        with _named(self.path):
            return reading.find_jobs(self._connection, text, sweep_id)

    def ids_beginning(self, text: str, most: int) -> tuple[str, ...]:
        """Ids of jobs of the newest sweep, plain and as `cluster:id`, that begin so; sorted, at most `most`."""
        with _named(self.path):
            return reading.ids_beginning(self._connection, text, most)

    def stored(self, refs: Iterable[Ref], sweep_id: str) -> dict[Ref, Stored]:
        """The subjects of these names in one sweep, with their verdicts; what it does not hold is left out."""
        with _named(self.path):
            return reading.stored(self._connection, refs, sweep_id)

    def around(
        self, ref: Ref, sweep_id: str, follow: Collection[str], depth: int = 3, limit: int = 2_000
    ) -> dict[Ref, Stored]:
        """A subject and those that the relations named in `follow` reach within `depth` steps, at most `limit`."""
        with _named(self.path):
            return reading.around(self._connection, ref, sweep_id, follow, depth, limit)

    def world(self, sweep_id: str) -> dict[Ref, Stored]:
        """Every subject of a sweep."""
        with _named(self.path):
            return reading.all_stored(self._connection, sweep_id)

    # ------------------------------------------------------------ people's verdicts

    def give(self, said: Iterable[Opinion]) -> None:
        """Keep what a person said; a later word on the same flag of the same job and sweep replaces the earlier."""
        with _named(self.path), self._transaction("BEGIN IMMEDIATE"):
            opinions.insert(self._connection, said)

    def opinions(self) -> tuple[Opinion, ...]:
        """All that people said, oldest first; it outlives the sweeps."""
        with _named(self.path):
            return opinions.select(self._connection)

    # ------------------------------------------------------------ cassettes

    def cassette_path(self, sweep_id: str) -> Path | None:
        """Where a sweep's cassette is; None when none is kept."""
        with _named(self.path):
            name = reading.cassette_name(self._connection, sweep_id)
        return None if name is None else self.state / CASSETTES / name

    def cassette(self, sweep_id: str) -> Cassette | None:
        """A sweep's cassette; None when none is kept."""
        path = self.cassette_path(sweep_id)
        if path is None:
            return None
        from sweeprules.store.cassette import read_cassette

        return read_cassette(path)

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
        except BaseException:
            # Some failures (a full disk) have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
