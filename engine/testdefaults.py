"""What `defaults:` of a rule test fills in: everything that is read of a healthy job, so that a test names the rest."""

from __future__ import annotations

from collections.abc import Mapping

from sweeprules.engine.facts import ABSENT, FactValue
from sweeprules.engine.language.ast import Policy

NOW = 1_782_907_200
"""2026-07-01T12:00:00Z, the clock of a quiet job's sweep."""

_HOUR = 3600


def quiet_job(policy: Policy) -> dict[str, dict[str, FactValue]]:
    """Facts by kind: a job that has run for two hours, wrote its log a minute ago and shows nothing wrong.

    Every pattern of the policy was looked for in its log and not found.
    """
    job = dict(_JOB)
    for name in policy.patterns:
        job[f"lines.{name}.count"] = 0
    return {"job": job, "cluster": dict(_CLUSTER), "sweep": {"now": NOW, "complete": True}}


DEFAULTS = {"quiet-job": quiet_job}
"""Name after `defaults:` -> what it gives for a policy."""

_CLUSTER: Mapping[str, FactValue] = {
    "name": "test",
    "enabled": True,
    "scheduler": "slurm",
    "status": "swept",
    "queue": "ok",
    "login": "login01",
    "logins_tried": ("login01",),
    "reachable": True,
    "squeue_ok": True,
    "sacct_ok": True,
    "controller_up": True,
    "clock_offset": 0,
    "record_loaded": True,
    "in_downtime": False,
    "downtime_over": False,
    "empty_answers": 0,
    "reservations": (),
    "submit_refusals": (),
}

_JOB: Mapping[str, FactValue] = {
    "cluster": "test",
    "job_id": "1",
    "user": "alice",
    "name": "quiet",
    "name_cut": False,
    "array_id": ABSENT,
    "array_index": ABSENT,
    "het_index": ABSENT,
    "submitted": NOW - 3 * _HOUR,
    "started": NOW - 2 * _HOUR,
    "ended": ABSENT,
    "elapsed": 2 * _HOUR,
    "time_limit": 24 * _HOUR,
    "state": "RUNNING",
    "state_raw": "RUNNING",
    "state_reason": ABSENT,
    "state_source": "squeue",
    "state_other": ABSENT,
    "suspended": False,
    "exit": ABSENT,
    "exit_code": ABSENT,
    "exit_signal": ABSENT,
    "step_failed": ABSENT,
    "cancelled_by": ABSENT,
    "nodes": 1,
    "dependency": (),
    "workdir": "/home/alice/quiet",
    "comment": ABSENT,
    "run_tag": ABSENT,
    "log.path": "/home/alice/quiet/quiet.out",
    "log.source": "scheduler",
    "log.size": 100_000,
    "log.cut": False,
    "log.exists": True,
    "log.mtime": NOW - 60,
    "log_age": 60,
    "phase": "steady",
    "progress_age": 60,
    "unchanged_sweeps": 0,
    "liveness": True,
    "progress": True,
    "elastic_summary": False,
    "heartbeats_only": False,
    "fault_lines": {},
    "benign_lines": {},
    "signature": ABSENT,
}
