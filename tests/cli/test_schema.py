"""`schema`: what the files and documents may hold, as shipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.store.builtin import schema_names
from tests.cli.conftest import Sweeprules

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


def test_the_list(sweeprules: Sweeprules) -> None:
    assert sweeprules("schema").out.split() == list(schema_names())


@pytest.mark.parametrize("name", schema_names())
def test_each_is_printed_as_it_is(name: str, sweeprules: Sweeprules) -> None:
    printed = sweeprules("schema", name).out
    assert printed == (SCHEMAS / f"{name}.schema.json").read_text()
    assert json.loads(printed)["$schema"]


def test_a_name_that_there_is_not(sweeprules: Sweeprules) -> None:
    found = sweeprules("schema", "clustr")
    assert found.exit == 2
    assert "did you mean cluster?" in found.err
