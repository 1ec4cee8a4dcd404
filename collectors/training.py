"""What the second stage asks of training runs: the older text of their logs, and what lies in their directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeprules.collectors.logs.older import Lack, lacks
from sweeprules.collectors.metrics.sought import literals
from sweeprules.collectors.numbers import Printed, Told
from sweeprules.collectors.rundirs import places
from sweeprules.collectors.runfiles import Sought
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.engine.facts import Subject
from sweeprules.engine.site import ClusterRecord


@dataclass(frozen=True, slots=True)
class Training:
    """What is asked of one cluster: the logs to look through, and the runs whose directories are looked into."""

    lacks: tuple[Lack, ...] = ()
    files: tuple[Sought, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lacks or self.files)


NOTHING = Training()


def wanted(
    record: ClusterRecord,
    jobs: Iterable[tuple[Subject, str]],
    printed: Mapping[str, Printed],
    told: Mapping[str, Told],
    reach: int,
) -> Training:
    """What is still to be asked of a cluster's jobs, each with its bucket; the logs and what they told by job key.

    `reach` is the longest window of the rules in points: a log that shows fewer is looked through once.
    """
    missing: list[Lack] = []
    files: list[Sought] = []
    for job, bucket in jobs:
        if bucket not in ("rl", "sft") or not job.judged or job.get("cluster") != record.name:
            continue
        log, found = printed.get(job.ref.key), told.get(job.ref.key)
        if log is not None and found is not None and (lack := _lack(job, bucket, log, found, reach)) is not None:
            missing.append(lack)
        if (sought := _sought(job, bucket, found, record)) is not None:
            files.append(sought)
    return Training(tuple(missing), tuple(files))


def _lack(job: Subject, bucket: str, log: Printed, found: Told, reach: int) -> Lack | None:
    points = len(found.series.points) if found.series is not None else 0
    job_id = job.get("job_id")
    if not isinstance(job_id, str) or not lacks(log.kept, log.tail.start, points, reach):
        return None
    return Lack(job_id, log.where, log.tail.start, literals(bucket, found.memo))


def _sought(job: Subject, bucket: str, found: Told | None, record: ClusterRecord) -> Sought | None:
    """The directory of a run, where one is known or guessed; of fine-tuning only after its end."""
    job_id, state, started = job.get("job_id"), job.get("state"), job.get("started")
    looked = TERMINAL if bucket == "sft" else TERMINAL | {"RUNNING"}
    if not isinstance(job_id, str) or state not in looked:
        return None
    said = found.directory if found is not None else ""
    some = places(job.facts, said, record, bucket)
    if not some:
        return None
    return Sought(job_id, bucket, some, said, float(started) if isinstance(started, int | float) else None)
