"""What lies in the directory of a training run: the step of its newest checkpoint, its trainer's own log, its model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sweeprules.collectors.logs import ask
from sweeprules.collectors.logs.find import Listing, Stats, read_listing, read_stats
from sweeprules.collectors.metrics.trainer_log import NAME, checkpoint_kind, percentage
from sweeprules.collectors.rundirs import Place
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.trials.bundle import Bundle, askable, heads, split, tails
from sweeprules.collectors.trials.steps import Steps
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Reason, Source, Unknown
from sweeprules.engine.observation import Observation

MOST = 300
"""Runs whose directories are looked into in one sweep of a cluster."""
LATEST = "latest_ckpt_global_step.txt"
"""The file in which an RL trainer keeps the step of its newest checkpoint (formats page 1)."""
_FOLDERS = ("", "checkpoints/", "ckpts/")
_HEAD = 64
_TAIL = 8 * 1024
_BUDGET = 4 * 1024 * 1024
_STEP = re.compile(rb"\s*(\d{1,15})\s*")
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_SOME = Unknown(Reason.NOT_READ, "checkpoints are there, and whether the newest is whole was not looked at")
_UNFOUND = Unknown(Reason.NOT_READ, "where the run writes is not known")
_GONE = Unknown(Reason.NOT_READ, "the directory that the run names is not there to be seen")
_OLD = Unknown(Reason.DISAGREE, "the trainer's own log was last written before this job began")


@dataclass(frozen=True, slots=True)
class Sought:
    """A run whose directory is looked into. `said` is the path that its log names, as it stands there; may be empty.

    `started` is the begin of the job's attempt, epoch seconds.
    """

    job_id: str
    bucket: str
    places: tuple[Place, ...]
    said: str = ""
    started: float | None = None


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What was found: facts of the job and where they were read; nothing of what could not be looked at."""

    facts: Mapping[str, FactValue] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Answers:
    latest: Bundle | None
    ends: Bundle | None
    stats: Stats | None
    listings: Mapping[str, Listing | Unknown]
    observed: Mapping[str, Observation]


def read_files(sought: Sequence[Sought], nonce: str, marks: tuple[str, str]) -> Steps[Mapping[str, RunFiles]]:
    """By job id what the directories of runs hold, in one round: the newest save of RL, model and completion of SFT.

    `marks` are the separators of `stat` records, `nonce` the sweep's random word.
    """
    asked = sorted(sought, key=lambda one: one.job_id)[:MOST]
    commands = _commands(asked, nonce, marks)
    if not commands:
        return MappingProxyType({})
    observed = yield tuple(commands.values())
    answers = _answers(dict(zip(commands, observed, strict=False)), nonce, marks)
    return MappingProxyType(
        {one.job_id: _trained(one, answers) if one.bucket == "sft" else _saved(one, answers) for one in asked}
    )


def _commands(sought: Iterable[Sought], nonce: str, marks: tuple[str, str]) -> dict[str, Command]:
    """One command for all small files of a kind, and one listing for each directory of fine-tuning."""
    latest: dict[str, None] = {}
    folders: dict[str, None] = {}
    for one in sought:
        for place in one.places:
            if one.bucket == "sft":
                folders[place.path] = None
            else:
                latest |= dict.fromkeys(_latest(place))
    paths = tuple(path for path in latest if askable(path))
    own = tuple(path for path in (f"{folder}/{NAME}" for folder in folders) if askable(path))
    commands: dict[str, Command] = {}
    if paths:
        commands["latest"] = heads(paths, _HEAD, nonce, _BUDGET)
    if own:
        commands |= {"ends": tails(own, _TAIL, nonce, _BUDGET), "stats": ask.stat(own, *marks)}
    return commands | {f"/{folder}": ask.listing(folder) for folder in folders if askable(folder)}


def _latest(place: Place) -> tuple[str, ...]:
    return tuple(f"{place.path}/{folder}{LATEST}" for folder in _FOLDERS)


def _answers(observed: Mapping[str, Observation], nonce: str, marks: tuple[str, str]) -> _Answers:
    return _Answers(
        split(observed["latest"], nonce) if "latest" in observed else None,
        split(observed["ends"], nonce) if "ends" in observed else None,
        read_stats(observed["stats"], *marks) if "stats" in observed else None,
        MappingProxyType({name[1:]: read_listing(one) for name, one in observed.items() if name.startswith("/")}),
        observed,
    )


# ---------------------------------------------------------------- RL


def _saved(one: Sought, answers: _Answers) -> RunFiles:
    """The step of the newest checkpoint. That no such file is there does not say that nothing was saved."""
    named = next((place.path for place in one.places if place.sure), "")
    facts: dict[str, FactValue] = dict.fromkeys(("run_dir",) if named else (), named)
    for place in one.places:
        for path in _latest(place):
            piece = answers.latest.pieces.get(path) if answers.latest is not None else None
            if piece is None:
                continue
            found = _STEP.fullmatch(piece.data)
            wrong = Unknown(Reason.MALFORMED, f"{LATEST} holds no number")
            facts |= {"run_dir": place.path, "checkpoint_step": int(found[1]) if found else wrong}
            return _told(facts, answers.observed["latest"], path)
    return RunFiles(MappingProxyType(facts))


# ---------------------------------------------------------------- SFT


def _trained(one: Sought, answers: _Answers) -> RunFiles:
    place = next((place for place in one.places if place.sure or _is_shown(place.path, one, answers)), None)
    if place is None:
        return RunFiles(MappingProxyType({"percentage": _UNFOUND, "checkpoint_kind": _UNFOUND}))
    listing = answers.listings.get(place.path, NOT_READ)
    path = f"{place.path}/{NAME}"
    if isinstance(listing, Listing) and listing.observation.exit != 0 and not listing.names:
        # Gone, or on a disk of the compute node: neither says that no model was saved.
        listing = _GONE
    if isinstance(listing, Unknown):
        return _told({"run_dir": place.path, "percentage": listing, "checkpoint_kind": listing}, None, path)
    kind = checkpoint_kind(listing.names)
    if not listing.whole and kind != "direct":
        kind = Unknown(Reason.CUT, "the directory holds more names than are looked at")
    facts = {"run_dir": place.path, "checkpoint_kind": kind, "percentage": _percentage(path, one, listing, answers)}
    facts |= _checkpoints(listing, kind)
    return _told(facts, listing.observation, path, answers.observed.get("ends"))


def _checkpoints(listing: Listing, kind: FactValue) -> dict[str, FactValue]:
    """That no checkpoint was ever written, where all names were seen; of one that is there its name proves nothing."""
    if kind == "sharded" or any(_CHECKPOINT.fullmatch(name) for name in listing.names):
        return {"checkpoint_step": _SOME}
    return {"checkpoint_step": ABSENT} if kind == "none" and listing.whole else {}


def _percentage(path: str, one: Sought, listing: Listing, answers: _Answers) -> FactValue:
    if NAME not in listing.names:
        return ABSENT if listing.whole else Unknown(Reason.CUT, "the directory holds more names than are looked at")
    if not _is_fresh(path, one, answers):
        return _OLD
    piece = answers.ends.pieces.get(path) if answers.ends is not None else None
    if piece is not None:
        return percentage(piece.data)
    unread = answers.ends.unread.get(path) if answers.ends is not None else None
    return unread or Unknown(Reason.READ_FAILED, f"{NAME} could not be read")


def _is_fresh(path: str, one: Sought, answers: _Answers) -> bool:
    """True when the trainer's own log was written since the job began: one of an earlier run says nothing of it."""
    stat = answers.stats.there.get(path) if answers.stats is not None else None
    return stat is not None and one.started is not None and stat.mtime >= one.started


def _is_shown(path: str, one: Sought, answers: _Answers) -> bool:
    """A directory that nobody named whole is the run's by the checkpoint of which its log tells, or by a fresh log."""
    listing = answers.listings.get(path)
    if not isinstance(listing, Listing):
        return False
    saved = _CHECKPOINT.search(one.said)
    return (saved is not None and saved[0] in listing.names) or _is_fresh(f"{path}/{NAME}", one, answers)


def _told(
    facts: dict[str, FactValue], where: Observation | None, path: str, end: Observation | None = None
) -> RunFiles:
    sources: dict[str, Source] = {}
    if where is not None:
        sources = dict.fromkeys(facts, source(where, path))
    if end is not None and isinstance(facts.get("percentage"), int | float):
        sources["percentage"] = source(end, path)
    return RunFiles(MappingProxyType(facts), MappingProxyType(sources))
