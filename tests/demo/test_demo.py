"""The README's first command: it runs as printed, shows what it promises, and reaches no cluster."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

DEMO = Path(__file__).parents[2] / "demo"


@pytest.fixture(scope="module")
def played() -> str:
    done = subprocess.run(
        [sys.executable, str(DEMO / "play.py")], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_prints_what_the_readme_shows(played: str, snapshot: SnapshotAssertion) -> None:
    same = re.sub(r"(\d{8}T\d{6}Z)-[0-9a-f]{6}", r"\1-xxxxxx", played)
    same = re.sub(r"policy\s+[0-9a-f]{8}", "policy xxxxxxxx", same)
    same = re.sub(r"/\S*sweeprules-demo-\w+", "STATE", same)
    assert same == snapshot


@pytest.mark.parametrize(
    "shown",
    ["suspected-wedge", "queue UNKNOWN", "false-drain-suspect", "chain-restart-ok", "postpatch-missing", "in downtime"],
)
def test_it_shows_what_it_promises(played: str, shown: str) -> None:
    assert shown in played


def test_nothing_of_the_hostile_name_reaches_the_terminal(played: str) -> None:
    assert "\x1b" not in played
    assert "\x07" not in played
