"""`facts`: every field of the catalogue, and the way from one subject to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("bucket", ["rl", "sft", "datagen", "eval", "catch-all"])
def test_the_example_of_a_bucket_is_a_rule_test(bucket: str, sweeprules: Sweeprules, tmp_path: Path) -> None:
    found = sweeprules("facts", "--bucket", bucket, "--example")
    assert found.exit == 0
    given = "".join(f"    {line}\n" for line in found.out.splitlines())
    sweeprules("init", tmp_path / "site")
    (tmp_path / "site" / "rules" / "x.yaml").write_text(
        f"policy: 1\nrules:\n  - {{id: own.it, on: job, when: {{bucket: {bucket}}}}}\n"
    )
    (tmp_path / "site" / "rules" / "x.test.yaml").write_text(
        f"tests:\n  - name: every fact\n{given}    expect: {{truth: {{own.it: true}}}}\n"
    )
    ran = sweeprules("test", "--site", tmp_path / "site")
    assert ran.exit == 0, ran.out + ran.err


def test_a_bucket_has_its_own_facts_and_those_of_all(sweeprules: Sweeprules) -> None:
    rl = {(row["kind"], row["name"]) for row in _rows(sweeprules, "--bucket", "rl")}
    sft = {(row["kind"], row["name"]) for row in _rows(sweeprules, "--bucket", "sft")}
    assert {("job", "buffer_n"), ("step", "entropy"), ("job", "state")} <= rl
    assert ("job", "loss_nan_ranks") in sft - rl
    assert ("job", "chunks_done") not in rl | sft
    assert not any(
        kind == "step" for kind, _ in ((r["kind"], r["name"]) for r in _rows(sweeprules, "--bucket", "eval"))
    )


def test_a_bucket_that_there_is_not(sweeprules: Sweeprules) -> None:
    found = sweeprules("facts", "--bucket", "evl")
    assert found.exit == 2
    assert "did you mean eval?" in found.err


def _rows(sweeprules: Sweeprules, *args: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(sweeprules("facts", *args, "--output", "json").out)["facts"]
    return rows
