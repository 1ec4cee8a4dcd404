"""`squeue` as Slurm prints it: -h -a -r -u -t -j -n -o -O, every common %-letter, literal text in between."""

from __future__ import annotations

import getopt
import re
from collections.abc import Iterator

from table import ACTIVE, COMPACT, Cluster, Job, Refused, clock, first_node, limit, not_simulated

DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
HEADERS = {
    "i": "JOBID", "A": "JOBID", "F": "ARRAY_JOB_ID", "K": "ARRAY_TASK_ID", "j": "NAME", "u": "USER", "U": "UID",
    "P": "PARTITION", "T": "STATE", "t": "ST", "r": "REASON", "R": "NODELIST(REASON)", "M": "TIME", "l": "TIME_LIMIT",
    "L": "TIME_LEFT", "S": "START_TIME", "e": "END_TIME", "V": "SUBMIT_TIME", "D": "NODES", "C": "CPUS",
    "Z": "WORK_DIR", "E": "DEPENDENCY", "k": "COMMENT", "q": "QOS", "B": "EXEC_HOST", "N": "NODELIST", "o": "COMMAND",
    "a": "ACCOUNT", "Q": "PRIORITY",
}  # fmt: skip
LONG = {
    "jobid": "A", "jobarrayid": "i", "arraytaskid": "K", "state": "T", "statecompact": "t", "reason": "r",
    "timeused": "M", "timelimit": "l", "timeleft": "L", "submittime": "V", "starttime": "S", "endtime": "e",
    "workdir": "Z", "dependency": "E", "name": "j", "username": "u", "partition": "P", "numnodes": "D", "qos": "q",
    "nodelist": "N", "command": "o", "comment": "k", "account": "a", "batchhost": "B",
}  # fmt: skip


def run(cluster: Cluster, argv: list[str]) -> tuple[str, str, int]:
    """What `squeue ARGV` prints: stdout, stderr, exit status."""
    long = ["array", "noheader", "all", "user=", "states=", "format=", "Format=", "json", "job=", "jobs="]
    options, rest = getopt.gnu_getopt(argv, "haru:t:j:n:o:O:", long)
    if rest:
        raise not_simulated("squeue", rest[0])
    chosen = {_short(name): value for name, value in options}
    if "--json" in chosen:
        raise not_simulated("squeue", "--json")
    jobs, stderr = _selected(cluster, chosen)
    if "-r" in chosen:
        jobs = [task for job in jobs for task in _tasks(job)]
    if "-O" in chosen:
        lines = _wide(cluster, jobs, chosen["-O"], header="-h" not in chosen)
    else:
        lines = _lines(cluster, jobs, chosen.get("-o", DEFAULT), header="-h" not in chosen)
    return "".join(lines), stderr, 0


def _short(name: str) -> str:
    known = {"--array": "-r", "--noheader": "-h", "--all": "-a", "--user": "-u", "--states": "-t", "--job": "-j",
             "--jobs": "-j", "--format": "-o", "--Format": "-O"}  # fmt: skip
    return known.get(name, name)


def _selected(cluster: Cluster, chosen: dict[str, str]) -> tuple[list[Job], str]:
    stderr = ""
    jobs = cluster.known()
    if "-u" in chosen:
        names = chosen["-u"].split(",")
        stderr = "".join(f"squeue: error: Invalid user: {name}\n" for name in names if name not in cluster.users)
        jobs = [job for job in jobs if job["user"] in names]
    if "-j" in chosen:
        wanted = chosen["-j"].split(",")
        jobs = [job for job in jobs if {job["id"], job["raw"], job["base"]} & set(wanted)]
        if not jobs:
            raise Refused("slurm_load_jobs error: Invalid job id specified")
    if "-n" in chosen:
        jobs = [job for job in jobs if job["name"] in chosen["-n"].split(",")]
    return [job for job in jobs if _wanted_state(job, chosen.get("-t"))], stderr


def _wanted_state(job: Job, states: str | None) -> bool:
    if states is None:
        return job.word in ACTIVE
    words = states.upper().split(",")
    return "ALL" in words or job.word in words or COMPACT.get(job.word) in words


def _tasks(job: Job) -> Iterator[Job]:
    """The tasks of a pending array record, each by itself."""
    found = re.fullmatch(r"(\d+)_\[([\d,-]+)(?:%\d+)?\]", job["id"])
    if found is None:
        yield job
        return
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield Job({**job._fields, "id": f"{found[1]}_{number}", "task": str(number)}, job.now)


def _lines(cluster: Cluster, jobs: list[Job], form: str, *, header: bool) -> Iterator[str]:
    if header:
        yield _filled(form, lambda letter: HEADERS.get(letter)) + "\n"
    for job in jobs:
        yield _filled(form, lambda letter, job=job: value(cluster, job, letter)) + "\n"


def _filled(form: str, of) -> str:
    """The form with each %-code replaced; `%.8j` is cut and set to the right, `%8j` cut and set to the left."""

    def one(found: re.Match[str]) -> str:
        text = of(found[3])
        if text is None:
            raise not_simulated("squeue", f"%{found[3]}")
        width = int(found[2] or 0)
        if not width:
            return text
        cut = text[:width]
        return cut.rjust(width) if found[1] else cut.ljust(width)

    return re.sub(r"%(\.?)(\d*)([A-Za-z])", one, form)


def _wide(cluster: Cluster, jobs: list[Job], form: str, *, header: bool) -> Iterator[str]:
    """`-O NAME:WIDTH,...`: columns of bytes, cut at their width, with no separator."""
    columns = []
    for item in form.split(","):
        name, _, spec = item.partition(":")
        columns.append((name, spec.startswith("."), int(spec.lstrip(".") or 20)))
    if header:
        yield "".join(_column(name.upper().encode(), right, width) for name, right, width in columns) + "\n"
    for job in jobs:
        parts = [_column(_long(cluster, job, name).encode(), right, width) for name, right, width in columns]
        yield "".join(parts) + "\n"


def _column(data: bytes, right: bool, width: int) -> str:
    cut = data[:width]
    return (cut.rjust(width) if right else cut.ljust(width)).decode("utf-8", "surrogateescape")


def _long(cluster: Cluster, job: Job, name: str) -> str:
    if name.lower() == "stdout":
        return job.expanded(node_codes=False) if (24, 5) <= cluster.version < (26, 0) else job.raw_path
    letter = LONG.get(name.lower())
    if letter is None:
        raise not_simulated("squeue", f"-O {name}")
    return value(cluster, job, letter) or ""


def value(cluster: Cluster, job: Job, letter: str) -> str | None:
    """What one %-letter prints for a job; None for a letter that is not simulated."""
    started = job["start"] is not None and not job["pending"]
    values = {
        "i": job["id"], "A": job["raw"], "F": job["base"], "K": job["task"] or "N/A", "j": job["name"],
        "u": job["user"], "U": str(cluster.users.get(job["user"], 0)), "P": job["partition"], "T": job.word,
        "t": COMPACT.get(job.word, "?"), "r": job["reason"], "M": clock(job.elapsed, wide=False),
        "l": limit(job["limit"], wide=False), "L": _left(job),
        "S": cluster.time(job["start"], "N/A"), "e": cluster.time(_end(job), "N/A"),
        "V": cluster.time(job["submit"], "N/A"), "D": str(job["nodes"]), "C": str(job["cpus"]), "Z": job["workdir"],
        "E": job["dependency"] or "(null)", "k": job["comment"] or "(null)", "q": job["qos"], "a": job["account"],
        "B": first_node(job["node_list"]) if started else "n/a", "N": job["node_list"] if started else "",
        "o": job["command"] or "(null)", "Q": "4294901759",
    }  # fmt: skip
    if letter == "R":
        failed = not job.active and job.word not in ("COMPLETED", "CANCELLED")
        return f"({job['reason']})" if job["pending"] or failed else job["node_list"]
    return values.get(letter)


def _left(job: Job) -> str:
    if job["limit"] is None:
        return "UNLIMITED"
    left = job["limit"] - job.elapsed
    return clock(left, wide=False) if left >= 0 else "INVALID"


def _end(job: Job) -> float | None:
    if job["end"] is not None:
        return job["end"]
    return job["start"] + job["limit"] if job["start"] is not None and job["limit"] else None
