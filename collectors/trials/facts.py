"""From what was read of a job's results to its facts, and to what the next sweep starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.engine import Engine, engine_facts, read_engine
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.numbers import Printed
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.trials.counts import Terms, no_trials, trial_facts, trial_pass_rate
from sweeprules.collectors.trials.evaluation import Times, serving_facts
from sweeprules.collectors.trials.jsontext import count, table, text
from sweeprules.collectors.trials.memo import TrialsMemo, decode, encode
from sweeprules.collectors.trials.places import Place, Wanted, run_of
from sweeprules.collectors.trials.results import JobResult
from sweeprules.collectors.trials.rounds import Reading
from sweeprules.collectors.trials.second import Results
from sweeprules.collectors.trials.sidelogs import Found, SideLog
from sweeprules.collectors.trials.standard import standard_facts
from sweeprules.collectors.trials.tally import Tally, plus
from sweeprules.collectors.trials.upload import read_upload
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Reason, Source, Unknown

SUITE_FACTS = ("scores", "seeds_found", "stage", "results_nonempty")
UTC = ZoneInfo("UTC")
INFRA = ("infra.pinggy", "infra.api_base", "infra.vllm", "infra.trials")
NO_ROOM = Unknown(Reason.NOT_READ, "there were more directories of results than one sweep looks into")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Made:
    """The facts of one job's results with their sources, and what the next sweep starts from (JSON-ready).

    `memo` None: what was kept stands.
    """

    facts: Mapping[str, FactValue] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    memo: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A stretch of the job's own log, the byte from which it is new, and the zone of times in it."""

    chunk: Chunk
    since: int


def own_log(printed: Printed | None) -> Log | None:
    """What was read of a job's own log, for an engine that writes there; None where it could not be read."""
    if printed is None or not printed.tail.observation.answered:
        return None
    kept, start = printed.kept, printed.tail.start
    since = start if kept is None else kept.offset
    return Log(Chunk(printed.tail.observation.stdout, start, whole_start=start in (0, since)), max(start, since))


def made(
    job_id: str,
    results: Results,
    terms: Terms,
    times: Times,
    kept: Mapping[str, Json],
    own: Log | None = None,
    zone: ZoneInfo = UTC,
) -> Made:
    """What the second stage tells of a job that it looked for. `kept` is the memo of the last sweep."""
    wanted = results.wanted[job_id]
    places = results.places.get(job_id)
    if wanted.kind == "suite":
        return _suite(places, results)
    reading = NO_ROOM if places is None else chosen(places, results.readings)
    if wanted.bucket == "rl":
        rate = reading if isinstance(reading, Unknown) else trial_pass_rate(reading)
        return _filed({"trial_pass_rate": rate}, reading, wanted, kept, {}, {})
    found = results.beside.get(job_id, MappingProxyType({}))
    logs = {kind: _fresh(log, times) for kind, log in found.items()}
    beside, sources, left = _beside(logs, kept, zone)
    facts = dict.fromkeys(SUITE_FACTS, ABSENT) | beside
    if isinstance(reading, Unknown):
        facts |= no_trials(reading)
        facts |= dict.fromkeys(INFRA, reading) if wanted.bucket == "eval" else {}
    else:
        facts |= trial_facts(reading, terms)
        facts |= _served(wanted, reading, logs, terms, times, own)
        facts["run_dir"] = wanted.run_dir or run_of(reading.directory)
    return _filed(facts, reading, wanted, kept, sources, left)


def chosen(places: Sequence[Place], readings: Mapping[str, Reading]) -> Reading | Unknown:
    """The reading of the first place that holds trials, else of the first that is the job's though empty.

    Where none holds any, one that could not be read may be the one that does: then nothing is known.
    """
    there = [(place, reading) for place in places if (reading := readings.get(place.path)) is not None]
    for place, reading in there:
        if not place.named and len(reading.memos) > 1:
            return Unknown(Reason.CONFLICT, f"{place.path} holds more jobs than one")
        if _holds(reading):
            return reading
    for _, reading in there:
        if isinstance(reading.started, Unknown) and not _gone(reading):
            return reading.started
    for place, reading in there:
        if not _gone(reading) and (place.sure or isinstance(reading.job, JobResult)):
            return reading
    looked = ", ".join(place.path for place in places[:_SHOWN]) or "no directory that is its own is known"
    return Unknown(Reason.NOT_READ, f"no directory with its results was found: {looked}")


def _holds(reading: Reading) -> bool:
    started = reading.started
    return started > 0 if isinstance(started, int) else started.reason == Reason.CUT


def _gone(reading: Reading) -> bool:
    return isinstance(reading.started, Unknown) and reading.started.reason == Reason.NOT_READ


def _fresh(log: SideLog | Absent | Unknown, times: Times) -> SideLog | Absent | Unknown:
    """A log that was last written before the job began tells of an earlier attempt."""
    if isinstance(log, SideLog) and times.started is not None and log.mtime < times.started:
        return Unknown(Reason.STALE_SOURCE, f"{log.path} was last written before the job began")
    return log


def _served(
    wanted: Wanted, reading: Reading, logs: Found, terms: Terms, times: Times, own: Log | None
) -> dict[str, FactValue]:
    """The checks of how the model is reached; requests only where the engine has a log of its own."""
    served = serving_facts(reading, logs, terms, times, None if own is None else (own.chunk, own.since))
    engine, rate = logs.get("engine"), served["posts_rate"]
    if not isinstance(engine, SideLog):
        served = {name: value for name, value in served.items() if not name.startswith("posts_")}
    elif engine.first and isinstance(rate, Unknown):
        # What stands at the end of a log that is new to us is no count since the last sweep.
        served |= dict.fromkeys(("posts_200", "posts_400"), rate)
    if wanted.bucket != "eval":
        served = {name: value for name, value in served.items() if name not in INFRA}
    return served


_Left = dict[str, Json]


def _beside(
    logs: Found, kept: Mapping[str, Json], zone: ZoneInfo
) -> tuple[dict[str, FactValue], dict[str, Source], _Left]:
    """What the engine's and the upload's own logs tell, each read on from where the last sweep left it."""
    facts: dict[str, FactValue] = {}
    sources: dict[str, Source] = {}
    left: _Left = {"beside": {log.path: dict(log.memo) for log in logs.values() if isinstance(log, SideLog)}}
    for kind, read in _READERS.items():
        log = logs.get(kind)
        if not isinstance(log, SideLog):
            continue
        before = table(kept.get(kind))
        memo = table(before.get("memo")) if before.get("path") == log.path and not log.first else {}
        told, quotes, after = read(log, memo, zone)
        facts |= told
        left[kind] = {"path": log.path, "memo": dict(after)}
        if log.observation is not None:
            sources |= {name: source(log.observation, quotes.get(name, "")) for name in told}
    return facts, sources, left


_Told = tuple[Mapping[str, FactValue], Mapping[str, str], Mapping[str, Json]]


def _engine(log: SideLog, memo: Mapping[str, Json], zone: ZoneInfo) -> _Told:
    before = Engine.decode(table(memo.get("engine")) or None)
    engine = read_engine(log.chunk, zone, before, log.mtime)
    after: dict[str, Json] = {} if engine is None else {"engine": engine.encode()}
    return engine_facts(engine, whole=log.whole), {}, after


def _upload(log: SideLog, memo: Mapping[str, Json], _zone: ZoneInfo) -> _Told:
    found = read_upload(log.chunk, memo, whole=log.whole)
    return found.facts, found.quotes, found.memo


_READERS: Mapping[str, Callable[[SideLog, Mapping[str, Json], ZoneInfo], _Told]] = {
    "engine": _engine,
    "upload": _upload,
}


def _suite(places: Sequence[Place] | None, results: Results) -> Made:
    """A standard evaluation: no trials, and the scores of the first directory that is there."""
    facts = no_trials(ABSENT) | dict.fromkeys(INFRA, ABSENT)
    if places is None:
        return Made(MappingProxyType(facts | dict.fromkeys(SUITE_FACTS, NO_ROOM)))
    there = [found for place in places if (found := results.suites.get(place.path)) is not None]
    for found in sorted(there, key=lambda one: isinstance(one, Unknown) or not one):
        if not isinstance(found, Unknown):
            return Made(MappingProxyType(facts | dict(standard_facts(found).facts)))
        if found.reason != Reason.NOT_READ:
            return Made(MappingProxyType(facts | dict.fromkeys(SUITE_FACTS, found)))
    looked = ", ".join(place.path for place in places[:_SHOWN]) or "no directory that is its own is known"
    why = Unknown(Reason.NOT_READ, f"no directory with its results was found: {looked}")
    return Made(MappingProxyType(facts | dict.fromkeys(SUITE_FACTS, why)))


def _filed(
    facts: Mapping[str, FactValue],
    reading: Reading | Unknown,
    wanted: Wanted,
    kept: Mapping[str, Json],
    sources: Mapping[str, Source],
    left: Mapping[str, Json],
) -> Made:
    if isinstance(reading, Unknown):
        # What is kept of a directory stands where it could not be read, and ends where it is gone.
        moved = bool(wanted.kept) and reading.reason == Reason.NOT_READ and reading is not NO_ROOM
        stands = {} if moved else dict(kept)
        return Made(MappingProxyType(dict(facts)), sources, {**stands, **left})
    memo: dict[str, Json] = {
        "directory": reading.directory,
        "trials": {path: dict(encode(one)) for path, one in reading.memos.items()},
        "whole": reading.doubt is None and isinstance(reading.started, int),
        **left,
    }
    planned, agent = facts.get("trials_planned"), facts.get("agent")
    memo |= {"planned": planned} if isinstance(planned, int) else {}
    memo |= {"agent": agent} if isinstance(agent, str) else {}
    where: Mapping[str, Source] = {}
    if reading.listed is not None:
        listed = source(reading.listed)
        where = {name: listed for name in facts if name not in SUITE_FACTS}
    return Made(MappingProxyType(dict(facts)), MappingProxyType({**where, **sources}), memo)


def kept_facts(kept: Mapping[str, Json], terms: Terms) -> dict[str, FactValue]:
    """The facts of a job's trials as the sweep that judged its end left them; none where none did."""
    memos = dict(_memos(kept))
    if not memos:
        return {}
    if kept.get("whole") is not True:
        return no_trials(Unknown(Reason.NOT_READ, "not all of its results were read when it ended"))
    sums, started = Tally(), 0
    sampled = next(iter(memos.values())).sampled
    for at, memo in enumerate(memos.values()):
        sums, started = plus(sums, memo.sums), started + (memo.started or 0)
        sampled = sampled.plus(memo.sampled) if at else sampled
    planned = count(kept.get("planned")) if terms.planned is None else terms.planned
    reading = Reading(
        text(kept.get("directory")), started, sums, sampled=sampled, agent=text(kept.get("agent")), memos=memos
    )
    facts = trial_facts(reading, Terms(planned, terms.benign, terms.error_share, terms.instant))
    return facts | {"newest_result_age": NOT_READ}


def _memos(kept: Mapping[str, Json]) -> Iterator[tuple[str, TrialsMemo]]:
    for path, memo in table(kept.get("trials")).items():
        yield path, decode(table(memo))
