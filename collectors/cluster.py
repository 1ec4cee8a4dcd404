"""A cluster as a subject: how it was reached, what it said of itself, and what its record says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal
from zoneinfo import ZoneInfo

from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.launchers import refusal_means, refusals
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.slurm.rounds import Scheduled
from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
)
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import BrokenRecord, ClusterRecord

Status = Literal["swept", "partial", "unreachable", "skipped", "blocked"]
CAPS = ("rl_running", "jobs_running", "eval_running")


def in_downtime(record: ClusterRecord, now: float) -> bool:
    """True inside one of the record's windows; nothing is sent then."""
    return any(window.start <= now < window.end for window in record.downtime)


def is_skipped(record: ClusterRecord, now: float) -> bool:
    """True when the record says that this cluster is not swept now."""
    return not record.enabled or in_downtime(record, now)


def skipped(record: ClusterRecord, now: float, since: float | None) -> Subject:
    """A cluster that its record keeps out of this sweep: nothing was sent, and what was not asked stays unknown."""
    facts = _recorded(record, now) | {"status": "skipped", "since": NOT_READ if since is None else since}
    return _subject(record.name, facts, {}, Relation((), Completeness.UNKNOWN, Reason.NOT_READ))


def blocked(record: BrokenRecord) -> Subject:
    """A cluster whose record is missing or invalid: nothing was sent."""
    facts: dict[str, FactValue] = {
        "name": record.name,
        "status": "blocked",
        "record_loaded": False,
        "record_sha256": record.sha256 or ABSENT,
    }
    return _subject(record.name, facts, {}, Relation((), Completeness.UNKNOWN, Reason.NOT_READ))


def because(gathered: Gathered) -> str:
    """Why the cluster is not wholly swept, in one line; empty when it is."""
    scheduled = gathered.scheduled
    if scheduled is None:
        failed = [f"{attempt.login}: {attempt.detail or attempt.failure}" for attempt in gathered.attempts]
        return "; ".join(dict.fromkeys(failed)) or "no login answered"
    if scheduled.truth.why:
        return f"queue: {scheduled.truth.why}"
    if scheduled.accounting is None:
        return f"accounting: {scheduled.accountings[0].why}"
    if gathered.late:
        return "the cluster's deadline cut it short"
    if gathered.broken:
        return f"the closer look at it broke off: {gathered.broken}"
    lost = next((one for one in gathered.observations if not one.answered and one.login == gathered.login), None)
    return f"{lost.argv[0]}: {lost.detail or lost.failure}" if lost is not None else ""


def status(gathered: Gathered) -> Status:
    """swept, partial or unreachable (catalogue e.4)."""
    if gathered.scheduled is None:
        return "unreachable"
    return "partial" if because(gathered) else "swept"


def cluster_subject(gathered: Gathered, jobs: Iterable[Ref], zone: ZoneInfo) -> Subject:
    """The cluster with its jobs and certificates; how whole the jobs are follows what could be read."""
    facts = _recorded(gathered.record, gathered.now) | {
        "status": status(gathered),
        "since": gathered.since,
        "login": gathered.login or Unknown(Reason.READ_FAILED, "no login answered"),
        "logins_tried": gathered.logins_tried,
        "reachable": gathered.scheduled is not None,
    }
    scheduled = gathered.scheduled
    if scheduled is None:
        unread = Unknown(Reason.READ_FAILED, because(gathered))
        names = ("queue", "controller_up", "clock_offset", "scheduler_version", "reservations")
        facts |= dict.fromkeys(names, unread)
        facts |= {"squeue_ok": False, "sacct_ok": False, "empty_answers": _silent_logins(gathered)}
        return _subject(gathered.record.name, facts, {}, Relation((), Completeness.UNKNOWN, Reason.READ_FAILED))
    facts |= _said(scheduled)
    facts["submit_refusals"] = refusals(gathered.launchers, gathered.record, zone)
    facts["refusal_means"] = refusal_means(gathered.launchers, gathered.record)
    return _subject(gathered.record.name, facts, _sources(scheduled), _jobs(scheduled, jobs), gathered)


def _silent_logins(gathered: Gathered) -> int:
    return sum(str(attempt.failure) == "fork" for attempt in gathered.attempts)


def _recorded(record: ClusterRecord, now: float) -> dict[str, FactValue]:
    facts: dict[str, FactValue] = {
        "name": record.name,
        "enabled": record.enabled,
        "scheduler": record.scheduler,
        "record_loaded": True,
        "record_sha256": record.sha256,
        "in_downtime": in_downtime(record, now),
        "downtime_over": bool(record.downtime) and all(window.end <= now for window in record.downtime),
        "gpu_memory_limit": ABSENT if record.gpu_memory_limit is None else record.gpu_memory_limit,
        "dotenv": record.dotenv or ABSENT,
        "refusal_means": record.refusals[0].means if record.refusals else ABSENT,
    }
    return facts | {f"caps.{name}": record.caps.get(name, ABSENT) for name in CAPS}


def _said(scheduled: Scheduled) -> dict[str, FactValue]:
    return {
        "queue": scheduled.truth.queue,
        "empty_answers": scheduled.truth.empty_answers,
        "squeue_ok": scheduled.queue is not None,
        "sacct_ok": scheduled.accounting is not None,
        "controller_up": scheduled.controller_up,
        "scheduler_version": scheduled.version,
        "reservations": scheduled.reservations,
        "clock_offset": _clock_offset(scheduled.observations),
    }


def _clock_offset(observations: Iterable[Observation]) -> FactValue:
    """The cluster's clock less ours, by the call that came with both; seconds, right to a second or two."""
    for one in observations:
        if one.answered and one.remote_clock is not None:
            return one.remote_clock - (one.started_at + one.duration)
    return Unknown(Reason.READ_FAILED, "the clock of the login was not read")


def _sources(scheduled: Scheduled) -> dict[str, Source]:
    queue = (scheduled.queue or scheduled.queues[-1]).observation
    accounting = (scheduled.accounting or scheduled.accountings[-1]).observation
    stderr = queue.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    named = {
        **dict.fromkeys(("queue", "squeue_ok", "empty_answers", "login", "clock_offset"), source(queue, stderr)),
        "sacct_ok": source(accounting, accounting.stderr.decode("utf-8", "replace").strip().partition("\n")[0]),
    }
    for one in scheduled.observations:
        if one.argv == ("scontrol", "ping"):
            named["controller_up"] = source(one, one.text().partition("\n")[0])
        elif one.argv[-4:-1] == ("scontrol", "show", "res"):
            named["reservations"] = source(one)
        elif one.argv == ("sinfo", "-V"):
            named["scheduler_version"] = source(one, one.text().strip())
    return named


def _jobs(scheduled: Scheduled, jobs: Iterable[Ref]) -> Relation:
    members = tuple(jobs)
    if scheduled.queue is None and scheduled.accounting is None:
        return Relation(members, Completeness.UNKNOWN, Reason.READ_FAILED)
    if isinstance(scheduled.truth.queue, Unknown) or scheduled.accounting is None:
        return Relation(members, Completeness.PARTIAL, Reason.READ_FAILED)
    return Relation(members)


def _subject(
    name: str,
    facts: Mapping[str, FactValue],
    sources: Mapping[str, Source],
    jobs: Relation,
    gathered: Gathered | None = None,
) -> Subject:
    relations = {"jobs": jobs}
    if gathered is not None:
        refs = tuple(Ref("credential", f"{name}:{cert.path}") for cert, _ in gathered.certs)
        relations["credentials"] = Relation(refs)
    return Subject(Ref("cluster", name), MappingProxyType(dict(facts)), MappingProxyType(dict(sources)), relations)


def counts(jobs: Iterable[Subject], buckets: Mapping[Ref, str], *, whole: bool) -> dict[str, FactValue]:
    """`rl_running`, `eval_running` and `jobs_running` of a cluster, once buckets are decided.

    A job of unknown state widens the count to an interval; `whole` False (queue unknown) leaves its end open.
    """
    sure = dict.fromkeys(CAPS, 0)
    maybe = dict.fromkeys(CAPS, 0)
    for job in jobs:
        state = job.get("state")
        tally = maybe if isinstance(state, Unknown) else sure if state == "RUNNING" else None
        if tally is None:
            continue
        tally["jobs_running"] += 1
        bucket = buckets.get(job.ref, "")
        if bucket in ("rl", "eval"):
            tally[f"{bucket}_running"] += 1
    return {name: _count(sure[name], maybe[name], whole) for name in CAPS}


def _count(sure: int, maybe: int, whole: bool) -> FactValue:
    if whole and not maybe:
        return sure
    return Interval(sure, sure + maybe if whole else None)
