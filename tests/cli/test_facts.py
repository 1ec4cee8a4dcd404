"""`facts`: every field of the catalogue, and the way from one subject to the next."""

from __future__ import annotations

import json

from sweeprules.cli.loading import load_catalogue
from tests.cli.conftest import Sweeprules


def test_all_of_the_catalogue(sweeprules: Sweeprules) -> None:
    found = json.loads(sweeprules("facts", "--output", "json").out)
    listed = {(row["kind"], row["name"]) for row in found["facts"]}
    kinds = load_catalogue().kinds.values()
    assert {(kind.name, name) for kind in kinds for name in kind.fields} <= listed
    assert ("job", "lines.NAME.count") in listed
    assert {(kind.name, name) for kind in kinds for name in kind.relations} == {
        (row["kind"], row["name"]) for row in found["relations"]
    }
    assert all(row["description"] for row in found["facts"])


def test_text(sweeprules: Sweeprules) -> None:
    out = sweeprules("facts", "--kind", "job").out
    assert "job.elapsed: duration" in out
    assert "job.steps → many step\n" in out
    assert "\n    one of " in out
    assert "cluster.queue" not in out


def test_either_spelling_of_a_kind(sweeprules: Sweeprules) -> None:
    assert sweeprules("facts", "--kind", "tracker-row").out == sweeprules("facts", "--kind", "tracker_row").out != ""


def test_a_kind_that_there_is_not(sweeprules: Sweeprules) -> None:
    found = sweeprules("facts", "--kind", "clutser")
    assert found.exit == 2
    assert "did you mean cluster?" in found.err
