"""The proofs that this sweep's own facts can establish; every other proof is unknown, and unknown blocks.

A proof is true only on a positive fact that was read in this sweep, quoted with its source (catalogue, section c).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sweeprules.engine.facts import Absent, FactValue, Ref, Source, Subject, Unknown, World
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import Verdict

TERMINAL = frozenset(
    ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"]
)


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof: its truth, the quoted source, and when that was read (epoch seconds)."""

    name: str
    truth: Truth
    source: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """What a proof may look at: the subject, what was decided of it, the world, and the record's user.

    `ids` are the jobs that the action names; none for one that names no job.
    """

    subject: Subject
    verdict: Verdict
    world: World
    user: str
    ids: tuple[str, ...] = ()

    def fact(self, name: str) -> FactValue:
        """A decided field, else a read one."""
        return self.verdict.decided.get(name, self.subject.get(name))

    @property
    def named(self) -> tuple[Subject | None, ...]:
        """The jobs that the action names, None for one that this sweep did not see; the subject where it names none."""
        cluster = self.subject.ref.key.partition(":")[0]
        found = (self.world.subjects.get(Ref("job", f"{cluster}:{job_id}")) for job_id in self.ids)
        return tuple(found) if self.ids and self.subject.ref.kind == "job" else (self.subject,)

    def quote(self, name: str) -> tuple[str, float | None]:
        """Where a fact was read, for the proof sheet: of the first job that the action names."""
        first = self.named[0]
        return quote(first.sources.get(name) if first is not None else None)


def quote(source: Source | None) -> tuple[str, float | None]:
    """A source as one text: command, login and line."""
    if source is None or not source.command:
        return "", None
    line = f": {source.line}" if source.line else ""
    return f"{source.command} via {source.login}{line}", source.at


def prove(name: str, case: Case) -> Proof:
    """The proof `name` for one case; unknown where this release has no reader for it."""
    check = _CHECKS.get(name)
    if check is None:
        return Proof(name, UNKNOWN, "nothing that this sweep read can establish it")
    truth, fact = check(case)
    text, at = case.quote(fact)
    return Proof(name, truth, text if truth is TRUE else text or f"{fact} was not read", at)


def _when(value: FactValue, holds: Callable[[FactValue], bool]) -> Truth:
    if isinstance(value, Unknown):
        return UNKNOWN
    return TRUE if not isinstance(value, Absent) and holds(value) else FALSE


def _own(case: Case) -> tuple[Truth, str]:
    return _each(case, lambda job: _when(job.get("user"), lambda user: user == case.user)), "user"


def _each(case: Case, check: Callable[[Subject], Truth]) -> Truth:
    """Whether it holds of every job that the action names; one that was not seen leaves it unknown."""
    return min(check(job) if job is not None else UNKNOWN for job in case.named)


def _live(subject: Subject) -> Truth:
    """Whether a job's state was seen in the queue or the controller: accounting alone can not tell what runs now."""
    return TRUE if subject.get("state_source") in ("squeue", "scontrol") else UNKNOWN


def _running(case: Case) -> tuple[Truth, str]:
    return min(_when(case.fact("state"), lambda state: state == "RUNNING"), _live(case.subject)), "state"


def _terminal(case: Case) -> tuple[Truth, str]:
    ended = _when(case.fact("state"), lambda state: state in TERMINAL)
    return min(ended, _when(case.fact("state_source"), lambda source: source == "sacct")), "state"


def _never_started(case: Case) -> tuple[Truth, str]:
    return _each(case, _waits), "state"


def _waits(job: Subject) -> Truth:
    started = job.get("started")
    none = TRUE if isinstance(started, Absent) else UNKNOWN if isinstance(started, Unknown) else FALSE
    return min(_when(job.get("state"), lambda state: state == "PENDING"), none, _live(job))


def _never_worked(case: Case) -> tuple[Truth, str]:
    log = case.fact("log.exists")
    none = TRUE if isinstance(log, Absent) else UNKNOWN if isinstance(log, Unknown) else FALSE
    prolog = _when(case.fact("state_reason"), lambda reason: reason == "Prolog")
    return min(prolog, none, _live(case.subject)), "state_reason"


def _flavour(case: Case) -> tuple[Truth, str]:
    return _when(case.fact("flavour"), lambda _: True), "flavour"


def _successor(case: Case) -> tuple[Truth, str]:
    relation = case.subject.relations.get("next_link")
    if relation is None or not relation.members:
        return UNKNOWN, "state"
    successor = case.world.subjects.get(relation.members[0])
    if successor is None:
        return UNKNOWN, "state"
    return min(_when(successor.get("state"), lambda word: word in ("RUNNING", "PENDING")), _live(successor)), "state"


def _cause(case: Case) -> tuple[Truth, str]:
    """A fault line in the log is the second source; heartbeats and markers of kept sweeps need progress to be read."""
    lines = case.fact("fault_lines")
    return (TRUE if isinstance(lines, Mapping) and lines else UNKNOWN), "fault_lines"


def _not_recurring(case: Case) -> tuple[Truth, str]:
    """The last two deaths of the run differ, or there was at most one."""
    relation = case.subject.relations.get("run")
    run = case.world.subjects.get(relation.members[0]) if relation is not None and relation.members else None
    alike = run.get("same_signature") if run is not None else Unknown("not-read")
    return _when(alike, lambda count: isinstance(count, int) and count < 2), "exit"


def _all_done(case: Case) -> tuple[Truth, str]:
    """Every planned trial counted as done by this sweep and by the one before it."""
    return _each(case, lambda job: min(_counted(job), _counted(_before(job, case.world)))), "trials_done"


def _before(job: Subject, world: World) -> Subject | None:
    relation = job.relations.get("previous")
    return world.subjects.get(relation.members[0]) if relation is not None and relation.members else None


def _counted(job: Subject | None) -> Truth:
    if job is None:
        return UNKNOWN
    done, planned = job.get("trials_done"), job.get("trials_planned")
    if not isinstance(planned, int) or planned < 1:
        return UNKNOWN
    return _when(done, lambda count: isinstance(count, int) and count >= planned)


_CHECKS: Mapping[str, Callable[[Case], tuple[Truth, str]]] = {
    "own-jobs": _own,
    "still-running": _running,
    "terminal-by-accounting": _terminal,
    "never-started": _never_started,
    "never-worked": _never_worked,
    "flavour-known": _flavour,
    "successor-seen": _successor,
    "cause-proved": _cause,
    "not-recurring": _not_recurring,
    "all-trials-done": _all_done,
}
