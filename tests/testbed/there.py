"""Runs a command where a test bed's Slurm is: on this machine, or in its chroot."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.testbed.chroot import inside
from tests.testbed.layout import Layout
from tests.testbed.processes import run


def run_there(
    layout: Layout,
    argv: Sequence[str],
    *,
    user: str | None = None,
    deadline: float = 60,
    stdin: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit status; past its deadline it is killed and TestbedError raised."""
    whole = {**layout.environment(), **(env or {})}
    if layout.chroot is None:
        return run(argv, env=whole, user=user, deadline=deadline, stdin=stdin, cwd=cwd)
    return run(inside(layout, argv, user=user, cwd=cwd), env=whole, deadline=deadline, stdin=stdin)
