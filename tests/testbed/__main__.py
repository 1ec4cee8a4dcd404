"""By hand: `python -m tests.testbed up|down|status DIR`, `python -m tests.testbed install`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.testbed import bed, chroot, packages
from tests.testbed.layout import TestbedError, load_layout, make_layout
from tests.testbed.processes import marked
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins


def up(root: Path, cluster: str, where: Path | None) -> int:
    """Bring a test bed up in `root` that stays until `down`; a dead one that it finds there is cleared away first."""
    lacking = chroot.missing_for_slurm24() if where else packages.missing_for_slurm()
    if lacking:
        print(
            f"can not run here: {'; '.join(lacking)}. `python -m tests.testbed install` puts that right.",
            file=sys.stderr,
        )
        return 1
    old = load_layout(root)
    if old is not None:
        if marked(old.root):
            print(f"{root} holds a test bed that runs; take it down first", file=sys.stderr)
            return 1
        bed.take_down(old, remove=True)
    layout = make_layout(root, cluster=cluster, chroot=where)
    try:
        Slurm(layout).up()
        Logins(layout).up()
    except TestbedError:
        bed.take_down(layout, remove=False)
        raise
    print(f"export SLURM_CONF={layout.slurm_conf}\nssh -F {Logins(layout).config()} login01 squeue")
    return 0


def down(root: Path) -> int:
    """End a test bed and delete its folder."""
    layout = load_layout(root)
    if layout is None:
        print(f"no test bed in {root}", file=sys.stderr)
        return 1
    bed.take_down(layout, remove=True)
    return 0


def status(root: Path) -> int:
    """Print each daemon with its pid; exit 1 unless all run."""
    layout = load_layout(root)
    if layout is None:
        print(f"no test bed in {root}", file=sys.stderr)
        return 1
    daemons = {**Slurm(layout).daemons(), **{f"sshd {host}": pid for host, pid in Logins(layout).daemons().items()}}
    for name, pid in daemons.items():
        print(f"{name:<24} {pid if pid is not None else 'does not run'}")
    return 0 if all(daemons.values()) else 1


def watch(root: Path) -> int:
    """Wait until the holder of standard input's other end is gone; take down the test bed if it is still there."""
    sys.stdin.read()
    layout = load_layout(root)
    if layout is not None:
        bed.take_down(layout, remove=True)
    return 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    install = verbs.add_parser("install", help="install the Debian packages and make the users alice and bob (root)")
    install.add_argument("--deep", action="store_true", help="make the Debian 13 chroot with Slurm 24.11 as well")
    for verb in ("up", "down", "status", "watch"):
        one = verbs.add_parser(verb)
        one.add_argument("dir", type=Path)
        if verb == "up":
            one.add_argument("--cluster", default="leonardo")
            one.add_argument("--slurm24", action="store_true", help="run Slurm 24.11 in the Debian 13 chroot")
    given = parser.parse_args(words)
    try:
        if given.verb == "install":
            packages.install()
            if given.deep:
                chroot.install()
            return 0
        if given.verb == "up":
            return up(given.dir.resolve(), given.cluster, chroot.TRIXIE if given.slurm24 else None)
        return {"down": down, "status": status, "watch": watch}[given.verb](given.dir.resolve())
    except TestbedError as error:
        print(f"test bed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
