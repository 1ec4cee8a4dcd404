"""Reads directories of trials in few calls: listings, then the results that are new, then what needs a second look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from types import MappingProxyType

from sweeprules.collectors.logs.find import Listing, read_listing
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.trials import ask
from sweeprules.collectors.trials.bundle import Bundle, Piece, askable, split
from sweeprules.collectors.trials.memo import Sampled, TrialsMemo, lonely, name_hash, still_good
from sweeprules.collectors.trials.partial import read_trial_ends
from sweeprules.collectors.trials.results import (
    JobResult,
    Trial,
    TrialConfig,
    read_config,
    read_job,
    read_trial,
)
from sweeprules.collectors.trials.steps import Observed, Steps
from sweeprules.collectors.trials.tally import Tally, plus, tally
from sweeprules.collectors.trials.trajectory import read_turns, refused_keys
from sweeprules.engine.facts import NOT_READ, Reason, Unknown
from sweeprules.engine.observation import Observation

MAX_ROUNDS = 4
"""Calls to a login at most (design 3: a second stage adds at most four)."""
TRIES = 3
"""Reads of a result that is being written before it counts as unread (catalogue f.4)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One directory of trials.

    `started` counts the trials that have a directory. `sums` are over every result that is read, and `doubt` says why
    these are not all (None: they are all). `new` results came since the last sweep (None at first sight). `clock` is
    the cluster's, of the same call. `memos` belong to the directories that hold the trials. `listed` is the listing
    of the directory that was asked for, None where it was not read.
    """

    directory: str
    started: int | Unknown
    sums: Tally = field(default_factory=Tally)
    doubt: Unknown | None = None
    sampled: Sampled = field(default_factory=Sampled)
    new: int | None = None
    job: JobResult | Unknown = NOT_READ
    config: TrialConfig | Unknown = NOT_READ
    trial_config: TrialConfig | Unknown = NOT_READ
    agent: str = ""
    clock: float | None = None
    memos: Mapping[str, TrialsMemo] = field(default_factory=dict)
    listed: Observation | None = None


def trials(
    directories: Iterable[str], memos: Mapping[str, TrialsMemo], nonce: str, zone: tzinfo = UTC
) -> Steps[Mapping[str, Reading]]:
    """The trials in each directory, or in the job directories inside it (`trace_jobs`), in at most four rounds.

    A directory that is no whole absolute path has no reading. The readings are by the directories as asked for, less
    a last slash. `memos` are by directory, as the last sweep's readings left them. `nonce` is the sweep's random
    word; `zone` that of times without an offset.
    """
    asked = tuple(dict.fromkeys(one.rstrip("/") or "/" for one in directories if askable(one)))
    if not asked:
        return MappingProxyType({})
    reader = _Reader(memos, nonce, zone)
    listings = yield from reader.list(asked)
    inside = {one: _inner(one, listings[one]) for one in asked}
    deeper = tuple(dict.fromkeys(path for paths in inside.values() for path in paths))
    if deeper:
        listings |= yield from reader.list(deeper)
    holders = {one: _holders(one, inside[one], listings) for one in asked}
    roots = {
        path: reader.root(path, listings[path]) for path in dict.fromkeys(p for ps in holders.values() for p in ps)
    }
    yield from reader.results(roots.values())
    while reader.left(roots.values()):
        yield from reader.again(roots.values())
    return MappingProxyType(
        {one: _reading(one, [roots[path] for path in holders[one]], listings[one]) for one in asked}
    )


def _inner(directory: str, listing: Listing | Unknown) -> tuple[str, ...]:
    names = () if isinstance(listing, Unknown) else ask.inner(listing.names)
    return tuple(path for name in names if askable(path := f"{directory}/{name}"))


def _holders(directory: str, inside: Sequence[str], listings: Mapping[str, Listing | Unknown]) -> tuple[str, ...]:
    """The directories that hold the trials: those inside that have some or are not known, else the one asked for."""
    held = tuple(path for path in inside if _may_hold(listings[path]))
    return held or (directory,)


def _may_hold(listing: Listing | Unknown) -> bool:
    return isinstance(listing, Unknown) or any(ask.is_trial(name) for name in listing.names)


@dataclass(slots=True)
class _Root:
    """A directory that holds trials, while it is read."""

    path: str
    listing: Listing | Unknown
    memo: TrialsMemo
    names: tuple[str, ...]
    fresh: tuple[str, ...]
    """The trials that were not final at the last sweep."""
    trials: dict[str, Trial] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    unread: dict[str, Unknown] = field(default_factory=dict)
    capped: dict[str, bytes] = field(default_factory=dict)
    sampled: Sampled = field(default_factory=Sampled)
    job: JobResult | Unknown = NOT_READ
    config: TrialConfig | Unknown = NOT_READ
    trial_config: TrialConfig | Unknown = NOT_READ

    def take(self, name: str, found: Trial | Unknown) -> None:
        """Files what a result says: final, running still, or not known."""
        self.unread.pop(name, None)
        if isinstance(found, Unknown):
            self.unread[name] = found
        elif found.whole:
            self.trials[name] = found
        else:
            self.running.add(name)


class _Reader:
    """Asks, and files what came back."""

    def __init__(self, memos: Mapping[str, TrialsMemo], nonce: str, zone: tzinfo) -> None:
        self.memos, self.nonce, self.zone = memos, nonce, zone
        self.rounds = 0
        self.tries = 0
        self.sampled = False
        self.budget = ask.BUDGET
        self.aggregates: dict[str, Piece] = {}

    def _ask(self, batch: Sequence[Command]) -> Steps[Observed]:
        self.rounds += 1
        return (yield batch)

    def list(self, directories: Sequence[str]) -> Steps[dict[str, Listing | Unknown]]:
        """The names in some directories, and the aggregates that lie there."""
        observed = yield from self._ask(
            (*(ask.listing(one) for one in directories), *ask.aggregates(directories, self.nonce))
        )
        for one in observed[len(directories) :]:
            self.aggregates |= split(one, self.nonce).pieces
        pairs = zip(directories, observed, strict=False)
        return dict.fromkeys(directories, NOT_READ) | {path: read_listing(one) for path, one in pairs}

    def root(self, path: str, listing: Listing | Unknown) -> _Root:
        """A directory that holds trials, before any result is read."""
        names = () if isinstance(listing, Unknown) else tuple(sorted(filter(ask.is_trial, listing.names)))
        memo = self.memos.get(path, TrialsMemo())
        if isinstance(listing, Listing) and listing.whole and not still_good(memo, names):
            memo = TrialsMemo(started=memo.started)
        root = _Root(path, listing, memo, names, tuple(name for name in names if name_hash(name) not in memo.final))
        job, config = self.aggregates.get(f"{path}/result.json"), self.aggregates.get(f"{path}/config.json")
        root.job = read_job(job.data, self.zone) if job else NOT_READ
        root.config = read_config(config.data) if config else NOT_READ
        return root

    def results(self, roots: Iterable[_Root]) -> Steps[None]:
        """The results that are new; directories with few of them come first, so that these are read whole."""
        ordered = sorted(roots, key=lambda root: (len(root.fresh), root.path))
        paths = {ask.result_path(root.path, name): (root, name) for root in ordered for name in root.fresh}
        for path, (root, name) in paths.items():
            why = NOT_READ if askable(path) else Unknown(Reason.READ_FAILED, "a trial's name is not text")
            root.unread[name] = why
        configs = {f"{root.path}/{root.names[-1]}/config.json": root for root in ordered if root.names}
        wanted = [path for path in paths if askable(path)]
        commands = ask.results(wanted, self.nonce, self.budget)
        more = tuple(path for path in configs if askable(path))
        batch = (*commands, *ask.configs(more, self.nonce))
        if not batch:
            return
        observed = yield from self._ask(batch)
        self.tries = 1
        self._file(observed[: len(commands)], paths)
        for one in observed[len(commands) :]:
            for path, piece in split(one, self.nonce).pieces.items():
                configs[path].trial_config = read_config(piece.data)

    def _file(self, observed: Iterable[Observation], paths: Mapping[str, tuple[_Root, str]]) -> None:
        for one in observed:
            self.budget -= len(one.stdout)
            bundle = split(one, self.nonce)
            for path, piece in bundle.pieces.items():
                root, name = paths[path]
                self._take(root, name, piece)
            for path in bundle.missing:
                root, name = paths[path]
                root.unread.pop(name, None)
                root.running.add(name)
            for path, why in bundle.unread.items():
                root, name = paths[path]
                root.unread[name] = why

    def _take(self, root: _Root, name: str, piece: Piece) -> None:
        found = read_trial(piece.data, self.zone)
        if isinstance(found, Unknown) and piece.capped:
            root.capped[name] = piece.data[: ask.END]
            found = Unknown(Reason.CUT, "the result file is longer than what is read of one")
        root.take(name, found)

    def left(self, roots: Iterable[_Root]) -> bool:
        """True while another call may tell more."""
        if self.rounds >= MAX_ROUNDS or self.tries == 0:
            return False
        if not self.sampled and any(root.trials for root in roots):
            return True
        return self.tries < TRIES and any(root.capped or _worth(root) for root in roots)

    def again(self, roots: Iterable[_Root]) -> Steps[None]:
        """Results that were being written or not reached, the ends of long ones, and once a sample of trajectories."""
        found = tuple(roots)
        paths = {ask.result_path(root.path, name): (root, name) for root in found for name in _worth(root)}
        ends = {ask.result_path(root.path, name): (root, name) for root in found for name in root.capped}
        chosen = {} if self.sampled else {f"{root.path}/{name}": root for root in found for name in _sample(root)}
        retried = ask.results_again(tuple(paths), self.nonce, self.budget) if self.tries < TRIES else ()
        longer = ask.result_ends(tuple(ends), self.nonce)
        self.tries += 1
        self.sampled = True
        batch = (*retried, *longer, *ask.samples(tuple(chosen), self.nonce))
        if not batch:
            self.tries = TRIES
            return
        observed = yield from self._ask(batch)
        self._file(observed[: len(retried)], paths)
        for one in observed[len(retried) : len(retried) + len(longer)]:
            self._file_ends(split(one, self.nonce), ends)
        _file_samples([split(one, self.nonce) for one in observed[len(retried) + len(longer) :]], chosen)

    def _file_ends(self, bundle: Bundle, ends: Mapping[str, tuple[_Root, str]]) -> None:
        for path, piece in bundle.pieces.items():
            root, name = ends[path]
            root.take(name, read_trial_ends(root.capped.pop(name), piece.data, self.zone))


def _worth(root: _Root) -> tuple[str, ...]:
    """The results that another try may give: those that were being written, not reached or not named."""
    again = (Reason.MALFORMED, Reason.NOT_READ)
    return tuple(name for name, why in root.unread.items() if why.reason in again and askable(f"{root.path}/{name}"))


def _sample(root: _Root) -> tuple[str, ...]:
    """Some trials that are newly done, and whose agent ran."""
    ran = (name for name, one in root.trials.items() if one.agent_seconds is not None and not one.in_steps)
    return ask.spread((name for name in ran if askable(f"{root.path}/{name}")), ask.SAMPLE)


def _file_samples(bundles: Sequence[Bundle], chosen: Mapping[str, _Root]) -> None:
    if len(bundles) != 3:
        return
    heads, tails, verifiers = bundles
    for directory, root in chosen.items():
        trial = root.trials[directory.rpartition("/")[2]]
        path = ask.trajectory_path(directory)
        root.sampled = root.sampled.plus(_turns(path, heads, tails, gone_means=not trial.exception))
        output = verifiers.pieces.get(ask.verifier_path(directory))
        if output is not None:
            root.sampled = root.sampled.plus(Sampled(verifiers=1, judge_401=refused_keys(output.data)))


def _turns(path: str, heads: Bundle, tails: Bundle, *, gone_means: bool) -> Sampled:
    head, tail = heads.pieces.get(path), tails.pieces.get(path)
    if head is None:
        return Sampled(without=1) if gone_means and path in heads.missing else Sampled()
    found = read_turns(head.data, tail.data if tail else b"", whole=not head.capped)
    if isinstance(found, Unknown):
        return Sampled()
    agent = found.agent
    return Sampled(found.steps, 1, agent or 0, 0 if agent is None else 1)


def _reading(directory: str, roots: Sequence[_Root], asked: Listing | Unknown) -> Reading:
    """What the directories that hold the trials say together."""
    started: int | Unknown = 0
    sums, sampled, doubt = Tally(), Sampled(), None
    memos: dict[str, TrialsMemo] = {}
    for root in roots:
        there = _started(root)
        started = started if isinstance(started, Unknown) else there if isinstance(there, Unknown) else started + there
        doubt = doubt or (there if isinstance(there, Unknown) else _doubt(root))
        memos[root.path], unkept = _kept(root)
        sums = plus(plus(sums, memos[root.path].sums), unkept)
        sampled = sampled.plus(memos[root.path].sampled)
    return Reading(
        directory=directory,
        started=started,
        sums=sums,
        doubt=doubt,
        sampled=sampled,
        new=None if any(root.memo.started is None for root in roots) else sum(len(root.trials) for root in roots),
        job=roots[0].job if len(roots) == 1 else Unknown(Reason.NOT_READ, "there are several job directories"),
        config=_first(root.config for root in roots),
        trial_config=_first(root.trial_config for root in roots),
        agent=next((one.agent for root in roots for one in root.trials.values() if one.agent), ""),
        clock=asked.observation.remote_clock if isinstance(asked, Listing) else None,
        memos=MappingProxyType(memos),
        listed=asked.observation if isinstance(asked, Listing) else None,
    )


def _started(root: _Root) -> int | Unknown:
    if isinstance(root.listing, Unknown):
        return root.listing
    if root.listing.observation.exit == 2:
        return Unknown(Reason.NOT_READ, f"{root.path} is not there")
    if not root.listing.whole:
        return Unknown(Reason.CUT, "the directory holds more names than one sweep reads")
    return len(root.names)


def _doubt(root: _Root) -> Unknown | None:
    """The weightiest reason why some result is not known."""
    reasons = sorted(root.unread.values(), key=lambda why: (why.reason != Reason.MALFORMED, why.reason, why.detail))
    if not reasons:
        return None
    more = f"{len(reasons)} of {len(root.names)} results: {reasons[0].detail or reasons[0].reason}"
    return Unknown(reasons[0].reason, more)


def _kept(root: _Root) -> tuple[TrialsMemo, Tally]:
    """What the next sweep starts from, and the sums over results that it has to read anew.

    Those are the trials whose names can not be told apart by their hash.
    """
    if isinstance(_started(root), Unknown):
        return root.memo, Tally()
    alone = lonely(root.names)
    final = {name: one for name, one in root.trials.items() if name in alone}
    memo = TrialsMemo(
        root.memo.final | {name_hash(name) for name in final},
        plus(root.memo.sums, tally(final.values())),
        root.memo.sampled.plus(root.sampled),
        len(root.names),
    )
    return memo, tally(one for name, one in root.trials.items() if name not in alone)


def _first(configs: Iterable[TrialConfig | Unknown]) -> TrialConfig | Unknown:
    found = tuple(configs)
    return next((one for one in found if isinstance(one, TrialConfig)), found[0])
