"""A sweep that is told to end says so, and leaves neither a process nor half a sweep behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = "from sweeprules.cli.main import main; main()"
PATIENCE = 60.0


def argv(site: Path) -> list[str]:
    words = ("run", "--engine", "native", "--site", str(site), "--state", str(site / "state"))
    return [sys.executable, "-c", PROGRAM, *words]


def environment(site: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{site / 'bin'}:{os.environ['PATH']}"}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def until(there: object) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if there():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_sweep_that_is_told_to_end(site: Path, number: signal.Signals):
    mark = site / "asked"
    quick = (site / "bin" / "squeue").read_text()
    (site / "bin" / "squeue").write_text(f"#!/bin/sh\necho $$ >{mark}.new; mv {mark}.new {mark}; exec sleep 50\n")
    sweep = subprocess.Popen(argv(site), env=environment(site), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert until(mark.exists)
    sweep.send_signal(number)
    out, err = sweep.communicate(timeout=PATIENCE)
    assert (sweep.returncode, out) == (128 + number, b"")
    assert f"ended by {number.name}; nothing of this run was kept" in err.decode()
    assert until(lambda: not alive(int(mark.read_text())))

    (site / "bin" / "squeue").write_text(quick)
    after = subprocess.run(argv(site), env=environment(site), capture_output=True, timeout=PATIENCE, check=False)
    assert (after.returncode, after.stderr) == (0, b"")
