"""What a table row is made of: the report's entry, the job behind it, its steps over all links, and what it follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Absent,
    Completeness,
    FactValue,
    Reason,
    Ref,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language.ast import Policy, Signal
from sweeprules.engine.truth import UNKNOWN, Truth
from sweeprules.engine.verdicts import Verdict
from sweeprules.reports.numbers import is_number, was_printed

COLLAPSE = ("grad", "entropy", "log-ratio", "pass-rate")
"""The signals that the collapse of a run is counted in."""
BEFORE_A_STEP = frozenset({"bring-up", "first-step"})
Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of the report with the subjects that its cells are read from.

    `links` are the run's links in order, `steps` their steps: one of each number, that of the latest link and attempt,
    the lowest first; `newest` is the one printed last. `signals` are the truths of the collapse signals at that step.
    """

    entry: Entry
    job: Subject
    links: tuple[Subject, ...] = ()
    run: Subject | None = None
    previous: Subject | None = None
    tracker: Subject | None = None
    steps: tuple[Subject, ...] = ()
    newest: Subject | None = None
    signals: Mapping[str, Truth] = field(default_factory=dict)

    def get(self, name: str) -> FactValue:
        """One fact of the job that stands for the run."""
        return self.job.get(name)

    @property
    def state(self) -> str:
        """Its state, `UNKNOWN` among them."""
        return str(self.entry["state"])

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.state == "RUNNING"

    def flagged(self, name: str) -> bool:
        """Whether a flag of this name stands on the row."""
        return any(flag["name"] == name for flag in self.entry["flags"])


def signal_rules(policy: Policy) -> dict[str, tuple[str, ...]]:
    """Signal -> ids of the rules about steps that give it."""
    found: dict[str, tuple[str, ...]] = {}
    for rule in policy.rules.values():
        for effect in rule.then:
            if rule.on == "step" and isinstance(effect, Signal):
                found[effect.name] = (*found.get(effect.name, ()), rule.id)
    return found


def row_of(
    entry: Entry,
    job: Subject,
    links: Sequence[Subject],
    world: World,
    verdicts: Mapping[Ref, Verdict],
    signals: Mapping[str, Sequence[str]],
) -> Row:
    """The row of one entry; `signals` are the rules that give each signal."""
    printed_order = [*_steps(links, world)]
    newest = printed_order[-1] if printed_order else None
    return Row(
        entry,
        job,
        tuple(links),
        _one(job, "run", world),
        _one(job, "previous", world),
        _one(job, "tracker_row", world),
        _one_of_each(printed_order),
        newest,
        _truths(newest, verdicts, signals),
    )


def steps_of(links: Sequence[Subject], world: World) -> tuple[Subject, ...]:
    """The steps of a run over its links, one of each number, of the latest link and attempt, the lowest first."""
    return _one_of_each(_steps(links, world))


def _one_of_each(printed_order: Iterable[Subject]) -> tuple[Subject, ...]:
    by_number = {_at(step): step for step in printed_order}
    return tuple(by_number[at] for at in sorted(by_number))


def _at(step: Subject) -> int:
    value = step.get("step")
    return value if isinstance(value, int) else -1


def _one(job: Subject, relation: str, world: World) -> Subject | None:
    found = job.relations.get(relation)
    return world.subjects.get(found.members[0]) if found and found.members else None


def _steps(links: Sequence[Subject], world: World) -> Iterator[Subject]:
    """The steps that have a number, in the order in which they were printed: by link, attempt and number."""
    for link in links:
        relation = link.relations.get("steps")
        found = [world.subjects[ref] for ref in relation.members if ref in world.subjects] if relation else []
        numbered = [step for step in found if isinstance(step.get("step"), int)]
        yield from sorted(numbered, key=lambda step: (_attempt(step), _at(step)))


def _attempt(step: Subject) -> int:
    value = step.get("attempt")
    return value if isinstance(value, int) else 0


def _truths(
    newest: Subject | None, verdicts: Mapping[Ref, Verdict], signals: Mapping[str, Sequence[str]]
) -> dict[str, Truth]:
    verdict = verdicts.get(newest.ref) if newest is not None else None
    if verdict is None:
        return {}
    return {
        name: max(verdict.truths.get(rule, UNKNOWN) for rule in signals[name]) for name in COLLAPSE if signals.get(name)
    }


def step_of(row: Row) -> FactValue:
    """The newest step of the run: the row's own, else the newest that any link printed or stood at."""
    own = row.get("step")
    if is_number(own):
        return own
    if row.newest is not None:
        return row.newest.get("step")
    earlier = [link.get("step") for link in row.links if is_number(link.get("step"))]
    if earlier:
        return earlier[-1]
    return ABSENT if row.state == "PENDING" or filling(row) else own


def total_of(row: Row) -> FactValue:
    """The number of steps that the run is to take, as any of its links tells it, the row's own first."""
    for link in (row.job, *reversed(row.links)):
        if is_number(link.get("max_step")):
            return link.get("max_step")
    return ABSENT if row.state == "PENDING" and isinstance(row.get("max_step"), Unknown) else row.get("max_step")


def filling(row: Row) -> bool:
    """Whether it is proved that the run made no train step yet: a step that could not be read is no proof."""
    if not row.running or row.newest is not None or any(_stepped(link) for link in row.links):
        return False
    if was_printed(row.get("loss")) or was_printed(row.get("grad_norm")):
        return False
    step, rung = row.get("step"), row.get("bringup_rung")
    # In the part of a log that was not read, a step may follow the rung.
    rising = isinstance(rung, str) and rung != "first-step" and row.get("log.cut") is not True
    return (
        isinstance(step, Absent)
        or is_number(step)
        or rising
        or row.get("phase") in BEFORE_A_STEP
        or _none_printed(row.links)
        or (is_number(row.get("buffer_n")) and row.get("log.cut") is False)
    )


def _stepped(link: Subject) -> bool:
    value = link.get("step")
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _none_printed(links: Sequence[Subject]) -> bool:
    """Whether the whole of every link that has begun was read and none printed a step."""
    relations = [link.relations.get("steps") for link in links if not _never_began(link)]
    return bool(relations) and all(
        found is not None and found.completeness is Completeness.WHOLE and not found.members for found in relations
    )


def _never_began(link: Subject) -> bool:
    """Whether a link only waits: one that was requeued has a log already, with steps perhaps."""
    return link.get("state") == "PENDING" and link.get("log.exists") is not True


def metric(row: Row, *names: str) -> FactValue:
    """A number of the newest step: of the names the first that the run prints.

    Without a step: absent where none is due, else unknown with the reason for which the steps were not read.
    """
    if row.newest is not None:
        values = [row.newest.get(name) for name in names]
        return next((value for value in values if not isinstance(value, Absent)), ABSENT)
    if row.state == "PENDING" or filling(row) or _none_printed(row.links):
        return ABSENT
    relation = row.job.relations.get("steps")
    if relation is None:
        return NOT_READ
    return Unknown(Reason.CUT if relation.completeness is Completeness.PARTIAL else Reason.NOT_READ, relation.reason)


def printed(row: Row, name: str) -> FactValue:
    """A number that stands on the job itself (`loss`, `grad_norm`), else that of the newest step."""
    own = row.get(name)
    unread = isinstance(own, Unknown) and own.reason == Reason.NOT_READ
    return metric(row, name) if unread else own
