"""`test --coverage`: what is said of the rules that no test shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import TESTS, Sweeprules

REST = """  - {name: waiting, given: {job: {state: PENDING, elapsed: 3h}}, expect: {flags: []}}
  - {name: done, given: {job: {state: COMPLETED, elapsed: 1h}}, expect: {truth: {own.fine: true}}}
  - {name: unread, given: {job: {}}, expect: {truth: {own.long: unknown, own.fine: unknown}}}
"""


def test_gaps_are_findings(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--coverage")
    assert found.exit == 1
    assert "UNCOVERED rules/own.yaml:8: rule own.long: never unknown\n" in found.out
    assert "UNCOVERED rules/own.yaml:11: rule own.long: `state: RUNNING` never false\n" in found.out
    assert found.out.endswith("coverage: 7 of 12 points shown, 0 of 2 rules and exemptions whole\n")


def test_whole(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + REST)
    found = sweeprules("test", "--coverage")
    assert (found.exit, found.err) == (0, "")
    assert found.out == ("5 tests: 5 passed\ncoverage: 12 of 12 points shown, 2 of 2 rules and exemptions whole\n")


def test_json(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--coverage", "--output", "json")
    assert found.exit == 1
    whole = json.loads(found.out)["coverage"]
    assert whole["total"] == sum(part["total"] for part in whole["parts"])
    assert whole["shown"] == whole["total"] - sum(len(part["gaps"]) for part in whole["parts"])
    long = next(part for part in whole["parts"] if part["owner"] == "rule own.long")
    assert (long["file"], long["line"]) == ("rules/own.yaml", 8)
    assert {"text": "never unknown", "file": "rules/own.yaml", "line": 8} in long["gaps"]


def test_no_junit_of_coverage(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--coverage", "--output", "junit")
    assert found.exit == 2
    assert "only the results of tests have a form in junit" in found.err


def test_shipped_rules_only_with_their_tests(site: Path, sweeprules: Sweeprules) -> None:
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    own = json.loads(sweeprules("test", "--coverage", "--output", "json").out)["coverage"]
    every = json.loads(sweeprules("test", "--all", "--coverage", "--output", "json").out)["coverage"]
    assert {part["owner"] for part in own["parts"]} == {"rule own.long", "rule own.fine"}
    assert len(every["parts"]) > len(own["parts"])
