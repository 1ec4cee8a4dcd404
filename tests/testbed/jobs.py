"""Submits jobs to a test cluster as a user would, and waits for the states that tests expect."""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.job_list import ARRAY_SIZE, JOBS, NOT_LISTED, JobSpec
from tests.testbed.job_scripts import write_scripts
from tests.testbed.layout import TestbedError
from tests.testbed.processes import wait_until
from tests.testbed.slurm import Slurm


@dataclass(frozen=True, slots=True)
class Accounted:
    """One sacct row: a job, an array task or a part of a heterogeneous job."""

    job_id: str
    state: str
    exit_code: str


class Jobs:
    """One user's jobs on a test cluster; their work folder, and with it their logs, is `folder`."""

    def __init__(self, slurm: Slurm, user: str = "alice") -> None:
        self.slurm = slurm
        self.user = user
        self.folder = slurm.layout.work / user
        self._scripts = write_scripts(slurm.layout)
        if not self.folder.exists():
            self.folder.mkdir()
            os.chown(self.folder, *_ids(user))

    def submit(
        self,
        name: str,
        script: str = "steady",
        *,
        options: Sequence[str] = (),
        arguments: Sequence[str] = (),
        output: str | None = "%x-%j.out",
        error: str | None = None,
    ) -> str:
        """Submit one job and return its id.

        `script` names one of job_scripts; `output` is a Slurm pattern, or None for its default.
        """
        before, colon, rest = _split_het(options)
        outputs = [*(["-o", output] if output else []), *(["-e", error] if error else [])]
        options = (*before, *outputs, *colon, *rest)
        argv = ["sbatch", "--parsable", "-J", name, *options, str(self._scripts / f"{script}.sh"), *arguments]
        env = {"USER": self.user, "HOME": str(self.folder), "PWD": str(self.folder)}
        done = self.slurm.run(*argv, env=env, user=self.user, cwd=self.folder)
        if done.returncode != 0:
            raise TestbedError(f"sbatch of {name!r}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout.strip().partition(";")[0]

    def steady(self, name: str, *, every: float = 1) -> str:
        """A job that writes a line to its log each `every` seconds."""
        return self.submit(name, "steady", options=("-t", "12:00:00"), arguments=(f"{every:g}",))

    def silent(self, name: str) -> str:
        """A job that writes one line and then nothing for days; see `age_log`."""
        return self.submit(name, "silent", options=("-t", "2-00:00:00"))

    def mismatched(self, name: str) -> str:
        """A job whose log pattern holds %N, %n and %t: on 22.05 the path that scontrol shows does not exist."""
        return self.submit(name, "sleep", output="up_%u_%N_%n_%t_%x.%j")

    def cancel(self, *job_ids: str) -> None:
        """Cancel jobs; one that has ended already is no error."""
        self.slurm.must("scancel", *job_ids, user=self.user)

    def requeue(self, job_id: str) -> None:
        self.slurm.must("scontrol", "requeue", job_id, user=self.user)

    def log(self, job_id: str) -> Path:
        """The log of a job or of an array task (`11_5`), found by the id that its name ends with."""
        mine, of_array = re.compile(rf"(^|[-._]){job_id}(\.out)?$"), re.compile(rf"-\d+_{job_id}(\.out)?$")
        found = [path for path in self.folder.rglob("*") if mine.search(path.name) and not of_array.search(path.name)]
        if len(found) != 1:
            raise TestbedError(f"job {job_id} has {len(found)} logs in {self.folder}, not one")
        return found[0]

    def age_log(self, job_id: str, seconds: float) -> None:
        """Set the log's mtime back, as if the job had been silent for so long."""
        wait_until(f"job {job_id} to open its log", lambda: self._has_log(job_id))
        past = time.time() - seconds
        os.utime(self.log(job_id), (past, past))

    def accounted(self) -> dict[str, tuple[Accounted, ...]]:
        """What sacct lists of this user, by job id: all array tasks and heterogeneous parts of a job are its rows.

        Asked without ids, as a sweep asks: held and dependent jobs are then not listed.
        """
        fields = ("-X", "-n", "-P", "-S", "now-1days", "-u", self.user, "--format=JobID,State,ExitCode")
        jobs: dict[str, tuple[Accounted, ...]] = {}
        for line in self.slurm.must("sacct", *fields).splitlines():
            job, state, code = line.split("|")
            base = re.split(r"[_+]", job)[0]
            jobs[base] = (*jobs.get(base, ()), Accounted(job, state.partition(" ")[0], code))
        return jobs

    def wait(self, job_id: str, *states: str, deadline: float = 60) -> None:
        """Wait until every row that sacct has of the job is in one of `states`."""
        what = f"job {job_id} to be {' or '.join(states)}"
        wait_until(what, lambda: self._is_in(job_id, states), deadline=deadline, every=0.3)

    def submit_all(self, specs: Iterable[JobSpec] = JOBS) -> Submitted:
        """Submit the standard set, cancel and requeue those that are there for it, and return the ids by label."""
        chosen = tuple(specs)
        if not (self.folder / "logs").exists():
            (self.folder / "logs").mkdir()  # 22.05 fails a job whose log folder is absent
            os.chown(self.folder / "logs", *_ids(self.user))
        ids: dict[str, str] = {}
        for spec in chosen:
            ids[spec.label] = self._submit_spec(spec, ids)
        for label, act in (("cancelled", self.cancel), ("requeue", self.requeue)):
            if label in ids:
                self.wait(ids[label], "RUNNING")
                act(ids[label])
        return Submitted(self, {spec.label: spec for spec in chosen}, ids)

    def _submit_spec(self, spec: JobSpec, ids: Mapping[str, str]) -> str:
        options = spec.options
        if spec.after is not None:
            kind, label = spec.after
            options = (*options, "-d", f"{kind}:{ids[label]}")
        return self.submit(
            spec.name, spec.script, options=options, arguments=spec.arguments, output=spec.output, error=spec.error
        )

    def _is_in(self, job_id: str, states: Iterable[str]) -> bool:
        rows = self.accounted().get(job_id, ())
        return bool(rows) and all(row.state in states for row in rows)

    def _has_log(self, job_id: str) -> bool:
        try:
            return self.log(job_id).exists()
        except TestbedError:
            return False


@dataclass(frozen=True, slots=True)
class Submitted:
    """The standard jobs after submission: `ids` by label."""

    jobs: Jobs
    specs: Mapping[str, JobSpec]
    ids: Mapping[str, str]

    def __getitem__(self, label: str) -> str:
        return self.ids[label]

    def settled(self, labels: Iterable[str] | None = None, *, deadline: float = 60) -> None:
        """Poll sacct until each job is in its expected state; without labels, those that reach it soon.

        The slow ones (timeout, chain1, chain2, deadline) need up to 150 s. TestbedError names what is missing.
        """
        waiting = set(labels) if labels is not None else {label for label, spec in self.specs.items() if spec.soon}
        end = time.monotonic() + deadline
        while True:
            rows = self.jobs.accounted()
            waiting = {label for label in waiting if not self._is_settled(label, rows)}
            if not waiting:
                return
            if time.monotonic() > end:
                states = (self._now(label, rows) for label in sorted(waiting))
                raise TestbedError(f"not settled within {deadline:g} s: {', '.join(states)}")
            time.sleep(0.5)

    def _is_settled(self, label: str, accounted: Mapping[str, tuple[Accounted, ...]]) -> bool:
        spec, rows = self.specs[label], accounted.get(self.ids[label], ())
        if NOT_LISTED in spec.expect:
            return not rows
        if "-a" in spec.options:
            return len(rows) == ARRAY_SIZE and {row.state for row in rows} == spec.expect
        return bool(rows) and all(row.state in spec.expect for row in rows)

    def _now(self, label: str, accounted: Mapping[str, tuple[Accounted, ...]]) -> str:
        states = [row.state for row in accounted.get(self.ids[label], ())] or ["not listed"]
        return f"{label} ({self.ids[label]}) is {', '.join(states)}"


def _split_het(options: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    # The options of a heterogeneous job's second part stand behind a colon, and only the script may follow them.
    if ":" not in options:
        return options, (), ()
    at = list(options).index(":")
    return options[:at], (":",), options[at + 1 :]


def _ids(user: str) -> tuple[int, int]:
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid
