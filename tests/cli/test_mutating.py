"""`test --mutate`: what is said of changes that no test notices."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import TESTS, Sweeprules

FAILING = "  - {name: wrong, given: {job: {state: RUNNING, elapsed: 1h}}, expect: {truth: {own.long: true}}}\n"
REST = """  - {name: two hours, given: {job: {cluster: a, state: RUNNING, elapsed: 2h}}, expect: {flags: []}}
  - {name: more, given: {job: {cluster: a, state: RUNNING, elapsed: 121m}}, expect: {truth: {own.long: true}}}
  - {name: there, given: {job: {cluster: leonardo, state: RUNNING, elapsed: 3h}}, expect: {flags: []}}
  - {name: waiting, given: {job: {cluster: a, state: PENDING, elapsed: 3h}}, expect: {flags: []}}
  - {name: done, given: {job: {cluster: a, state: COMPLETED, elapsed: 1h}}, expect: {truth: {own.fine: true}}}
"""


def test_survivors_are_findings(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--mutate")
    assert found.exit == 1
    assert (
        "SURVIVED rules/own.yaml:15: rule own.fine: `state: COMPLETED`: eq made ne (touches 2 tests, none notices)"
        in found.out
    )
    assert "SURVIVED rules/own.yaml:4: $long 7200 made 14400 (touches no test)\n" in found.out
    assert found.out.endswith("mutation: nothing to change of the kind negation, list, exemption, pattern, route\n")


def test_all_noticed(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + REST)
    found = sweeprules("test", "--mutate")
    assert found.exit == 0, found.out
    assert "mutation: 8 of 8 changes noticed (threshold 4 of 4, operator 4 of 4)\n" in found.out
    assert "SURVIVED" not in found.out


def test_json(site: Path, sweeprules: Sweeprules) -> None:
    whole = json.loads(sweeprules("test", "--mutate", "--coverage", "--output", "json").out)
    found = whole["mutation"]
    assert whole["coverage"]["parts"]
    assert found["made"] - found["noticed"] == len(found["survivors"]) > 0
    assert sum(kind["made"] for kind in found["kinds"].values()) == found["made"]
    assert {row["file"] for row in found["survivors"]} == {"rules/own.yaml"}


def test_nothing_is_tried_on_tests_that_fail(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + FAILING)
    found = sweeprules("test", "--mutate")
    assert found.exit == 1
    assert found.out.endswith("mutation: not tried; the tests have to pass with the rules as they are\n")
    assert json.loads(sweeprules("test", "--mutate", "--output", "json").out)["mutation"] is None


def test_no_junit_of_mutants(site: Path, sweeprules: Sweeprules) -> None:
    assert sweeprules("test", "--mutate", "--output", "junit").exit == 2
