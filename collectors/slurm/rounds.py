"""The first rounds with a Slurm cluster: queue and accounting, then proofs of what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol

from sweeprules.collectors.prior import ClusterMemo, JobMemo
from sweeprules.collectors.slurm import ask
from sweeprules.collectors.slurm.queue import (
    QueueTruth,
    decide_queue,
    disagreements,
    drain_refused,
    still_active,
    vanished,
)
from sweeprules.collectors.slurm.rows import Answer
from sweeprules.collectors.slurm.sacct import read_accounting, read_stdout, refused_column
from sweeprules.collectors.slurm.scontrol import (
    JobShown,
    keeps_stdout,
    read_job,
    read_ping,
    read_reservations,
    read_version,
)
from sweeprules.collectors.slurm.squeue import read_paths, read_queue
from sweeprules.collectors.slurm.states import STATES, Meaning
from sweeprules.collectors.slurm.text import Separators
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import NOT_READ, FactValue, Unknown
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import ClusterRecord

MAX_PROOFS = 200
"""Jobs whose end is asked for one by one in a sweep; the others stay unknown until the next."""


class Attempted(Protocol):
    """One call to a login, as the transport tells it."""

    @property
    def login(self) -> str: ...
    @property
    def failure(self) -> Failure: ...
    @property
    def detail(self) -> str: ...
    @property
    def alarm(self) -> bool: ...


class Asks(Protocol):
    """What gathering needs of a transport's session."""

    @property
    def login(self) -> str | None: ...
    @property
    def logins_tried(self) -> tuple[str, ...]: ...
    @property
    def attempts(self) -> Sequence[Attempted]: ...
    def ask(self, batch: Sequence[Command]) -> tuple[Observation, ...]: ...
    def ask_next(self, batch: Sequence[Command]) -> tuple[Observation, ...] | None: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What every reader of one sweep of one cluster shares."""

    record: ClusterRecord
    marks: Separators
    since: float
    hours: int
    version: str
    columns: tuple[str, ...] = ask.SACCT_COLUMNS
    table: Mapping[str, Meaning] = field(default_factory=lambda: STATES)

    @property
    def zone(self) -> str:
        """The cluster's time zone."""
        return self.record.timezone


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What the scheduler said in one sweep. `queue` and `accounting` are None when not to be believed.

    `queues` and `accountings` are all answers in the order of asking; `paths` and `stdouts` the output paths as
    submitted, of running jobs by squeue and of all by accounting.
    """

    truth: QueueTruth
    queue: Answer | None
    accounting: Answer | None
    queues: tuple[Answer, ...]
    accountings: tuple[Answer, ...]
    shown: Mapping[str, JobShown]
    vanished: tuple[str, ...]
    paths: Mapping[str, str] | Unknown
    stdouts: Mapping[str, str] | Unknown
    version: FactValue
    controller_up: FactValue
    reservations: FactValue
    observations: tuple[Observation, ...]
    extra: tuple[Observation, ...] = ()
    columns: tuple[str, ...] = ask.SACCT_COLUMNS

    @property
    def job_ids(self) -> tuple[str, ...]:
        """Every job that queue or accounting lists."""
        ids = dict.fromkeys(self.queue.rows if self.queue else ())
        ids |= dict.fromkeys(self.accounting.rows if self.accounting else ())
        return tuple(ids)


def terms(record: ClusterRecord, memo: ClusterMemo, since: float, now: float, nonce: str) -> Terms:
    """The terms of a sweep that looks back to `since`, epoch seconds."""
    return Terms(record, Separators.of(nonce), since, ask.hours_since(since, now), memo.version)


def first_round(terms: Terms, session: Asks, memos: Mapping[str, JobMemo], extra: Sequence[Command]) -> Scheduled:
    """One call with all that needs nothing else, and another login when its queue can not be believed.

    `extra` rides in the same call; its observations come back as they are.
    """
    core = _core(terms)
    more: tuple[Command, ...] = (ask.reservations(), ask.version())
    if keeps_stdout(terms.version or None or NOT_READ):
        more = (*more, ask.sacct_paths(terms.record.user, terms.marks, terms.hours))
    observed = session.ask((*core, *more, *extra))
    scheduled = _read_core(terms, observed[: len(core)], memos)
    rest = observed[len(core) :]
    stdouts = read_stdout(rest[2], terms.marks, terms.zone) if len(more) > 2 else NOT_READ
    scheduled = replace(
        scheduled,
        reservations=read_reservations(rest[0], terms.zone),
        version=read_version(rest[1]),
        stdouts=stdouts,
        extra=rest[len(more) :],
        observations=observed,
    )
    return _other_logins(*_narrowed(terms, session, memos, scheduled))


def _narrowed(
    terms: Terms, session: Asks, memos: Mapping[str, JobMemo], scheduled: Scheduled
) -> tuple[Terms, Asks, Mapping[str, JobMemo], Scheduled]:
    """Asks accounting again without what it does not know, so that an older Slurm costs one fact and not its jobs."""
    while (refused := refused_column(scheduled.accountings[-1].observation)) in terms.columns:
        terms = replace(terms, columns=tuple(name for name in terms.columns if name != refused))
        observed = session.ask((ask.sacct(terms.record.user, terms.marks, terms.hours, terms.columns),))
        if not observed:
            break
        answer = read_accounting(observed[0], terms.marks, terms.zone, terms.table)
        scheduled = replace(
            scheduled,
            accounting=answer if answer.ok else None,
            accountings=(*scheduled.accountings, answer),
            columns=terms.columns,
            observations=(*scheduled.observations, *observed),
        )
    return terms, session, memos, _settled(scheduled, memos, 0)


def _core(terms: Terms) -> tuple[Command, ...]:
    user = terms.record.user
    return (
        ask.squeue(user, terms.marks),
        ask.sacct(user, terms.marks, terms.hours, terms.columns),
        ask.squeue_paths(user),
        ask.ping(),
    )


def _read_core(terms: Terms, observed: Sequence[Observation], memos: Mapping[str, JobMemo]) -> Scheduled:
    queue = read_queue(observed[0], terms.marks, terms.zone, terms.table)
    accounting = read_accounting(observed[1], terms.marks, terms.zone, terms.table)
    return _settled(
        Scheduled(
            QueueTruth(NOT_READ, 0),
            queue if queue.ok else None,
            accounting if accounting.ok else None,
            (queue,),
            (accounting,),
            MappingProxyType({}),
            (),
            read_paths(observed[2]),
            NOT_READ,
            NOT_READ,
            read_ping(observed[3]),
            NOT_READ,
            tuple(observed),
        ),
        memos,
        0,
    )


def _settled(scheduled: Scheduled, memos: Mapping[str, JobMemo], forks: int) -> Scheduled:
    refused = drain_refused(scheduled.accounting, memos, scheduled.shown, scheduled.controller_up)
    truth = decide_queue(scheduled.queues, scheduled.queue, refused, forks)
    return replace(scheduled, truth=truth, vanished=vanished(memos, scheduled.queue, scheduled.accounting))


def _other_logins(terms: Terms, session: Asks, memos: Mapping[str, JobMemo], scheduled: Scheduled) -> Scheduled:
    """Asks the other logins while the queue can not be believed; the first acceptable answer counts."""
    used = {observation.login for observation in scheduled.observations}
    while _worth_another_login(scheduled):
        observed = session.ask_next(_core(terms))
        if observed is None or not observed or observed[0].login in used:
            break
        used.add(observed[0].login)
        scheduled = _joined(scheduled, _read_core(terms, observed, memos), memos)
    return replace(scheduled, truth=_settled(scheduled, memos, forked(session)).truth)


def _worth_another_login(scheduled: Scheduled) -> bool:
    queue = scheduled.queue
    if queue is None:
        return any(observation.answered for observation in scheduled.observations)
    if queue.job_lines:
        return False
    return scheduled.accounting is None or bool(still_active(scheduled.accounting))


def _joined(before: Scheduled, after: Scheduled, memos: Mapping[str, JobMemo]) -> Scheduled:
    """The earlier answers with a later login's: its queue counts when it has jobs, or none was acceptable before."""
    better = after.queue is not None and (before.queue is None or after.queue.job_lines > 0)
    joined = replace(
        before,
        queue=after.queue if better else before.queue,
        accounting=before.accounting or after.accounting,
        queues=(*before.queues, *after.queues),
        accountings=(*before.accountings, *after.accountings),
        paths=after.paths if better or isinstance(before.paths, Unknown) else before.paths,
        controller_up=before.controller_up if before.controller_up is True else after.controller_up,
        observations=(*before.observations, *after.observations),
    )
    return _settled(joined, memos, 0)


def forked(session: Asks) -> int:
    """Logins that answered and could not start a command: an empty answer that is no answer."""
    return sum(attempt.failure is Failure.FORK for attempt in session.attempts)


@dataclass(frozen=True, slots=True)
class Proofs:
    """What the second call asks of the scheduler, and how its answers are to be read."""

    reread: bool
    ids: tuple[str, ...]
    shown: tuple[str, ...]
    batch: tuple[Command, ...]


def open_questions(terms: Terms, scheduled: Scheduled) -> Proofs:
    """What queue and accounting leave open: jobs on which they differ, and jobs that neither lists any more."""
    differ = disagreements(scheduled.queue, scheduled.accounting)
    gone = scheduled.vanished if scheduled.queue or scheduled.accounting else ()
    reread = bool(differ) and scheduled.queue is not None and scheduled.queue.job_lines > 0
    ids = tuple(dict.fromkeys((*differ, *gone)))[:MAX_PROOFS]
    unlisted = tuple(job_id for job_id in differ if scheduled.queue and job_id not in scheduled.queue.rows)
    shown = () if scheduled.controller_up is False else (*gone, *unlisted)[:MAX_PROOFS]
    batch: list[Command] = []
    if reread:
        batch.append(ask.squeue(terms.record.user, terms.marks))
    if ids:
        batch.append(ask.sacct_ids(ids, terms.marks, scheduled.columns))
        batch.append(ask.ping())
    batch.extend(ask.scontrol_job(job_id) for job_id in shown)
    return Proofs(reread, ids, shown, tuple(batch))


def proved(
    terms: Terms,
    session: Asks,
    memos: Mapping[str, JobMemo],
    scheduled: Scheduled,
    proofs: Proofs,
    observed: Sequence[Observation],
) -> Scheduled:
    """The scheduler's word with the second call's answers read into it."""
    rest = list(observed)
    queue, queues = scheduled.queue, scheduled.queues
    if proofs.reread:
        again = read_queue(rest.pop(0), terms.marks, terms.zone, terms.table)
        queue, queues = (again if again.ok else queue), (*queues, again)
    accounting, up, accountings = scheduled.accounting, scheduled.controller_up, scheduled.accountings
    if proofs.ids:
        asked = read_accounting(rest.pop(0), terms.marks, terms.zone, terms.table)
        accounting, accountings = _with(accounting, asked), (*accountings, asked)
        ping = read_ping(rest.pop(0))
        up = ping if isinstance(ping, bool) else up
    pairs = zip(proofs.shown, rest, strict=False)
    shown = {job_id: read_job(observation, job_id, terms.zone, terms.table) for job_id, observation in pairs}
    joined = replace(
        scheduled,
        queue=queue,
        queues=queues,
        accounting=accounting,
        accountings=accountings,
        controller_up=up,
        shown=MappingProxyType(shown),
        observations=(*scheduled.observations, *observed),
    )
    return _settled(joined, memos, forked(session))


def _with(window: Answer | None, asked: Answer) -> Answer | None:
    """The window's accounting with rows that were asked for by id, which are newer."""
    if not asked.ok:
        return window
    if window is None:
        return None
    return replace(
        window,
        rows=MappingProxyType({**window.rows, **asked.rows}),
        steps=MappingProxyType({**window.steps, **asked.steps}),
        job_lines=window.job_lines + asked.job_lines,
    )
