"""The newest step that earlier sweeps saw of each job, so that a sweep knows which of its steps are new.

A rule with `judge: new` looks at the steps above the newest one of the last whole sweep that saw a lower one. That may
lie far back: a job that makes a step in five hours is swept many times between two of them. So each sweep leaves, for
each job, the newest steps of the sweeps before that can still be that lower one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sweeprules.engine.facts import Completeness, Reason, Ref, Relation, Subject

STEPS = "steps"
"""The name of the document in the store's prior state."""
KEEP = 8
"""Steps kept of one job. Only a run that goes back far and often can want one that is lower than all of them; then all
of its steps are looked at, and a flag too many can be seen."""
_VERSION = 1

Marks = Mapping[str, tuple[int, ...]]
"""Job key -> newest steps that whole sweeps saw, oldest sweep first, each lower than the next."""


def to_data(marks: Marks) -> dict[str, Any]:
    """JSON-ready; `from_data` gives an equal value back."""
    return {"version": _VERSION, "jobs": {key: list(steps) for key, steps in sorted(marks.items())}}


def from_data(data: Mapping[str, Any] | None) -> dict[str, tuple[int, ...]]:
    """The marks of `to_data`; none before the first sweep. Another version: ValueError."""
    if not data:
        return {}
    if data.get("version") != _VERSION:
        raise ValueError(f"the kept steps have version {data.get('version')!r}; this release reads version {_VERSION}")
    return {key: tuple(steps) for key, steps in data["jobs"].items()}


def advance(before: Marks, seen: Mapping[str, int], jobs: Collection[str], whole: Collection[str]) -> Marks:
    """The marks after a sweep that saw these newest steps of jobs; `jobs` are the keys of all that it judged.

    Only clusters that were read whole (`whole`) count, and of these jobs that are gone are forgotten. A job whose step
    was not read keeps its marks: a sweep that could not see is passed over. A step that is as high as one before makes
    that one of no use, for whatever looks for a lower one finds the newer sweep first.
    """
    after = {key: steps for key, steps in before.items() if key in jobs or key.partition(":")[0] not in whole}
    for key, step in seen.items():
        if key.partition(":")[0] in whole:
            after[key] = (*(one for one in before.get(key, ()) if one < step), step)[-KEEP:]
    return after


def chain(job: Ref, below: int, marks: Marks) -> Iterator[Subject]:
    """Subjects for the sweeps behind the last one in which a job's newest step was lower than `below`, newest first.

    Each is the `previous` of the one before it. Nothing is known of the job in them but that step; and whether there
    were more sweeps behind the last of them is not known either.
    """
    lower = [step for step in marks.get(job.key, ()) if step < below][::-1]
    refs = [Ref("job", f"{job.key}@step-{step}") for step in lower]
    unread = Relation((), Completeness.UNKNOWN, Reason.NOT_READ)
    for at, (ref, step) in enumerate(zip(refs, lower, strict=True)):
        made = Ref("step", ref.key)
        earlier = Relation((refs[at + 1],)) if at + 1 < len(refs) else unread
        steps = Relation((made,), Completeness.PARTIAL, Reason.NOT_READ)
        yield Subject(ref, {}, relations={"previous": earlier, "steps": steps}, judged=False)
        yield Subject(made, {"step": step}, relations={"job": Relation((ref,))}, judged=False)
