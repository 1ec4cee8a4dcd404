"""The steps of a run in order: what a feature looks along, and which steps stand for their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from sweeprules.engine.evaluate.resolve import Lens, Members
from sweeprules.engine.facts import Completeness, Reason, Ref, Relation, Subject, Unknown
from sweeprules.engine.language.ast import Path

_LINKS = Path((), "links", "run", "relation")
_STEPS = Path((), "steps", "job", "relation")


@dataclass(frozen=True, slots=True)
class Points:
    """The steps of a run, the lowest first; of a step that was made again the last attempt.

    `subjects` holds None where nobody can tell which of several is the last. `stride` is the usual distance of two
    neighbours: what lies further apart has a gap between. `whole` is False where there may be steps that were not read,
    for `reason`. `at` is the place of each step that counts, `again` those that were made again later.
    """

    steps: tuple[int, ...]
    subjects: tuple[Subject | None, ...]
    at: dict[Ref, int]
    again: frozenset[Ref]
    stride: int
    whole: bool
    reason: str


class Runs:
    """The series of the runs of one world, each gathered once."""

    def __init__(self, lens: Lens) -> None:
        self._lens = lens
        self._found: dict[Ref, Points] = {}
        self._jobs: dict[Ref, Points] = {}

    def of(self, step: Subject) -> Points | None:
        """The series that a step belongs to; None where its job is not known.

        It runs over the links of the run, as far as they are joined; where nobody joined any, over the job alone.
        """
        job = self._lens.hop(step, "job")
        return self.of_job(job) if isinstance(job, Subject) else None

    def of_job(self, job: Subject) -> Points:
        """The series of a job's run."""
        found = self._jobs.get(job.ref)
        if found is None:
            found = self._jobs[job.ref] = self._of_run(job)
        return found

    def _of_run(self, job: Subject) -> Points:
        run = self._lens.hop(job, "run") if "run" in job.relations else None
        if isinstance(run, Unknown):
            return self._gather([job], str(run.reason))
        if not isinstance(run, Subject) or "links" not in run.relations:
            return self._gather([job], "")
        links = self._lens.members_of(run, _LINKS)
        if not isinstance(links, Members):
            return self._gather([job], str(getattr(links, "reason", "")) or Reason.NOT_READ)
        if run.ref not in self._found:
            jobs = [thing for thing in links.things if isinstance(thing, Subject)]
            self._found[run.ref] = self._gather(jobs, "" if links.whole else links.reason)
        return self._found[run.ref]

    def _gather(self, jobs: Iterable[Subject], reason: str) -> Points:
        best: dict[int, list[tuple[int, Subject]]] = {}
        for place, job in enumerate(jobs):
            relation = job.relations.get("steps")
            missing = self._missing(job, relation)
            reason = reason or missing
            for step in self._members(job, relation):
                number = step.get("step")
                if isinstance(number, int) and not isinstance(number, bool):
                    best.setdefault(number, []).append((place, step))
                else:
                    reason = reason or Reason.NOT_READ
        return _ordered(best, reason)

    def _missing(self, job: Subject, relation: Relation | None) -> str:
        """Why a link may have steps that were not read; empty where it has none."""
        if relation is None:
            return "" if self._lens.fact(job, "state") == "PENDING" else Reason.NOT_READ
        return "" if relation.completeness is Completeness.WHOLE else relation.reason or Reason.NOT_READ

    def _members(self, job: Subject, relation: Relation | None) -> Iterator[Subject]:
        members = self._lens.members_of(job, _STEPS) if relation is not None else None
        if isinstance(members, Members):
            yield from (thing for thing in members.things if isinstance(thing, Subject))


def _ordered(best: dict[int, list[tuple[int, Subject]]], reason: str) -> Points:
    steps = tuple(sorted(best))
    subjects: list[Subject | None] = []
    again: set[Ref] = set()
    for number in steps:
        those = best[number]
        chosen = those[0][1] if len(those) == 1 else _last(those)
        subjects.append(chosen)
        if len(those) > 1:
            again.update(step.ref for _, step in those if chosen is not None and step is not chosen)
    at = {step.ref: i for i, step in enumerate(subjects) if step is not None}
    return Points(steps, tuple(subjects), at, frozenset(again), _stride(steps), not reason, reason)


def _last(those: list[tuple[int, Subject]]) -> Subject | None:
    """The last attempt: of the last link, and of the highest number there; None where that is not one step."""
    link = max(place for place, _ in those)
    mine = [step for place, step in those if place == link]
    attempts = [step.get("attempt") for step in mine]
    if len(mine) == 1:
        return mine[0]
    numbers = [a for a in attempts if isinstance(a, int)]
    if len(numbers) != len(attempts) or numbers.count(max(numbers)) > 1:
        return None
    return mine[numbers.index(max(numbers))]


def _stride(steps: tuple[int, ...]) -> int:
    """The most frequent distance of neighbours, the smallest of several; a trainer may log every tenth step only."""
    counts = Counter(b - a for a, b in pairwise(steps))
    most = max(counts.values(), default=0)
    return min((distance for distance, count in counts.items() if count == most), default=1)
