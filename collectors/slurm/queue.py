"""Whether the queue may be believed: an empty answer is a drain only when three sources agree on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeprules.collectors.prior import JobMemo
from sweeprules.collectors.slurm.jobs import contradicts
from sweeprules.collectors.slurm.rows import Answer
from sweeprules.collectors.slurm.scontrol import JobShown
from sweeprules.collectors.slurm.states import ACTIVE, TERMINAL
from sweeprules.engine.facts import FactValue, Reason, Unknown


@dataclass(frozen=True, slots=True)
class QueueTruth:
    """What is known of a cluster's queue.

    `queue` is `ok`, `empty` or unknown; `empty_answers` counts the answers without job lines that could not be
    accepted as a drain; `why` says in one line what kept an answer from being believed.
    """

    queue: FactValue
    empty_answers: int
    why: str = ""


def active_before(memos: Mapping[str, JobMemo]) -> tuple[str, ...]:
    """The jobs that the last sweep left active or unknown: each must be there again, or be proved terminal."""
    return tuple(sorted(job_id for job_id, memo in memos.items() if memo.state not in TERMINAL))


def vanished(memos: Mapping[str, JobMemo], queue: Answer | None, accounting: Answer | None) -> tuple[str, ...]:
    """Those of them that neither source lists any more; a pending array record stands for its tasks."""
    listed: set[str] = set(queue.rows) if queue else set()
    if accounting:
        listed |= set(accounting.rows)
    return tuple(job_id for job_id in active_before(memos) if job_id not in listed)


def is_gone(memo: JobMemo, shown: JobShown | None, controller_up: FactValue) -> bool:
    """True when a job that never started is proved to be no more: a healthy controller knows no such id."""
    never_started = memo.state in ("PENDING", "GONE") and memo.started is None
    return never_started and controller_up is True and shown is not None and shown.verdict == "gone"


def unproved(
    memos: Mapping[str, JobMemo],
    accounting: Answer | None,
    shown: Mapping[str, JobShown],
    controller_up: FactValue,
) -> tuple[str, ...]:
    """The jobs of the last sweep that are not proved terminal by accounting or by the controller."""
    rows = accounting.rows if accounting else {}
    return tuple(
        job_id
        for job_id in active_before(memos)
        if not (job_id in rows and rows[job_id].state in TERMINAL)
        and not is_gone(memos[job_id], shown.get(job_id), controller_up)
    )


def still_active(accounting: Answer) -> tuple[str, ...]:
    """The jobs that accounting has as not ended, those with a state that is new to us included."""
    return tuple(job_id for job_id, row in accounting.rows.items() if row.state not in TERMINAL)


def drain_refused(
    accounting: Answer | None,
    memos: Mapping[str, JobMemo],
    shown: Mapping[str, JobShown],
    controller_up: FactValue,
) -> str:
    """Why an empty queue answer is no drain; empty when it is one (catalogue e.4)."""
    if accounting is None:
        return "accounting did not confirm that nothing runs"
    active = still_active(accounting)
    if active:
        return f"accounting has {len(active)} jobs that have not ended ({_some(active)})"
    missing = unproved(memos, accounting, shown, controller_up)
    if missing:
        return f"{len(missing)} jobs of the last sweep are not proved terminal ({_some(missing)})"
    return ""


def decide_queue(answers: Iterable[Answer], chosen: Answer | None, refused: str, forks: int) -> QueueTruth:
    """The truth of the queue from all answers of this sweep; `forks` are logins that could not even start squeue.

    `refused` is the reason of `drain_refused`, asked of a chosen answer without job lines.
    """
    tried = list(answers)
    accepted = chosen is not None and not chosen.job_lines and not refused
    silent = [answer for answer in tried if not answer.job_lines and _reached(answer)]
    empty = len(silent) - sum(answer.ok for answer in silent) if accepted else len(silent)
    if chosen is not None and chosen.job_lines:
        return QueueTruth("ok", empty + forks)
    if accepted:
        return QueueTruth("empty", empty + forks)
    why = (
        refused if chosen is not None else next((answer.why for answer in tried if answer.why), "squeue was not asked")
    )
    return QueueTruth(Unknown(Reason.READ_FAILED, why), empty + forks, why)


def _reached(answer: Answer) -> bool:
    return answer.observation.answered or answer.observation.exit is not None


def disagreements(queue: Answer | None, accounting: Answer | None) -> tuple[str, ...]:
    """Jobs that one source has as active and the other as ended or not at all; a reason to look once more."""
    if queue is None or accounting is None:
        return ()
    ids = [
        job_id
        for job_id, queued in queue.rows.items()
        if job_id in accounting.rows and contradicts(queued, accounting.rows[job_id])
    ]
    ids.extend(job_id for job_id, row in accounting.rows.items() if row.state in ACTIVE and job_id not in queue.rows)
    return tuple(ids)


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
