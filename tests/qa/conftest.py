"""A site whose one cluster is a folder of small scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

SLURM = {
    "squeue": "exit 0",
    "sacct": "exit 0",
    "scontrol": 'test "$1" = ping && echo "Slurmctld(primary) at ctl is UP" || echo "No reservations in the system"',
    "sinfo": "echo slurm 22.05.8",
}
RECORD = "cluster: quiet\nscheduler: slurm\nuser: alice\ntimezone: UTC\nreach: {via: local}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with one drained cluster, whose commands are small scripts."""
    (tmp_path / "bin").mkdir()
    for name, text in SLURM.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "ops" / "quiet").mkdir(parents=True)
    (tmp_path / "ops" / "quiet" / "cluster.yaml").write_text(RECORD)
    (tmp_path / "sweeprules.yaml").write_text("extends: builtin\n")
    return tmp_path
