"""A small sweep to keep, made anew for each number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sweeprules.engine.facts import NOT_READ, Ref, Relation, Source, Subject
from sweeprules.engine.observation import Observation
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import Flag, Verdict
from sweeprules.store.cassette import Cassette
from sweeprules.store.kept import SweepInfo, SweepRecord

DAY = 86400.0
START = 1_796_000_000.0
SOURCE = Source("leo/1.1", "squeue --me", "login01", "4711|rl__a2|RUNNING", START, 40)


def info(number: int, complete: bool = True) -> SweepInfo:
    """The head of sweep `number`: one a day."""
    now = START + number * DAY
    return SweepInfo(f"sweep-{number}", now, now + 60, now, complete, "native", "0" * 64)


def job(cluster: str, job_id: str, number: int = 0, **facts: str | int) -> Subject:
    """A job of a cluster."""
    return Subject(
        Ref("job", f"{cluster}:{job_id}"),
        {"job_id": job_id, "cluster": cluster, "name": "rl__a2-8B", "step": number, "log_age": NOT_READ, **facts},
        {"job_id": SOURCE, "name": SOURCE},
        {"cluster": Relation((Ref("cluster", cluster),))},
    )


def cluster(name: str) -> Subject:
    """A cluster."""
    return Subject(Ref("cluster", name), {"name": name, "status": "swept"})


def cassette(number: int) -> Cassette:
    """The cassette of sweep `number`."""
    seen = Observation("leo/1.1", "leo", "login01", ("squeue", "--me"), (), START, 0.5, 0, b"4711\n", b"")
    return Cassette(info(number).id, info(number).now, "ab12", "native", "0" * 64, "demo", observations=(seen,))


def record(
    number: int,
    subjects: Iterable[Subject] = (),
    statuses: dict[str, str] | None = None,
    complete: bool = True,
    **more: Any,
) -> SweepRecord:
    """Sweep `number`, with one job on leo unless others are given."""
    held = tuple(subjects) or (cluster("leo"), job("leo", "4711", number))
    flag = Flag("stale-log", "warning", "live.stale-log", "no output for 95 min", since="sweep-0")
    verdicts = {
        s.ref: Verdict(s.ref, {"live.stale-log": Truth.TRUE}, {"bucket": "rl"}, (flag,), ())
        for s in held
        if s.ref.kind == "job"
    }
    return SweepRecord(
        info=info(number, complete),
        clusters=statuses or {"leo": "swept"},
        report={"schema_version": 1, "number": number},
        subjects=held,
        verdicts=verdicts,
        **more,
    )
