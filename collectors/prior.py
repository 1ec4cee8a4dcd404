"""What one sweep leaves to the next: plain data that the store keeps and a cassette records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from sweeprules.collectors.gaps import CadenceMemo, Gaps, decode_history, encode_history
from sweeprules.collectors.progress import ProgressMemo

COLLECTORS = "collectors"
"""The name of the document in the store's prior state."""


@dataclass(frozen=True, slots=True)
class LineMemo:
    """How often a pattern matched up to the offset that was read, and its last match: printed time, typed fields."""

    count: int = 0
    time: float | None = None
    fields: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogMemo:
    """How far a log was read, by device and inode; `lines` are the counts up to `offset` of the attempt `started`."""

    path: str
    source: str
    device: int
    inode: int
    offset: int
    started: float | None = None
    lines: Mapping[str, LineMemo] = field(default_factory=dict)
    from_start: bool = False
    """True when every byte before `offset` was read."""
    heartbeats: bool | None = None
    """True when only benign lines came since the last progress, up to `offset`; None when that is not known."""
    searched: bool = False
    """True when what is older than the first look was looked through for metrics: that is done once."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """By reader, what it keeps of the log: JSON-ready."""
    causes: Mapping[str, Any] = field(default_factory=dict)
    """What went wrong in it so far: JSON-ready. Empty where that was not looked for."""


@dataclass(frozen=True, slots=True)
class SignatureMemo:
    """What makes two deaths alike: exit, last exception type, top frame of own code, and the elapsed seconds.

    `exit` is empty and `elapsed` None where it was not read; `error` is None where the log was not, and empty where it
    was and holds no exception.
    """

    exit: str
    error: str | None = ""
    frame: str = ""
    elapsed: float | None = None


@dataclass(frozen=True, slots=True)
class JobMemo:
    """A job as the last sweep that saw it left it. `state` is `""` when it was unknown; times are epoch seconds."""

    cluster: str
    job_id: str
    user: str = ""
    name: str = ""
    workdir: str = ""
    state: str = ""
    state_reason: str = ""
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    elapsed: float | None = None
    exit: str = ""
    array: bool = False
    bucket: str = ""
    run: str = ""
    first_seen: float = 0.0
    last_seen: float = 0.0
    settled: bool = False
    """True when a complete sweep saw it terminal: its flags are history from then on."""
    gone_sweeps: int = 0
    log: LogMemo | None = None
    signature: SignatureMemo | None = None
    progress: ProgressMemo | None = None
    cadence: CadenceMemo | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    """What was read of its trials and of the logs beside its own: JSON-ready. Empty where none were found."""

    @property
    def key(self) -> str:
        """`cluster:id`."""
        return f"{self.cluster}:{self.job_id}"


@dataclass(frozen=True, slots=True)
class ClusterMemo:
    """The last good sweep of a cluster (epoch seconds, None before the first) and the version that answered."""

    last_good: float | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Prior:
    """The state that a sweep starts from. `edges` are dependency edges ever seen, as (waiting, awaited) job keys."""

    jobs: Mapping[str, JobMemo] = field(default_factory=dict)
    clusters: Mapping[str, ClusterMemo] = field(default_factory=dict)
    edges: frozenset[tuple[str, str]] = frozenset()
    cadences: Mapping[str, Gaps] = field(default_factory=dict)
    """The gaps of earlier jobs by their kind and phase (`collectors.cadence.history_key`)."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """The settings in which a run was completed or healthy, and the clock of the last sweep that saw it."""

    def of_cluster(self, cluster: str) -> dict[str, JobMemo]:
        """Its jobs by id."""
        return {memo.job_id: memo for memo in self.jobs.values() if memo.cluster == cluster}

    def with_recorded(self, recorded: Mapping[str, Prior]) -> Prior:
        """This state, of each cluster that repeats a recording the one which that recording was made from."""
        if not recorded:
            return self
        kept = {key: memo for key, memo in self.jobs.items() if memo.cluster not in recorded}
        told = {memo.key: memo for name, one in recorded.items() for memo in one.of_cluster(name).values()}
        edges = {edge for edge in self.edges if edge[0].partition(":")[0] not in recorded}
        return replace(
            self,
            jobs={**kept, **told},
            clusters={
                **{name: memo for name, memo in self.clusters.items() if name not in recorded},
                **{name: one.clusters[name] for name, one in recorded.items() if name in one.clusters},
            },
            edges=frozenset(edges.union(*(one.edges for one in recorded.values()))),
        )

    def to_data(self) -> dict[str, Any]:
        """JSON-ready; `from_data` gives an equal value back."""
        return {
            "version": 1,
            "jobs": [_plain(self.jobs[key]) for key in sorted(self.jobs)],
            "clusters": {name: _plain(memo) for name, memo in sorted(self.clusters.items())},
            "edges": sorted(map(list, self.edges)),
            "cadences": encode_history(self.cadences),
            "settings": dict(sorted(self.settings.items())),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Prior:
        """The value of `to_data`; an empty mapping is the state before the first sweep. Other versions: ValueError."""
        if not data:
            return cls()
        if data.get("version") != 1:
            raise ValueError(f"the kept state has version {data.get('version')!r}; this release reads version 1")
        jobs = [_job(job) for job in data["jobs"]]
        return cls(
            {job.key: job for job in jobs},
            {name: ClusterMemo(**memo) for name, memo in data["clusters"].items()},
            frozenset((first, second) for first, second in data["edges"]),
            decode_history(data.get("cadences") or {}),
            {str(key): float(at) for key, at in (data.get("settings") or {}).items()},
        )


def _plain(value: Any) -> Any:
    if isinstance(value, ProgressMemo | CadenceMemo):
        return value.encode()
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def _job(data: Mapping[str, Any]) -> JobMemo:
    # What a later version remembers besides is not known of a job that an earlier one left.
    memo = JobMemo(**{item.name: data[item.name] for item in fields(JobMemo) if item.name in data})
    log, signature = data.get("log"), data.get("signature")
    if log is not None:
        lines = {name: LineMemo(**line) for name, line in log["lines"].items()}
        memo = replace(memo, log=LogMemo(**{**log, "lines": lines}))
    if signature is not None:
        memo = replace(memo, signature=SignatureMemo(**signature))
    progress, cadence = data.get("progress"), data.get("cadence")
    return replace(
        memo,
        progress=None if progress is None else ProgressMemo.decode(progress),
        cadence=None if cadence is None else CadenceMemo.decode(cadence),
    )
