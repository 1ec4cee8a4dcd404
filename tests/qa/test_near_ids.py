"""An id that no sweep knows is answered with those that are nearest, even when none is spelled alike."""

from __future__ import annotations

import sqlite3

import pytest

from sweeprules.store.reading import find_jobs


@pytest.fixture
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE sweeps (seq INTEGER, id TEXT)")
    connection.execute("CREATE TABLE job_ids (text TEXT, seq INTEGER, key TEXT, shown_as TEXT)")
    connection.execute("INSERT INTO sweeps VALUES (1, 's')")
    for cluster, number in (("a", 101), ("a", 4812), ("b", 777)):
        for text in (str(number), f"{cluster}:{number}"):
            connection.execute("INSERT INTO job_ids VALUES (?, 1, ?, ?)", (text, f"{cluster}:{number}", str(number)))
    return connection


@pytest.mark.parametrize(
    ("asked", "first"),
    [("9999", "4812"), ("3", "101"), ("481", "4812"), ("a:99", "a:101"), ("b:4", "b:777")],
)
def test_the_nearest_comes_first(database: sqlite3.Connection, asked: str, first: str):
    found = find_jobs(database, asked, None)
    assert not found.exact
    assert found.near[0] == first


def test_an_unknown_cluster_gets_ids_of_those_that_there_are(database: sqlite3.Connection):
    assert find_jobs(database, "c:101", None).near


def test_a_name_is_no_id(database: sqlite3.Connection):
    assert find_jobs(database, "rl__x", None).near == ()
