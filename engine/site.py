"""The site: cluster records and settings, as values. `store` reads them from disk; nothing here does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Reach:
    """How a cluster is reached. Timeouts are seconds; `cassette` is the recording of `via: replay`."""

    via: Literal["openssh", "fabric", "local", "kube", "replay"]
    host: str = ""
    fallbacks: tuple[str, ...] = ()
    connect_timeout: float = 15.0
    command_timeout: float = 60.0
    host_keys: Literal["strict", "rotating"] = "strict"
    cassette: str = ""
    """Absolute path once read: a relative one is taken from the record's folder."""

    @property
    def logins(self) -> tuple[str, ...]:
        """The host and its fallbacks, in the order in which they are tried."""
        return (self.host or "localhost", *self.fallbacks)


@dataclass(frozen=True, slots=True)
class Downtime:
    """A window in which nothing is sent; epoch seconds, `end` exclusive."""

    start: float
    end: float
    because: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a scheduler's refusal text means on this cluster."""

    text: str
    means: Literal["maintenance", "association"]


@dataclass(frozen=True, slots=True)
class Gotcha:
    """A trap of the cluster, by tag; `validated` is the date of its last check, empty when nobody has."""

    tag: str
    text: str
    validated: str
    source: str


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """`ops/<cluster>/cluster.yaml`, read and valid. `raw` is the whole mapping; `sha256` that of the file's bytes."""

    name: str
    path: str
    sha256: str
    scheduler: Literal["slurm", "iris", "kubernetes"]
    user: str
    timezone: str
    reach: Reach
    enabled: bool = True
    because: str = ""
    downtime: tuple[Downtime, ...] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    walls: Mapping[str, float] = field(default_factory=dict)
    """Partition (or `default`) -> wall in seconds."""
    gpu_memory_limit: int | None = None
    dotenv: str = ""
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    log_fallbacks: tuple[str, ...] = ()
    clones: tuple[str, ...] = ()
    write_paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bans: frozenset[str] = frozenset()
    commands: tuple[tuple[str, ...], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    gotchas: tuple[Gotcha, ...] = ()
    raw: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A cluster whose record could not be loaded: it is blocked, and nothing is sent to it.

    `secret_risk` is True when a command of it would have printed environments or whole objects.
    """

    name: str
    path: str
    sha256: str
    problems: tuple[str, ...]
    secret_risk: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named series of runs and what is settled about it. `match` is one condition on a job, as text-free globs."""

    name: str
    name_globs: tuple[str, ...]
    status: Literal["active", "concluded"] = "active"
    db_registration: bool | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A site's settings and records. `records` are in name order, the broken ones among them."""

    root: str
    records: tuple[ClusterRecord | BrokenRecord, ...]
    series: tuple[Series, ...] = ()
    exempt_targets: tuple[str, ...] = ()
    benchmarks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    keep_sweeps: float = 90 * 86400.0
    keep_cassettes: float = 30 * 86400.0
    experiment_log: str = ""
