"""The report as data: the contract's shape, and never a null without its reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sweeprules.engine.facts import Ref
from sweeprules.reports.document import build
from tests.reports.worlds import STALE, judged

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report.schema.json").read_text())


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return build(judged())


def test_it_fits_its_schema(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_a_key_too_many_does_not_fit_the_schema(document: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert not validator.is_valid({**document, "more": 1})
    assert not validator.is_valid({**document, "jobs": [{**document["jobs"][0], "state": "DRAINED"}]})


def test_links_of_a_run_are_one_entry_with_the_flags_of_all(document: dict[str, Any]) -> None:
    rows = [j for j in document["jobs"] if j["name"] == "rl__chain"]
    assert [row["job_id"] for row in rows] == ["12"]
    assert [link["job_id"] for link in rows[0]["facts"]["links"]] == ["11"]
    assert rows[0]["flags"][0]["message"] == "link 11: successor 12 RUNNING"


def test_a_row_is_flagged_when_one_of_its_links_is() -> None:
    world = judged()
    link = Ref("job", "aurora:11")
    verdicts = {**world.verdicts, link: replace(world.verdicts[link], flags=(STALE,))}
    row = next(j for j in build(replace(world, verdicts=verdicts))["jobs"] if j["job_id"] == "12")
    assert row["health"] == "flagged" and row["flags"][0]["name"] == "stale-log"


def test_every_flat_null_has_its_reason(document: dict[str, Any]) -> None:
    for row in document["jobs"]:
        for name in ("last_output_age_s", "step", "max_step"):
            assert (row[name] is None) == (name in row["unknown"])
    by_key = {(j["cluster"], j["job_id"]): j for j in document["jobs"]}
    assert by_key["aurora", "20"]["unknown"]["last_output_age_s"] == "read-failed"
    assert by_key["borealis", "7"]["unknown"]["last_output_age_s"] == "not-applicable"


def test_an_unknown_state_is_the_word_and_the_reason(document: dict[str, Any]) -> None:
    row = next(j for j in document["jobs"] if j["job_id"] == "20")
    assert row["state"] == "UNKNOWN"
    assert row["facts"]["state"] == {"unknown": "vanished"}


def test_one_id_on_two_clusters_is_two_jobs(document: dict[str, Any]) -> None:
    assert sorted(j["cluster"] for j in document["jobs"] if j["job_id"] == "7") == ["aurora", "borealis"]


def test_rows_stand_by_severity_then_phase(document: dict[str, Any]) -> None:
    assert [j["job_id"] for j in document["jobs"]] == ["7", "12", "7", "20"]


def test_an_action_names_its_handoff(document: dict[str, Any]) -> None:
    assert document["jobs"][0]["actions"][0]["handoff"] == document["handoffs"][0]["id"]
