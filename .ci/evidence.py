"""Fail unless the test session's evidence shows that the real systems ran, served, and are gone: `evidence.py FILE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.testbed.layout import LOGINS
from tests.testbed.processes import marked


def faults(seen: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the evidence, one sentence each."""
    daemons = seen["slurm_daemons"]
    for name in ("slurmctld", "slurmdbd"):
        if name not in daemons:
            yield f"{name} did not run to the end"
    if sum(name.startswith("slurmd-") for name in daemons) != 4:
        yield "there were not four slurmd"
    for host in LOGINS:
        if host not in seen["sshd_logins"]:
            yield f"the sshd of {host} did not run to the end, or served no session"
    if seen["job_info_calls"] < 1:
        yield "sdiag counted no job-info call"
    if seen["skipped"]:
        yield f"{seen['skipped']} tests did not run for want of a real system"
    if seen["root"] and (marked(Path(seen["root"])) or Path(seen["root"]).exists()):
        yield f"processes or files of the test bed {seen['root']} are left"


def main(path: Path) -> int:
    text = path.read_text()
    if not text:
        sys.stderr.write("the test session left no evidence: the tests under tests/integration were not run\n")
        return 1
    seen = json.loads(text)
    found = list(faults(seen))
    for fault in found:
        sys.stderr.write(f"real systems: {fault}\n")
    sys.stdout.write(
        f"Slurm {seen['slurm_version'] or 'none'}; job-info calls counted by sdiag: {seen['job_info_calls']}; "
        f"sessions in sshd's logs: {seen['ssh_sessions']}; skipped: {seen['skipped']}\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
