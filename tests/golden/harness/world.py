"""Puts a scenario's clusters on disk: a site, logins with fake commands, log files with ages, and the table of jobs.

A cluster: {slurm: "22.05.8", user: alice, users: [..], zone: UTC, reach: {...}, record: {more of cluster.yaml},
raw_record: TEXT or false for none, logins: {HOST: {ssh: FAILURE, squeue: FAILURE, sacct: .., scontrol: .., sinfo: ..}},
jobs: {ID: JOB}, tables: {NAME: {ID: JOB}}, files: {PATH: FILE}, reservations: [..], clock: 2h}. A failure is a name of
`fakes/fail.py`, `{table: NAME}` for another table of jobs laid over the first, or a list with one of these a call.
A file: {age: 6h30m, text: ..., lines: [..]}, {cert: {from: -13h, to: -1h}} for a signed ssh certificate, or
{loop: true} for a link to itself, which nobody can read; paths are below the cluster's folder. A job's `log` is such a
file, at its output path or at `path`. `{root}` in a record or a file stands for the cluster's folder.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.golden.harness import trials
from tests.golden.harness.jobs import whole
from tests.golden.harness.printing import printed
from tests.golden.harness.scenario import Step, merged, moment, span

FAKES = Path(__file__).parent / "fakes"
PROGRAMS = ("squeue", "sacct", "scontrol", "sinfo")
_CLUSTER = {
    "slurm", "user", "users", "zone", "reach", "record", "raw_record", "logins", "jobs", "tables", "files",
    "reservations", "clock",
}  # fmt: skip
_REACH = {"connect_timeout": "5s", "command_timeout": "20s"}


class World:
    """The folder of one scenario: `site`, `clusters/NAME` (its files), `net` (fakes and what they noted)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site = root / "site"
        self.net = root / "net"
        self._sweeps = 0

    def set(self, step: Step, now: float, *, clock: bool) -> None:
        """Makes the world of one sweep; `clock` puts the fakes on the scenario's time instead of this machine's."""
        self._sweeps += 1
        (self.net / "counts").mkdir(parents=True, exist_ok=True)
        clusters, logins = {}, {}
        for name, given in step.clusters.items():
            if set(given) - _CLUSTER:
                raise ValueError(f"cluster {name}: {sorted(set(given) - _CLUSTER)} is not known")
            clusters[name], tables = self._cluster(name, given, now)
            for host, answers in (given.get("logins") or {"login01": {}}).items():
                logins[host] = _login(name, answers or {}, tables)
                self._fakes(host)
                _clock(self.net / "logins" / host / "date", name, host, clusters[name]["now"] if clock else None)
        world = {"clock": clock, "sweep": self._sweeps, "clusters": clusters, "logins": logins}
        (self.net / "world.json").write_text(json.dumps(world), "utf-8")
        self._write_site(step)
        _program(self.net / "bin" / "ssh", FAKES / "ssh.py", str(self.net / "world.json"))

    def calls(self) -> list[dict[str, Any]]:
        """Everything that was asked since the last `forget`."""
        path = self.net / "calls.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def forget(self) -> None:
        """Starts the list of calls anew."""
        (self.net / "calls.jsonl").unlink(missing_ok=True)

    def path(self, step: Step) -> str:
        """PATH for the sweep: the fake ssh, the commands of a cluster that is reached as `local`, the system's."""
        local = [
            str(self.net / "logins" / host)
            for given in step.clusters.values()
            if given.get("reach", {}).get("via") == "local"
            for host in given["logins"]
        ]
        return ":".join((str(self.net / "bin"), *local, str(Path(sys.executable).parent), "/usr/bin", "/bin"))

    def _cluster(self, name: str, given: Mapping[str, Any], now: float) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        now += span(given.get("clock", 0))
        root = self.root / "clusters" / name
        (root / "work").mkdir(parents=True, exist_ok=True)
        user = given.get("user", "alice")
        for path, file in (given.get("files") or {}).items():
            _file(root / path, placed(file, str(root)), now)
        jobs = given.get("jobs") or {}
        tables = {
            label: self._jobs(merged(jobs, over), user, root, now) for label, over in given.get("tables", {}).items()
        }
        users = {person: 5001 + number for number, person in enumerate(given.get("users", [user, "bob"]))}
        data = {
            "now": now,
            "version": given.get("slurm", "22.05.8"),
            "zone": given.get("zone", "UTC"),
            "users": users,
            "jobs": self._jobs(jobs, user, root, now),
            "reservations": [_reservation(one, now) for one in given.get("reservations", [])],
        }
        return data, tables

    def _jobs(self, jobs: Mapping[str, Any], user: str, root: Path, now: float) -> list[dict[str, Any]]:
        made = []
        for job_id, given in jobs.items():
            record = whole(str(job_id), given, user, root, now)
            made.append(record)
            if not Path(record["workdir"]).is_symlink():
                Path(record["workdir"]).mkdir(parents=True, exist_ok=True)
            if "log" in given:
                log = given["log"]
                path = Path(record["workdir"]) / log["path"] if "path" in log else Path(output_path(record))
                _file(path, log, now)
            for path, file in (given.get("files") or {}).items():
                _file(Path(record["workdir"]) / path, file, now)
            if "trials" in given:
                trials.write(Path(record["workdir"]), record["name"], placed(given["trials"], str(root)), now)
            if "suite" in given:
                trials.write_suite(Path(record["workdir"]), placed(given["suite"], str(root)))
        return made

    def _fakes(self, host: str) -> None:
        folder = self.net / "logins" / host
        for program in PROGRAMS:
            _program(folder / program, FAKES / "main.py", str(self.net / "world.json"), host, program)

    def _write_site(self, step: Step) -> None:
        shutil.rmtree(self.site / "ops", ignore_errors=True)
        self.site.mkdir(parents=True, exist_ok=True)
        settings = {"extends": "builtin", **step.site}
        (self.site / "sweeprules.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")
        shutil.rmtree(self.site / "rules", ignore_errors=True)
        (self.site / "rules").mkdir()
        for name, policy in step.rules.items():
            (self.site / "rules" / f"{name}.yaml").write_text(yaml.safe_dump(policy, sort_keys=False), "utf-8")
        for name, given in step.clusters.items():
            folder = self.site / "ops" / name
            folder.mkdir(parents=True)
            if "raw_record" in given:
                if given["raw_record"] is not False:
                    (folder / "cluster.yaml").write_text(given["raw_record"], "utf-8")
                continue
            record = placed(_record(name, given), str(self.root / "clusters" / name))
            (folder / "cluster.yaml").write_text(yaml.safe_dump(record, sort_keys=False), "utf-8")
            (folder / "ops.md").write_text(f"# {name}\n\nA cluster of a scenario.\n", "utf-8")


def _record(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    hosts = list(given.get("logins") or {"login01": {}})
    reach = {"via": "openssh", "host": hosts[0], "fallbacks": hosts[1:], **_REACH, **given.get("reach", {})}
    if reach["via"] == "local":
        reach = {"via": "local"}
    return {
        "cluster": name,
        "enabled": True,
        "scheduler": "slurm",
        "user": given.get("user", "alice"),
        "timezone": given.get("zone", "UTC"),
        "reach": reach,
        **given.get("record", {}),
    }


def placed(value: Any, root: str) -> Any:
    """A part of a scenario with the folder in the place of `{root}`."""
    if isinstance(value, str):
        return value.replace("{root}", root)
    if isinstance(value, Mapping):
        return {key: placed(item, root) for key, item in value.items()}
    return [placed(item, root) for item in value] if isinstance(value, list) else value


def _login(cluster: str, given: Mapping[str, Any], tables: Mapping[str, list[Any]]) -> dict[str, Any]:
    unknown = set(given) - {"ssh", *PROGRAMS}
    if unknown:
        raise ValueError(f"cluster {cluster}: a login has no {sorted(unknown)}")

    def known(answer: Any) -> Any:
        if isinstance(answer, list):
            return [known(one) for one in answer]
        return {"jobs": tables[answer["table"]]} if isinstance(answer, Mapping) else answer

    answers = {program: known(given[program]) for program in PROGRAMS if program in given}
    return {"cluster": cluster, "ssh": given.get("ssh", "ok"), "answers": answers}


def _reservation(given: Mapping[str, Any], now: float) -> dict[str, Any]:
    return {
        "name": given["name"], "start": moment(given["from"], now), "end": moment(given["to"], now),
        "flags": given.get("flags", ["MAINT"]), "nodes": "n[01-99]", "count": 99,
        "partition": given.get("partition", ""),
    }  # fmt: skip


def output_path(record: Mapping[str, Any]) -> str:
    """Where the node writes a job's log."""
    text = str(record["stdout"])
    codes = {"j": record["raw"], "A": record["base"], "a": record["task"], "x": record["name"], "u": record["user"]}
    for letter, value in codes.items():
        text = text.replace(f"%{letter}", value)
    return text if text.startswith("/") else f"{record['workdir']}/{text}"


def _file(path: Path, given: Mapping[str, Any], now: float) -> None:
    """Writes a file and sets its time; a file that a later sweep names again grows by what it did not have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if "loop" in given:
        if not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            path.symlink_to(path.name)
        return
    if "cert" in given:
        sign(path, moment(given["cert"]["from"], now), moment(given["cert"]["to"], now))
        return
    data = "".join(_text(given, now)).encode("utf-8", "surrogateescape")
    before = path.read_bytes() if path.exists() else None
    if before is None or not data.startswith(before):
        path.write_bytes(data)
    elif data != before:
        with path.open("ab") as stream:
            stream.write(data[len(before) :])
    at = now - span(given.get("age", "1m"))
    os.utime(path, (at, at))


def _text(given: Mapping[str, Any], now: float) -> Iterator[str]:
    yield given.get("text", "")
    yield from printed(given, now)
    for line in given.get("lines", []):
        yield line + "\n"


def sign(path: Path, start: float, end: float) -> None:
    """A certificate `NAME-cert.pub` of a new key, valid from `start` to `end`, made by the real ssh-keygen."""
    key = path.with_name(path.name.removesuffix("-cert.pub"))
    authority = path.with_name("authority")
    for made in (key, authority, path):
        made.unlink(missing_ok=True)
    for made in (key, authority):
        _keygen("-t", "ed25519", "-N", "", "-f", str(made))
    times = ":".join(datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S") for at in (start, end))
    _keygen("-s", str(authority), "-I", "upload", "-n", "alice", "-V", times, f"{key}.pub")


def _keygen(*args: str) -> None:
    env = {"TZ": "UTC", "PATH": "/usr/bin:/bin"}
    subprocess.run(("ssh-keygen", "-q", *args), check=True, capture_output=True, env=env, timeout=30)


def _clock(path: Path, cluster: str, host: str, now: float | None) -> None:
    """`date +%s` on the clock of the cluster; asked often, so no Python. None: this machine's clock."""
    path.unlink(missing_ok=True)
    if now is None:
        return
    noted = json.dumps({"login": host, "cluster": cluster, "argv": ["date", "+%s"]}).replace("%", "%%")
    calls = shlex.quote(str(path.parent.parent.parent / "calls.jsonl"))
    lines = (
        "#!/bin/sh",
        '[ "$*" = +%s ] || { echo "fake date: only +%s is simulated" >&2; exit 97; }',
        f"printf '{noted}\\n' >> {calls}",
        f"echo {int(now)}",
        "",
    )
    path.write_text("\n".join(lines), "utf-8")
    path.chmod(0o755)


def _program(path: Path, script: Path, *words: str) -> None:
    """A command that starts one of our scripts under its own name, without reading this machine's site packages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    started = shlex.join((sys.executable, "-E", "-S", str(script), *words))
    path.write_text(f'#!/bin/sh\nexec {started} "$@"\n', "utf-8")
    path.chmod(0o755)
