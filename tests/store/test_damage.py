"""A damaged, newer, locked or full store says so in one sentence, and what was whole stays whole."""

from __future__ import annotations

import os
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sweeprules.store import db, migrations
from sweeprules.store.db import open_kept, open_store
from sweeprules.store.errors import StoreError
from tests.store.samples import START, cassette, info, job, record


def kept(state: Path) -> Path:
    """A state folder with one sweep of many jobs; returns the database's path."""
    with open_store(state, START) as store:
        store.save_sweep(record(1, [job("leo", str(number)) for number in range(200)], prior_site={"a": "b" * 5000}))
        store.prune(START, 1e9, 1e9)
    return state / "sweeprules.sqlite3"


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sweeprules.sqlite3").write_bytes(content)
    with pytest.raises(StoreError, match="is damaged or no database") as caught:
        open_kept(tmp_path, START)
    assert str(tmp_path / "sweeprules.sqlite3") in str(caught.value)
    assert "move it away" in caught.value.hint


def test_damaged_pages_are_one_clear_error_or_harmless(tmp_path: Path) -> None:
    path = kept(tmp_path)
    whole = path.read_bytes()
    dice = random.Random(7)
    damaged = 0
    for _ in range(40):
        data = bytearray(whole)
        start = dice.randrange(100, len(data) - 600)
        data[start : start + 500] = dice.randbytes(500)
        path.write_bytes(data)
        try:
            with open_store(tmp_path, START) as store:
                store.starting_point()
                store.world("sweep-1")
                store.report("sweep-1")
                store.find_jobs("17")
        except StoreError as error:
            damaged += 1
            assert str(path) in str(error)
    assert damaged > 10


def test_a_damaged_document_is_named(tmp_path: Path) -> None:
    path = kept(tmp_path)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE sweeps SET report = x'00112233'")
        raw.execute("UPDATE prior SET document = substr(document, 1, length(document) - 4)")
    with open_store(tmp_path, START) as store:
        with pytest.raises(StoreError, match="holds a document that can not be read"):
            store.report("sweep-1")
        with pytest.raises(StoreError, match="cut short"):
            store.starting_point()


def test_a_newer_schema_is_refused_and_untouched(tmp_path: Path) -> None:
    path = kept(tmp_path)
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO migrations VALUES (?, 0)", (len(migrations.STEPS) + 1,))
    with pytest.raises(StoreError, match=r"written by a newer sweeprules \(schema 3, this one knows 2\)"):
        open_store(tmp_path, START)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT count(*) FROM sweeps").fetchone() == (1,)


def test_steps_are_taken_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path)
    monkeypatch.setattr(
        migrations, "STEPS", (*migrations.STEPS, ("CREATE TABLE later (a)", "INSERT INTO later VALUES (1)"))
    )
    for _ in range(2):
        open_store(tmp_path, START + 5).close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT number, at FROM migrations").fetchall() == [(1, START), (2, START), (3, START + 5)]
        assert raw.execute("SELECT count(*) FROM later").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM sweeps").fetchone() == (1,)


def test_a_step_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path)
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, ("CREATE TABLE later (a)", "CREATE TABLE sweeps (a)")))
    with pytest.raises(StoreError, match="already exists"):
        open_store(tmp_path, START)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT max(number) FROM migrations").fetchone() == (2,)
        assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'later'").fetchone() == (0,)


def test_openers_of_a_new_store_side_by_side(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        opened = [pool.submit(lambda: open_store(tmp_path, START).close()) for _ in range(12)]
    assert [future.result() for future in opened] == [None] * 12


def test_writers_side_by_side(tmp_path: Path) -> None:
    def write(first: int) -> None:
        with open_store(tmp_path, START) as store:
            for number in range(first, 20, 2):
                store.save_sweep(record(number, [job("leo", str(n)) for n in range(20)]))

    with ThreadPoolExecutor(2) as pool:
        written = [pool.submit(write, first) for first in (0, 1)]
    assert [future.result() for future in written] == [None, None]
    with open_store(tmp_path, START) as store:
        assert sorted(sweep.id for sweep in store.sweeps()) == sorted(info(number).id for number in range(20))
        assert all(len(store.world(sweep.id)) == 20 for sweep in store.sweeps())


def test_a_writer_that_does_not_end_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path)
    monkeypatch.setattr(db, "BUSY_SECONDS", 0.1)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with open_store(tmp_path, START) as store:
        assert store.last() == info(1)
        with pytest.raises(StoreError, match="database is locked") as caught:
            store.save_sweep(record(2))
    assert caught.value.hint == "another process is writing; try again"
    blocker.close()


def test_a_reader_sees_one_moment_while_a_sweep_is_written(tmp_path: Path) -> None:
    kept(tmp_path)
    with open_store(tmp_path, START) as reader, open_store(tmp_path, START) as writer:
        writer._connection.execute("BEGIN IMMEDIATE")
        writer._connection.execute("DELETE FROM sweeps")
        assert reader.last() == info(1)
        assert len(reader.world("sweep-1")) == 200
        writer._connection.execute("ROLLBACK")


# ------------------------------------------------------------ a full disk


@pytest.mark.parametrize("room", [1, 2, 5, 20])
def test_a_full_database_keeps_the_last_sweep(tmp_path: Path, room: int) -> None:
    kept(tmp_path)
    many = [job("leo", str(number), name=os.urandom(200).hex()) for number in range(800)]
    with open_store(tmp_path, START) as store:
        # SQLite's own name for a full disk, at a page of our choice.
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + room}")
        with pytest.raises(StoreError, match="full") as caught:
            store.save_sweep(record(2, many, cassette=cassette(2)))
        assert "what was kept before is whole" in caught.value.hint
    with open_store(tmp_path, START) as store:
        assert store.sweeps() == (info(1),)
        assert len(store.world("sweep-1")) == 200
        store.save_sweep(record(3, cassette=cassette(3)))
        store.prune(START, 1e9, 1e9)
    assert [path.name for path in (tmp_path / "cassettes").iterdir()] == ["sweep-3.cassette"]


def test_no_room_for_the_cassette_keeps_no_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with open_store(tmp_path, START) as store:
        store.save_sweep(record(1))
        with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left"):
            patch.setattr(os, "fsync", full)
            store.save_sweep(record(2, cassette=cassette(2)))
        assert store.sweeps() == (info(1),)
        assert list((tmp_path / "cassettes").iterdir()) == []


def test_a_folder_that_may_not_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(StoreError, match="the state folder could not be made: Permission denied"):
        open_store(tmp_path / "state", START)


def test_a_state_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StoreError, match="the state folder could not be made: File exists"):
        open_store(tmp_path / "state", START)


def test_a_database_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sweeprules.sqlite3").mkdir()
    with pytest.raises(StoreError, match="unable to open"):
        open_store(tmp_path, START)
