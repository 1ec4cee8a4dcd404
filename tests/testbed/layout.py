"""Where one test bed lives: its folder, its ports and its names, written down before anything is started."""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

#: Folders that the tests make for themselves start with this, so that a later run finds what a dead one left.
DIR_PREFIX = "sweeprules-testbed-"
#: Daemons and jobs of a test bed carry its folder in their environment under this name.
MARKER = "SWEEPRULES_TESTBED_DIR"
LOGINS = ("login01", "login02", "login03", "login04")
#: Hosts with an sshd of their own that differs from a login node in one way.
ODD_LOGINS = ("forkfail01", "motd01", "rotated01")
BAD_ENDPOINTS = ("refuse01", "hang01", "noise01", "drip01")
SLURM_PORTS = ("mariadb", "slurmctld", "slurmd", "slurmdbd", "node1", "node2", "node3", "node4")

_STATE_FILE = "testbed.json"
# Below Linux's ephemeral range, so that no outgoing connection takes a port between the choice and the bind.
_PORT_RANGE = range(20000, 32000)


class TestbedError(Exception):
    """The test bed could not be brought up, changed or taken down; the text says which part, and what it printed."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The names and ports of one test bed; `root` is readable by all users, because jobs and ssh sessions need it.

    With `chroot`, Slurm and sshd run in there.
    """

    root: Path
    cluster: str
    node_prefix: str
    ports: dict[str, int]
    owner_pid: int | None
    message_timeout: int = 2
    min_job_age: int = 300
    chroot: Path | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"{self.node_prefix}{number}" for number in range(1, 5))

    @property
    def slurm_conf(self) -> Path:
        return self.root / "etc" / "slurm.conf"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def ssh(self) -> Path:
        return self.root / "ssh"

    def pid_file(self, daemon: str) -> Path:
        return self.run / f"{daemon}.pid"

    def environment(self) -> dict[str, str]:
        """The whole environment of a Slurm command or daemon of this test bed."""
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "SLURM_CONF": str(self.slurm_conf),
            MARKER: str(self.root),
        }

    def save(self) -> None:
        text = json.dumps(asdict(self), indent=1, default=str)
        fresh = self.root / f".{_STATE_FILE}"
        fresh.write_text(text)
        fresh.replace(self.root / _STATE_FILE)


def make_layout(
    root: Path,
    *,
    cluster: str = "leonardo",
    owner_pid: int | None = None,
    message_timeout: int = 2,
    min_job_age: int = 300,
    chroot: Path | None = None,
) -> Layout:
    """Choose ports and names and make the folders.

    Node names are unique on this machine, since Slurm names its cgroups after them alone.
    """
    names = (*SLURM_PORTS, *LOGINS, *ODD_LOGINS, *BAD_ENDPOINTS)
    layout = Layout(
        root=root.resolve(),
        cluster=cluster,
        node_prefix=f"{cluster[:4]}{secrets.token_hex(2)}n",
        ports=dict(zip(names, free_ports(len(names)), strict=True)),
        owner_pid=owner_pid,
        message_timeout=message_timeout,
        min_job_age=min_job_age,
        chroot=chroot,
    )
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    for name in ("etc", "run", "log", "state", "spool", "munge", "mysql", "work", "jobs", "ssh"):
        (root / name).mkdir(exist_ok=True)
        (root / name).chmod(0o755)
    layout.work.chmod(0o1777)
    layout.save()
    return layout


def load_layout(root: Path) -> Layout | None:
    """The layout that `root` holds, or None where there is no test bed."""
    try:
        raw = json.loads((root / _STATE_FILE).read_text())
    except FileNotFoundError:
        return None
    chroot = Path(raw["chroot"]) if raw["chroot"] else None
    return Layout(**{**raw, "root": Path(raw["root"]), "chroot": chroot})


def new_root() -> Path:
    """A fresh short folder: a ControlPath socket may have no more than about 100 characters."""
    return Path(tempfile.mkdtemp(prefix=DIR_PREFIX))


def known_roots() -> tuple[Path, ...]:
    """The folders of test beds under the temporary folder that belong to this user."""
    parent = Path(tempfile.gettempdir())
    found = [path for path in parent.glob(f"{DIR_PREFIX}*") if path.is_dir() and path.stat().st_uid == os.geteuid()]
    return tuple(sorted(found))


def free_ports(count: int) -> list[int]:
    """Ports that nothing on this machine is bound to now."""
    chosen: list[int] = []
    for port in random.sample(_PORT_RANGE, len(_PORT_RANGE)):
        if len(chosen) == count:
            return chosen
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                continue
        chosen.append(port)
    raise TestbedError(f"fewer than {count} free ports between {_PORT_RANGE.start} and {_PORT_RANGE.stop}")
