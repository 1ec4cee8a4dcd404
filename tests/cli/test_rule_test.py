"""`test`: the tests beside the rules, and what is said of those that fail."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import TESTS, Sweeprules

FAILING = """  - name: a failing one
    given: {job: {cluster: tacc, state: RUNNING, elapsed: 90m}}
    expect: {flags: [stale-log], truth: {own.long: true}}
"""
BROKEN = """  - name: "a test\\e[31m that names what there is not"
    given: {job: {state: RUNNING}}
    expect: {flags: [stale-lgo]}
"""


@pytest.fixture
def failing(site: Path) -> Path:
    """The site with one test that fails and one that can not be read."""
    (site / "rules/own.test.yaml").write_text(TESTS + FAILING + BROKEN)
    return site


def test_all_pass(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test")
    assert (found.exit, found.out, found.err) == (0, "2 tests: 2 passed\n", "")


def test_failures_say_what_and_why(failing: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    found = sweeprules("test")
    assert found.exit == 1
    assert found.out == snapshot


def test_json(failing: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--output", "json")
    whole = json.loads(found.out)
    assert found.exit == 1
    assert (whole["passed"], whole["failed"], whole["errors"]) == (2, 1, 1)
    assert [row["status"] for row in whole["tests"]] == ["passed", "passed", "failed", "error"]
    failed = whole["tests"][2]
    assert (failed["file"], failed["line"], failed["name"]) == ("rules/own.test.yaml", 8, "a failing one")
    assert failed["differences"]
    assert any("elapsed" in line for line in failed["why"])
    assert whole["problems"][0]["hint"] == "did you mean stale-log?"


def test_junit(failing: Path, sweeprules: Sweeprules) -> None:
    (failing / "rules/more.test.yaml").write_text("tests: [{name: x\n")
    root = fromstring(sweeprules("test", "--output", "junit").out.encode())
    suites = {suite.attrib["name"]: suite for suite in root}
    own = suites["rules/own.test.yaml"].attrib
    assert (own["tests"], own["failures"], own["errors"]) == ("4", "1", "1")
    more = suites["rules/more.test.yaml"]
    assert (more.attrib["tests"], more.attrib["errors"]) == ("1", "1")
    assert "YAML syntax" in more.findall("testcase/error")[0].attrib["message"]
    assert "\\e[31m" in suites["rules/own.test.yaml"][3].attrib["name"]


def test_a_file_that_can_not_be_read_is_a_finding(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text("tests: [{name: x\n")
    found = sweeprules("test")
    assert found.exit == 1
    assert found.out.startswith("rules/own.test.yaml:2:1: YAML syntax")
    assert found.out.endswith("0 tests: 0 passed, 1 mistake in the files\n")


def test_a_file_without_a_test_is_a_finding(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text("tests: []\n")
    assert sweeprules("test").exit == 1


def test_a_test_that_expects_nothing_is_a_finding(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text("tests: [{name: x, given: {job: {state: RUNNING}}, expect: {}}]\n")
    found = sweeprules("test")
    assert found.exit == 1
    assert "expects nothing" in found.out


def test_a_site_without_tests_says_so(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").unlink()
    found = sweeprules("test")
    assert found.exit == 0
    assert found.out == "0 tests: the site has none of its own\n"
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    (site / "rules/own.yaml").unlink()
    found = sweeprules("test")
    assert found.exit == 0
    assert "; with --all " in found.out


def test_all_runs_the_shipped_ones_too(site: Path, sweeprules: Sweeprules) -> None:
    (site / "sweeprules.yaml").write_text("extends: builtin\n")
    (site / "rules/own.yaml").write_text("policy: 1\ntitle: x\nparams: {stale_floor: {default: 45m, why: ours}}\n")
    (site / "rules/own.test.yaml").unlink()
    found = sweeprules("test", "--all")
    assert int(found.out.splitlines()[-1].split()[0]) > 100
    # The override is seen by a shipped test that stands on the shipped floor.
    assert "builtin:rules/liveness.test.yaml:" in found.out
    assert found.exit == 1


@pytest.mark.parametrize("word", ["rules/own.test.yaml", "./rules/own.test.yaml", "rules", "rules/*", "*own*"])
def test_files_are_chosen(site: Path, sweeprules: Sweeprules, word: str) -> None:
    assert sweeprules("test", word).out == "2 tests: 2 passed\n"


def test_files_are_chosen_from_elsewhere(site: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.parent)
    (site / "rules/more.test.yaml").write_text("tests: [{name: x, given: {job: {}}, expect: {flags: []}}]\n")
    assert sweeprules("test", "--site", "site", "site/rules/own.test.yaml").out == "2 tests: 2 passed\n"
    assert sweeprules("test", "--site", "site", site / "rules/own.test.yaml").out == "2 tests: 2 passed\n"
    assert sweeprules("test", "--site", "site", "rules/own.test.yaml").out == "2 tests: 2 passed\n"
    assert sweeprules("test", "--site", "site").out == "3 tests: 3 passed\n"


def test_a_file_that_there_is_not(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "rules/onw.test.yaml")
    assert found.exit == 2
    assert "did you mean rules/own.test.yaml?" in found.err


def test_the_shipped_tests_pass(sweeprules: Sweeprules) -> None:
    root = Path(__file__).resolve().parents[2]
    found = sweeprules("test", "--site", root)
    assert found.exit == 0, found.out
