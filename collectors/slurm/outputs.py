"""Where running jobs write, asked of the controller job by job: for a `squeue` that has no column for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sweeprules.collectors.prior import JobMemo
from sweeprules.collectors.slurm import ask
from sweeprules.collectors.slurm.rounds import Asks, Scheduled
from sweeprules.collectors.slurm.scontrol import read_output
from sweeprules.engine.facts import Unknown

MOST = 300
"""Jobs that are asked about, all in one round trip; the logs of the others are looked for in their workdirs."""


def told_by_controller(session: Asks, scheduled: Scheduled, memos: Mapping[str, JobMemo]) -> Scheduled:
    """The scheduler's word with output paths from `scontrol`, where the queue was read and its paths were not.

    A job whose log an earlier sweep found is not asked about.
    """
    if not isinstance(scheduled.paths, Unknown) or scheduled.queue is None or scheduled.controller_up is False:
        return scheduled
    rows = scheduled.queue.rows.values()
    running = [row.job_id for row in rows if row.state == "RUNNING" and not _known(memos.get(row.job_id))][:MOST]
    if not running:
        return scheduled
    observed = session.ask([ask.scontrol_job(job_id) for job_id in running])
    told = {job_id: read_output(one) for job_id, one in zip(running, observed, strict=False)}
    paths = {job_id: path for job_id, path in told.items() if path}
    return replace(
        scheduled,
        paths=MappingProxyType(paths) if paths else scheduled.paths,
        observations=(*scheduled.observations, *observed),
    )


def _known(memo: JobMemo | None) -> bool:
    return memo is not None and memo.log is not None
