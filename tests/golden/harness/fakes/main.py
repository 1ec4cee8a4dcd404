"""One fake Slurm command: `main.py WORLD LOGIN PROGRAM ARG...`, started under the name of the program.

It answers from the table of jobs in WORLD, or fails as the scenario says, and writes down that it was asked.
"""

# pathlib takes longer to import than all the rest.
# ruff: noqa: PTH118, PTH120, PTH123
from __future__ import annotations

import hashlib
import json
import os
import sys
import time

import fail
import sacct
import scontrol
import squeue
from table import Cluster, Refused

PROGRAMS = {"squeue": squeue.run, "sacct": sacct.run, "scontrol": scontrol.run, "sinfo": scontrol.sinfo}


def main() -> int:
    """Prints what the real command would print; returns its exit status."""
    world_path, login, program, *argv = sys.argv[1:]
    with open(world_path, encoding="utf-8") as stream:
        world = json.load(stream)
    folder = os.path.dirname(world_path)
    place = world["logins"][login]
    now = world["clusters"][place["cluster"]]["now"] if world["clock"] else time.time()
    cluster = Cluster(world["clusters"][place["cluster"]], now)
    note(folder, {"login": login, "cluster": place["cluster"], "argv": [program, *argv]})
    kind = nth(place["answers"].get(program, "ok"), count(folder, world["sweep"], login, [program, *argv]))
    if isinstance(kind, dict):
        cluster = Cluster({**world["clusters"][place["cluster"]], "jobs": kind["jobs"]}, now)
        kind = "ok"
    try:
        healthy = PROGRAMS[program](cluster, argv)
    except Refused as refused:
        healthy = ("", f"{refused}\n", refused.status)
    out, err, status = fail.answer(kind, program, argv, cluster.version, healthy)
    sys.stdout.buffer.write(out.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    sys.stderr.write(err)
    return status


def nth(answers, number: int):
    """The answer of the `number`-th call (from 1): a list holds one a call, its last one for all that follow."""
    return answers[min(number, len(answers)) - 1] if isinstance(answers, list) else answers


def count(folder: str, sweep: int, login: str, argv: list[str]) -> int:
    """How often this very question was asked in this sweep, this time included. The file grows by a byte a call."""
    key = hashlib.sha256("\0".join((str(sweep), login, *argv)).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return appended(os.path.join(folder, "counts", key), b".")


def note(folder: str, entry: dict) -> None:
    """Adds one line to the list of calls, whole, whoever else writes."""
    appended(os.path.join(folder, "calls.jsonl"), json.dumps(entry).encode() + b"\n")


def appended(path: str, data: bytes) -> int:
    """Appends in one write; the size after it."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, data)
        return os.lseek(handle, 0, os.SEEK_CUR)
    finally:
        os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
