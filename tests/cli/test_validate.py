"""`validate`: all of a site at once, in three forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Sweeprules


def spoil(site: Path) -> None:
    """A mistake in every room of the site."""
    (site / "sweeprules.yaml").write_text("keep: {sweps: 90d}\n")
    (site / "rules/own.yaml").write_text((site / "rules/own.yaml").read_text().replace("elapsed", "elapsd"))
    (site / "rules/own.test.yaml").write_text("tests: [{name: x\n")
    (site / "ops/leonardo/cluster.yaml").write_text("cluster: leonardo\nscheduler: slrum\n")
    (site / "templates/handoffs").mkdir(parents=True)
    (site / "templates/handoffs/ask-operator.md.j2").write_text("{{ subjct }}\n")


def test_a_good_site(site: Path, sweeprules: Sweeprules) -> None:
    rules = site / "rules/own.yaml"
    rules.write_text(
        rules.read_text().replace(
            "when: {state: COMPLETED}", "when: {name: {contains_any: $wanted}}\n    then: {flag: log-absent}"
        )
    )
    found = sweeprules("validate")
    assert (found.exit, found.out, found.err) == (0, "good: 2 rules, 1 cluster\n", "")


def test_what_serves_nothing_is_a_warning_with_its_code(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("validate")
    assert found.exit == 0
    assert "warning: rules/own.yaml:6:3: SR005 nothing uses the list `wanted`" in found.out
    assert "SR009 nothing follows from the rule `own.fine`" in found.out


def test_every_room_at_once_and_no_traceback(site: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    spoil(site)
    found = sweeprules("validate")
    assert found.exit == 1
    assert found.out == snapshot
    for room in ("sweeprules.yaml:", "rules/own.yaml:", "rules/own.test.yaml:", "ops/leonardo/", "templates/handoffs/"):
        assert f"\n{room}" in f"\n{found.out}", room


def test_places_are_relative_to_where_the_person_stands(
    site: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(site)
    monkeypatch.chdir(site.parent)
    assert "site/rules/own.yaml:" in sweeprules("validate", "--site", "site").out
    monkeypatch.chdir(site.parent / "home")
    assert f"\n{site}/rules/own.yaml:" in sweeprules("validate", "--site", site).out


def test_github_annotations(site: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(site)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    found = sweeprules("validate")
    assert found.exit == 1
    assert all(line.startswith("::error file=") for line in found.out.splitlines())
    assert "file=rules/own.yaml,line=11,col=37::" in found.out
    assert sweeprules("validate", "--output", "text").out.startswith("ops/leonardo/")


def test_an_annotation_can_not_be_broken_out_of(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.yaml").write_text('policy: 1\nrules:\n  - {id: a.b, on: job, when: {"x\\n::warning::%": 1}}\n')
    for line in sweeprules("validate", "--output", "github").out.splitlines():
        assert line.startswith("::error file=")


def test_json(site: Path, sweeprules: Sweeprules) -> None:
    spoil(site)
    found = json.loads(sweeprules("validate", "--output", "json").out)
    assert found["schema_version"] == 1
    assert found["errors"] == len(found["problems"]) > 5
    assert found["policy_sha256"] is None
    first = found["problems"][0]
    assert set(first) == {"file", "line", "column", "severity", "code", "message", "hint"}


def test_verbose_names_the_rules_that_read_only_what_is_read_later(site: Path, sweeprules: Sweeprules) -> None:
    text = "policy: 1\nrules:\n"
    for name, when in (
        ("later", "{artifact_on_hub: true}"),
        ("now", "{all: [{state: FAILED}, {artifact_on_hub: true}]}"),
    ):
        text += f"  - {{id: our.{name}, on: job, when: {when}, then: {{flag: failure}}}}\n"
    (site / "rules/later.yaml").write_text(text)
    lines = [line for line in sweeprules("validate", "--verbose").out.splitlines() if "later release" in line]
    assert lines == ["reads only facts of a later release: our.later (rules/later.yaml:3:10)"]


def test_verbose_counts(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("validate", "--verbose")
    assert found.exit == 0
    assert "rules: 2\n" in found.out
    assert "leaf conditions: 3, of which durable-rules computes 3 (100%) itself" in found.out
    whole = json.loads(sweeprules("validate", "--output", "json").out)
    assert whole["counts"]["clusters"] == 1
    assert whole["durable"] == {"leaves": 3, "computed": 3, "lowered": 0, "left_out": {}}


def test_a_template_that_nothing_leads_to_is_a_warning(site: Path, sweeprules: Sweeprules) -> None:
    (site / "templates/handoffs").mkdir(parents=True)
    (site / "templates/handoffs/ask-operato.md.j2").write_text("Nothing.\n")
    found = sweeprules("validate")
    assert found.exit == 0
    assert "warning: templates/handoffs/ask-operato.md.j2:1:1: no route leads to this template" in found.out
    assert "did you mean ask-operator?" in found.out
    assert found.out.endswith("3 warnings: 2 rules, 1 cluster\n")


def test_a_test_that_names_what_there_is_not(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text("tests: [{name: x, given: {job: {}}, expect: {flags: [stale-lgo]}}]\n")
    found = sweeprules("validate")
    assert found.exit == 1
    assert "did you mean stale-log?" in found.out


def test_no_site(tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = sweeprules("validate")
    assert found.exit == 2
    assert "sweeprules init DIR" in found.err
    assert sweeprules("validate", "--site", tmp_path / "none").exit == 2
    (tmp_path / "file").touch()
    assert sweeprules("validate", "--site", tmp_path / "file").exit == 2


def test_the_shipped_site_is_good(sweeprules: Sweeprules) -> None:
    root = Path(__file__).resolve().parents[2]
    found = sweeprules("validate", "--site", root)
    assert (found.exit, found.err) == (0, "")


def test_a_file_that_can_not_be_read_is_told_once(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.yaml").write_bytes("policy: 1".encode("utf-16"))
    (site / "rules/own.test.yaml").write_bytes(b"tests: \xff")
    out = sweeprules("validate").out.splitlines()
    assert [line.partition(":")[0] for line in out[:-1]] == ["rules/own.test.yaml", "rules/own.yaml"]
    assert out[-1] == "2 errors: 1 cluster"


def test_a_site_without_anything_is_told(tmp_path: Path, sweeprules: Sweeprules) -> None:
    (tmp_path / "sweeprules.yaml").write_text("")
    found = sweeprules("validate", "--site", tmp_path)
    assert found.exit == 0
    assert "the site has no rule: nothing is ever flagged" in found.out
    assert "the site has no cluster" in found.out


def test_a_folder_for_a_file(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/a.yaml").mkdir()
    (site / "ops/leonardo/cluster.yaml").unlink()
    (site / "ops/leonardo/cluster.yaml").mkdir()
    found = sweeprules("validate")
    assert found.exit == 1
    assert "ops/leonardo/cluster.yaml:1:1: " in found.out


def test_a_shipped_test_may_name_a_rule_that_the_site_disables(site: Path, sweeprules: Sweeprules) -> None:
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    (site / "rules/own.test.yaml").unlink()
    (site / "rules/own.yaml").write_text(
        'policy: 1\nrules: [{id: live.log-path-mismatch, disabled: true, because: "its paths are right"}]\n'
    )
    found = sweeprules("validate")
    assert (found.exit, found.out.startswith("good: ")) == (0, True)
