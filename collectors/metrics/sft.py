"""What the log of a fine-tuning run says: step and total, rate, loss and gradient, and whether they are numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk, printed_time
from sweeprules.collectors.metrics import trainbar
from sweeprules.collectors.metrics.banner import banner_total, resumed_at, saved_at
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.points import KEEP, MOST, Json, Point, Series, as_number
from sweeprules.collectors.metrics.rowfacts import kept, row_facts, row_values, seen_after
from sweeprules.collectors.metrics.rows import Row, first_rows, last_rows
from sweeprules.engine.facts import ABSENT, FactValue, Interval, Reason, Unknown

KIND = "sft"
FIRST = 8
"""Rows from the beginning of what was read that are looked at when there are too many to read each."""
BESIDE = 16
"""Rows from the end on beside which the bar of the training is looked for."""
REPEATED = 64
"""Bytes behind a row within which the same one is that of another rank: a start prints more before its first."""
GLUED_RATE = 0.2
"""Seconds a step from which on each step is drawn, so that the frame before a row is that of its step."""
_NO_BAR = Unknown(Reason.NOT_READ, "no training bar was drawn and no row names its step")
_CUT = Unknown(Reason.CUT, "only the end of the log was read")
_NO_TOTAL = Unknown(Reason.NOT_READ, "no banner, no configuration and no training bar tells the total")
_NO_RATE = Unknown(Reason.WARMING_UP, "fewer than two steps were drawn")
_NO_ROW = Unknown(Reason.NOT_READ, "no row of metrics was printed yet")


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of the run so far; the next sweep starts from it."""

    total: int | None = None
    total_source: str = ""
    provisional: bool = False
    step: int | None = None
    step_source: str = ""
    rate: float | None = None
    resumed: int | None = None
    saved: int | None = None
    banner: bool = False
    malformed: int = 0
    skipped: bool = False
    until: int = 0
    row: Mapping[str, str] | None = None
    broken: bool = False
    seen: frozenset[str] = frozenset()
    series: Series = field(default_factory=Series)


def read_sft(
    chunk: Chunk,
    aliases: Mapping[str, Sequence[str]],
    zone: ZoneInfo,
    before: Mapping[str, Any] | None,
    *,
    whole: bool,
    lines: bool = False,
    total: int | None = None,
) -> Numbers:
    """The numbers of a fine-tuning run; empty for a log that is none, by what was read of it.

    `aliases` are printed keys by field, from the policy, before the trainers' own; `before` is the memo of the last
    sweep on this log, None where it was not the same one. `whole` says that every byte up to the end of the chunk was
    read, now or earlier; `lines` that every row was, where only rows were looked for. `total` is the number of steps of
    the rendered configuration, where that was read.
    """
    state = _decode(before)
    rows = last_rows(chunk, MOST)
    state = _said(chunk, rows, state, total, whole=whole)
    drawn = trainbar.own(chunk, list(trainbar.frames(chunk, state.total))) if state.total is not None else []
    if not (rows or drawn or state.total_source == "banner" or state.row is not None or state.step is not None):
        return Numbers()
    state = _stepped(chunk, rows, drawn, state)
    new = _points(chunk, rows, aliases, zone, state)
    state = _rows_read(chunk, rows, state, aliases, whole)
    state = replace(state, series=state.series.extended(new, whole=whole or lines, rewards=_rewards(new)))
    facts = {**_progress(state, whole), **_values(state, aliases, whole)}
    quotes = _quotes(chunk, rows, drawn)
    return Numbers(MappingProxyType(facts), new, MappingProxyType(_encode(state)), MappingProxyType(quotes))


def reread(memo: Mapping[str, Any]) -> dict[str, Any]:
    """The memo of a log that is read again from further back: its rows come anew, what the trainer said once stays."""
    return {**memo, "until": 0, "malformed": 0, "skipped": True, "row": None, "broken": False, "series": {}}


def series_of(memo: Mapping[str, Any]) -> Series:
    """The points that a memo keeps of a log; none in a memo of another kind."""
    return Series.decode(memo["series"]) if memo.get("kind") == KIND else Series()


# ---------------------------------------------------------------- totals and steps


def _said(chunk: Chunk, rows: Sequence[Row], state: _State, total: int | None, *, whole: bool) -> _State:
    """With what the trainer said once, and with the total by the best source there is."""
    said, resumed, saved = banner_total(chunk), resumed_at(chunk), saved_at(chunk)
    if resumed is not None:
        state = replace(state, resumed=resumed.value)
    if saved is not None:
        state = replace(state, saved=saved.value)
    if said is not None:
        return replace(state, total=said.value, total_source="banner", banner=True)
    if state.total_source == "banner":
        return state
    if total is not None:
        return replace(state, total=total, total_source="config")
    found = _total_by_rows(chunk, rows)
    if found is not None:
        return replace(state, total=found, total_source="bar")
    # In the end of a log alone, a bar without rows may be that of a long evaluation.
    asked = state.total is None and (whole or bool(rows))
    passing = trainbar.moving(chunk, printed=bool(rows)) if asked else None
    # Until a row is printed beside it, the bar may yet turn out to be one of preparing the data.
    return state if passing is None else replace(state, total=passing, total_source="bar", provisional=True)


def _total_by_rows(chunk: Chunk, rows: Sequence[Row]) -> int | None:
    """The total that most of the newest rows tell, by themselves or by the bar beside them; of two, the newer."""
    found: Counter[int] = Counter()
    for row in reversed(rows[-BESIDE:]):
        total = row.total
        if total is None:
            frame = trainbar.beside(chunk.text, row.low, row.high, chunk.begin)
            total = None if frame is None else frame.m
        if total is not None:
            found[total] += 1
    return max(found, key=lambda total: found[total], default=None)


def _stepped(chunk: Chunk, rows: Sequence[Row], drawn: Sequence[trainbar.Drawn], state: _State) -> _State:
    """With the step of the newest frame or row that tells one, and the rate of the trailing window.

    What was drawn before the newest banner is of another start, or of an earlier training in the same log.
    """
    said, resumed = banner_total(chunk), resumed_at(chunk)
    begun = said.at if said is not None else -1
    ours = [frame for frame in drawn if frame.low > begun]
    told = next((row for row in reversed(rows) if row.step is not None and row.low > begun), None)
    if ours and (told is None or ours[0].low > told.low):
        rate = trainbar.seconds_a_step(ours) or state.rate
        state = replace(state, step=ours[0].n, step_source="bar", rate=rate)
    elif told is not None:
        state = replace(state, step=told.step, step_source="line", rate=_row_rate(rows) or state.rate)
    elif said is not None:
        state = replace(state, step=None, step_source="", rate=None)
    earlier = drawn[len(ours)].low if said is not None and len(ours) < len(drawn) else -1
    if said is not None and (resumed is None or resumed.at < earlier):
        # This start went on from no checkpoint; the one that an earlier start went on from is still there.
        kept = [step for step in (state.saved, state.resumed) if step is not None]
        return replace(state, resumed=None, saved=max(kept, default=None))
    newest = ours[0] if ours else None
    anew = resumed is not None and (newest is None or newest.low < resumed.at)
    if state.resumed is not None and (anew or (newest is not None and newest.n == 0)):
        return replace(state, step=state.resumed, step_source="checkpoint", rate=None)
    return state


def _row_rate(rows: Sequence[Row]) -> float | None:
    """The usual time of an iteration where rows print it, in seconds."""
    times = (as_number(row.get("elapsed time per iteration (ms)")) for row in rows[-KEEP:])
    found = sorted(time for time in times if time)
    return found[len(found) // 2] / 1000 if found else None


def _step_of(chunk: Chunk, row: Row, total: int | None) -> int | None:
    """The step of a row: its own, that of the bar drawn anew behind it, or that of the frame that it is glued to."""
    if row.step is not None:
        return row.step
    frame = trainbar.beside(chunk.text, row.low, row.high, chunk.begin)
    if frame is None or frame.m != total:
        return None
    return frame.n if frame.low > row.low or (frame.rate or 0.0) >= GLUED_RATE else None


# ---------------------------------------------------------------- rows


def _points(
    chunk: Chunk, rows: Sequence[Row], aliases: Mapping[str, Sequence[str]], zone: ZoneInfo, state: _State
) -> tuple[Point, ...]:
    """The rows that are new and whose step can be told."""
    newest = state.series.newest
    made: list[Point] = []
    ended = -REPEATED - 1
    for row in rows:
        position = chunk.position(row.low)
        step = _step_of(chunk, row, state.total) if row.whole else None
        if step is None or (newest is not None and not made and position <= newest.position):
            continue
        last = made[-1] if made else newest
        values = MappingProxyType(row_values(row, aliases))
        again = row.low - ended <= REPEATED and last is not None and last.step == step and last.values == values
        ended = row.high
        if again:
            continue
        attempt = 1 if last is None else last.attempt + (step <= last.step)
        time = printed_time(trainbar.line_of(chunk.text, row.low, chunk.begin), zone)
        made.append(Point(step, attempt, "", time, values, position))
    return tuple(made)


def _rewards(points: Iterable[Point]) -> dict[int, float | None]:
    found: dict[int, float | None] = {}
    for point in points:
        reward = point.get("reward")
        if reward is not ABSENT:
            found.setdefault(point.step, float(reward) if isinstance(reward, int | float) else None)
    return found


def _rows_read(
    chunk: Chunk, rows: Sequence[Row], state: _State, aliases: Mapping[str, Sequence[str]], whole: bool
) -> _State:
    """With the newest row, what any row showed, and how many could not be read."""
    fresh = [row for row in rows if chunk.position(row.low) >= state.until]
    if not fresh:
        return state
    older = first_rows(chunk, FIRST) if len(rows) == MOST else []
    seen = state.seen
    for row in (*older, *fresh):
        seen = seen_after(seen, row, aliases)
    last = fresh[-1]
    return replace(
        state,
        seen=seen,
        malformed=state.malformed + sum(not row.whole for row in fresh),
        skipped=state.skipped or not whole or (len(fresh) == MOST),
        until=chunk.position(last.high),
        row=kept(last, aliases) if last.whole else state.row,
        broken=not last.whole,
    )


# ---------------------------------------------------------------- facts


def _progress(state: _State, whole: bool) -> dict[str, FactValue]:
    facts: dict[str, FactValue] = {}
    total: FactValue = (_NO_TOTAL if whole else _CUT) if state.total is None else state.total
    step: FactValue = (_NO_BAR if whole else _CUT) if state.step is None else state.step
    facts["max_step"], facts["step"] = total, step
    facts["total_source"] = total if isinstance(total, Unknown) else state.total_source
    facts["step_source"] = step if isinstance(step, Unknown) else state.step_source
    facts["rate"] = _NO_RATE if state.rate is None else state.rate
    facts["eta"] = _eta(state, facts)
    if state.saved is not None or state.resumed is not None:
        facts["checkpoint_step"] = max(state.saved or 0, state.resumed or 0)
    elif state.banner:
        facts["checkpoint_step"] = ABSENT if whole else _CUT
    return facts


def _eta(state: _State, facts: Mapping[str, FactValue]) -> FactValue:
    if state.step is not None and state.total is not None and state.step >= state.total:
        return 0.0
    if state.step is None or state.total is None or state.rate is None:
        return next(value for name in ("step", "max_step", "rate") if isinstance(value := facts[name], Unknown))
    return max(0, state.total - state.step) * state.rate


def _values(state: _State, aliases: Mapping[str, Sequence[str]], whole: bool) -> dict[str, FactValue]:
    row = None if state.row is None else Row(0, 0, state.row)
    ended = state.step is not None and state.total is not None and state.step >= state.total
    # A run that came to its last step and printed no row prints none.
    none = _CUT if not whole else ABSENT if ended else _NO_ROW
    facts = row_facts(row, state.seen, aliases, none, broken=state.broken)
    facts["malformed_lines"] = Interval(state.malformed, None) if state.skipped else state.malformed
    return facts


def _quotes(chunk: Chunk, rows: Sequence[Row], drawn: Sequence[trainbar.Drawn]) -> dict[str, str]:
    quotes: dict[str, str] = {}
    if rows:
        text = chunk.text[rows[-1].low : min(rows[-1].high, rows[-1].low + 1200)].decode("utf-8", "replace")[:300]
        quotes |= dict.fromkeys(("loss", "grad_norm", "learning_rate", "epoch", "has_nan", "nan_suspect"), text)
        if rows[-1].step is not None:
            quotes["step"] = text
    if drawn:
        quotes["step"] = chunk.text[drawn[0].low : drawn[0].high].decode("utf-8", "replace")[:300]
    said = banner_total(chunk)
    if said is not None:
        quotes["max_step"] = trainbar.line_of(chunk.text, said.at, chunk.begin)
    return quotes


# ---------------------------------------------------------------- memo


def _encode(state: _State) -> dict[str, Json]:
    if state.provisional:
        state = replace(state, total=None, total_source="", step=None, step_source="", rate=None, provisional=False)
    return {
        "kind": KIND,
        "total": state.total,
        "total_source": state.total_source,
        "step": state.step,
        "step_source": state.step_source,
        "rate": state.rate,
        "resumed": state.resumed,
        "saved": state.saved,
        "banner": state.banner,
        "malformed": state.malformed,
        "skipped": state.skipped,
        "until": state.until,
        "row": None if state.row is None else dict(state.row),
        "broken": state.broken,
        "seen": sorted(state.seen),
        "series": state.series.encode(),
    }


def _decode(memo: Mapping[str, Any] | None) -> _State:
    if not memo or memo.get("kind") != KIND:
        return _State()
    rest = {name: value for name, value in memo.items() if name not in ("kind", "seen", "series")}
    return _State(**rest, seen=frozenset(memo["seen"]), series=Series.decode(memo["series"]))
