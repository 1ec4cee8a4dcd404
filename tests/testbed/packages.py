"""What a machine lacks for the test bed, and, only on request, its installation."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.testbed.layout import TestbedError

#: Debian packages, without their recommendations. Of MariaDB the core is enough: it has the programs and no service.
PACKAGES = (
    "slurm-wlm", "slurmctld", "slurmd", "slurmdbd", "slurm-client", "slurm-wlm-basic-plugins",
    "munge", "mariadb-server-core", "mariadb-client-core", "openssh-server", "openssh-client",
)  # fmt: skip
PROGRAMS = (
    "munged", "mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "slurmctld", "slurmd",
    "sbatch", "scancel", "squeue", "sacct", "sacctmgr", "scontrol", "sinfo", "sdiag", "sshd", "ssh", "ssh-keygen",
)  # fmt: skip
SSH_PROGRAMS = ("sshd", "ssh", "ssh-keygen")
#: The two people who use the test cluster. Their uids tell them from real accounts that bear the same names.
USERS = {"alice": 5001, "bob": 5002}

_POLICY = Path("/usr/sbin/policy-rc.d")
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_for_slurm() -> tuple[str, ...]:
    """What keeps a real Slurm from running here, in words; empty where nothing does."""
    return tuple(_missing(PROGRAMS))


def missing_for_sshd() -> tuple[str, ...]:
    """What keeps the login nodes from running here, in words; empty where nothing does."""
    return tuple(_missing(SSH_PROGRAMS))


def install() -> None:
    """Install the Debian packages and make the two users; for a machine that was set aside for it, as root."""
    if os.geteuid() != 0:
        raise TestbedError("install: must run as root")
    if any(find_program(name) is None for name in PROGRAMS):
        _apt()
    for user, uid in USERS.items():
        _make_user(user, uid)


def find_program(name: str) -> str | None:
    """The path of a program, the system's own folders included."""
    return shutil.which(name, path=_SEARCH)


def _missing(programs: tuple[str, ...]) -> Iterator[str]:
    if os.geteuid() != 0:
        yield "not root"
    absent = [name for name in programs if find_program(name) is None]
    if absent:
        yield f"no {', '.join(absent)}"
    for user, uid in USERS.items():
        try:
            found = pwd.getpwnam(user).pw_uid
        except KeyError:
            yield f"no user {user}"
            continue
        if found != uid:
            yield f"user {user} has uid {found}, not the test bed's {uid}"


def _apt() -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Without this, installing a daemon's package starts the daemon.
    own_policy = not _POLICY.exists()
    if own_policy:
        _POLICY.write_text("#!/bin/sh\nexit 101\n")
        _POLICY.chmod(0o755)
    try:
        for argv in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", *PACKAGES],
        ):
            subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, timeout=900, check=True)
    finally:
        if own_policy:
            _POLICY.unlink()


def _make_user(user: str, uid: int) -> None:
    try:
        found = pwd.getpwnam(user).pw_uid
    except KeyError:
        # A locked password would make sshd refuse the key as well; "*" only refuses passwords.
        subprocess.run(["useradd", "-m", "-u", str(uid), "-s", "/bin/bash", "-p", "*", user], check=True, timeout=30)
        return
    if found != uid:
        raise TestbedError(
            f"install: there is a user {user} with uid {found}; the test bed's has {uid}, and yours is left alone"
        )
    subprocess.run(["usermod", "-p", "*", user], check=True, timeout=30)
