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


def masked(text: str) -> str:
    """The text without what differs from run to run and from policy to policy."""
    same = re.sub(r"(\d{8}T\d{6}Z)-[0-9a-f]{6}", r"\1-xxxxxx", text)
    same = re.sub(r"policy\s+[0-9a-f]{8}", "policy xxxxxxxx", same)
    return re.sub(r"/\S*sweeprules-demo-\w+", "STATE", same)


def test_it_prints_what_was_reviewed(played: str, snapshot: SnapshotAssertion) -> None:
    assert masked(played) == snapshot


def test_it_prints_what_the_readme_shows(played: str) -> None:
    """Each line of the picture in the README, in its order; `…` stands for what was left out."""
    picture = (DEMO.parent / "README.md").read_text().split("```text\n$ sweeprules run", 1)[1].split("\n```", 1)[0]
    lines = [line for line in masked(picture).splitlines()[1:] if line.strip() not in ("", "…") and line[0] != "$"]
    assert len(lines) > 100
    printed = iter(masked(played).splitlines())
    assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize(
    "shown",
    ["suspected-wedge", "queue UNKNOWN", "false-drain-suspect", "chain-restart-ok", "postpatch-missing", "in downtime"],
)
def test_it_shows_what_it_promises(played: str, shown: str) -> None:
    assert shown in played


def test_nothing_of_the_hostile_name_reaches_the_terminal(played: str) -> None:
    assert "\x1b" not in played
    assert "\x07" not in played
