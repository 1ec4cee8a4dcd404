"""What a machine without the real systems is told: loudly skipped, or failed where they are required; never passed."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed import packages

REPO = Path(__file__).resolve().parents[2]
SMOKE = "tests/integration/test_testbed_smoke.py::test_both_users_get_in_and_are_themselves"
DRAIN = "tests/integration/test_testbed_smoke.py::test_a_user_without_jobs_is_a_true_drain"
WITHOUT = """
import sys, pytest
from tests.testbed import packages
packages.PROGRAMS += ("nosuchslurm",)
packages.SSH_PROGRAMS += ("nosuchsshd",)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def session_without(tmp_path: Path, **environment: str) -> tuple[int, str, dict[str, object]]:
    """Run two tests in a session on a machine that lacks a program of each kind: status, output, evidence."""
    evidence = tmp_path / "evidence.json"
    env = {name: value for name, value in os.environ.items() if not name.startswith("SWEEPRULES_")}
    env |= {"SWEEPRULES_TESTBED_EVIDENCE": str(evidence), **environment}
    argv = [sys.executable, "-c", WITHOUT, SMOKE, DRAIN]
    done = subprocess.run(argv, cwd=REPO, env=env, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, json.loads(evidence.read_text())


def test_skipped_loudly_and_counted(tmp_path: Path) -> None:
    status, output, evidence = session_without(tmp_path)
    assert status == 0
    assert "1 tests need a real Slurm: NOT RUN, because:" in output
    assert "1 tests need a real sshd: NOT RUN, because:" in output
    assert "nosuchslurm" in output
    assert "tests skipped for want of a real system: 2" in output
    assert evidence["skipped"] == 2


def test_failed_where_required_and_refused_by_the_evidence_check(tmp_path: Path) -> None:
    status, output, _ = session_without(tmp_path, SWEEPRULES_TESTBED="required")
    assert status == 1
    assert "needs a real sshd, which can not run here" in output
    check = [sys.executable, ".ci/evidence.py", str(tmp_path / "evidence.json")]
    done = subprocess.run(check, cwd=REPO, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "slurmctld did not run" in done.stderr


def test_all_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(name: str) -> pwd.struct_passwd:
        raise KeyError(name)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "find_program", lambda name: None if name == "slurmctld" else f"/usr/sbin/{name}")
    monkeypatch.setattr(pwd, "getpwnam", nobody)
    assert packages.missing_for_slurm() == ("not root", "no slurmctld", "no user alice", "no user bob")
    assert packages.missing_for_sshd() == ("not root", "no user alice", "no user bob")


def test_a_person_called_alice_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def person(name: str) -> pwd.struct_passwd:
        return pwd.struct_passwd((name, "x", 1000, 1000, "", f"/home/{name}", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwnam", person)
    assert "user alice has uid 1000, not the test bed's 5001" in packages.missing_for_sshd()
