"""The jobs of one fake cluster, and how Slurm writes times, durations and ids. Standard library alone."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

MIN_JOB_AGE = 300
"""Seconds that the controller remembers an ended job: Slurm's MinJobAge."""
ACTIVE = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "REQUEUED")
COMPACT = {
    "PENDING": "PD", "RUNNING": "R", "SUSPENDED": "S", "COMPLETING": "CG", "COMPLETED": "CD", "CONFIGURING": "CF",
    "FAILED": "F", "TIMEOUT": "TO", "CANCELLED": "CA", "NODE_FAIL": "NF", "PREEMPTED": "PR", "OUT_OF_MEMORY": "OOM",
    "BOOT_FAIL": "BF", "DEADLINE": "DL", "STOPPED": "ST", "REQUEUED": "RQ",
}  # fmt: skip


class Cluster:
    """One cluster as its login sees it now: `version`, `users`, `jobs`, `reservations`, the time and its zone."""

    def __init__(self, data: dict, now: float) -> None:
        self.now = now
        self.version = tuple(int(part) for part in data["version"].split(".")[:2])
        self.release = data["version"]
        self.zone = data["zone"]
        self.users = data["users"]
        self.jobs = [Job(job, now) for job in data["jobs"]]
        self.reservations = data["reservations"]

    def known(self) -> list[Job]:
        """The jobs that the controller still has."""
        return [job for job in self.jobs if job["in_queue"] and (job.active or self.now - job["end"] <= MIN_JOB_AGE)]

    def time(self, epoch: float | None, never: str) -> str:
        """A time as Slurm prints it: local, or as SLURM_TIME_FORMAT says; `never` stands for none."""
        if epoch is None:
            return never
        if os.environ.get("SLURM_TIME_FORMAT") == "%s":
            return str(int(epoch))
        moment = datetime.fromtimestamp(epoch, UTC)
        if self.zone != "UTC":
            from zoneinfo import ZoneInfo

            moment = moment.astimezone(ZoneInfo(self.zone))
        return moment.strftime("%Y-%m-%dT%H:%M:%S")


class Job:
    """One job; its fields by name, with what follows from them."""

    def __init__(self, fields: dict, now: float) -> None:
        self._fields = fields
        self.now = now

    def __getitem__(self, name: str):
        return self._fields[name]

    @property
    def word(self) -> str:
        """The state's first word."""
        return self["state"].split()[0]

    @property
    def active(self) -> bool:
        return self.word in ACTIVE

    @property
    def elapsed(self) -> int:
        """Seconds that this attempt has run."""
        if self["start"] is None or self["pending"]:
            return 0
        return max(0, int((self["end"] if self["end"] is not None else self.now) - self["start"]))

    def accounted(self) -> Job:
        """The job as accounting has it, which may lag behind the queue."""
        return Job({**self._fields, **self["accounting"]}, self.now) if self["accounting"] else self

    def expanded(self, *, node_codes: bool) -> str:
        """Its output path as the controller expands it; codes that only the node knows stay as they are."""
        values = {"j": self["raw"], "A": self["base"], "a": self["task"] or "4294967294", "x": self["name"],
                  "u": self["user"]}  # fmt: skip
        if node_codes:
            values.update(N=first_node(self["node_list"]), n="0", t="0")
        return re.sub(r"%([A-Za-z])", lambda code: values.get(code[1], code[0]), self.raw_path)

    @property
    def raw_path(self) -> str:
        """Its output path as submitted, made absolute."""
        path = self["stdout"]
        return path if path.startswith("/") else f"{self['workdir']}/{path}"


def first_node(text: str) -> str:
    """`n01` of `n[01-14]`."""
    found = re.match(r"([^\[,]*)(?:\[(\d+))?", text)
    return found[1] + (found[2] or "") if found else ""


def clock(seconds: float, *, wide: bool) -> str:
    """`1-02:03:04`; without days `2:03:04` and `3:04`, or always `02:03:04` when `wide`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}-{hour:02d}:{minute:02d}:{second:02d}"
    if wide:
        return f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"


def limit(seconds: int | None, *, wide: bool) -> str:
    """A time limit, whole minutes, or UNLIMITED."""
    return "UNLIMITED" if seconds is None else clock(-(-seconds // 60) * 60, wide=wide)


class Refused(Exception):
    """What a fake prints on stderr, and its exit status, when it is asked wrongly."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def not_simulated(program: str, what: str) -> Refused:
    """A question that the fakes do not answer; loud, so that no test rests on a guess."""
    return Refused(f"fake {program}: {what} is not simulated", 97)
