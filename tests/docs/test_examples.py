"""Each worked example is a clean site, its tests pass, they fail without it, and they notice each change of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from sweeprules.cli.loading import Loaded, choose_site, compile_site
from sweeprules.cli.main import cli
from sweeprules.cli.testsources import readers
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Absent, FactValue, Unknown
from sweeprules.engine.ruletests import read_rule_tests
from sweeprules.handoffs.render import hand_off
from sweeprules.reports.clean import markdown

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/sweeprules.yaml"))
ASKED = {
    "ablation-tag", "collapse-quorum", "exemption-with-end", "failure-line", "flag-with-template", "job-prefix",
    "stale-threshold",
}  # fmt: skip
DAY = 1_796_083_200.0
"""2026-12-01: before the end of the exemption of the examples."""


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, as the working folder, at a day on which its exemption holds."""
    root = tmp_path / "site"
    shutil.copytree(EXAMPLES / request.param, root)
    monkeypatch.chdir(root)
    monkeypatch.setattr("sweeprules.cli.validate.time", SimpleNamespace(time=lambda: DAY))
    for name in ("SWEEPRULES_SITE", "SWEEPRULES_STATE", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return root


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(args))
    return result.exit_code, result.output


def policies(root: Path) -> list[Path]:
    return [path for path in (root / "rules").glob("*.yaml") if not path.name.endswith(".test.yaml")]


def test_each_example_that_was_asked_for_is_there() -> None:
    assert set(NAMES) >= ASKED


@pytest.mark.parametrize("example", NAMES, indirect=True)
def test_an_example_is_clean_and_its_tests_pass(example: Path) -> None:
    status, said = run("validate")
    assert (status, said.startswith("good: ")) == (0, True), said
    status, said = run("test")
    assert status == 0, said
    assert "passed" in said


@pytest.mark.parametrize("example", NAMES, indirect=True)
def test_without_its_yaml_its_tests_fail(example: Path) -> None:
    assert policies(example)
    for path in policies(example):
        path.unlink()
    status, said = run("test")
    assert status == 1, said


@pytest.mark.parametrize("example", NAMES, indirect=True)
def test_its_tests_notice_each_change_of_it(example: Path) -> None:
    status, said = run("test", "--mutate")
    assert status == 0, said
    assert "SURVIVED" not in said
    assert "noticed" in said


@pytest.mark.parametrize("example", ["flag-with-template"], indirect=True)
def test_the_new_flag_is_handed_over_on_its_own_page(example: Path, snapshot: SnapshotAssertion) -> None:
    loaded = compile_site(choose_site(example))
    text = handed_over(loaded)
    assert text.startswith("# Ask for less: job")
    assert text == snapshot


def handed_over(loaded: Loaded) -> str:
    """The document of the first test of the site."""
    tests = {name: text for name, text in loaded.load.tests.items() if not name.startswith("builtin:")}
    first = read_rule_tests(loaded.policy, loaded.catalogue, tests, readers(loaded))[0]
    world = first.given.world
    verdicts = judge(loaded.policy, world, loaded.catalogue)

    def shown(name: str, value: FactValue) -> str:
        missing = {Unknown: "?", Absent: "—"}.get(type(value))
        return missing or humanise(value, loaded.types.get(("job", name), ""))

    made, _ = hand_off(world, verdicts, loaded.policy, {}, loaded.load.templates, markdown, shown)
    (document,) = made
    return document.text
