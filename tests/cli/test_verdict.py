"""`verdict`: a person's word on what a sweep said, kept where backtests find it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from sweeprules.store.db import open_store
from sweeprules.store.opinions import Opinion
from tests.cli.conftest import Sweeprules

DEMO = Path(__file__).parents[2] / "demo"
FLAGGED, SILENT = "borealis:48102", "borealis:48195"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from click.testing import CliRunner

    from sweeprules.cli.main import cli

    state = tmp_path_factory.mktemp("state")
    arguments = ["run", "--site", str(DEMO), "--state", str(state), "--engine", "native"]
    assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 3
    return state


@pytest.fixture
def state(swept: Path) -> Path:
    """The state of one sweep of the recorded site, without a word on it."""
    with sqlite3.connect(swept / "sweeprules.sqlite3") as raw:
        raw.execute("DELETE FROM opinions")
    return swept


def said(state: Path) -> list[Opinion]:
    with open_store(state, 0.0) as store:
        return list(store.opinions())


def test_wrong_is_a_false_alarm_of_each_flag_that_counts(state: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("verdict", "48102", "wrong", "--state", state, "--note", "it was a long eval")
    assert (done.exit, done.err) == (0, "")
    assert done.out.count("a false alarm") == 2
    kept = said(state)
    assert {(one.job, one.flag) for one in kept} == {(FLAGGED, "stale-log"), (FLAGGED, "suspected-wedge")}
    assert all(one.raised and not one.right and not one.expected for one in kept)
    assert {one.note for one in kept} == {"it was a long eval"}


def test_a_flag_that_was_not_raised_can_have_been_missed(state: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("verdict", SILENT, "wrong", "--flag", "stale-log", "--state", state)
    assert done.out.rstrip().endswith("stale-log was not raised, and was missed")
    (one,) = said(state)
    assert (one.raised, one.right, one.expected) == (False, False, True)


def test_a_later_word_replaces_the_earlier(state: Path, sweeprules: Sweeprules) -> None:
    for word in ("wrong", "right"):
        sweeprules("verdict", FLAGGED, word, "--flag", "stale-log", "--state", state)
    (one,) = said(state)
    assert (one.raised, one.right) == (True, True)


def test_silence_can_be_right_and_needs_a_flag_to_be_wrong(state: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("verdict", SILENT, "right", "--state", state, "--output", "json")
    (row,) = json.loads(done.out)["verdicts"]
    assert (row["flag"], row["raised"], row["right"]) == (None, False, True)
    wrong = sweeprules("verdict", SILENT, "wrong", "--state", state)
    assert wrong.exit == 2
    assert "name the missed one with --flag" in wrong.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("48101", "right"), "near: 481"),
        ((FLAGGED, "right", "--flag", "stale-lgo"), "did you mean stale-log?"),
        ((FLAGGED, "right", "--sweep", "x"), "no sweep 'x' is kept"),
        ((FLAGGED, "maybe"), "maybe"),
        ((FLAGGED, "right", "--note", "x" * 2001), "at most 2000"),
    ],
)
def test_what_names_nothing_is_a_usage_error_and_keeps_nothing(
    arguments: tuple[str, ...], words: str, state: Path, sweeprules: Sweeprules
) -> None:
    done = sweeprules("verdict", *arguments, "--state", state)
    assert done.exit == 2
    assert words in done.err
    assert said(state) == []


def test_words_outlive_the_sweep(state: Path, sweeprules: Sweeprules) -> None:
    sweeprules("verdict", FLAGGED, "right", "--state", state)
    before = said(state)
    with sqlite3.connect(state / "sweeprules.sqlite3") as raw:
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("BEGIN")
        raw.execute("DELETE FROM sweeps")
        assert raw.execute("SELECT count(*) FROM opinions").fetchone() == (len(before),)
        raw.rollback()


def test_without_a_sweep_there_is_nothing_to_judge(tmp_path: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("verdict", "1", "right", "--state", tmp_path / "none")
    assert done.exit == 2
    assert not (tmp_path / "none").exists()
