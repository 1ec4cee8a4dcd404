"""Gathers one Slurm cluster: what is asked in which round, and all that came back, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sweeprules.collectors.credentials import Certificate, certificates
from sweeprules.collectors.launchers import Launchers, listing_commands, newest_paths, read_launchers, tail_commands
from sweeprules.collectors.logs.find import Naming, Stats, read_stats
from sweeprules.collectors.logs.locate import Wanted, want
from sweeprules.collectors.logs.older import Older
from sweeprules.collectors.logs.rounds import LogMarks, Logs, read_logs, stat_command, unread
from sweeprules.collectors.prior import ClusterMemo, JobMemo, LogMemo, Prior
from sweeprules.collectors.runfiles import RunFiles
from sweeprules.collectors.slurm.jobs import Job, Sources, merge
from sweeprules.collectors.slurm.outputs import told_by_controller
from sweeprules.collectors.slurm.rounds import (
    Asks,
    Attempted,
    Scheduled,
    Terms,
    first_round,
    open_questions,
    proved,
    terms,
)
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.collectors.slurm.text import Separators, parse_id
from sweeprules.collectors.suspects import Workers
from sweeprules.collectors.trials.second import Results
from sweeprules.engine.facts import FactValue, Unknown
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import ClusterRecord

FIRST_WINDOW = 24 * 3600.0
"""Seconds that a first sweep looks back (design 9)."""
MAX_ENDED = 300
"""Logs of jobs that ended since the last sweep that are read in one sweep, failures first."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that one sweep has of one cluster; `normalise` makes facts of it without asking anything.

    `attempts` are the calls to logins, failed ones included. `scheduled` is None when no login answered at all.
    """

    record: ClusterRecord
    now: float
    nonce: str
    since: float
    memo: ClusterMemo
    memos: Mapping[str, JobMemo]
    scheduled: Scheduled | None
    jobs: Mapping[str, Job] = field(default_factory=dict)
    logs: Logs = field(default_factory=lambda: Logs({}, {}))
    certs: tuple[tuple[Certificate, Observation], ...] = ()
    launchers: Launchers = field(default_factory=lambda: Launchers(False))
    workers: Mapping[str, Workers] = field(default_factory=dict)
    results: Results = field(default_factory=Results)
    older: Mapping[str, Older] = field(default_factory=dict)
    files: Mapping[str, RunFiles] = field(default_factory=dict)
    login: str = ""
    logins_tried: tuple[str, ...] = ()
    attempts: tuple[Attempted, ...] = ()
    observations: tuple[Observation, ...] = ()
    late: bool = False
    """True when the cluster's deadline cut the gathering short."""
    broken: str = ""
    """Why the second stage broke off, where it did: what it would have read is unread."""


def gather_first(record: ClusterRecord, session: Asks, prior: Prior, now: float, nonce: str) -> Gathered:
    """The first stage with one cluster: at most 4 round trips for up to 300 running logs, one more on an old Slurm.

    `nonce` is the sweep's random word, 8 letters or digits at least, kept in the cassette. A cluster that fails is a
    value of the result.
    """
    memo = prior.clusters.get(record.name, ClusterMemo())
    since = memo.last_good if memo.last_good is not None else now - FIRST_WINDOW
    memos = prior.of_cluster(record.name)
    with_terms = terms(record, memo, since, now, nonce)
    certs = certificates(record)
    listings = listing_commands(record)
    scheduled = first_round(with_terms, session, memos, (*(cert.command for cert in certs), *listings))
    scheduled = told_by_controller(session, scheduled, memos)
    start = Gathered(
        record, now, nonce, since, memo, MappingProxyType(memos), None, observations=scheduled.observations
    )
    if not any(one.answered for one in scheduled.observations):
        return told_by(start, session)
    told = replace(start, scheduled=scheduled, certs=tuple(zip(certs, scheduled.extra, strict=False)))
    return told_by(_second_call(with_terms, session, told, scheduled.extra[len(certs) :]), session)


def gathered_nothing(record: ClusterRecord, prior: Prior, now: float, nonce: str) -> Gathered:
    """What there is of a cluster whose gathering came to nothing: the jobs of the last sweep, all of them unseen."""
    memo = prior.clusters.get(record.name, ClusterMemo())
    since = memo.last_good if memo.last_good is not None else now - FIRST_WINDOW
    return Gathered(record, now, nonce, since, memo, MappingProxyType(prior.of_cluster(record.name)), None)


def told_by(gathered: Gathered, session: Asks) -> Gathered:
    """The same with who was asked so far, and whether time ran out."""
    return replace(
        gathered,
        login=session.login or "",
        logins_tried=tuple(session.logins_tried),
        attempts=tuple(session.attempts),
        late=any(one.failure is Failure.DEADLINE for one in gathered.observations),
    )


def log_marks(nonce: str) -> LogMarks:
    """The separators of `stat` records in a sweep with this random word."""
    marks = Separators.of(nonce)
    return LogMarks(marks.record, marks.field)


def _second_call(with_terms: Terms, session: Asks, gathered: Gathered, listings: Sequence[Observation]) -> Gathered:
    """Proofs of what the first call left open, launchers' logs, and where the jobs' logs are; then the logs."""
    assert gathered.scheduled is not None
    scheduled, marks, memos = gathered.scheduled, log_marks(gathered.nonce), gathered.memos
    wanted, left = logs_wanted(gathered.record, scheduled, merged(scheduled), memos)
    proofs = open_questions(with_terms, scheduled)
    paths, why = newest_paths(gathered.record, listings)
    parts = (stat_command(wanted, marks), tail_commands(paths, marks), proofs.batch)
    observed = session.ask(tuple(command for part in parts for command in part)) if any(parts) else ()
    of_stat, of_launchers, of_proofs = _split(observed, parts)
    scheduled = proved(with_terms, session, memos, scheduled, proofs, of_proofs) if proofs.batch else scheduled
    stats = read_stats(of_stat[0], marks.record, marks.field) if of_stat else None
    jobs = merged(scheduled)
    logs = _logs(wanted, left, stats, jobs, memos, session, marks)
    everything = {
        one.id: one for one in (*gathered.observations, *observed, *scheduled.observations, *logs.observations)
    }
    launchers = Launchers(False)
    if listings:
        launchers = read_launchers(paths, of_launchers, marks, gathered.since, why)
    return replace(
        gathered,
        scheduled=scheduled,
        jobs=MappingProxyType(jobs),
        logs=logs,
        launchers=launchers,
        observations=tuple(everything.values()),
    )


def _split(observed: Sequence[Observation], parts: Sequence[Sequence[object]]) -> list[tuple[Observation, ...]]:
    rest = list(observed)
    shares = []
    for part in parts:
        shares.append(tuple(rest[: len(part)]))
        rest = rest[len(part) :]
    return shares


def _logs(
    wanted: Sequence[Wanted],
    left: Iterable[str],
    stats: Stats | None,
    jobs: Mapping[str, Job],
    memos: Mapping[str, JobMemo],
    session: Asks,
    marks: LogMarks,
) -> Logs:
    log_memos = {job_id: memo.log for job_id, memo in memos.items() if memo.log is not None}
    started = {job_id: _number(job.facts.get("started")) for job_id, job in jobs.items()}
    logs = read_logs(wanted, stats, log_memos, started, session.ask, marks)
    unlooked = unread(left, "more logs of ended jobs than one sweep reads")
    return replace(logs, locations=MappingProxyType({**logs.locations, **unlooked}))


def merged(scheduled: Scheduled) -> dict[str, Job]:
    """Every job that queue or accounting lists, its sources merged.

    A queue that is not believed says nothing of any job: an empty answer contradicts nobody.
    """
    observations = {one.id: one for one in scheduled.observations}
    believed = None if isinstance(scheduled.truth.queue, Unknown) else scheduled.queue
    sources = Sources(
        believed, scheduled.accounting, scheduled.shown, scheduled.controller_up, MappingProxyType(observations)
    )
    return {job_id: merge(job_id, sources) for job_id in scheduled.job_ids}


def logs_wanted(
    record: ClusterRecord, scheduled: Scheduled, jobs: Mapping[str, Job], memos: Mapping[str, JobMemo]
) -> tuple[list[Wanted], tuple[str, ...]]:
    """The jobs whose logs are read, running ones first, and the ids of ended ones that are left for want of room."""
    running: list[Job] = []
    ended: list[Job] = []
    for job in jobs.values():
        if job.state in TERMINAL:
            if not is_settled(job.facts, memos.get(job.job_id)):
                ended.append(job)
        elif job.state != "PENDING":
            running.append(job)
    ended.sort(key=lambda job: (job.state == "COMPLETED", -(_number(job.facts.get("ended")) or 0.0)))
    gone = [memos[job_id] for job_id in scheduled.vanished if memos[job_id].log is not None]
    wanted = [_want(record, scheduled, job, memos.get(job.job_id), jobs) for job in (*running, *ended[:MAX_ENDED])]
    wanted.extend(_want_kept(memo, memo.log) for memo in gone if memo.log is not None)
    arrays = frozenset(job_id.partition("_")[0] for job_id in (*jobs, *memos) if "_" in job_id)
    wanted = [replace(one, arrays=arrays) for one in wanted]
    return wanted, tuple(job.job_id for job in ended[MAX_ENDED:])


def is_settled(facts: Mapping[str, FactValue], memo: JobMemo | None) -> bool:
    """True when a complete sweep already judged this very end of the job."""
    if memo is None or not memo.settled:
        return False
    ended = _number(facts.get("ended"))
    return memo.ended is None or ended is None or abs(memo.ended - ended) < 1


def _want(
    record: ClusterRecord, scheduled: Scheduled, job: Job, memo: JobMemo | None, jobs: Mapping[str, Job]
) -> Wanted:
    leader = _leader(job, jobs)
    naming = naming_of(leader)
    templates: list[tuple[str, str]] = []
    for paths, source in ((scheduled.paths, "scheduler"), (scheduled.stdouts, "accounting")):
        path = "" if isinstance(paths, Unknown) else paths.get(leader.job_id, "")
        if path:
            templates.append((path, source))
    if not templates and memo is not None and memo.log is not None:
        templates.append((memo.log.path.replace("%", "%%"), memo.log.source))
    if not templates and (path := submitted_output(_text(leader.facts.get("command")))):
        templates.append((path, "accounting"))
    return want(naming, job.job_id, templates, record.log_fallbacks, ended=job.state in TERMINAL)


def _want_kept(memo: JobMemo, log: LogMemo) -> Wanted:
    naming = Naming(memo.job_id, memo.job_id, "", None, memo.user, memo.name, "", memo.workdir)
    return want(naming, memo.job_id, [(log.path.replace("%", "%%"), log.source)], (), ended=True)


def _leader(job: Job, jobs: Mapping[str, Job]) -> Job:
    """Of a heterogeneous job only the first component runs the script and writes the log."""
    parsed = parse_id(job.job_id)
    if parsed is None or not parsed.het:
        return job
    return jobs.get(f"{parsed.base}+0", job)


def naming_of(job: Job) -> Naming:
    """What the codes of a job's output path stand for."""
    facts = job.facts
    parsed = parse_id(job.job_id)
    base = str(parsed.base) if parsed else job.job_id
    nodes = facts.get("node_list")
    host = job.host or (str(nodes[0]) if isinstance(nodes, tuple) and nodes else "")
    return Naming(
        job.job_id,
        job.raw_id or base,
        base if parsed and parsed.task is not None else "",
        parsed.task if parsed else None,
        _text(facts.get("user")),
        _text(facts.get("name")),
        host,
        _text(facts.get("workdir")),
    )


def submitted_output(command: str) -> str:
    """The path after `-o` or `--output` of a submit line; empty without one. Options inside the script are not seen."""
    words = command.split()
    if not words or words[0].rpartition("/")[2] not in ("sbatch", "srun"):
        return ""
    for at, word in enumerate(words[1:], start=1):
        if word.startswith("--output="):
            return word.removeprefix("--output=")
        if word in ("-o", "--output") and at + 1 < len(words):
            return words[at + 1]
    return ""


def _text(value: FactValue | None) -> str:
    return value if isinstance(value, str) else ""


def _number(value: FactValue | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
