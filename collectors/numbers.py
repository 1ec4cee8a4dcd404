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
from sweeprules.collectors.metrics.rungs import bringup_rung
from sweeprules.collectors.metrics.sought import is_all
from sweeprules.collectors.prior import LogMemo
from sweeprules.collectors.rundirs import in_log
from sweeprules.collectors.settings import said_total
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.trials.serving import post_facts, read_posts, read_refused
from sweeprules.collectors.trials.upload import read_upload
from sweeprules.engine.facts import NOT_READ, FactValue, Reason, Source, Unknown
from sweeprules.engine.language.ast import Pattern

Aliases = Mapping[str, Sequence[str]]
"""Field of a step -> the keys under which it is printed, the first that a line holds counts."""
TRAINED = frozenset({"rl", "sft"})
"""Buckets whose jobs make steps (catalogue f.3)."""
_DIRECTORY = "directory"
_LINES = "lines"


@dataclass(frozen=True, slots=True)
class Printed:
    """A log as one sweep read it. `before` is what the last sweep left of the job's log, `after` what this one leaves.

    `started` is the start of the job's attempt, epoch seconds; `since` the last sweep's clock, None before the first.
    `older` is what was found before the tail, `checkpoint` the step that the run's own file names, `command` the job's.
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
    checkpoint: FactValue = NOT_READ
    command: FactValue = NOT_READ
    patterns: tuple[Pattern, ...] = ()

    @property
    def kept(self) -> LogMemo | None:
        """What the last sweep left of this very file."""
        memo = self.before
        return memo if memo is not None and continues(memo, self.where.stat, self.started) else None

    @property
    def gap(self) -> bool:
        """True when bytes between the last sweep and this one were not read."""
        kept = self.kept
        return kept is not None and self.tail.start > kept.offset

    @property
    def found(self) -> tuple[tuple[bytes, int], ...] | None:
        """What stands before the tail, by the second stage; None where it did not look or could not read."""
        pieces = older_pieces(self.older) if self.older is not None else None
        return None if isinstance(pieces, Unknown) else pieces


@dataclass(frozen=True, slots=True)
class Told:
    """What a log tells of its job: facts with their sources, the points of its steps, and what the next sweep needs.

    `directory` is the path that the log names last as the run's, as it stands there; empty without one. `setting` holds
    the parts of an RL run's setting that the log prints.
    """

    facts: Mapping[str, FactValue] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    series: Series | None = None
    memo: Mapping[str, Json] = field(default_factory=dict)
    directory: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)


def told(printed: Printed, bucket: str, aliases: Aliases) -> Told | None:
    """What the log tells of a job of this bucket; None where it could not be read, or the work prints no numbers.

    Nothing is then known anew, and what earlier sweeps kept of the log stands.
    """
    read = _READERS.get(bucket)
    observation = printed.tail.observation
    if read is None or not observation.answered or (observation.exit != 0 and not observation.cut):
        return None
    memo, chunk = _memo(printed, bucket), _chunk(printed)
    found, series, after = read(printed, chunk, aliases, memo)
    directory = in_log(chunk, memo.get(_DIRECTORY, "")) if bucket in TRAINED else ""
    if bucket in TRAINED:
        after = {**after, _DIRECTORY: directory}
    sources = {name: source(observation, found.quotes.get(name, "")) for name in found.facts}
    setting = rl.settings_of(found.memo) if bucket == "rl" else {}
    return Told(found.facts, MappingProxyType(sources), series, MappingProxyType(after), directory, setting)


def _memo(printed: Printed, bucket: str) -> Mapping[str, Any]:
    """What the readers start from: of a log that is read again from further back, not where they had come to."""
    kept, before = printed.kept, printed.before
    if kept is None:
        earlier = before.numbers.get("rl") if bucket == "rl" and before is not None else None
        return {"rl": rl.restarted(earlier)} if earlier else {}
    if printed.found is None or bucket not in TRAINED or not kept.numbers.get(bucket):
        return kept.numbers
    reader = rl if bucket == "rl" else sft
    return {**kept.numbers, bucket: reader.reread(kept.numbers[bucket])}


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
    pieces = printed.found
    if pieces is None:
        return Chunk(data, start, whole_start=whole_start)
    return with_older(pieces, data, start, whole_start=whole_start)


def _lines_whole(printed: Printed, memo: Mapping[str, Any]) -> bool:
    """True when every line of metrics was read, as all bytes were or as what a whole search found."""
    if printed.after.from_start:
        return True
    older = printed.older
    if older is not None and printed.found is not None:
        return older.searched and older.observation.answered and not older.observation.cut
    return memo.get(_LINES) is True and not printed.gap


_Read = tuple[Numbers, Series | None, Mapping[str, Json]]


def _rl(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    whole, lines = printed.after.from_start, _lines_whole(printed, memo)
    found = _read_rl(printed, chunk, aliases, memo, lines=lines)
    if lines and not _is_all(printed, rl.source_of(found.memo)):
        lines, found = False, _read_rl(printed, chunk, aliases, memo, lines=False)
    facts = dict(found.facts)
    stepped = bool(found.points) or rl.has_stepped(found.memo)
    facts["bringup_rung"] = bringup_rung(printed.after.lines, printed.patterns, whole=whole, stepped=stepped)
    found = replace(found, facts=MappingProxyType(facts))
    return found, rl.series_of(found.memo) if found.points or whole else None, {"rl": found.memo, _LINES: lines}


def _read_rl(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any], *, lines: bool) -> Numbers:
    whole, near = printed.after.from_start, printed.where.stat.mtime
    before, checkpoint = memo.get("rl"), printed.checkpoint
    return rl.read_rl(chunk, aliases, printed.zone, before, whole=whole, lines=lines, checkpoint=checkpoint, near=near)


def _is_all(printed: Printed, source: str) -> bool:
    """False where a search brought only some of the lines that a run prints of its steps."""
    older = printed.older
    return printed.after.from_start or older is None or is_all(source, older.observation.argv)


def _sft(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    whole, lines, total = printed.after.from_start, _lines_whole(printed, memo), said_total(printed.command)
    found = sft.read_sft(chunk, aliases, printed.zone, memo.get("sft"), whole=whole, lines=lines, total=total)
    series = sft.series_of(found.memo)
    return found, series if series.points or whole else None, {"sft": found.memo, _LINES: lines}


def _serving(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    """An evaluation or a chunk of data: its engine, its requests, its upload, and tokens that were refused."""
    whole, gap = printed.after.from_start, printed.gap
    engine = read_engine(chunk, printed.zone, Engine.decode(memo.get("engine")), printed.where.stat.mtime)
    upload = read_upload(chunk, memo.get("upload"), whole=whole)
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


def _evaluation(printed: Printed, chunk: Chunk, aliases: Aliases, memo: Mapping[str, Any]) -> _Read:
    """What `_serving` tells. A log of its own that names no upload says nothing of one: it may run elsewhere."""
    found, series, after = _serving(printed, chunk, aliases, memo)
    said = after["upload"]
    if found.facts.get("uploaded") is not False or (isinstance(said, Mapping) and "uploaded" in said):
        return found, series, after
    silent = Unknown(Reason.NOT_READ, "its own log says nothing of an upload")
    return replace(found, facts=MappingProxyType({**found.facts, "uploaded": silent})), series, after


def _posts(printed: Printed, chunk: Chunk, *, gap: bool) -> dict[str, FactValue]:
    """Requests since the last sweep; at first sight there is no moment to count from."""
    kept = printed.kept
    if kept is None:
        return post_facts(Unknown(Reason.FIRST_SIGHT, "there is no earlier sweep to count from"), None)
    if gap:
        return post_facts(Unknown(Reason.CUT, "not all that came since the last sweep was read"), None)
    seconds = printed.now - printed.since if printed.since is not None else None
    return post_facts(read_posts(chunk, kept.offset), seconds)


_READERS = {"rl": _rl, "sft": _sft, "datagen": _serving, "eval": _evaluation}


def aliases_of(metrics: Mapping[str, Any]) -> Aliases:
    """The printed keys of each field, as the policy's `metrics:` say."""
    return MappingProxyType({name: tuple(metric.aliases) for name, metric in metrics.items()})


def names(fields: Iterable[str]) -> tuple[str, ...]:
    """The numbers that a step may have, of the fields of a step."""
    return tuple(name for name in fields if name not in ("step", "link", "attempt", "time"))
