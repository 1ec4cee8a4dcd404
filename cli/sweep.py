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
from sweeprules.collectors import cluster as clusters
from sweeprules.collectors import outside
from sweeprules.collectors.gather import Gathered, gather_first, gathered_nothing
from sweeprules.collectors.learning import Learned
from sweeprules.collectors.normalise import Normalised, normalise
from sweeprules.collectors.numbers import Printed, Told, with_memos
from sweeprules.collectors.prior import COLLECTORS, ClusterMemo, Prior
from sweeprules.collectors.remember import remember
from sweeprules.collectors.second import look_closer
from sweeprules.collectors.training import Training
from sweeprules.collectors.transport.allow import CommandRefusedError
from sweeprules.collectors.transport.command import Transport
from sweeprules.collectors.trials.places import Wanted
from sweeprules.engine.evaluate.looking import newest_seen
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.holds import Held
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import BrokenRecord, ClusterRecord
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
class _Seen:
    """One cluster after gathering: its subjects, and how it stands."""

    head: ClusterHead
    gathered: Gathered | None
    normalised: Normalised | None
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """A sweep before it is judged: how each cluster stands, and all that was read, as one world."""

    seen: Sequence[_Seen]
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
    records, kept_out = _sort_records(start)
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


def _sort_records(start: Start) -> tuple[list[ClusterRecord], list[_Seen]]:
    """The clusters to gather, and those that nothing is sent to, with the reason."""
    gathered: list[ClusterRecord] = []
    kept_out: list[_Seen] = []
    for record in start.loaded.load.site.records:
        if start.chosen is not None and record.name not in start.chosen:
            continue
        if isinstance(record, BrokenRecord):
            kept_out.append(_Seen(_blocked_head(record), None, None, (clusters.blocked(record),)))
        elif clusters.is_skipped(record, start.now):
            last = start.before.swept.get(record.name)
            subject = clusters.skipped(record, start.now, last)
            kept_out.append(_Seen(_head(record, "skipped", skip_reason(record, start.now)), None, None, (subject,)))
        elif record.scheduler != "slurm":
            why = f"no collector of this release reads a cluster with scheduler {record.scheduler}"
            kept_out.append(_Seen(_head(record, "blocked", why), None, None, (outside.unreadable(record),)))
        else:
            gathered.append(record)
    return gathered, kept_out


def skip_reason(record: ClusterRecord, now: float) -> str:
    """Why the record keeps its cluster out of this sweep."""
    for window in record.downtime:
        if window.start <= now < window.end:
            return f"in downtime: {window.because}"
    over = bool(record.downtime) and all(window.end <= now for window in record.downtime)
    return record.because.rstrip(".") + ("; window over, re-verify access" if over else "")


def _head(record: ClusterRecord, status: str, because: str, queue: str = "unknown", login: str = "") -> ClusterHead:
    return ClusterHead(record.name, status, because, queue, login, record.path, record.sha256)


def _blocked_head(record: BrokenRecord) -> ClusterHead:
    return ClusterHead(record.name, "blocked", "; ".join(record.problems), "unknown", "", record.path, record.sha256)


def _gather(start: Start, records: list[ClusterRecord], sessions: Sessions, prior: Prior) -> list[_Seen]:
    def one(record: ClusterRecord) -> tuple[Gathered, Normalised]:
        nonce = start.nonces.get(record.name, start.nonce)
        gathered = gather_first(record, sessions[record.name], prior, start.now, nonce)
        return gathered, normalise(gathered, start.loaded.policy.patterns)

    done, failed = side_by_side(records, one, sessions.deadline, "gathered")
    return [
        _seen(record, done[record.name]) if record.name in done
        else _lost(record, start, prior, failed.get(record.name))
        for record in records
    ]  # fmt: skip


def _lost(record: ClusterRecord, start: Start, prior: Prior, error: BaseException | None) -> _Seen:
    """A cluster whose gathering came to nothing; its jobs of the last sweep keep their rows, unseen."""
    if isinstance(error, CommandRefusedError):
        head, cluster = _head(record, "blocked", str(error)), outside.unreadable(record)
    else:
        why = f"internal error: {type(error).__name__}: {error}" if error else "the cluster's deadline passed"
        head, cluster = _head(record, "unreachable", why), outside.lost(record, why)
    nothing = normalise(gathered_nothing(record, prior, start.now, start.nonce), start.loaded.policy.patterns)
    jobs = tuple(subject for subject in nothing.subjects if subject.ref.kind == "job")
    return _Seen(head, None, None, (cluster, *jobs))


def _seen(record: ClusterRecord, result: tuple[Gathered, Normalised]) -> _Seen:
    gathered, normalised = result
    subject = normalised.subjects[0]
    queue = subject.get("queue")
    head = _head(
        record,
        clusters.status(gathered),
        clusters.because(gathered),
        queue if isinstance(queue, str) else "unknown",
        gathered.login,
    )
    return _Seen(head, gathered, normalised, normalised.subjects)


# ---------------------------------------------------------------- decide, join, look closer


class _World(NamedTuple):
    """All subjects as one world, what kind of work the jobs are, and what was made on the way."""

    world: World
    kinds: worlds.Kinds
    joined: worlds.Joined
    printed: Mapping[str, Printed]


def _world(start: Start, seen: list[_Seen], prior: Prior) -> _World:
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
    seen: list[_Seen],
    suspects: Mapping[str, tuple[Ref, ...]],
    sought: Mapping[str, tuple[Wanted, ...]],
    lacking: Mapping[str, Training],
) -> list[_Seen]:
    """The second stage: what suspects, results and clusters need is asked, and facts are made again of what came."""
    wanted = {one.head.name: one for one in seen if one.gathered is not None}
    records = [one.gathered.record for one in seen if one.gathered is not None]

    def one(record: ClusterRecord) -> tuple[Gathered, Normalised] | None:
        before = wanted[record.name].gathered
        assert before is not None
        name = record.name
        after = look_closer(before, sessions[name], suspects.get(name, ()), sought.get(name, ()), lacking[name])
        return None if after is before else (after, normalise(after, start.loaded.policy.patterns))

    done, _ = side_by_side(records, one, sessions.deadline, "looked closer")
    return [_closer(item, done.get(item.head.name)) for item in seen]


def _closer(item: _Seen, result: tuple[Gathered, Normalised] | None) -> _Seen:
    """A second stage that failed or had nothing to ask leaves the first as it was: what was not read stays unread."""
    if result is None or item.gathered is None:
        return item
    return _seen(item.gathered.record, result)


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
            runs.healthy(verdicts),
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
