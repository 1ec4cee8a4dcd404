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


SITE = """policy: 1
title: Ours
params:
  stale_floor: {for: [{bucket: sft, value: 20m}]}
lists:
  spike_mitigation: {add: [our_clip]}
patterns:
  our-fault: {literal: "card fell off the bus", kind: fault}
metrics:
  grad_norm: {add: [our/grad]}
  our_loss: {aliases: [our/loss], unit: s}
features:
  our_slope: {series: our_loss, is: slope, window: $our_window}
routes:
  diagnose: [{otherwise: failure-diagnosis}]
exemptions:
  - {id: our.leave, when: {user: bob}, flags: [stale-log], expires: 2999-01-01, owner: ops, why: is on leave}
rules:
  - {id: chain.ended, disabled: true, because: we queue by hand}
""".replace("  stale_floor:", "  our_window: {default: 9, unit: points}\n  stale_floor:")


def _layered(site: Path, sweeprules: Sweeprules) -> dict[str, dict[str, dict[str, object]]]:
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    (site / "rules/own.yaml").write_text(SITE)
    (site / "rules/own.test.yaml").unlink()
    found = sweeprules("rules", "--output", "json", "--effective")
    assert found.exit == 0, found.err
    sections = json.loads(found.out)
    return {name: {row["name"]: row for row in rows} for name, rows in sections.items() if name in _SECTIONS}


_SECTIONS = (
    *("params", "lists", "patterns", "metrics", "features", "decide", "routes", "exemptions", "disabled", "new_words"),
)


def test_every_section_says_where_each_part_is_from(site: Path, sweeprules: Sweeprules) -> None:
    found = _layered(site, sweeprules)
    assert set(found) == set(_SECTIONS)
    ours = "rules/own.yaml:"
    for rows in found.values():
        for row in rows.values():
            assert str(row["place"]).startswith((ours, "builtin:rules/")), row
    floor = found["params"]["stale_floor"]
    (default,) = _parts(floor)
    assert (default[0], default[1].startswith("builtin:rules/")) == ("default", True)
    assert str(floor["place"]).startswith(ours)
    assert str(floor["overrides"]).startswith("builtin:rules/")
    members = dict(_parts(found["lists"]["spike_mitigation"]))
    assert members["our_clip"].startswith(ours)
    assert {where.split(":")[0] for word, where in members.items() if word != "our_clip"} == {"builtin"}
    assert dict(_parts(found["metrics"]["grad_norm"]))["our/grad"].startswith(ours)
    assert found["metrics"]["our_loss"]["says"] == "a new series in s: our/loss"
    assert found["features"]["our_slope"]["says"] == "slope of our_loss, window $our_window"
    assert {where.split(":")[0] for _, where in _parts(found["decide"]["bucket"])} == {"builtin"}
    assert _parts(found["routes"]["diagnose"]) == [("otherwise failure-diagnosis", f"{ours}16")]
    assert str(found["routes"]["diagnose"]["overrides"]).startswith("builtin:rules/routes.yaml:")
    assert "owner ops, until 2999-01-01" in str(found["exemptions"]["our.leave"]["says"])
    assert found["disabled"]["chain.ended"]["says"] == "rule disabled: we queue by hand"
    assert str(found["patterns"]["our-fault"]["place"]) == f"{ours}9"


def _parts(row: dict[str, object]) -> list[tuple[str, str]]:
    parts = row["parts"]
    assert isinstance(parts, list)
    return [(part["says"], part["place"]) for part in parts]


def test_the_text_tells_of_parts_that_are_from_another_layer(site: Path, sweeprules: Sweeprules) -> None:
    _layered(site, sweeprules)
    lines = sweeprules("rules", "--effective").out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  stale_floor: "))
    assert "overrides builtin:rules/" in lines[at + 1]
    assert lines[at + 2].startswith("      default  (builtin:rules/")
    at = next(i for i, line in enumerate(lines) if line.startswith("  spike_mitigation: "))
    assert [line.split("  (")[1].split(":")[0] for line in lines[at + 2 : at + 4]] == ["builtin", "rules/own.yaml"]
    assert any(line.startswith("  chain.ended: rule disabled: we queue by hand") for line in lines)


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
