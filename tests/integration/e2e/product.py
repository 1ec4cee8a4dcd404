"""The installed command, run as a person runs it: a site on disk, a minimal environment, and what it printed."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema

from tests.integration.e2e.truth import TERMINAL
from tests.testbed.ssh import Logins

COMMAND = Path(sysconfig.get_path("scripts")) / "sweeprules"
REPO = Path(__file__).resolve().parents[3]
CLUSTER = "leonardo"
FALLBACKS = ("login02", "login03", "login04")
HARD_LIMIT = 240.0
"""Seconds after which a command that should long have ended is killed, so that no test can hang."""
SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class Ran:
    """One finished command."""

    status: int
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True)
class Sweep(Ran):
    """One finished `run --output json`; the document was checked against the report's schema."""

    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return bool(self.document["sweep"]["complete"])

    @property
    def cluster(self) -> Mapping[str, Any]:
        """The one cluster of the site."""
        (cluster,) = self.document["clusters"]
        return dict(cluster)

    @property
    def cluster_flags(self) -> dict[str, Mapping[str, Any]]:
        return {flag["name"]: flag for flag in self.cluster["flags"]}

    @property
    def entries(self) -> Sequence[Mapping[str, Any]]:
        return list(self.document["jobs"])

    @cached_property
    def links(self) -> dict[str, Mapping[str, Any]]:
        """Every job of the report by id, rows and the links that stand in them, with `job_id`, `state` and `exit`."""
        found: dict[str, Mapping[str, Any]] = {}
        for entry in self.entries:
            own = {"job_id": entry["job_id"], "state": entry["state"], "exit": entry["facts"].get("exit")}
            for link in (own, *entry["facts"]["links"]):
                assert link["job_id"] not in found, f"{link['job_id']} stands in the report twice"
                found[link["job_id"]] = link
        return found

    def has(self, job_id: str) -> bool:
        return job_id in self.links

    def entry(self, job_id: str) -> Mapping[str, Any]:
        """The row that shows a job, as its own or among its links."""
        for entry in self.entries:
            if job_id in (entry["job_id"], *(link["job_id"] for link in entry["facts"]["links"])):
                return entry
        raise AssertionError(f"job {job_id} is not in the report; there are {sorted(self.links)}")

    def state(self, job_id: str) -> Any:
        """The state of a job: the enum's word, or `{"unknown": reason}` of a link."""
        state = self.links[job_id]["state"]
        return "UNKNOWN" if isinstance(state, Mapping) else state

    def flags(self, job_id: str) -> set[str]:
        """The names of the flags on the row that shows a job."""
        return {flag["name"] for flag in self.entry(job_id)["flags"]}

    def unknown_state(self, job_id: str) -> str:
        """Why the state of a row is unknown."""
        reason = self.entry(job_id)["facts"]["state"]
        assert isinstance(reason, Mapping), reason
        return str(reason["unknown"])

    def ended(self) -> set[str]:
        """The jobs that the report calls ended in any way."""
        return {job_id for job_id in self.links if self.state(job_id) in TERMINAL}


class Product:
    """A site with one cluster, a state folder, and the ssh of the test bed on PATH."""

    def __init__(
        self,
        folder: Path,
        logins: Logins | None,
        *,
        user: str = "alice",
        ssh_user: str | None = None,
        mux: bool = False,
        reach: Mapping[str, object] | None = None,
        policy: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.site, self.state, self.home = folder / "site", folder / "state", folder / "home"
        self.env = {"PATH": f"{self.site}/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8", **(env or {})}
        self.home.mkdir(parents=True)
        _write(self.site / "sweeprules.yaml", "extends: builtin\n")
        self.record(user=user, reach=reach)
        if logins is not None:
            config = logins.config(ssh_user or user, mux=mux)
            _write(self.site / "bin" / "ssh", f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n', mode=0o755)
        if policy is not None:
            _write(self.site / "rules" / "site.yaml", policy)

    def record(self, *, user: str = "alice", reach: Mapping[str, object] | None = None) -> None:
        """Write the cluster's record; `reach` is added to a reach over four logins by openssh."""
        whole: dict[str, object] = {
            "via": "openssh", "host": "login01", "fallbacks": list(FALLBACKS),
            "connect_timeout": "5s", "command_timeout": "20s", **(reach or {}),
        }  # fmt: skip
        record = {
            "cluster": CLUSTER, "enabled": True, "scheduler": "slurm", "user": user, "timezone": "UTC",
            "reach": {name: value for name, value in whole.items() if value is not None},
        }  # fmt: skip
        self.add(CLUSTER, record)

    def add(self, name: str, record: Mapping[str, object]) -> None:
        """Write a record as it is into the folder of cluster `name`."""
        _write(self.site / "ops" / name / "cluster.yaml", json.dumps(record))

    def argv(self, *args: str) -> list[str]:
        """The command line of a sweep with JSON output."""
        return [str(COMMAND), "run", "--site", str(self.site), "--state", str(self.state), "--output", "json", *args]

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """A sweep in the background, the leader of a process group of its own."""
        return subprocess.Popen(
            self.argv(*args), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def run(self, *args: str) -> Ran:
        """Any command of the tool."""
        started = time.monotonic()
        done = subprocess.run(
            [str(COMMAND), *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=HARD_LIMIT
        )
        seconds = time.monotonic() - started
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode(), seconds)

    def sweep(self, *args: str) -> Sweep:
        """One sweep to its end, whatever its status, with its report checked against the schema."""
        ran = self.run(*self.argv(*args)[1:])
        assert ran.status in (0, 1, 3), f"exit {ran.status}: {ran.stderr}"
        assert "Traceback" not in ran.stderr, ran.stderr
        document = json.loads(ran.stdout)
        validate("report", document)
        return Sweep(ran.status, ran.stdout, ran.stderr, ran.seconds, document)

    def text(self, form: str) -> str:
        """The report of the last kept sweep as text or markdown."""
        done = self.run("report", "--state", str(self.state), "--output", form)
        assert done.status == 0, done.stderr
        return done.stdout

    def explain(self, job: str) -> Mapping[str, Any]:
        """`explain --output json`, checked against its schema."""
        done = self.run("explain", job, "--state", str(self.state), "--output", "json")
        assert done.status == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        validate("explain", document)
        return document

    def explain_text(self, job: str, *args: str) -> str:
        """`explain` as a person reads it."""
        done = self.run("explain", job, "--state", str(self.state), *args)
        assert done.status == 0, done.stderr
        return done.stdout


def validate(schema: str, document: object) -> None:
    """Check a document against one of the published schemas."""
    checker = jsonschema.Draft202012Validator(json.loads((REPO / "schemas" / f"{schema}.schema.json").read_text()))
    errors = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in checker.iter_errors(document)
    ]
    assert not errors, "\n".join(errors[:5])


def control_characters(text: str) -> set[str]:
    """The characters of a printed text that a terminal may act upon; line ends are none."""
    return {char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160}


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
