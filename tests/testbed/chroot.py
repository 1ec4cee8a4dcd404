"""Slurm 24.11 of Debian 13 in a chroot, beside the host's own 22.05; made only on request, for the tests marked deep.

What runs inside gets a mount namespace of its own, so that no mount outlives it. The test bed's folder has the same
path in there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.testbed.layout import Layout, TestbedError
from tests.testbed.packages import USERS, missing_for_slurm

TRIXIE = Path("/var/lib/sweeprules-testbed/trixie")
PACKAGES = (
    "slurmctld", "slurmd", "slurmdbd", "slurm-client", "slurm-wlm-plugins", "slurm-wlm-mysql-plugin",
    "munge", "openssh-server", "openssh-client", "procps", "python3-minimal",
)  # fmt: skip

# Arguments: the chroot's folder, the test bed's folder or "", then those of chroot(8).
_ENTER = """\
set -e
root=$1; bed=$2; shift 2
for part in dev proc sys; do mount --rbind "/$part" "$root/$part"; done
touch "$root/etc/hosts"; mount --bind /etc/hosts "$root/etc/hosts"
if [ -n "$bed" ]; then mkdir -p "$root$bed"; mount --bind "$bed" "$root$bed"; fi
mkdir -p "$root/run/sshd"
exec chroot "$@"
"""


def inside(layout: Layout, argv: Sequence[str], *, user: str | None, cwd: Path | None) -> list[str]:
    """The argv that runs `argv` in the layout's chroot; the environment goes in with it."""
    assert layout.chroot is not None
    who = [f"--userspec={user}:{user}", "--groups="] if user else []
    where = ["env", "-C", str(cwd)] if cwd else []
    return [*_enter(layout.chroot, str(layout.root)), *who, str(layout.chroot), *where, *argv]


def forget(layout: Layout) -> None:
    """Remove the empty folder that the test bed was mounted on."""
    if layout.chroot is None:
        return
    with suppress(OSError):  # nothing was ever started in there, or a process that is just dying still holds it
        (layout.chroot / layout.root.relative_to("/")).rmdir()


def missing_for_slurm24() -> tuple[str, ...]:
    """What keeps Slurm 24.11 from running here, in words; empty where nothing does."""
    lacking = list(missing_for_slurm())
    if not (TRIXIE / "usr/sbin/slurmctld").exists():
        lacking.append(f"no Debian 13 chroot in {TRIXIE} (python3 -m tests.testbed install --deep)")
    return tuple(lacking)


def install() -> None:
    """Make the chroot with Slurm 24.11 and the two users in it (about 40 s); as root, with debootstrap installed."""
    if (TRIXIE / "usr/sbin/slurmctld").exists():
        return
    if shutil.which("debootstrap") is None:
        raise TestbedError("install --deep: no debootstrap (apt-get install debootstrap)")
    TRIXIE.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=ca-certificates", "trixie", str(TRIXIE)],
        stdin=subprocess.DEVNULL, timeout=900, check=True,
    )  # fmt: skip
    policy = TRIXIE / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    for user, uid in USERS.items():
        _in_chroot("useradd", "-m", "-u", str(uid), "-s", "/bin/bash", "-p", "*", user)
    _in_chroot("apt-get", "install", "-q", "-y", "--no-install-recommends", *PACKAGES)


def _in_chroot(*argv: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [*_enter(TRIXIE, ""), str(TRIXIE), *argv]
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, timeout=900, check=True)


def _enter(root: Path, bed: str) -> list[str]:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "enter", str(root), bed]
