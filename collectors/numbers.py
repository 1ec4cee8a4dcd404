"""What the logs of jobs say in numbers, once it is known what kind of work each job does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.facts import FoundLog, Tail, continues
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.older import Older, older_pieces, with_older
from sweeprules.collectors.metrics import rl, sft
from sweeprules.collectors.metrics.engine import Engine, engine_facts, read_engine
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.points import Json, Series
from sweeprules.collectors.prior import LogMemo
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.trials.serving import post_facts, read_posts, read_refused
from sweeprules.collectors.trials.upload import read_upload
from sweeprules.engine.facts import FactValue, Reason, Source, Unknown

Aliases = Mapping[str, Sequence[str]]
"""Field of a step -> the keys under which it is printed, the first that a line holds counts."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A log as one sweep read it. `before` is what the last sweep left of the job's log, `after` what this one leaves.

    `started` is the start of the job's attempt, epoch seconds; `since` the last sweep's clock, None before the first.
    """

    where: FoundLog
    tail: Tail
    before: LogMemo | None
    after: LogMemo
    started: float | None
    zone: ZoneInfo
    now: float
    since: float | None = None
    older: Older | None = None

    @property
    def kept(self) -> LogMemo | None:
        """What the last sweep left of this very file."""
        memo = self.before
        return memo if memo is not None and continues(memo, self.where.stat, self.started) else None


@dataclass(frozen=True, slots=True)
class Told:
    """What a log tells of its job: facts with their sources, the points of its steps, and what the next sweep needs."""

    facts: Mapping[str, FactValue] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    series: Series | None = None
    memo: Mapping[str, Json] = field(default_factory=dict)


def told(printed: Printed, bucket: str, aliases: Aliases) -> Told | None:
    """What the log tells of a job of this bucket; None where it could not be read, or the work prints no numbers.

    Nothing is then known anew, and what earlier sweeps kept of the log stands.
    """
    read = _READERS.get(bucket)
    observation = printed.tail.observation
    if read is None or not observation.answered or (observation.exit != 0 and not observation.cut):
        return None
    kept = printed.kept
    memo: Mapping[str, Any] = kept.numbers if kept is not None else {}
    if kept is None and bucket == "rl" and printed.before is not None and printed.before.numbers.get("rl"):
        memo = {"rl": rl.restarted(printed.before.numbers["rl"])}
    found, series, after = read(printed, _chunk(printed), aliases, memo)
    sources = {name: source(observation, found.quotes.get(name, "")) for name in found.facts}
    return Told(found.facts, MappingProxyType(sources), series, MappingProxyType(after))


def kept_series(bucket: str, log: LogMemo | None) -> Series | None:
    """The points that an earlier sweep kept of a job's log."""
    memo = log.numbers.get(bucket) if log is not None else None
    if not memo:
        return None
    return rl.series_of(memo) if bucket == "rl" else sft.series_of(memo) if bucket == "sft" else None


def with_memos(logs: Mapping[str, LogMemo], found: Mapping[str, Told]) -> dict[str, LogMemo]:
    """What the logs leave to the next sweep, with what was told by them."""
    return {key: replace(memo, numbers=found[key].memo) if key in found else memo for key, memo in logs.items()}


def _chunk(printed: Printed) -> Chunk:
    """The stretch that was read, with what was found before it, where it was looked for."""
    data, start = printed.tail.observation.stdout, printed.tail.start
    kept = printed.kept
    whole_start = start in (0, kept.offset if kept is not None else 0)
    if printed.older is None:
        return Chunk(data, start, whole_start=whole_start)
    pieces = older_pieces(printed.older)
    if isinstance(pieces, Unknown):
        return Chunk(data, start, whole_start=whole_start)
    return with_older(pieces, data, start, whole_start=whole_start)


_Read = tuple[Numbers, Series | None, Mapping[str, Json]]


def _rl(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    whole, near = printed.after.from_start, printed.where.stat.mtime
    found = rl.read_rl(chunk, aliases, printed.zone, memo.get("rl"), whole=whole, near=near)
    return found, rl.series_of(found.memo) if found.points or whole else None, {"rl": found.memo}


def _sft(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    found = sft.read_sft(chunk, aliases, printed.zone, memo.get("sft"), whole=printed.after.from_start)
    series = sft.series_of(found.memo)
    return found, series if series.points or printed.after.from_start else None, {"sft": found.memo}


def _serving(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    """An evaluation or a chunk of data: its engine, its requests, its upload, and tokens that were refused."""
    whole, kept = printed.after.from_start, printed.kept
    engine = read_engine(chunk, printed.zone, Engine.decode(memo.get("engine")), printed.where.stat.mtime)
    upload = read_upload(chunk, memo.get("upload"), whole=whole)
    gap = kept is not None and printed.tail.start > kept.offset
    refused = read_refused(chunk, printed.zone, printed.now, memo.get("refused"), gap=gap)
    facts: dict[str, FactValue] = {
        **engine_facts(engine, whole=whole),
        **upload.facts,
        **_posts(printed, chunk, gap=gap),
        "auth_error_slots": refused.fact,
    }
    after: dict[str, Json] = {"upload": upload.memo, "refused": refused.memo}
    if engine is not None:
        after["engine"] = engine.encode()
    quotes = {**upload.quotes, "auth_error_slots": refused.quote}
    return Numbers(MappingProxyType(facts), quotes=MappingProxyType(quotes)), None, after


def _posts(printed: Printed, chunk: Chunk, *, gap: bool) -> dict[str, FactValue]:
    """Requests since the last sweep; at first sight there is no moment to count from."""
    kept = printed.kept
    if kept is None:
        return post_facts(Unknown(Reason.FIRST_SIGHT, "there is no earlier sweep to count from"), None)
    if gap:
        return post_facts(Unknown(Reason.CUT, "not all that came since the last sweep was read"), None)
    seconds = printed.now - printed.since if printed.since is not None else None
    return post_facts(read_posts(chunk, kept.offset), seconds)


_READERS = {"rl": _rl, "sft": _sft, "datagen": _serving, "eval": _serving}


def aliases_of(metrics: Mapping[str, Any]) -> Aliases:
    """The printed keys of each field, as the policy's `metrics:` say."""
    return MappingProxyType({name: tuple(metric.aliases) for name, metric in metrics.items()})


def names(fields: Iterable[str]) -> tuple[str, ...]:
    """The numbers that a step may have, of the fields of a step."""
    return tuple(name for name in fields if name not in ("step", "link", "attempt", "time"))
