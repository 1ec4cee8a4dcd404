"""`sacct` as Slurm prints it: -X -n -P -D -j -S -E -u -s --format --delimiter, with steps and earlier attempts."""

from __future__ import annotations

import getopt
import re
from collections.abc import Iterator

from table import Cluster, Job, Refused, clock, limit, not_simulated

NEW_FIELDS = ("StdOut", "StdErr", "StdIn", "Restarts")


def run(cluster: Cluster, argv: list[str]) -> tuple[str, str, int]:
    """What `sacct ARGV` prints: stdout, stderr, exit status."""
    options, rest = getopt.gnu_getopt(
        argv, "XnPDaj:S:E:u:s:o:", ["format=", "delimiter=", "parsable2", "noheader", "allocations", "duplicates",
                                    "jobs=", "user=", "starttime=", "endtime=", "allusers"]
    )  # fmt: skip
    if rest:
        raise not_simulated("sacct", rest[0])
    chosen = {_short(name): value for name, value in options}
    if "-P" not in chosen or "-o" not in chosen or "-s" in chosen:
        raise not_simulated("sacct", "anything but -P with --format, or -s")
    fields = [name.partition("%")[0] for name in chosen["-o"].split(",")]
    for name in fields:
        if name in NEW_FIELDS and cluster.version < (24, 5):
            raise Refused(f'sacct: error: Invalid field requested: "{name}"')
    mark = chosen.get("--delimiter", "|")
    lines = [] if "-n" in chosen else [mark.join(fields)]
    for job in _selected(cluster, chosen):
        for row in _rows(cluster, job, steps="-X" not in chosen, duplicates="-D" in chosen):
            lines.append(mark.join(_field(cluster, row, name) for name in fields))
    return "".join(line + "\n" for line in lines), "", 0


def _short(name: str) -> str:
    known = {"--format": "-o", "--parsable2": "-P", "--noheader": "-n", "--allocations": "-X", "--duplicates": "-D",
             "--jobs": "-j", "--user": "-u", "--starttime": "-S", "--endtime": "-E"}  # fmt: skip
    return known.get(name, name)


def _selected(cluster: Cluster, chosen: dict[str, str]) -> Iterator[Job]:
    users = chosen["-u"].split(",") if "-u" in chosen else None
    for name in users or ():
        if name not in cluster.users:
            raise Refused(f"sacct: error: Invalid user id: {name}")
    ids = chosen["-j"].split(",") if "-j" in chosen else None
    since = _moment(cluster, chosen["-S"]) if "-S" in chosen else (None if ids else cluster.now - cluster.now % 86400)
    until = _moment(cluster, chosen["-E"]) if "-E" in chosen else cluster.now
    for queued in cluster.jobs:
        job = queued.accounted()
        if not job["in_accounting"]:
            continue
        if users is not None and job["user"] not in users:
            continue
        if ids is not None and not {job["id"], job["raw"], job["base"]} & set(ids):
            continue
        if since is not None and not _in_window(job, since, until):
            continue
        yield job


def _in_window(job: Job, since: float, until: float) -> bool:
    """A job that became eligible before the window's end and had not ended before its start."""
    if job["eligible"] is None or job["eligible"] > until:
        return False
    return job["end"] is None or job["end"] >= since


def _moment(cluster: Cluster, text: str) -> float:
    found = re.fullmatch(r"now(?:-(\d+)(seconds|minutes|hours|days))?", text)
    if found:
        unit = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
        return cluster.now - int(found[1] or 0) * unit.get(found[2] or "seconds", 1)
    if re.fullmatch(r"\d{9,11}", text):
        return float(text)
    raise Refused(f"Invalid time specification (pos=4): {text}")


def _rows(cluster: Cluster, job: Job, *, steps: bool, duplicates: bool) -> Iterator[dict]:
    attempts = [{**job._fields, **attempt} for attempt in job["attempts"]] if duplicates else []
    for fields in (*attempts, job._fields):
        row = Job(fields, cluster.now)
        yield _allocation(row)
        if steps:
            yield from _steps(row)


def _allocation(job: Job) -> dict:
    return {"job": job, "JobID": job["id"], "JobIDRaw": job["raw"], "JobName": _stored(job["name"]),
            "State": job["state"], "ExitCode": job["exit"]}  # fmt: skip


def _steps(job: Job) -> Iterator[dict]:
    if job["start"] is None or job["pending"]:
        return
    given = {step["step"] for step in job["steps"]}
    rows = job["steps"] if "batch" in given else [_batch(job), *job["steps"]]
    for step in rows:
        name = step["step"]
        yield {"job": job, "JobID": f"{job['id']}.{name}", "JobIDRaw": f"{job['raw']}.{name}",
               "JobName": step.get("name", name), "State": step["state"], "ExitCode": step["exit"]}  # fmt: skip


def _batch(job: Job) -> dict:
    """The batch step: killed with its job, at a wall or by a hand, and CANCELLED when no script could be started."""
    if job.word in ("TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL"):
        return {"step": "batch", "state": "CANCELLED", "exit": "0:15"}
    if job["exit"] == "0:53":
        return {"step": "batch", "state": "CANCELLED", "exit": "0:53"}
    return {"step": "batch", "state": job.word, "exit": job["exit"]}


def _stored(name: str) -> str:
    """A name as the database gives it back: `"` a back quote, what is not Latin-1 a `?`."""
    return name.replace('"', "`").encode("latin-1", "replace").decode("latin-1")


def _field(cluster: Cluster, row: dict, name: str) -> str:
    if name in row:
        return row[name]
    job: Job = row["job"]
    step = "." in row["JobID"]
    never = "None" if not job.active and job["start"] is None else "Unknown"
    values = {
        "User": "" if step else job["user"], "Account": job["account"], "Partition": "" if step else job["partition"],
        "QOS": "" if step else job["qos"], "DerivedExitCode": "" if step else "0:0",
        "Submit": cluster.time(job["submit"], "Unknown"),
        "Start": "Unknown" if job["pending"] else cluster.time(job["start"], never),
        "End": cluster.time(job["end"], "Unknown"), "Elapsed": clock(job.elapsed, wide=True),
        "ElapsedRaw": str(job.elapsed), "Timelimit": "" if step else limit(job["limit"], wide=True),
        "TimelimitRaw": "" if step else ("UNLIMITED" if job["limit"] is None else str(-(-job["limit"] // 60))),
        "NNodes": str(job["nodes"]), "NodeList": "None assigned" if job["pending"] or job["start"] is None
        else job["node_list"], "Reason": "" if step else job["accounting_reason"],
        "Comment": "" if step else job["comment"], "WorkDir": "" if step else job["workdir"],
        "SubmitLine": "" if step else job["submit_line"], "StdOut": "" if step else job.raw_path, "StdErr": "",
        "Restarts": "" if step else str(len(job["attempts"])),
    }  # fmt: skip
    if name not in values:
        raise not_simulated("sacct", f"--format={name}")
    return values[name]
