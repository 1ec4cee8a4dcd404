"""Schemas with the words of a site: what an editor completes, and that they refuse nothing that is right."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.cli.conftest import Sweeprules
from tests.rules.shipped import catalogue, policy

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(path for path in (ROOT / "rules").glob("*.yaml") if path.name != "catalogue.yaml")


def _schema(sweeprules: Sweeprules, name: str, site: Path = ROOT) -> dict[str, Any]:
    found = sweeprules("schema", name, "--words", "--site", site)
    assert found.exit == 0, found.err
    document: dict[str, Any] = json.loads(found.out)
    Draft202012Validator.check_schema(document)
    return document


def _words(part: Mapping[str, Any]) -> set[str]:
    return {word for branch in part["anyOf"] for word in branch.get("enum", ())}


def test_rules_know_facts_flags_actions_and_templates(sweeprules: Sweeprules) -> None:
    defs = _schema(sweeprules, "rules")["$defs"]
    conditions = defs["condition"]["properties"]
    for kind in catalogue().kinds.values():
        assert kind.fields.keys() <= conditions.keys()
    assert {"next_link.state", "run.complete", "log_filesystem.inodes_over_soft"} <= conditions.keys()
    assert {f"lines.{name}.count" for name in policy().patterns} <= conditions.keys()
    assert policy().features.keys() <= conditions.keys()
    assert "RUNNING" in _words(conditions["state"])
    assert "Unknown" in conditions["flavour"]["description"]
    assert _words(conditions["flagged"]) == policy().flags.keys()
    assert _words(defs["consequence"]["properties"]["action"]) == policy().actions.keys()
    assert _words(conditions["rule"]["properties"]["id"]) == policy().rules.keys()
    assert catalogue().templates.keys() <= _words(defs["route"]["properties"]["template"])
    assert {f"${name}" for name in policy().params} == _words(defs["right"])


def test_rule_tests_know_facts_and_rules(sweeprules: Sweeprules) -> None:
    test = _schema(sweeprules, "rule-tests")["$defs"]["test"]["properties"]
    given, expect = test["given"]["properties"], test["expect"]["properties"]
    assert catalogue().kinds["job"].fields.keys() <= given["job"]["properties"].keys()
    assert given["next_link"]["properties"].keys() == given["job"]["properties"].keys()
    assert "grad_norm" in given["steps"]["properties"]
    assert expect["truth"]["properties"].keys() == policy().rules.keys()
    assert "stale-log" in _words(expect["flags"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_files_are_right_in_an_editor(path: Path, sweeprules: Sweeprules) -> None:
    name = "rule-tests" if path.name.endswith(".test.yaml") else "rules"
    document = yaml.load(path.read_text(), _CoreLoader)
    assert [e.message for e in Draft202012Validator(_schema(sweeprules, name)).iter_errors(document)] == []


class _CoreLoader(yaml.SafeLoader):
    """As the language reads YAML: a time stays a text, `on` and `no` are words."""


_OTHER = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"}
_CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag not in _OTHER]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_CoreLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def test_a_word_of_the_site_is_offered(sweeprules: Sweeprules, tmp_path: Path) -> None:
    site = tmp_path / "site"
    sweeprules("init", site)
    text = "policy: 1\nflags: {gpu-asleep: {subject: job, severity: warning, exemptible: true, why: It sleeps.}}\n"
    text += "rules:\n  - {id: own.asleep, on: job, when: {state: RUNNING}, then: {flag: gpu-asleep}}\n"
    (site / "rules" / "own.yaml").write_text(text)
    defs = _schema(sweeprules, "rules", site)["$defs"]
    assert "gpu-asleep" in _words(defs["condition"]["properties"]["flagged"])


def test_a_broken_site_has_the_words_that_it_extends(sweeprules: Sweeprules, tmp_path: Path) -> None:
    site = tmp_path / "site"
    sweeprules("init", site)
    (site / "rules" / "own.yaml").write_text("policy: 1\nrules:\n  - {id: own.x, on: job, when: {stat: RUNNING}\n")
    found = sweeprules("schema", "rules", "--words", "--site", site)
    assert found.exit == 0
    assert "validate" in found.err
    assert "stale-log" in found.out


def test_written_for_an_editor(sweeprules: Sweeprules, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "schemas"
    sweeprules("init", tmp_path / "site")
    found = sweeprules("schema", "--write", folder, "--site", tmp_path / "site")
    assert (found.exit, found.out) == (0, f"4 schemas in {folder}: rules, rule-tests, cluster, site\n")
    assert sorted(path.name for path in folder.iterdir()) == [
        "cluster.schema.json", "rule-tests.schema.json", "rules.schema.json", "site.schema.json",
    ]  # fmt: skip
    assert json.loads((folder / "rules.schema.json").read_text()) == _schema(sweeprules, "rules", tmp_path / "site")


def test_a_folder_that_can_not_be_written(sweeprules: Sweeprules, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    found = sweeprules("schema", "--write", tmp_path / "taken" / "below", "--site", ROOT)
    assert found.exit != 0
    assert "could not be written" in found.err


def test_a_name_beside_write_is_refused(sweeprules: Sweeprules, tmp_path: Path) -> None:
    found = sweeprules("schema", "rules", "--write", tmp_path)
    assert found.exit == 2
    assert "leave NAME out" in found.err
