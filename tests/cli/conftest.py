"""The command line as a person meets it: arguments in, status and text out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from sweeprules.cli.main import cli

RULES = """policy: 1
title: Rules of a test
params:
  long: {default: 2h, why: "longer than any of them takes", for: [{cluster: leonardo, value: 3h}]}
lists:
  wanted: [rl__, sft__]
rules:
  - id: own.long
    on: job
    why: It takes too long.
    when: {all: [{state: RUNNING}, {elapsed: {gt: $long}}]}
    then: {flag: stale-log}
  - id: own.fine
    on: job
    when: {state: COMPLETED}
"""
TESTS = """tests:
  - name: three hours and a bit are too long on leonardo
    given: {job: {cluster: leonardo, state: RUNNING, elapsed: 190m}}
    expect: {flags: [stale-log]}
  - name: half an hour is not
    given: {job: {state: RUNNING, elapsed: 30m}}
    expect: {flags: [], truth: {own.long: false}}
"""
LOCAL = """cluster: leonardo
scheduler: slurm
user: alice
timezone: Europe/Rome
reach: {via: local}
"""


@dataclass(frozen=True)
class Ran:
    """What one call left."""

    exit: int
    out: str
    err: str


Sweeprules = Callable[..., Ran]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine that runs the tests decides: no site, state or workflow is named, HOME is empty."""
    for name in ("SWEEPRULES_SITE", "SWEEPRULES_STATE", "SWEEPRULES_ENGINE_FAULT", "GITHUB_ACTIONS", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.environ["PATH"])


@pytest.fixture
def sweeprules() -> Sweeprules:
    """Runs the command line in this process. An exception that no person should see fails the test."""

    def run(*args: str | Path) -> Ran:
        result = CliRunner().invoke(cli, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.stderr
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small site that stands alone, with its rules, tests and one cluster on this machine; the working folder."""
    root = tmp_path / "site"
    for name, text in {
        "sweeprules.yaml": "",
        "rules/own.yaml": RULES,
        "rules/own.test.yaml": TESTS,
        "ops/leonardo/cluster.yaml": LOCAL,
        "ops/leonardo/ops.md": "# leonardo\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.chdir(root)
    return root
