"""The real Slurm and sshd that the tests in this folder share, and what the session has to say about them at its end.

Where they can not run, the tests are skipped and the summary counts them; with SWEEPRULES_TESTBED=required they fail.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from tests.testbed.bed import Bed, own_bed
from tests.testbed.chroot import TRIXIE, missing_for_slurm24
from tests.testbed.job_list import jobs_of
from tests.testbed.jobs import Jobs, Submitted
from tests.testbed.layout import LOGINS
from tests.testbed.packages import missing_for_slurm, missing_for_sshd
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

REQUIRED = os.environ.get("SWEEPRULES_TESTBED") == "required"
#: Where the evidence that the real systems ran is written, as JSON; `.ci/run` reads it.
EVIDENCE_FILE = os.environ.get("SWEEPRULES_TESTBED_EVIDENCE")
_MISSING = {"slurm": missing_for_slurm, "sshd": missing_for_sshd, "slurm24": missing_for_slurm24}
_WORDS = {"slurm": "a real Slurm", "sshd": "a real sshd", "slurm24": "a real Slurm 24.11"}
_MARK_OF_FIXTURE = {"slurm": "slurm", "logins": "sshd", "bed24": "deep"}


@dataclass(slots=True)
class Evidence:
    """What ran, as the daemons themselves tell it, and which tests did not run for want of them."""

    root: str = ""
    slurm_version: str = ""
    slurm_daemons: list[str] = field(default_factory=list)
    job_info_calls: int = 0
    sshd_logins: list[str] = field(default_factory=list)
    ssh_sessions: int = 0
    ssh_connections: int = 0
    not_run: dict[str, dict[str, str]] = field(default_factory=lambda: {kind: {} for kind in _MISSING})

    def take(self, bed: Bed) -> None:
        """Read the counts while the daemons still run."""
        self.root = str(bed.layout.root)
        self.slurm_version = bed.slurm.version()
        self.slurm_daemons = [name for name, pid in bed.slurm.daemons().items() if pid is not None]
        if "slurmctld" in self.slurm_daemons:
            self.job_info_calls = bed.slurm.job_info_calls()
        daemons = bed.logins.daemons()
        self.sshd_logins = [host for host in LOGINS if daemons[host] is not None and bed.logins.sessions(host) > 0]
        self.ssh_sessions, self.ssh_connections = bed.logins.sessions(), bed.logins.connections()


EVIDENCE = Evidence()


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The session's test bed, laid out but empty; use `slurm` and `logins`."""
    bed = own_bed()
    try:
        yield bed
        EVIDENCE.take(bed)
    finally:
        bed.close()


@pytest.fixture(scope="session")
def slurm(bed: Bed) -> Slurm:
    """A real Slurm 22.05 cluster named leonardo: partitions boost (3 nodes of 8 CPUs) and gg (1 node)."""
    bed.slurm.up()
    return bed.slurm


@pytest.fixture(scope="session")
def logins(bed: Bed) -> Logins:
    """Four real login nodes and the hosts that misbehave; Slurm's commands work there once `slurm` is up."""
    bed.logins.up()
    return bed.logins


@pytest.fixture(scope="session")
def jobs(slurm: Slurm) -> Jobs:
    """Submits as alice."""
    return Jobs(slurm, "alice")


@pytest.fixture(scope="session")
def standard_jobs(jobs: Jobs) -> Submitted:
    """The standard set, submitted once; those that settle soon have settled. Leave them as they are."""
    submitted = jobs.submit_all()
    submitted.settled()
    return submitted


@pytest.fixture(scope="session")
def bed24() -> Iterator[Bed]:
    """A second test bed whose Slurm is 24.11, in a Debian 13 chroot; laid out but empty."""
    bed = own_bed("tacc", chroot=TRIXIE)
    try:
        yield bed
    finally:
        bed.close()


@pytest.fixture(scope="session")
def slurm24(bed24: Bed) -> Slurm:
    """A real Slurm 24.11 cluster named tacc, beside the first; whatever uses it is marked deep."""
    bed24.slurm.up()
    return bed24.slurm


@pytest.fixture(scope="session")
def logins24(bed24: Bed) -> Logins:
    """The login nodes of the 24.11 cluster, with its own commands on them."""
    bed24.logins.up()
    return bed24.logins


@pytest.fixture(scope="session")
def jobs24(slurm24: Slurm) -> Jobs:
    """Submits as alice to the 24.11 cluster."""
    return Jobs(slurm24, "alice")


@pytest.fixture(scope="session")
def standard_jobs24(jobs24: Jobs) -> Submitted:
    """The standard set on the 24.11 cluster; those that settle soon have settled."""
    submitted = jobs24.submit_all(jobs_of("24.11"))
    submitted.settled()
    return submitted


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the fixtures that it uses, however indirectly, so that none goes uncounted."""
    for item in items:
        for fixture, mark in _MARK_OF_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or where the real systems are required fail, a test whose systems can not run here."""
    for kind in _kinds(item):
        lacking = "; ".join(_MISSING[kind]())
        if not lacking:
            continue
        EVIDENCE.not_run[kind][item.nodeid] = lacking
        text = f"needs {_WORDS[kind]}, which can not run here: {lacking}"
        if REQUIRED:
            pytest.fail(text, pytrace=False)
        pytest.skip(text)


def _kinds(item: pytest.Item) -> list[str]:
    kinds = [mark for mark in ("slurm", "sshd") if item.get_closest_marker(mark) is not None]
    return [*kinds, "slurm24"] if "bed24" in getattr(item, "fixturenames", ()) else kinds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what ran and what did not, and write it down for `.ci/run`."""
    terminalreporter.section("real systems")
    for kind, tests in EVIDENCE.not_run.items():
        for reason in sorted(set(tests.values())):
            count = sum(other == reason for other in tests.values())
            line = f"{count} tests need {_WORDS[kind]}: NOT RUN, because: {reason}"
            terminalreporter.write_line(line, red=True, bold=True)
    skipped = len({test for tests in EVIDENCE.not_run.values() for test in tests})
    daemons = ", ".join(EVIDENCE.slurm_daemons) or "none"
    terminalreporter.write_line(f"Slurm {EVIDENCE.slurm_version or 'did not run'}; daemons at the end: {daemons}")
    terminalreporter.write_line(f"login nodes that served sessions: {', '.join(EVIDENCE.sshd_logins) or 'none'}")
    terminalreporter.write_line(f"job-info calls that sdiag counted: {EVIDENCE.job_info_calls}")
    terminalreporter.write_line(
        f"sessions in sshd's logs: {EVIDENCE.ssh_sessions}, on {EVIDENCE.ssh_connections} connections"
    )
    terminalreporter.write_line(f"tests skipped for want of a real system: {skipped}")
    if EVIDENCE_FILE:
        Path(EVIDENCE_FILE).write_text(json.dumps({**asdict(EVIDENCE), "skipped": skipped}, indent=1))
