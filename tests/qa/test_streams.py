"""A report that nobody can take: closed and full streams, a full disk, a reader that went away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(site: Path, redirect: str = "", *, state: str = "state") -> subprocess.CompletedProcess[str]:
    """One sweep by a shell, so that its streams can be what no pipe of ours is."""
    program = "from sweeprules.cli.main import main; main()"
    words = f'"$0" -c "{program}" run --engine native --site "$1" --state "$1/{state}" {redirect}'
    path = f"{site / 'bin'}:{os.environ['PATH']}"
    argv = ["bash", "-c", f"{words}; exit ${{PIPESTATUS[0]}}", sys.executable, str(site)]
    return subprocess.run(
        argv, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_site_of_these_tests_is_swept_whole(site: Path):
    done = run(site)
    assert (done.returncode, done.stderr) == (0, "")
    assert "quiet  swept  queue empty" in done.stdout


def test_a_closed_standard_output_changes_nothing(site: Path):
    done = run(site, ">&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_went_away_takes_nothing_from_the_exit_status(site: Path):
    done = run(site, "--output json | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_output_is_said_in_one_line(site: Path):
    done = run(site, ">/dev/full")
    assert done.returncode == 2
    assert "standard output: could not be written: No space left on device" in done.stderr
    assert "internal error" not in done.stderr


def test_a_sweep_that_can_not_be_kept_is_still_printed(site: Path):
    (site / "state").mkdir()
    (site / "state" / "policies").write_text("in the way\n")
    done = run(site)
    assert done.returncode == 4
    assert "quiet  swept  queue empty" in done.stdout
    assert "this sweep is not kept" in done.stderr
    assert "Traceback" not in done.stderr
