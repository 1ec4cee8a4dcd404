"""The report of one sweep as plain data: the contract's JSON, from which every other form is rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, Absent, FactValue, Interval, Ref, Subject, Unknown, World
from sweeprules.engine.verdicts import Action, Flag, Verdict
from sweeprules.reports.rows import Row, row_of
from sweeprules.reports.tables import tables

SCHEMA_VERSION = 1
SEVERITIES = ("critical", "warning", "info")
TERMINAL = frozenset(
    {
        "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
        "DEADLINE", "GONE",
    }
)  # fmt: skip
_OTHER_KINDS = ("filesystem", "credential", "pool", "worktree", "tracker_row", "campaign")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SweepHead:
    """What is said of the sweep as a whole; times are epoch seconds."""

    id: str
    started_at: float
    finished_at: float
    now: float
    complete: bool
    engine: str
    policy_sha256: str
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterHead:
    """What is said of one cluster; `because` is the reason of any status but swept."""

    name: str
    status: str
    because: str
    queue: str
    login: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """One handoff of the report; `proofs` are (name, truth, source, at)."""

    id: str
    template: str
    cause: str
    cluster: str
    job_id: str
    subject: str
    status: str
    blocked_by: tuple[str, ...]
    proofs: tuple[tuple[str, str, str, float | None], ...]
    since: str
    path: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """All that a report is made of. `types` gives the catalogue's type of (kind, field).

    `signals` names the rules about steps that give each signal: the tables count those that hold at the newest step.
    """

    head: SweepHead
    clusters: tuple[ClusterHead, ...]
    world: World
    verdicts: Mapping[Ref, Verdict]
    handoffs: tuple[HandoffRow, ...] = ()
    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def build(judged: Judged) -> Data:
    """The report document; keys and order are those of the contract."""
    handoff_ids = {(h.subject, action): h.id for h in judged.handoffs for action in h.actions}
    rows = _rows(judged, handoff_ids)
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep": _sweep(judged.head),
        "clusters": [_cluster(c, judged, handoff_ids) for c in judged.clusters],
        "jobs": [row.entry for row in rows],
        "subjects": _subjects(judged, handoff_ids),
        "tables": tables(rows),
        "handoffs": [_handoff(h) for h in judged.handoffs],
    }


def timestamp(epoch: float | None) -> str | None:
    """RFC 3339 UTC with whole seconds; None stays None."""
    if epoch is None:
        return None
    try:
        return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def plain(value: FactValue, kind: str = "text") -> Any:
    """A fact in JSON: itself, `{"unknown": reason}` or `{"absent": true}`; a time as RFC 3339."""
    match value:
        case Unknown(reason=reason):
            return {"unknown": reason}
        case Absent():
            return {"absent": True}
        case Interval(sure=sure, possible=possible):
            return {"sure": sure} if possible is None else {"sure": sure, "possible": possible}
        case bool() | str():
            return value
        case int() | float():
            return timestamp(value) or value if kind == "time" else value
        case tuple():
            return [plain(item) for item in value]
        case _:
            return {key: plain(item, "time" if key in _TIME_KEYS else "text") for key, item in value.items()}


_TIME_KEYS = frozenset({"started", "ended", "submitted", "time", "from", "to", "last_used", "at"})


def flag_data(flag: Flag) -> Data:
    """FLAG of the contract."""
    return {
        "name": flag.name,
        "severity": flag.severity,
        "rule": flag.rule,
        "message": flag.message,
        "exempt": flag.exempt,
        "step": flag.step,
        "explains": list(flag.explains),
        "explained_by": list(flag.explained_by),
        "resolved": flag.resolved,
        "since": flag.since or None,
    }


def _action(action: Action, handoff: str | None) -> Data:
    return {
        "name": action.name,
        "class": action.klass,
        "destructive": action.destructive,
        "args": {name: plain(value) for name, value in action.args.items()},
        "template": action.template,
        "handoff": handoff,
        "status": action.status,
    }


def _sweep(head: SweepHead) -> Data:
    return {
        "id": head.id,
        "started_at": timestamp(head.started_at),
        "finished_at": timestamp(head.finished_at),
        "now": timestamp(head.now),
        "complete": head.complete,
        "engine": head.engine,
        "policy_sha256": head.policy_sha256,
        "flags": [flag_data(f) for f in head.flags],
    }


def _decisions(ref: Ref, judged: Judged, handoffs: Mapping[tuple[str, str], str]) -> tuple[list[Data], list[Data]]:
    verdict = judged.verdicts.get(ref)
    if verdict is None:
        return [], []
    actions = [_action(a, handoffs.get((str(ref), a.name))) for a in verdict.actions]
    return [flag_data(f) for f in ordered(verdict.flags)], actions


def ordered(flags: Sequence[Flag]) -> list[Flag]:
    """Flags as people read them: by severity, counting ones before exempt ones, causes before symptoms, by name."""
    return sorted(
        flags, key=lambda f: (SEVERITIES.index(f.severity), f.exempt or f.resolved, bool(f.explained_by), f.name)
    )


def _cluster(head: ClusterHead, judged: Judged, handoffs: Mapping[tuple[str, str], str]) -> Data:
    flags, actions = _decisions(Ref("cluster", head.name), judged, handoffs)
    return {
        "name": head.name,
        "status": head.status,
        "because": head.because or None,
        "queue": head.queue,
        "login": head.login or None,
        "ops": {"path": head.path, "sha256": head.sha256},
        "flags": flags,
        "actions": actions,
    }


def _subjects(judged: Judged, handoffs: Mapping[tuple[str, str], str]) -> list[Data]:
    rows = []
    for kind in _OTHER_KINDS:
        for subject in judged.world.of_kind(kind):
            flags, actions = _decisions(subject.ref, judged, handoffs)
            cluster = subject.relations.get("cluster")
            rows.append(
                {
                    "kind": kind.replace("_", "-"),
                    "key": subject.ref.key,
                    "cluster": cluster.members[0].key if cluster and cluster.members else None,
                    "facts": _facts(subject, judged),
                    "flags": flags,
                    "actions": actions,
                }
            )
    return rows


def _facts(subject: Subject, judged: Judged) -> Data:
    verdict = judged.verdicts.get(subject.ref)
    facts = {**subject.facts, **(verdict.decided if verdict else {})}
    kind = subject.ref.kind
    facts = {name: value for name, value in facts.items() if not name.startswith("lines.") or _seen(name, facts)}
    return {name: plain(facts[name], judged.types.get((kind, name), "text")) for name in sorted(facts)}


def _seen(name: str, facts: Mapping[str, FactValue]) -> bool:
    """True for the facts of a log line that was met: the many patterns that were not are left to `explain --full`."""
    count = facts.get(name.rpartition(".")[0] + ".count")
    return (count.sure if isinstance(count, Interval) else count if isinstance(count, int) else 0) > 0


def _rows(judged: Judged, handoffs: Mapping[tuple[str, str], str]) -> list[Row]:
    rows = [
        row_of(_entry(run, judged, handoffs), run.row, run.links, judged.world, judged.verdicts, judged.signals)
        for run in _runs(judged.world)
    ]
    return sorted(rows, key=lambda row: _row_order(row.entry))


@dataclass(frozen=True, slots=True)
class _Run:
    key: str
    row: Subject
    links: tuple[Subject, ...]


def _runs(world: World) -> list[_Run]:
    """Each run with its row and links; a job that no run holds is a run of its own."""
    runs: list[_Run] = []
    taken: set[Ref] = set()
    for run in world.of_kind("run"):
        links = tuple(world.subjects[r] for r in run.relations["links"].members if r in world.subjects)
        taken.update(link.ref for link in links)
        if not any(link.judged for link in links):
            continue
        row = run.relations.get("row")
        if not row or not row.members or row.members[0] not in world.subjects:
            continue
        runs.append(_Run(run.ref.key, world.subjects[row.members[0]], links))
    runs += [_Run(j.ref.key, j, (j,)) for j in world.of_kind("job") if j.ref not in taken]
    return runs


def _entry(run: _Run, judged: Judged, handoffs: Mapping[tuple[str, str], str]) -> Data:
    row = run.row
    verdict = judged.verdicts.get(row.ref)
    decided = verdict.decided if verdict else {}
    flags, actions = _decisions(row.ref, judged, handoffs)
    for link in run.links:
        if link.ref != row.ref:
            more, more_actions = _decisions(link.ref, judged, handoffs)
            number = link.get("job_id")
            flags += [{**f, "message": f"link {number}: {f['message']}"} for f in more]
            actions += more_actions
    flags.sort(key=lambda f: (SEVERITIES.index(f["severity"]), f["exempt"] or f["resolved"], f["name"]))
    flat, unknown = _flat(row)
    facts = _facts(row, judged)
    facts["links"] = [_link(link) for link in run.links if link.ref != row.ref]
    return {
        "cluster": _word(row.get("cluster"), "?"),
        "job_id": _word(row.get("job_id"), row.ref.key),
        "name": _word(row.get("name"), "?"),
        "run": run.key,
        "bucket": _word(decided.get("bucket", row.get("bucket")), "UNKNOWN"),
        "bucket_sure": decided.get("bucket_sure") is True,
        "flavour": _word(decided.get("flavour", row.get("flavour")), "unknown"),
        "state": _word(row.get("state"), "UNKNOWN"),
        "health": _health(row, verdict, flags),
        **flat,
        "unknown": unknown,
        "facts": facts,
        "flags": flags,
        "actions": actions,
    }


def _health(row: Subject, verdict: Verdict | None, flags: Sequence[Data]) -> str:
    """The row's own health, but flagged when any link of it has a flag that counts: they all stand on the row."""
    if any(f["severity"] != "info" and not (f["exempt"] or f["resolved"]) for f in flags):
        return "flagged"
    if verdict is not None:
        return verdict.health
    return "ended" if row.get("state") in TERMINAL else "unknown"


def _word(value: FactValue, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


_FLAT = {"last_output_age_s": "log_age", "step": "step", "max_step": "max_step"}


def _flat(row: Subject) -> tuple[Data, dict[str, str]]:
    flat: Data = {}
    unknown: dict[str, str] = {}
    for name, fact in _FLAT.items():
        value = row.get(fact)
        flat[name] = value if isinstance(value, int | float) else None
        if isinstance(value, Unknown):
            unknown[name] = value.reason
        elif isinstance(value, Absent):
            unknown[name] = NOT_APPLICABLE.reason
    return flat, unknown


def _link(link: Subject) -> Data:
    names = ("job_id", "state", "started", "ended", "exit", "step")
    kinds = {"started": "time", "ended": "time"}
    return {name: plain(link.facts.get(name, ABSENT), kinds.get(name, "text")) for name in names}


def _row_order(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    counted = [f["severity"] for f in entry["flags"] if not f["exempt"] and not f["resolved"]]
    severity = min((SEVERITIES.index(s) for s in counted), default=len(SEVERITIES))
    phase = {"RUNNING": 0, "PENDING": 1}.get(entry["state"], 2)
    digits = "".join(c for c in entry["job_id"].split("_")[0].split("+")[0] if c.isdigit())
    number = int(digits[:18]) if digits else 0
    flagged = severity if severity < SEVERITIES.index("info") else len(SEVERITIES)
    return (flagged, phase, entry["cluster"], entry["name"], number, entry["job_id"])


def _handoff(row: HandoffRow) -> Data:
    return {
        "id": row.id,
        "template": row.template,
        "cause": row.cause,
        "cluster": row.cluster or None,
        "job_id": row.job_id or None,
        "subject": row.subject,
        "status": row.status,
        "blocked_by": list(row.blocked_by),
        "proofs": [{"name": n, "truth": t, "source": s, "at": timestamp(at)} for n, t, s, at in row.proofs],
        "since": row.since or None,
        "path": row.path,
    }
