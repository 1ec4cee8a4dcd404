"""What went wrong first: candidates of every log of a job, and which of them is the cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from sweeprules.collectors.logs.completion import Completion
from sweeprules.collectors.logs.lines import Line
from sweeprules.collectors.logs.traces import rank_of

TEARDOWN = "teardown"
"""The type of what was printed after the work was done and saved."""
REPORT_LAG = 60.0
"""Seconds within which a cause may follow the report of a death by another process: logs are streamed with a delay."""
REPORT_BYTES = 16 * 1024
"""The same in bytes of one file, where a record has no time."""
KEEP = 16
"""Candidates that are kept of one log: the first ones, and the first ones that were not survived."""


class Standing(StrEnum):
    """How near a candidate is to what happened: the process's own word, a report of another's death, a C++ stack."""

    OWN = "own"
    REPORT = "report"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that went wrong.

    `type` is the fault pattern that its line matches, else the exception's type without its module, else `teardown`.
    `time` is what its own line prints (epoch seconds), `position` a byte offset in `path`. `operation` names a
    collective operation that timed out: on many ranks that is one event, and `ranks` are all that told of it.
    """

    type: str
    message: str
    path: str
    position: int
    rank: int | None = None
    time: float | None = None
    standing: Standing = Standing.OWN
    operation: str = ""
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Causes:
    """The candidates of one log in order of place, and the places that decide between them.

    What stands before `survived` was followed by results. `ended` is the place of the scheduler's word that it ends
    the job, `wall` says that this was for its time, a preemption or its nodes. `summary`: the launcher's table of
    failed ranks is there.
    """

    path: str = ""
    found: tuple[Cause, ...] = ()
    survived: int = -1
    ended: int | None = None
    wall: bool = False
    summary: bool = False
    completion: Completion = field(default_factory=Completion)


def joined(causes: Iterable[Cause], survived: int) -> tuple[Cause, ...]:
    """In order of place, one for each event, at most `KEEP` before `survived` and as many behind it."""
    events: dict[object, Cause] = {}
    for cause in sorted(causes, key=lambda cause: (cause.position, cause.standing)):
        event = cause.operation or cause.position
        first = events.get(event)
        if first is None:
            events[event] = cause
        else:
            ranks = dict.fromkeys((*first.ranks, *cause.ranks))
            events[event] = replace(_earlier(first, cause), ranks=tuple(sorted(ranks)))
    ordered = sorted(events.values(), key=lambda cause: cause.position)
    before = [cause for cause in ordered if cause.position < survived]
    return (*before[:KEEP], *ordered[len(before) :][:KEEP])


def merge(before: Causes, after: Causes) -> Causes:
    """What two readings of one log say together; the later one may begin inside the earlier."""
    survived = max(before.survived, after.survived)
    kept = before if before.ended is not None else after
    return Causes(
        after.path or before.path,
        joined((*before.found, *after.found), survived),
        survived,
        kept.ended,
        kept.wall,
        before.summary or after.summary,
        before.completion.then(after.completion),
    )


def first_cause(logs: Sequence[Causes]) -> Cause | None:
    """The first real cause over all logs of a job, its main log first; None when none of them holds one.

    By printed time where both have one, else by place, else in the order of the logs. What was survived, what was
    told of another process and C++ stacks give way to anything better; what follows the scheduler's word that the
    time is over, or its nodes are taken, is no cause. Behind work that was done and saved it is of type `teardown`.
    """
    found = [(log, cause) for log in logs for cause in log.found if not _after_wall(log, cause)]
    done = next((log for log in logs if log.completion.done is not None), None)
    if done is None:
        return _chosen(found)
    before = [(log, cause) for log, cause in found if not _after_done(done, cause)]
    if before:
        return _chosen(before)
    after = _chosen(found)
    if after is not None:
        return replace(after, type=TEARDOWN)
    trouble = done.completion.trouble
    return (
        None
        if trouble is None
        else Cause(TEARDOWN, trouble.text[:300], done.path, trouble.position, rank_of(trouble.text))
    )


def _after_wall(log: Causes, cause: Cause) -> bool:
    return log.wall and log.ended is not None and cause.position > log.ended


def _after_done(done: Causes, cause: Cause) -> bool:
    """Of a cause in another log it is not known whether it came after the work was done."""
    place = done.completion.done
    return place is not None and cause.path == done.path and cause.position > place


def _chosen(found: Sequence[tuple[Causes, Cause]]) -> Cause | None:
    """The earliest one of the best that there are."""
    stood = [(log, cause) for log, cause in found if log.ended is None or cause.position < log.ended] or found
    fatal = [cause for log, cause in stood if cause.position >= log.survived] or [cause for _, cause in stood]
    told = [cause for cause in fatal if cause.standing is not Standing.NATIVE]
    first = _earliest(told or fatal)
    if first is None or first.standing is not Standing.REPORT:
        return first
    own = [cause for cause in told if cause.standing is Standing.OWN and _soon(first, cause)]
    return _earliest(own) or first


def _soon(report: Cause, cause: Cause) -> bool:
    if report.time is not None and cause.time is not None:
        return cause.time - report.time <= REPORT_LAG
    return cause.path == report.path and cause.position - report.position <= REPORT_BYTES


def _earliest(causes: Sequence[Cause]) -> Cause | None:
    first: Cause | None = None
    for cause in causes:
        first = cause if first is None else _earlier(first, cause)
    return first


def _earlier(one: Cause, other: Cause) -> Cause:
    """The earlier of two; the first one given where nothing tells."""
    if one.time is not None and other.time is not None and one.time != other.time:
        return one if one.time < other.time else other
    return other if one.path == other.path and other.position < one.position else one


def encode(causes: Causes) -> dict[str, Any]:
    """JSON-ready; `decode` gives an equal value back."""
    completion = causes.completion
    steps = {name: sorted(getattr(completion, name).items()) for name in ("full", "saved", "begun")}
    trouble = completion.trouble
    return {
        "path": causes.path,
        "found": [
            {**asdict(cause), "standing": str(cause.standing), "ranks": [*cause.ranks]} for cause in causes.found
        ],
        "survived": causes.survived,
        "ended": causes.ended,
        "wall": causes.wall,
        "summary": causes.summary,
        "completion": {
            **{name: [list(pair) for pair in pairs] for name, pairs in steps.items()},
            "over": completion.over,
            "trouble": None if trouble is None else [trouble.text, trouble.position],
        },
    }


def decode(data: Mapping[str, Any]) -> Causes:
    """The value of `encode`. KeyError or TypeError for anything else."""
    completion, trouble = data["completion"], data["completion"]["trouble"]
    return Causes(
        data["path"],
        tuple(
            Cause(**{**one, "standing": Standing(one["standing"]), "ranks": tuple(one["ranks"])})
            for one in data["found"]
        ),
        data["survived"],
        data["ended"],
        data["wall"],
        data["summary"],
        Completion(
            **{name: dict(completion[name]) for name in ("full", "saved", "begun")},
            over=completion["over"],
            trouble=None if trouble is None else Line(trouble[0], trouble[1]),
        ),
    )
