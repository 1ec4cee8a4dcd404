"""How each cluster of a sweep stands: gathered, lost, skipped or blocked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeprules.collectors import cluster as clusters
from sweeprules.collectors import outside
from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.normalise import Normalised
from sweeprules.collectors.transport.allow import CommandRefusedError
from sweeprules.engine.facts import Subject
from sweeprules.engine.site import BrokenRecord, ClusterRecord
from sweeprules.reports.document import ClusterHead


@dataclass(frozen=True, slots=True)
class Seen:
    """One cluster after gathering: its subjects, and how it stands."""

    head: ClusterHead
    gathered: Gathered | None
    normalised: Normalised | None
    subjects: tuple[Subject, ...]


def sort_records(
    records: Iterable[ClusterRecord | BrokenRecord],
    chosen: frozenset[str] | None,
    now: float,
    swept: Mapping[str, float],
) -> tuple[list[ClusterRecord], list[Seen]]:
    """The clusters to gather, and those that nothing is sent to, with the reason.

    `chosen` are the names that the sweep was asked for, None for all; `swept` when each was last swept, epoch seconds.
    """
    gathered: list[ClusterRecord] = []
    kept_out: list[Seen] = []
    for record in records:
        if chosen is not None and record.name not in chosen:
            continue
        if isinstance(record, BrokenRecord):
            kept_out.append(Seen(_blocked(record), None, None, (clusters.blocked(record),)))
        elif clusters.is_skipped(record, now):
            subject = clusters.skipped(record, now, swept.get(record.name))
            kept_out.append(Seen(_head(record, "skipped", skip_reason(record, now)), None, None, (subject,)))
        elif record.scheduler != "slurm":
            why = f"no collector of this release reads a cluster with scheduler {record.scheduler}"
            kept_out.append(Seen(_head(record, "blocked", why), None, None, (outside.unreadable(record),)))
        else:
            gathered.append(record)
    return gathered, kept_out


def skip_reason(record: ClusterRecord, now: float) -> str:
    """Why the record keeps its cluster out of this sweep."""
    for window in record.downtime:
        if window.start <= now < window.end:
            return f"in downtime: {window.because}"
    over = bool(record.downtime) and all(window.end <= now for window in record.downtime)
    return record.because.rstrip(".") + ("; window over, re-verify access" if over else "")


def seen_cluster(gathered: Gathered, normalised: Normalised) -> Seen:
    """A cluster that was gathered, as wholly as its answers allow."""
    queue = normalised.subjects[0].get("queue")
    head = _head(
        gathered.record,
        clusters.status(gathered),
        clusters.because(gathered),
        queue if isinstance(queue, str) else "unknown",
        gathered.login,
    )
    return Seen(head, gathered, normalised, normalised.subjects)


def lost_cluster(record: ClusterRecord, error: BaseException | None, nothing: Normalised) -> Seen:
    """A cluster whose gathering came to nothing; its jobs of the last sweep, in `nothing`, keep their rows, unseen."""
    why = broken_off(error)
    if isinstance(error, CommandRefusedError):
        head, cluster = _head(record, "blocked", why), outside.unreadable(record)
    else:
        head, cluster = _head(record, "unreachable", why), outside.lost(record, why)
    jobs = tuple(subject for subject in nothing.subjects if subject.ref.kind == "job")
    return Seen(head, None, None, (cluster, *jobs))


def broken_off(error: BaseException | None) -> str:
    """Why the work on a cluster came to no end; None stands for its deadline."""
    if error is None:
        return "the cluster's deadline passed"
    if isinstance(error, CommandRefusedError):
        return str(error)
    return f"internal error: {type(error).__name__}: {error}"


def _head(record: ClusterRecord, status: str, because: str, queue: str = "unknown", login: str = "") -> ClusterHead:
    return ClusterHead(record.name, status, because, queue, login, record.path, record.sha256)


def _blocked(record: BrokenRecord) -> ClusterHead:
    return ClusterHead(record.name, "blocked", "; ".join(record.problems), "unknown", "", record.path, record.sha256)
