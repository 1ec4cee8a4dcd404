"""Which steps a rule about steps looks at: those that are new, the newest alone, or all."""

from __future__ import annotations

from typing import NamedTuple

from sweeprules.engine.evaluate.resolve import Decided, Lens, Members
from sweeprules.engine.evaluate.series import Runs
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.language.ast import Path, Policy, Rule

_STEPS = Path((), "steps", "job", "relation")


class _Span(NamedTuple):
    """The newest step of a job, and the newest one of the last sweep that saw a lower one; None: not known."""

    newest: int | None
    before: int | None


class Looks:
    """Says of each step whether a rule may raise a flag or ask for an action there.

    The truth of a rule is computed on every step, for features and signals read it; only what follows from it is bound
    to the steps that are looked at. A step that was made again later is not looked at any more. Where nobody knows
    which steps are new, all are looked at: a flag too many can be seen, one that was left out can not.
    """

    def __init__(self, lens: Lens, runs: Runs) -> None:
        self._lens = lens
        self._runs = runs
        self._spans: dict[Ref, _Span] = {}

    def at(self, rule: Rule, subject: Subject) -> bool:
        """Whether a rule looks at a subject; one that is about another kind than steps always does."""
        if subject.ref.kind != "step":
            return True
        job = self._lens.hop(subject, "job")
        if not isinstance(job, Subject):
            return True
        if subject.ref in self._runs.of_job(job).again:
            return False
        number = subject.get("step")
        if rule.judge == "any" or not isinstance(number, int):
            return True
        span = self._span(job)
        limit = span.newest if rule.judge == "latest" else span.before
        if limit is None:
            return True
        return number >= limit if rule.judge == "latest" else number > limit

    def _span(self, job: Subject) -> _Span:
        found = self._spans.get(job.ref)
        if found is None:
            newest = self._newest(job)
            found = self._spans[job.ref] = _Span(newest, None if newest is None else self._before(job, newest))
        return found

    def _newest(self, job: Subject) -> int | None:
        members = self._lens.members_of(job, _STEPS)
        if not isinstance(members, Members):
            return None
        again = self._runs.of_job(job).again
        counted = [
            number
            for thing in members.things
            if isinstance(thing, Subject) and thing.ref not in again and isinstance(number := thing.get("step"), int)
        ]
        return max(counted, default=None)

    def _before(self, job: Subject, newest: int) -> int | None:
        """The newest step of the last sweep that saw a lower one: a sweep that saw no new step is passed over."""
        seen: set[Ref] = set()
        earlier = self._lens.hop(job, "previous")
        while isinstance(earlier, Subject) and earlier.ref not in seen:
            seen.add(earlier.ref)
            found = self.seen(earlier)
            if found is not None and found < newest:
                return found
            earlier = self._lens.hop(earlier, "previous")
        return None

    def seen(self, job: Subject) -> int | None:
        """The newest step that was seen of a job; a progress bar may be ahead of the metrics, so the lower counts."""
        bar, metrics = job.get("step"), self._newest(job)
        there = [n for n in (bar, metrics) if isinstance(n, int)]
        return min(there, default=None)


def newest_seen(policy: Policy, world: World, decided: Decided) -> dict[Ref, int]:
    """The newest step that a sweep saw of each judged job of which it read one: what the next sweeps look back to."""
    lens = Lens(policy, world, decided)
    looks = Looks(lens, Runs(lens))
    jobs = (subject for subject in world.of_kind("job") if subject.judged)
    return {job.ref: step for job in jobs if (step := looks.seen(job)) is not None}
