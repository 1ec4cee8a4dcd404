"""A real YAML language server on a site with the schemas that `schema --write` leaves: completion and hover text."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sweeprules.cli.main import cli
from tests.integration.editor.language_server import VERSION, LanguageServer

pytestmark = pytest.mark.deep

RULES = """# yaml-language-server: $schema=../schemas/rules.schema.json
policy: 1
params: {nap: {default: 3h, why: "none was seen to sleep longer"}}
flags:
  gpu-asleep: {subject: job, severity: warning, exemptible: true, why: It sleeps.}
rules:
  - id: own.asleep
    on: job
    when:
      all:
        - state: RUNNING
        - log_age: {gt: $nap}
        - # here
    then: {flag: gpu-asleep}
"""
TESTS = """# yaml-language-server: $schema=../schemas/rule-tests.schema.json
tests:
  - name: asleep
    given:
      job:
        log_age: 4h
        # here
    expect:
      flags: gpu-asleep
""".replace("# here", "")
"""With a line of blanks, on which a person would go on."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServer]:
    """The language server from its registry, in a folder of its own."""
    if not shutil.which("npm"):
        pytest.skip(
            "needs Node.js with npm, which is not on this machine: the editor's schemas are NOT tried in a real one"
        )
    folder: Path = tmp_path_factory.mktemp("language-server")
    (folder / "package.json").write_text("{}")
    install = ["npm", "install", "--no-fund", "--no-audit", f"yaml-language-server@{VERSION}"]
    subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=300)
    with LanguageServer(folder) as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new site with a rule of its own and its schemas written."""
    root: Path = tmp_path_factory.mktemp("sites") / "site"
    _run("init", root)
    (root / "rules" / "own.yaml").write_text(RULES.replace("        - # here\n", ""))
    _run("schema", "--write", root / "schemas", "--site", root)
    (root / "rules" / "own.yaml").write_text(RULES)
    (root / "rules" / "own.test.yaml").write_text(TESTS)
    return root


def _run(*args: object) -> None:
    done = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output


def _place(text: str, part: str, behind: bool = False) -> tuple[int, int]:
    at = text.index(part) + (len(part) if behind else 1)
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1


def test_rules_are_completed_and_explained(server: LanguageServer, site: Path) -> None:
    path = site / "rules" / "own.yaml"
    server.open(path)
    fields = server.completions(path, *_place(RULES, "- # here")[:1], 10)
    assert {"log_age", "next_link.state", "flagged", "lines.errno-122.count", "at_least"} <= fields
    assert {"RUNNING", "TIMEOUT"} <= server.completions(path, *_place(RULES, "state: ", behind=True))
    assert {"gpu-asleep", "stale-log"} <= server.completions(path, *_place(RULES, "{flag: ", behind=True))
    assert "duration (s) of job" in server.hover(path, *_place(RULES, "log_age"))
    assert "kind of subject" in server.hover(path, *_place(RULES, "on: job"))


def test_rule_tests_are_completed_and_explained(server: LanguageServer, site: Path) -> None:
    path = site / "rules" / "own.test.yaml"
    server.open(path)
    line = TESTS[: TESTS.index("        \n")].count("\n")
    assert {"state", "cadence", "lines.errno-122.count"} <= server.completions(path, line, 8)
    assert {"gpu-asleep", "stale-log"} <= server.completions(path, *_place(TESTS, "flags: ", behind=True))
    assert "duration (s)" in server.hover(path, *_place(TESTS, "log_age"))


def test_records_and_settings_are_completed_and_explained(server: LanguageServer, site: Path) -> None:
    record = site / "ops" / "example" / "cluster.yaml"
    text = "# yaml-language-server: $schema=../../schemas/cluster.schema.json\n" + record.read_text() + "q\n"
    record.write_text(text)
    server.open(record)
    assert {"quota", "caps", "downtime"} <= server.completions(record, text.count("\n") - 1, 1)
    assert server.hover(record, *_place(text, "scheduler:"))
    settings = site / "sweeprules.yaml"
    text = "# yaml-language-server: $schema=schemas/site.schema.json\n" + settings.read_text()
    settings.write_text(text)
    server.open(settings)
    assert server.hover(settings, *_place(text, "extends:"))
