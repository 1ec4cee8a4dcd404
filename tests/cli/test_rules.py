"""`rules`: what there is, and where each value comes from."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from sweeprules.cli.main import cli
from tests.cli.conftest import Sweeprules

OVERRIDE = """policy: 1
title: Ours
params:
  stale_floor: {default: 45m, why: "our evaluations print every 40 minutes", for: [{bucket: sft, value: 20m}]}
"""


def test_list(site: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    found = sweeprules("rules")
    assert (found.exit, found.err) == (0, "")
    assert found.out == snapshot


def test_effective(site: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    lines = sweeprules("rules", "--effective").out.splitlines()
    assert lines[0].startswith("policy ")
    assert "\n".join(lines[1:]) == snapshot


def test_json(site: Path, sweeprules: Sweeprules) -> None:
    found = json.loads(sweeprules("rules", "--output", "json", "--effective").out)
    assert found["schema_version"] == 1
    by_id = {row["id"]: row for row in found["rules"]}
    assert by_id["own.long"]["flags"] == ["stale-log"]
    assert by_id["own.long"]["place"] == "rules/own.yaml:8"
    (param,) = found["params"]
    assert (param["name"], param["value"], param["unit"]) == ("long", 7200.0, "s")
    assert param["for"] == [{"match": "cluster leonardo", "value": "3h", "place": "rules/own.yaml:4"}]
    assert "params" not in json.loads(sweeprules("rules", "--output", "json").out)


def test_both_places_of_an_override(site: Path, sweeprules: Sweeprules) -> None:
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    (site / "rules/own.yaml").write_text(OVERRIDE)
    found = json.loads(sweeprules("rules", "--output", "json", "--effective").out)
    params = {row["name"]: row for row in found["params"]}
    assert params["stale_floor"]["value"] == 45 * 60
    assert params["stale_floor"]["place"] == "rules/own.yaml:4"
    assert params["stale_floor"]["overrides"].startswith("builtin:rules/")
    assert params["stale_floor"]["for"][0]["match"] == "bucket sft"
    assert params["grace"]["overrides"] is None
    assert params["grace"]["place"].startswith("builtin:rules/")
    shipped = {row["name"]: row for row in _shipped(sweeprules)["params"]}
    assert shipped["stale_floor"]["value"] != params["stale_floor"]["value"]


def _shipped(sweeprules: Sweeprules) -> dict[str, list[dict[str, object]]]:
    root = Path(__file__).resolve().parents[2]
    found: dict[str, list[dict[str, object]]] = json.loads(
        sweeprules("rules", "--site", root, "--output", "json", "--effective").out
    )
    return found


def test_a_rule_is_chosen_by_name_or_glob(site: Path, sweeprules: Sweeprules) -> None:
    assert sweeprules("rules", "--rule", "own.fine").out.endswith("\n1 rule\n")
    assert sweeprules("rules", "--rule", "own.*").out.endswith("\n2 rules\n")
    assert sweeprules("rules", "--rule", "own.fine", "--rule", "own.long").out.endswith("\n2 rules\n")


def test_a_rule_that_there_is_not(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("rules", "--rule", "own.lnog")
    assert found.exit == 2
    assert "did you mean own.long?" in found.err


def test_a_code_of_a_finding_is_explained_and_an_unknown_one_names_the_others() -> None:
    runner = CliRunner()
    shown = runner.invoke(cli, ["rules", "--code", "sr004"])
    assert shown.exit_code == 0
    assert "SR004: a parameter that nothing uses" in shown.output
    wrong = runner.invoke(cli, ["rules", "--code", "SR999"])
    assert wrong.exit_code == 2
    assert "SR001" in wrong.output
