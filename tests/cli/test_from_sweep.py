"""`test --from-sweep`: a rule test from what a sweep of the recorded site saw."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Sweeprules
from tests.cli.test_sweeping import DEMO, swept

LOUDER = """policy: 1
title: Louder
rules:
  - {id: live.stale-log, disabled: true, because: "tried without"}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The state of one sweep of the recorded site, and its report."""
    path = tmp_path_factory.mktemp("kept")
    return path, swept(path)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A copy of the recorded site."""
    return Path(shutil.copytree(DEMO, tmp_path / "demo"))


def test_each_flag_of_the_recorded_site_becomes_a_test_that_passes(
    kept: tuple[Path, dict[str, Any]], demo: Path, sweeprules: Sweeprules
) -> None:
    state, report = kept
    one_of_each = {tuple(flag["name"] for flag in job["flags"]): job for job in report["jobs"]}
    assert len(one_of_each) > 3
    (demo / "rules").mkdir(exist_ok=True)
    for number, job in enumerate(one_of_each.values()):
        name = f"{job['cluster']}:{job['job_id']}"
        made = sweeprules(
            "test", "--site", demo, "--state", state, "--from-sweep", report["sweep"]["id"], "--job", name
        )
        assert (made.exit, made.err) == (0, ""), name
        (demo / "rules" / f"{number}.test.yaml").write_text(made.out)
    texts = [path.read_text() for path in (demo / "rules").glob("*.test.yaml")]
    assert any("flags: [suspected-wedge, stale-log]" in text for text in texts)
    found = sweeprules("test", "--site", demo, demo / "rules")
    assert found.exit == 0
    assert f"{len(one_of_each)} passed" in found.out


def test_rules_that_changed_since_are_told_apart(
    kept: tuple[Path, dict[str, Any]], demo: Path, sweeprules: Sweeprules
) -> None:
    state, report = kept
    stale = next(job for job in report["jobs"] if "stale-log" in {flag["name"] for flag in job["flags"]})
    (demo / "rules").mkdir(exist_ok=True)
    (demo / "rules" / "louder.yaml").write_text(LOUDER)
    name = f"{stale['cluster']}:{stale['job_id']}"
    options = ("test", "--site", demo, "--state", state, "--from-sweep", report["sweep"]["id"], "--job", name)
    found = sweeprules(*options)
    assert found.exit == 1
    assert found.out.startswith("tests:\n")
    assert "stale-log" in found.err
    document = json.loads(sweeprules(*options, "--output", "json").out)
    assert document["test"] == found.out
    assert any("stale-log" in line for line in document["differences"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--job", "48102"), "go together"),
        (("--from-sweep", "SWEEP"), "go together"),
        (("--from-sweep", "SWEEP", "--job", "48102", "--coverage"), "leave out"),
        (("--from-sweep", "SWEEP", "--job", "48102", "--output", "junit"), "junit"),
        (("--from-sweep", "no-such", "--job", "48102"), "no sweep 'no-such' is kept"),
        (("--from-sweep", "SWEEP", "--job", "48109999"), "no job '48109999'"),
    ],
)
def test_usage(options: tuple[str, ...], said: str, kept: tuple[Path, dict[str, Any]], sweeprules: Sweeprules) -> None:
    state, report = kept
    words = [report["sweep"]["id"] if word == "SWEEP" else word for word in options]
    found = sweeprules("test", "--site", DEMO, "--state", state, *words)
    assert found.exit == 2
    assert said in " ".join(found.err.split())


def test_nothing_kept(tmp_path: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--site", DEMO, "--state", tmp_path / "none", "--from-sweep", "x", "--job", "1")
    assert found.exit == 2
    assert "no sweep is kept" in found.err
