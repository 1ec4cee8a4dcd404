"""What a sweep says of a cluster where gathering or looking closer came to no end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli import sweep
from sweeprules.collectors.transport.allow import CommandRefusedError
from tests.cli.conftest import Sweeprules

DEMO = Path(__file__).parents[2] / "demo"
REFUSED = CommandRefusedError(["find", "/"], "a walk through a tree")
ERRORS = [(REFUSED, str(REFUSED)), (KeyError("x"), "internal error: KeyError: 'x'")]


def swept(sweeprules: Sweeprules, state: Path) -> dict[str, Any]:
    found = sweeprules("run", "--site", DEMO, "--state", state, "--cluster", "borealis", "--output", "json")
    document: dict[str, Any] = json.loads(found.out)
    return document


@pytest.mark.parametrize(("error", "why"), ERRORS)
def test_a_closer_look_that_broke_off_makes_its_cluster_partial_and_says_why(
    error: Exception, why: str, tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(sweep, "look_closer", broken)
    document = swept(sweeprules, tmp_path)
    (cluster,) = document["clusters"]
    assert cluster["status"] == "partial" and not document["sweep"]["complete"]
    assert cluster["because"] == f"the closer look at it broke off: {why}"
    # The first stage stands: its jobs are there, and what the second would have read is unknown.
    (job,) = (job for job in document["jobs"] if job["job_id"] == "48165")
    assert job["state"] == "RUNNING" and "trials_done" not in job["facts"]
    (table,) = (table for table in document["tables"] if table["bucket"] == "eval")
    assert [row[1] for row in table["rows"] if "[48165]" in row[0]] == ["?"]


@pytest.mark.parametrize(("error", "status"), [(REFUSED, "blocked"), (KeyError("x"), "unreachable")])
def test_a_gathering_that_broke_off_says_why(
    error: Exception, status: str, tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(sweep, "gather_first", broken)
    (cluster,) = swept(sweeprules, tmp_path)["clusters"]
    assert cluster["status"] == status and str(error) in cluster["because"]
