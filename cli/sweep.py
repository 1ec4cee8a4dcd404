"""One sweep, written out once: gather, normalise, decide, join, look closer, evaluate, hand off, report.

Each stage is a function from value to value; what a cluster fails at is a value in the result.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sweeprules.cli import gathering, held, runs, worlds
from sweeprules.cli import marks as marking
from sweeprules.cli.deciding import Decided, Engine, decide
from sweeprules.cli.gathering import Sessions, side_by_side
from sweeprules.cli.handoffrows import handoff_row, worded
from sweeprules.cli.history import dated
from sweeprules.cli.learned import lasting, learning_of
from sweeprules.cli.loading import Loaded
from sweeprules.cli.results import wanted, with_benchmarks
from sweeprules.cli.seen import Seen, broken_off, lost_cluster, seen_cluster, sort_records
from sweeprules.collectors.gather import Gathered, gather_first, gathered_nothing
from sweeprules.collectors.learning import Learned
from sweeprules.collectors.normalise import Normalised, normalise
from sweeprules.collectors.numbers import Printed, Told, with_memos
from sweeprules.collectors.prior import COLLECTORS, ClusterMemo, Prior
from sweeprules.collectors.remember import remember
from sweeprules.collectors.second import look_closer
from sweeprules.collectors.training import Training
from sweeprules.collectors.transport.command import Transport
from sweeprules.collectors.trials.places import Wanted
from sweeprules.engine.evaluate.looking import newest_seen
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.holds import Held
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord
from sweeprules.engine.verdicts import Verdict
from sweeprules.handoffs.render import Handoff, hand_off
from sweeprules.reports.clean import markdown
from sweeprules.reports.document import ClusterHead, Judged, SweepHead, build
from sweeprules.reports.rows import signal_rules
from sweeprules.store.history import Since
from sweeprules.store.kept import StartingPoint

Connect = Callable[[ClusterRecord], Transport]


@dataclass(frozen=True, slots=True)
class Start:
    """All that a sweep is made from. Times are epoch seconds; `deadline` is in seconds of `time.monotonic()`.

    `since` replaces the last good sweep of every cluster. `clock` gives the end of the sweep: the machine's clock, or
    the recorded one in a replay. `nonces` and `priors` are those of clusters that replay a recording of their
    own: they are asked what was asked then.
    """

    loaded: Loaded
    id: str
    now: float
    started: float
    nonce: str
    before: StartingPoint
    engine: Engine
    deadline: float
    connect: Connect
    clock: Callable[[], float] = time.time
    since: float | None = None
    chosen: frozenset[str] | None = None
    fault: str = ""
    nonces: Mapping[str, str] = field(default_factory=dict)
    priors: Mapping[str, Prior] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Swept:
    """A finished sweep: the report, and all that is kept of it."""

    document: Mapping[str, Any]
    world: World
    verdicts: Mapping[Ref, Verdict]
    rows: Mapping[str, str]
    statuses: Mapping[str, str]
    handoffs: tuple[Handoff, ...]
    since: Since
    prior: Prior
    held: Held
    marks: marking.Marks
    observations: tuple[Observation, ...]
    finished: float
    complete: bool
    reproducer: Mapping[str, object] | None
    notes: tuple[str, ...]
    repeatable: bool
    """False where time ran out or a cluster's gathering broke off: a replay has the answers, and not the wait."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A sweep before it is judged: how each cluster stands, and all that was read, as one world."""

    seen: Sequence[Seen]
    world: World
    buckets: Mapping[Ref, str]
    prior: Prior
    observations: tuple[Observation, ...]
    told: Mapping[str, Told]
    """What the logs tell of each job, by job key."""
    results: Mapping[str, Mapping[str, Any]]
    """What was read of the results of each job, as the next sweep starts from it, by job key."""
    learned: Mapping[str, Learned]
    """What running jobs showed of their cadence and their progress, by job key."""
    first: World
    """The world of the first stage, which the suspects were chosen from."""
    suspects: Mapping[str, tuple[Ref, ...]]

    @property
    def heads(self) -> tuple[ClusterHead, ...]:
        """The clusters in order of their names."""
        return tuple(sorted((one.head for one in self.seen), key=lambda head: head.name))

    @property
    def repeatable(self) -> bool:
        """True when no wait ran out, so that the recorded answers make the same world again."""
        broken = any(one.gathered is None and one.head.status == "unreachable" for one in self.seen)
        return not broken and not any(one.gathered.late for one in self.seen if one.gathered is not None)


def sweep(start: Start) -> Swept:
    """Sweep the site's clusters once. Raises nothing for what a cluster does."""
    looked = look(start)
    decided = decide(
        start.loaded,
        looked.world,
        start.engine,
        held=_held_before(start),
        deadline=max(5.0, start.deadline - time.monotonic()),
        fault=start.fault,
    )
    return _finish(start, looked, decided)


def look(start: Start) -> Looked:
    """Gather, normalise and join: all of a sweep that comes before its verdicts."""
    prior = _prior(start)
    records, kept_out = sort_records(start.loaded.load.site.records, start.chosen, start.now, start.before.swept)
    sessions = Sessions(records, start.connect, gathering.budget(start.deadline))
    try:
        # What is asked of a recording, and made of its answers, starts from the state that it was made from.
        from_state = prior.with_recorded(start.priors)
        seen = [*_gather(start, records, sessions, from_state), *kept_out]
        first = _world(start, seen, from_state)
        policy = start.loaded.policy
        suspects = worlds.suspects_by_cluster(policy, first.world)
        sought = wanted(first.world, first.kinds.buckets, first.kinds.flavours, start.loaded, from_state)
        lacking = runs.lacking(records, first.world, first.kinds.buckets, first.printed, first.joined.told, policy)
        closer = _look_closer(start, sessions, seen, suspects, sought, lacking)
        # Where the second stage brought nothing, the first world stands.
        last = first if all(map(operator.is_, closer, seen)) else _world(start, closer, from_state)
    finally:
        sessions.close()
    _, told, left, learned = last.joined
    observed = sessions.observations()
    return Looked(closer, last.world, last.kinds.buckets, prior, observed, told, left, learned, first.world, suspects)


def _prior(start: Start) -> Prior:
    prior = Prior.from_data(start.before.document(COLLECTORS))
    if start.since is None:
        return prior
    memos = {
        record.name: replace(prior.clusters.get(record.name, ClusterMemo()), last_good=start.since)
        for record in start.loaded.load.site.records
    }
    return replace(prior, clusters={**prior.clusters, **memos})


# ---------------------------------------------------------------- gather


def _gather(start: Start, records: list[ClusterRecord], sessions: Sessions, prior: Prior) -> list[Seen]:
    def one(record: ClusterRecord) -> tuple[Gathered, Normalised]:
        nonce = start.nonces.get(record.name, start.nonce)
        gathered = gather_first(record, sessions[record.name], prior, start.now, nonce)
        return gathered, normalise(gathered, start.loaded.policy.patterns)

    def lost(record: ClusterRecord) -> Seen:
        nothing = gathered_nothing(record, prior, start.now, start.nonce)
        return lost_cluster(record, failed.get(record.name), normalise(nothing, start.loaded.policy.patterns))

    done, failed = side_by_side(records, one, sessions.deadline, "gathered")
    return [seen_cluster(*done[record.name]) if record.name in done else lost(record) for record in records]


# ---------------------------------------------------------------- decide, join, look closer


class _World(NamedTuple):
    """All subjects as one world, what kind of work the jobs are, and what was made on the way."""

    world: World
    kinds: worlds.Kinds
    joined: worlds.Joined
    printed: Mapping[str, Printed]


def _world(start: Start, seen: list[Seen], prior: Prior) -> _World:
    subjects = with_benchmarks([subject for one in seen for subject in one.subjects], start.loaded.load.site)
    head = worlds.sweep_subject(start.id, start.now, start.before, start.loaded.policy.sha256, start.engine)
    first = worlds.connect(subjects, head, start.before)
    kinds = worlds.kinds(start.loaded.policy, first)
    signatures = {k: v for one in seen if one.normalised for k, v in one.normalised.signatures.items()}
    printed = {k: v for one in seen if one.normalised for k, v in one.normalised.printed.items()}
    gathered = [one.gathered for one in seen if one.gathered is not None]
    learning = learning_of((one.normalised for one in seen), gathered, prior, start.now)
    joined = worlds.joined(subjects, kinds, prior, signatures, printed, gathered, learning, start.loaded)
    marks = marking.from_data(start.before.document(marking.STEPS))
    return _World(worlds.connect(joined.subjects, head, start.before, marks), kinds, joined, printed)


def _look_closer(
    start: Start,
    sessions: Sessions,
    seen: list[Seen],
    suspects: Mapping[str, tuple[Ref, ...]],
    sought: Mapping[str, tuple[Wanted, ...]],
    lacking: Mapping[str, Training],
) -> list[Seen]:
    """The second stage: what suspects, results and clusters need is asked, and facts are made again of what came.

    Where it breaks off the first stage stands, what was not read stays unread, and the cluster says why.
    """
    wanted = {one.head.name: one for one in seen if one.gathered is not None}
    records = [one.gathered.record for one in seen if one.gathered is not None]

    def one(record: ClusterRecord) -> tuple[Gathered, Normalised] | None:
        before = wanted[record.name].gathered
        assert before is not None
        name = record.name
        after = look_closer(before, sessions[name], suspects.get(name, ()), sought.get(name, ()), lacking[name])
        return None if after is before else (after, normalise(after, start.loaded.policy.patterns))

    def closer(item: Seen) -> Seen:
        name, gathered = item.head.name, item.gathered
        if gathered is None:
            return item
        if name in failed:
            broken = replace(gathered, broken=broken_off(failed[name]), late=gathered.late or failed[name] is None)
            return seen_cluster(broken, normalise(broken, start.loaded.policy.patterns))
        result = done.get(name)
        return item if result is None else seen_cluster(*result)

    done, failed = side_by_side(records, one, sessions.deadline, "looked closer")
    return [closer(item) for item in seen]


# ---------------------------------------------------------------- hand off, report


def _finish(start: Start, looked: Looked, decided: Decided) -> Swept:
    loaded, world, heads = start.loaded, looked.world, looked.heads
    swept = frozenset(head.name for head in heads if head.status == "swept")
    verdicts = worlds.with_builtin(decided.verdicts, loaded.load.site.records, start.chosen)
    verdicts, since = dated(verdicts, start.before.since, loaded.policy, swept, start.id)
    records = {r.name: r for r in loaded.load.site.records if isinstance(r, ClusterRecord)}
    handoffs, verdicts = hand_off(
        world, verdicts, loaded.policy, records, loaded.load.templates, markdown, worded(loaded.types)
    )
    complete = all(
        head.status in ("swept", "skipped") and (head.status == "skipped" or head.queue != "unknown") for head in heads
    )
    finished = start.clock()
    judged = Judged(
        SweepHead(
            start.id, start.started, finished, start.now, complete, start.engine, loaded.policy.sha256, decided.flags
        ),
        heads,
        world,
        verdicts,
        tuple(handoff_row(h, world) for h in handoffs),
        loaded.types,
        signal_rules(loaded.policy),
    )
    document = build(judged)
    pairs = [
        (one.gathered, replace(one.normalised, logs=with_memos(one.normalised.logs, looked.told)))
        for one in looked.seen
        if one.gathered and one.normalised
    ]
    learned = lasting(looked.learned, start.priors)
    return Swept(
        document,
        world,
        verdicts,
        worlds.rows(world),
        {head.name: head.status for head in heads},
        tuple(handoffs),
        since,
        remember(
            looked.prior,
            pairs,
            world.subjects.values(),
            looked.buckets,
            start.now,
            learned,
            looked.results,
            runs.sound(verdicts, world),
        ),
        held.held_states(_held_before(start), decided.truths, start.now, start.id, loaded.load.site.keep_sweeps),
        _marks_after(start, world, decided, swept),
        looked.observations,
        finished,
        complete,
        decided.reproducer,
        decided.notes,
        looked.repeatable,
    )


def _held_before(start: Start) -> Held:
    """What rules had held when the sweep began. Raises ValueError for a document of another version."""
    return held.from_data(start.before.document(held.HOLDS))


def _marks_after(start: Start, world: World, decided: Decided, whole: frozenset[str]) -> marking.Marks:
    """The newest steps of jobs for the next sweeps."""
    seen = newest_seen(start.loaded.policy, world, decided.truths)
    jobs = {subject.ref.key for subject in world.of_kind("job") if subject.judged}
    before = marking.from_data(start.before.document(marking.STEPS))
    return marking.advance(before, {ref.key: step for ref, step in seen.items()}, jobs, whole)
