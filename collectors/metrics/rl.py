"""The log of an RL run as numbers: its steps, how far it is, what its buffer, engine and timers say."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk, printed_time
from sweeprules.collectors.metrics.bars import last_frame, line_end, line_start
from sweeprules.collectors.metrics.engine import Engine, engine_facts, read_engine
from sweeprules.collectors.metrics.marks import read_marks
from sweeprules.collectors.metrics.mirror import HALF, Record, console, console_ends, half_written, mirrors
from sweeprules.collectors.metrics.names import Names
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.plain import rows
from sweeprules.collectors.metrics.points import FIRST, MOST, Json, Point, Series, as_number
from sweeprules.collectors.metrics.state import State
from sweeprules.collectors.metrics.told import rl_facts
from sweeprules.engine.facts import NOT_READ, FactValue

TRAINING_BARS = (b"Training Step Progress", b"Training Batches Processed")
BUFFER_BAR = b"Generation Buffer Progress"
_QUOTED = 300
_FAMILIES = 256
_STAMP = 160
_OF_LINES = ("until", "attempt", "source", "counted", "line", "line_at", "malformed", "nan", "zero", "failed", "half")
"""What of a state the lines of metrics tell."""


def read_rl(
    chunk: Chunk,
    aliases: Mapping[str, Sequence[str]],
    zone: ZoneInfo,
    before: Mapping[str, Any] | None = None,
    *,
    whole: bool,
    lines: bool = False,
    checkpoint: FactValue = NOT_READ,
    near: float | None = None,
) -> Numbers:
    """What a stretch of the log of an RL run says, on top of what earlier sweeps read of the same log.

    `aliases` are the policy's: field of a step -> printed keys, the first that a line holds counts. The stretch may
    begin before the place where the last one ended (some dozens of KiB are needed to find a dictionary that was half
    written then); nothing is counted twice. `whole` says that every byte up to its end was read, now or before; `lines`
    that every line of metrics was, where only such lines were looked for. `checkpoint` is the step that the
    checkpoint's own file names, `near` the log's mtime (epoch seconds). Of a log that is no RL run's the engine's facts
    alone are told, where it has an engine.
    """
    kept, quotes = Kept.decode(before).after(chunk, Names.of(aliases), zone, whole=whole or lines, near=near)
    return kept.numbers(quotes, whole=whole, checkpoint=checkpoint)


@dataclass(frozen=True, slots=True)
class Kept:
    """What was read of a log so far."""

    state: State = field(default_factory=State)
    series: Series = field(default_factory=Series)
    engine: Engine | None = None

    @classmethod
    def decode(cls, memo: Mapping[str, Any] | None) -> Kept:
        """What a memo keeps; None or an empty one is a log that nobody read."""
        memo = memo or {}
        state, series = State.decode(memo.get("state") or {}), Series.decode(memo.get("series") or {})
        return cls(state, series, Engine.decode(memo.get("engine")))

    def after(
        self, chunk: Chunk, names: Names, zone: ZoneInfo, *, whole: bool, near: float | None = None
    ) -> tuple[Kept, Mapping[str, str]]:
        """What was read after one more stretch, and the lines behind the facts."""
        reading = _Reading(chunk, names, zone, self.state)
        reading.read(self.series.newest)
        engine = read_engine(chunk, zone, self.engine, near)
        series = self.series.extended(tuple(reading.points), whole=whole, rewards=reading.rewards)
        return Kept(reading.state, series, engine), reading.quotes

    def numbers(self, quotes: Mapping[str, str], *, whole: bool, checkpoint: FactValue = NOT_READ) -> Numbers:
        """The same as facts, points and a memo."""
        state, series, engine = self.state, self.series, self.engine
        of_engine: dict[str, Json] = {} if engine is None else {"engine": engine.encode()}
        if not state.seen:
            return Numbers(engine_facts(engine, whole=whole) if engine is not None else {}, memo=of_engine)
        facts = {**engine_facts(engine, whole=whole), **rl_facts(state, series, whole=whole, checkpoint=checkpoint)}
        memo: dict[str, Json] = {"state": state.encode(), "series": series.encode(), **of_engine}
        return Numbers(facts, series.points, memo, quotes)


def restarted(memo: Mapping[str, Any]) -> dict[str, Any]:
    """The memo of a log that was begun anew: its points stay, as those of an earlier attempt; its bytes start at 0."""
    state = State.decode(memo.get("state") or {})
    kept = State(attempt=state.attempt + 1, source=state.source, counted=state.counted, line=state.line)
    return {**memo, "state": {**kept.encode(), "saved": state.saved, "families": list(state.families)}}


def reread(memo: Mapping[str, Any]) -> dict[str, Any]:
    """The memo of a log that is read again from further back: its points come anew, what single lines said stays."""
    state = State.decode(memo.get("state") or {})
    first = State()
    anew = {name: getattr(first, name) for name in _OF_LINES}
    return {**memo, "state": replace(state, **anew).encode(), "series": {}}


def source_of(memo: Mapping[str, Any] | None) -> str:
    """How the run prints its steps: `mirror console row`; empty where no step was read."""
    return State.decode((memo or {}).get("state") or {}).source


def has_stepped(memo: Mapping[str, Any] | None) -> bool:
    """True when the log showed a step that was finished."""
    return State.decode((memo or {}).get("state") or {}).stepped


def series_of(memo: Mapping[str, Any] | None) -> Series:
    """The points that a memo of this reader keeps."""
    return Series.decode((memo or {}).get("series") or {})


def settings_of(memo: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The parts of the run's setting that its log printed: `code model policy_num_nodes ...`, those that it did."""
    state = State.decode((memo or {}).get("state") or {})
    return dict(part.split("=", 1) for part in state.settings)


class _Reading:
    """Reads one stretch: `state` after it, its new `points` (the newest), and the reward of every new step."""

    def __init__(self, chunk: Chunk, names: Names, zone: ZoneInfo, state: State) -> None:
        self.chunk = chunk
        self.names = names
        self.zone = zone
        self.state = state
        self.points: deque[Point] = deque(maxlen=MOST)
        self.rewards: dict[int, float | None] = {}
        self.quotes: dict[str, str] = {}
        self.keys: set[str] = set()
        self.last: Point | None = None
        self.newest: Record | None = None
        self.malformed = 0

    def read(self, last: Point | None) -> None:
        """Reads everything; `last` is the newest point of earlier sweeps."""
        self.last = last
        fresh = self._new_from()
        for record in self._records(fresh):
            self._add(record)
        self._close()
        self.state = read_marks(self.chunk, self.state)
        self._bars()

    def _new_from(self) -> int:
        """The first place of the plain text that was not read before."""
        chunk, until = self.chunk, self.state.until
        if chunk.start >= until:
            return chunk.begin
        return max(chunk.begin, bisect_left(range(len(chunk.text) + 1), until, key=chunk.position))

    def _records(self, fresh: int) -> Iterator[Record]:
        """The new lines of metrics in their order; a dictionary only where no mirror line tells the same step."""
        state = self.state
        ends = console_ends(self.chunk, fresh)
        end = next(ends, None)
        mirrored = -1
        for record in mirrors(self.chunk, fresh):
            while end is not None and end[0] < record.at:
                yield from self._console(end, mirrored)
                end = next(ends, None)
            mirrored = record.step if record.data is not None and record.step is not None else -1
            yield record
        while end is not None:
            yield from self._console(end, mirrored)
            end = next(ends, None)
        if self.newest is None and state.source in ("", "row"):
            yield from rows(self.chunk, fresh, self.names.keys)

    def _console(self, end: tuple[int, int], mirrored: int) -> Iterator[Record]:
        at, step = end
        already = self.last is not None and self.last.step == step and self.state.source == "mirror"
        if step != mirrored and not already:
            record = console(self.chunk, at, step, self._half())
            if record is not None:
                yield record

    def _half(self) -> bytes:
        """What of a dictionary stood right before this stretch."""
        chunk, state = self.chunk, self.state
        return state.half.encode() if chunk.start == state.until and chunk.begin == 0 else b""

    def _add(self, record: Record) -> None:
        if record.data is None:
            self.malformed += 1
            self.newest = self.newest or record
            return
        step = record.step
        if step is None:
            step = self.last.step + 1 if self.last is not None else FIRST
            self.state = replace(self.state, counted=True)
        attempt = self._attempt(step, record)
        if attempt is None:
            return
        self.keys.update(record.data)
        values = self.names.values(record.data)
        point = Point(step, attempt, "", self._time(record), values, self.chunk.position(record.at))
        reward = values.get("reward")
        if reward is not None:
            self.rewards.setdefault(step, as_number(reward))
        self.points.append(point)
        self.last, self.newest = point, record
        if attempt != self.state.attempt or record.source != self.state.source:
            self.state = replace(self.state, attempt=attempt, source=record.source)

    def _attempt(self, step: int, record: Record) -> int | None:
        """The attempt of a record: a new one where the log goes back. None for a line that is there a second time."""
        last, attempt = self.last, self.state.attempt
        if last is None or step > last.step or last.attempt < attempt:
            return attempt
        if step == last.step and self._again(record):
            return None
        return attempt + 1

    def _again(self, record: Record) -> bool:
        """True for the same step told in another form, or by the same line once more."""
        newest = self.newest
        if newest is None or newest.data is None:
            return record.source != self.state.source
        return newest.source != record.source or newest.data == record.data

    def _time(self, record: Record) -> float | None:
        """The time stamp of the line before the record, or at its start."""
        text = self.chunk.text
        start = max(line_start(text, record.at, self.chunk.begin), record.at - _STAMP)
        high = min(line_end(text, record.at), max(record.at, start + _STAMP))
        return printed_time(text[start:high].decode("utf-8", "replace"), self.zone)

    def _close(self) -> None:
        """Takes over what the newest line says, and how far lines were read."""
        chunk, state = self.chunk, self.state
        broken = max(chunk.text.rfind(b"\n"), chunk.text.rfind(b"\r")) + 1
        until = chunk.position(broken) if broken else state.until
        record = self.newest
        if record is not None and record.end > broken:
            until = chunk.position(record.end)
        changes: dict[str, Any] = {"until": max(state.until, until), "malformed": state.malformed + self.malformed}
        half = half_written(self._half() + chunk.text[max(chunk.begin, broken - HALF) : broken])
        changes["half"] = half.decode("utf-8", "replace")
        families = {*state.families, *(prefix for key in self.keys for prefix in _prefixes(key))}
        changes["families"] = tuple(sorted(families)[:_FAMILIES])
        if self.points and record is not None and record.data is not None:
            changes["line"], changes["line_at"] = self.points[-1].step, self.points[-1].position
            changes["nan"] = self.names.nan(record.data)
            changes["zero"] = self.names.all_zero(record.data)
            failed = self.names.failed(record.data)
            changes["failed"] = failed if failed is not None else state.failed
            if record.total is not None:
                changes["total"], changes["total_at"] = record.total, self.points[-1].position
            quote = chunk.text[record.at : record.end][:_QUOTED].decode("utf-8", "replace")
            self.quotes = dict.fromkeys(("step", "has_nan", "grad_norm", "all_zero_diagnostics"), quote)
        self.state = replace(state, **changes)

    def _bars(self) -> None:
        frames = [frame for bar in TRAINING_BARS if (frame := last_frame(self.chunk, bar)) is not None]
        if frames:
            newest = max(frames, key=lambda one: one.at)
            of = newest.m if newest.m is not None else self.state.bar_of
            at, state = self.chunk.position(newest.at), self.state
            stepped = state.stepped or (newest.moved and newest.n > 0 and at > max(state.total_at, state.resumed_at))
            self.state = replace(state, bar=newest.n, bar_of=of, bar_at=at, stepped=stepped)
        buffer = last_frame(self.chunk, BUFFER_BAR)
        if buffer is not None:
            self.state = replace(self.state, buffer=buffer.n, buffer_of=buffer.m)


def _prefixes(key: str) -> Iterator[str]:
    """`policy` and `policy/z_clip` of `policy/z_clip/triggered`."""
    parts = key.split("/")[:3]
    for length in range(1, min(len(parts), 3)):
        yield "/".join(parts[:length])
