"""One test bed as a whole: brought up, kept by whoever owns it, and gone afterwards, even if the owner was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.testbed import slurm as slurm_module
from tests.testbed import ssh as ssh_module
from tests.testbed.layout import Layout, known_roots, load_layout, make_layout, new_root
from tests.testbed.processes import alive, end_all, marked
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

_REPO = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Bed:
    """A test bed that lives no longer than this process: a watchdog takes it down should the process die first."""

    layout: Layout
    slurm: Slurm = field(init=False)
    logins: Logins = field(init=False)
    _watchdog: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.slurm = Slurm(self.layout)
        self.logins = Logins(self.layout)
        # It waits for the end of its standard input, whose other end only this process holds.
        self._watchdog = subprocess.Popen(
            [sys.executable, "-m", "tests.testbed", "watch", str(self.layout.root)],
            cwd=_REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Take everything down and delete the folder; the watchdog, which ends last, finds nothing to do."""
        take_down(self.layout, remove=True)
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait(timeout=30)


def own_bed(
    cluster: str = "leonardo", *, message_timeout: int = 2, min_job_age: int = 300, chroot: Path | None = None
) -> Bed:
    """Lay out a test bed of this process, after clearing away what dead processes left; nothing is started yet."""
    clear_stale()
    layout = make_layout(
        new_root(),
        cluster=cluster,
        owner_pid=os.getpid(),
        message_timeout=message_timeout,
        min_job_age=min_job_age,
        chroot=chroot,
    )
    return Bed(layout)


def take_down(layout: Layout, *, remove: bool) -> None:
    """End what still runs of a test bed, by pid file first and then by its mark; `remove` deletes the folder too."""
    ssh_module.take_down(layout)
    slurm_module.take_down(layout)
    end_all(marked(layout.root))
    if remove:
        slurm_module.remove_files(layout)


def clear_stale() -> tuple[Path, ...]:
    """Take down the test beds in the temporary folder whose owner is dead; their folders."""
    stale = []
    for root in known_roots():
        layout = load_layout(root)
        if layout is not None and layout.owner_pid is not None and not alive(layout.owner_pid):
            take_down(layout, remove=True)
            stale.append(root)
    return tuple(stale)


def leftovers(root: Path) -> tuple[int, ...]:
    """The processes of a test bed that still live, whether its folder is still there or not."""
    return marked(root)
