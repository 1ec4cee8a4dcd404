"""Slurm's words for states: those of the catalogue, flags behind a base state, and words that are new."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sweeprules.collectors.slurm.states import ACTIVE, FAILED, STATES, TERMINAL, read_state
from sweeprules.engine.facts import Unknown

CATALOGUE = yaml.safe_load((Path(__file__).parents[3] / "rules" / "catalogue.yaml").read_text(encoding="utf-8"))


def test_the_table_is_the_catalogues():
    listed = CATALOGUE["slurm_states"]
    assert set(STATES) == set(listed)
    for word, row in listed.items():
        meaning = STATES[word]
        assert meaning.state == row["state"], word
        assert meaning.suspended == row.get("suspended", False), word
        assert meaning.reason == row.get("reason", ""), word
        if meaning.state == "RUNNING":
            assert meaning.phase == row.get("phase", ""), word
    assert {meaning.state for meaning in STATES.values()} | {"GONE"} == ACTIVE | TERMINAL
    assert FAILED < TERMINAL


@pytest.mark.parametrize(
    ("text", "state", "by"),
    [
        ("CANCELLED by 5001", "CANCELLED", "5001"),
        ("CANCELLED+", "CANCELLED", ""),
        ("CANCELLED", "CANCELLED", ""),
        ("COMPLETED", "COMPLETED", ""),
        ("running", "RUNNING", ""),
        (" TIMEOUT ", "TIMEOUT", ""),
    ],
)
def test_words(text, state, by):
    reading = read_state(text)
    assert (reading.state, reading.cancelled_by, reading.raw) == (state, by, text.strip())


@pytest.mark.parametrize(
    ("text", "state", "phase"),
    [
        ("RUNNING+COMPLETING", "RUNNING", "teardown"),
        ("PREEMPTED+REQUEUED", "PENDING", "queued"),
        ("PENDING+REQUEUED", "PENDING", "queued"),
        ("RUNNING+SOMETHING_NEW", "RUNNING", ""),
        ("FAILED+", "FAILED", ""),
    ],
)
def test_flags_behind_a_base_state(text, state, phase):
    reading = read_state(text)
    assert (reading.state, reading.phase) == (state, phase)


@pytest.mark.parametrize(("text", "word"), [("HIBERNATING", "HIBERNATING"), ("", "none"), ("x by y", "X")])
def test_a_new_word_is_unknown(text, word):
    state = read_state(text).state
    assert isinstance(state, Unknown)
    assert state.reason == f"new-state:{word}"
