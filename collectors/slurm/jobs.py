"""One job from several sources: queue, accounting and controller merged into facts that say where they come from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from sweeprules.collectors.slurm.rows import Answer, Row
from sweeprules.collectors.slurm.sacct import failed_step
from sweeprules.collectors.slurm.scontrol import JobShown
from sweeprules.collectors.slurm.states import ACTIVE, TERMINAL
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Reason, Source, Unknown
from sweeprules.engine.observation import Observation

CUT_NAME = 96
"""Length at which the launcher of the team cuts the names it makes (domain page, names)."""
_FROM_ACCOUNTING = ("exit", "exit_code", "exit_signal", "ended", "step_failed")
_MARKS = re.compile(r"@[rf][0-9A-Za-z]{8,}@")
BEFORE_START = "cancelled-before-start?"


@dataclass(frozen=True, slots=True)
class Job:
    """A job's facts and their sources. `row_of` says which source its state is from."""

    job_id: str
    facts: Mapping[str, FactValue]
    sources: Mapping[str, Source]
    host: str = ""
    raw_id: str = ""

    @property
    def state(self) -> str:
        """The state's word; empty when it is unknown."""
        state = self.facts.get("state")
        return state if isinstance(state, str) else ""


@dataclass(frozen=True, slots=True)
class Sources:
    """The answers that jobs are merged from. `queue` and `accounting` are None when not to be believed."""

    queue: Answer | None
    accounting: Answer | None
    shown: Mapping[str, JobShown]
    controller_up: FactValue
    observations: Mapping[str, Observation]


def same_attempt(first: Row, second: Row) -> bool:
    """True when both rows are about one attempt: no submit time of theirs says otherwise (a requeue renews it)."""
    return first.submitted is None or second.submitted is None or abs(first.submitted - second.submitted) < 1


def contradicts(queued: Row, accounted: Row) -> bool:
    """True when the queue has a job active whose same attempt has ended by accounting.

    COMPLETING is no contradiction: accounting has the last word on an end. Nor is a start after that end: a requeue.
    """
    if not (queued.state in ACTIVE and accounted.state in TERMINAL and same_attempt(queued, accounted)):
        return False
    return queued.facts.get("phase") != "teardown" and not restarted(queued, accounted)


def restarted(queued: Row, accounted: Row) -> bool:
    """True when the queue's attempt began after the end that accounting tells of."""
    started, ended = queued.facts.get("started"), accounted.facts.get("ended")
    return isinstance(started, int | float) and isinstance(ended, int | float) and started > ended


def merge(job_id: str, sources: Sources) -> Job:
    """The facts of one job that queue or accounting lists."""
    queued = sources.queue.rows.get(job_id) if sources.queue else None
    accounted = sources.accounting.rows.get(job_id) if sources.accounting else None
    if queued is not None and accounted is not None:
        return _both(queued, accounted, sources)
    if queued is not None:
        return _only_queued(queued, sources)
    if accounted is None:
        raise ValueError(f"no source lists {job_id}")
    return _only_accounted(accounted, sources)


def _both(queued: Row, accounted: Row, sources: Sources) -> Job:
    if not same_attempt(queued, accounted) or restarted(queued, accounted):
        return _only_queued(queued, sources, command=accounted)
    if contradicts(queued, accounted):
        says = f"squeue {queued.facts['state_raw']}, sacct {accounted.facts['state_raw']}"
        facts = {
            **queued.facts,
            **_accounting_extras(accounted, sources),
            "state": Unknown(Reason.DISAGREE, says),
            "state_other": f"sacct {accounted.facts['state_raw']}",
            "state_source": "squeue",
        }
        return _job(queued, facts, sources, {"state_other": accounted})
    if accounted.state in TERMINAL:
        facts = {**accounted.facts, "name": queued.facts["name"], "command": _first(accounted, queued, "command")}
        facts |= {"dependency": queued.facts["dependency"], "state_other": ABSENT, "state_source": "sacct"}
        facts["step_failed"] = _steps(accounted, sources)
        return _job(accounted, facts, sources, {"name": queued, "dependency": queued}, host=queued.host)
    facts = {**queued.facts, **_accounting_extras(accounted, sources), "state_other": ABSENT, "state_source": "squeue"}
    return _job(queued, facts, sources, dict.fromkeys(_FROM_ACCOUNTING, accounted))


def _accounting_extras(accounted: Row, sources: Sources) -> dict[str, FactValue]:
    extras = {name: accounted.facts[name] for name in ("exit", "exit_code", "exit_signal", "ended", "cancelled_by")}
    if isinstance(accounted.facts.get("command"), str):
        extras["command"] = accounted.facts["command"]
    extras["step_failed"] = _steps(accounted, sources)
    return extras


def _first(one: Row, other: Row, name: str) -> FactValue:
    value = one.facts.get(name, ABSENT)
    return value if isinstance(value, str) else other.facts.get(name, ABSENT)


def _steps(accounted: Row, sources: Sources) -> FactValue:
    if sources.accounting is None:
        return NOT_READ
    steps = sources.accounting.steps.get(accounted.job_id, ())
    if not steps and accounted.state in TERMINAL and isinstance(accounted.facts.get("started"), int | float):
        return Unknown(Reason.NOT_READ, "accounting shows no step of a job that ran")
    return failed_step(steps)


def _only_queued(queued: Row, sources: Sources, command: Row | None = None) -> Job:
    """Accounting lists no held or dependent job, and is late with a new one: its silence says nothing."""
    silent: FactValue = ABSENT if sources.accounting else NOT_READ
    facts = {
        **queued.facts,
        **dict.fromkeys(("exit", "exit_code", "exit_signal", "ended"), ABSENT),
        "step_failed": silent,
        "state_other": silent,
        "state_source": "squeue",
    }
    if command is not None and isinstance(command.facts.get("command"), str):
        facts["command"] = command.facts["command"]
    return _job(queued, facts, sources, {})


def _only_accounted(accounted: Row, sources: Sources) -> Job:
    facts = {
        **accounted.facts,
        "state_source": "sacct",
        "state_other": ABSENT if sources.queue else NOT_READ,
        "step_failed": _steps(accounted, sources),
        "dependency": ABSENT if accounted.state in TERMINAL or accounted.state == "RUNNING" else NOT_READ,
    }
    if sources.queue is not None and accounted.state in ACTIVE:
        shown = sources.shown.get(accounted.job_id)
        if shown is not None and shown.row is not None and shown.row.state in TERMINAL:
            facts |= {**dict.fromkeys(("exit", "exit_code", "exit_signal"), NOT_READ), **shown.row.facts}
            facts |= {"state_source": "scontrol", "state_other": f"sacct {accounted.facts['state_raw']}"}
            return _job(shown.row, facts, sources, {})
        facts |= {
            "state": Unknown(Reason.DISAGREE, f"sacct says {accounted.facts['state_raw']}, squeue does not list it"),
            "state_other": "squeue does not list it",
        }
    return _job(accounted, facts, sources, {})


def _job(row: Row, facts: Mapping[str, FactValue], sources: Sources, others: Mapping[str, Row], host: str = "") -> Job:
    name = facts.get("name")
    full = dict(facts) | {"job_id": row.job_id, "name_cut": isinstance(name, str) and len(name) == CUT_NAME}
    main = source_of(row, sources.observations)
    pointed = {field: source_of(other, sources.observations) for field, other in others.items()}
    return Job(
        row.job_id,
        MappingProxyType(full),
        MappingProxyType({field: pointed.get(field, main) for field in full}),
        host or row.host,
        row.raw_id,
    )


def source_of(row: Row, observations: Mapping[str, Observation]) -> Source:
    """Where a row was read."""
    observation = observations[row.observation]
    return source(observation, row.line)


def source(observation: Observation, line: str = "") -> Source:
    """The source of a fact that stands in `line` of an observation's output; separators are shown as bars."""
    return Source(observation.id, _shown(observation.argv), observation.login, line[:300], at=observation.started_at)


# Each fact has a source, and a sweep asks few things: the same command is not quoted a hundred times a job.
@lru_cache(maxsize=256)
def _shown(argv: tuple[str, ...]) -> str:
    return _MARKS.sub("|", shlex.join(argv))[:300]
