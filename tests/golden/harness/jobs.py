"""A job as a scenario writes it, made into the whole record that the fakes print from.

"4812":                            the id as squeue shows it: 4812, 40_3, 40_[5-7%3], 31+0
  name: rl__a2-8B                  state: RUNNING            started: -9h      submitted: -10h     ended: -5m
  limit: 24h                       nodes: 14                 node_list: n[01-14]                   reason: Prolog
  exit: "1:0"                      dependency: afterany:501(unfulfilled)       workdir: rl         stdout: "%x-%j.out"
  command: ...   comment: ...      submit_line: ...          user: ...   partition: ...   qos: ...   raw: 41
  steps: [{step: "0", state: FAILED, exit: "1:0"}]           attempts: [{state: REQUEUED, start: -5h, end: -3h}]
  accounting: false                not in sacct (held and dependent jobs are not, of themselves); or what sacct says
  queue: false                     not in squeue, nor known to scontrol
  log: {age: 6h30m, text: "..."}   see `files`
  trials: {done: 20, reward: 1}    and `suite`: see `trials`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.harness.scenario import moment, span

PENDING = ("PENDING", "REQUEUED")
NEVER_ELIGIBLE = ("Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "BeginTime")
"""Reasons of jobs that `sacct -u` does not list."""
_ID = re.compile(r"(\d+)(?:_(\d+|\[[^\]]*\])|\+(\d+))?")
_KEYS = {
    "name", "state", "started", "submitted", "ended", "limit", "nodes", "node_list", "reason", "exit", "dependency",
    "workdir", "stdout", "command", "comment", "submit_line", "user", "partition", "qos", "raw", "steps", "attempts",
    "accounting", "queue", "log", "files", "trials", "suite",
}  # fmt: skip
_TIMES = {"started": "start", "ended": "end", "submitted": "submit"}


def whole(job_id: str, given: Mapping[str, Any], user: str, root: Path, now: float) -> dict[str, Any]:
    """The record of one job; `root` is the cluster's folder, against which a relative workdir stands."""
    unknown = set(given) - _KEYS
    if unknown:
        raise ValueError(f"job {job_id}: {sorted(unknown)} is not known")
    base, task, het = _taken_apart(job_id)
    state = given.get("state", "RUNNING")
    word = state.split()[0]
    pending = word in PENDING
    start = None if pending or given.get("started", "-1h") is None else moment(given.get("started", "-1h"), now)
    end = moment(given["ended"], now) if "ended" in given else None
    if end is None and word not in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED"):
        raise ValueError(f"job {job_id} is {word}: say when it ended")
    submit = moment(given.get("submitted", "-2h"), now) if "submitted" in given or start is None else start - 60
    reason = given.get("reason", _reason(word))
    nodes = given.get("nodes", 1)
    record = {
        "id": job_id, "raw": str(given.get("raw", base)), "base": base, "task": task, "het": het,
        "name": given.get("name", "job"), "user": given.get("user", user), "account": "proj",
        "partition": given.get("partition", "boost"), "qos": given.get("qos", "normal"), "state": state,
        "pending": pending, "reason": reason, "accounting_reason": "None", "submit": submit,
        "eligible": None if pending and reason in NEVER_ELIGIBLE else submit, "start": start, "end": end,
        "limit": None if given.get("limit", "24h") is None else int(span(given.get("limit", "24h"))),
        "nodes": nodes, "cpus": nodes * 32, "node_list": given.get("node_list", _node_list(nodes)),
        "workdir": str(root / given.get("workdir", "work")), "stdout": given.get("stdout", "%x-%j.out"),
        "command": given.get("command", str(root / "submit.sbatch")), "comment": given.get("comment", ""),
        "submit_line": given.get("submit_line", "sbatch submit.sbatch"), "exit": given.get("exit", "0:0"),
        "dependency": given.get("dependency", ""), "steps": given.get("steps", []),
        "attempts": [_attempt(attempt, now) for attempt in given.get("attempts", [])],
        "in_queue": given.get("queue") is not False, "in_accounting": given.get("accounting") is not False,
        "accounting": None,
    }  # fmt: skip
    told = given.get("accounting")
    if isinstance(told, Mapping):
        record["accounting"] = _lagging(record, told, now)
    return record


def _taken_apart(job_id: str) -> tuple[str, str, str]:
    found = _ID.fullmatch(job_id)
    if found is None:
        raise ValueError(f"not a job id: {job_id!r}")
    return found[1], found[2] or "", found[3] or ""


def _reason(word: str) -> str:
    return {"PENDING": "Priority", "FAILED": "NonZeroExitCode", "TIMEOUT": "TimeLimit"}.get(word, "None")


def _node_list(nodes: int) -> str:
    return "n01" if nodes == 1 else f"n[01-{nodes:02d}]"


def _attempt(given: Mapping[str, Any], now: float) -> dict[str, Any]:
    made: dict[str, Any] = {"state": given["state"], "exit": given.get("exit", "0:0"), "pending": False}
    for name, field in _TIMES.items():
        made[field] = moment(given[name], now)
    return made


def _lagging(record: Mapping[str, Any], told: Mapping[str, Any], now: float) -> dict[str, Any]:
    """What accounting says otherwise than the queue."""
    over: dict[str, Any] = {}
    for name, value in told.items():
        if name in _TIMES:
            over[_TIMES[name]] = None if value is None else moment(value, now)
        elif name in ("state", "exit", "steps"):
            over[name] = value
        else:
            raise ValueError(f"job {record['id']}: accounting.{name} is not known")
    state = over.get("state", record["state"]).split()[0]
    over["pending"] = state in PENDING
    return over
