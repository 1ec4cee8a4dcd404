"""The inference engine's own lines: how many requests it works on, and for how long it has had none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk, printed_time
from sweeprules.collectors.metrics.bars import line_start
from sweeprules.collectors.metrics.points import Json
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

LITERAL = b"generation throughput: "
_LINE = re.compile(
    rb"generation throughput: (?P<tps>\d+(?:\.\d+)?) tokens/s, Running: (?P<running>\d{1,9}) reqs,"
    rb"(?: Swapped: \d+ reqs,)? (?:Waiting|Pending): (?P<waiting>\d{1,9}) reqs"
)
_YEARLESS = re.compile(rb"(?<!\d)(?<!\d-)(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?!\d)")
_DAY = 86400.0
_HALF_YEAR = 183 * _DAY
_NAMES = ("engine_running", "engine_waiting", "engine_tps", "engine_idle")


@dataclass(frozen=True, slots=True)
class Engine:
    """The newest line of an engine. `idle_since` is the first of the lines without a request that end with it.

    Times are epoch seconds, None where the line carries none.
    """

    running: int
    waiting: int
    tps: float
    time: float | None
    idle: bool
    idle_since: float | None

    def encode(self) -> dict[str, Json]:
        """JSON-ready; `decode` gives an equal value back."""
        return asdict(self)

    @classmethod
    def decode(cls, data: Mapping[str, Any] | None) -> Engine | None:
        """The value of `encode`; None where none was kept."""
        return cls(**data) if data else None


def read_engine(chunk: Chunk, zone: ZoneInfo, before: Engine | None, near: float | None = None) -> Engine | None:
    """What the newest engine line says; what an earlier sweep read where this stretch has none.

    Several engines that write to one log idle only when none of their lines names a request. `near` is a moment within
    half a year of the lines, such as the log's mtime: their times come without a year.
    """
    newest: Engine | None = None
    at = chunk.text.rfind(LITERAL, chunk.begin)
    first: bytes | None = None
    while at >= 0:
        found = _LINE.match(chunk.text, at)
        if found is not None:
            if newest is None:
                moment = _moment(_head(chunk, at), zone, near)
                newest = Engine(
                    int(found["running"]),
                    int(found["waiting"]),
                    float(found["tps"]),
                    moment,
                    found["running"] == b"0",
                    None,
                )
            if found["running"] != b"0":
                break
            first = _head(chunk, at)
        at = chunk.text.rfind(LITERAL, chunk.begin, at)
    if newest is None:
        return before
    if first is None:
        return newest
    since = _moment(first, zone, near)
    if at < 0 and before is not None and before.idle and before.idle_since is not None:
        since = before.idle_since if since is None else min(since, before.idle_since)
    return Engine(newest.running, newest.waiting, newest.tps, newest.time, True, since)


def _head(chunk: Chunk, at: int) -> bytes:
    start = line_start(chunk.text, at, chunk.begin)
    return chunk.text[max(start, at - 200) : min(at, start + 400)]


def _moment(head: bytes, zone: ZoneInfo, near: float | None) -> float | None:
    full = printed_time(head.decode("utf-8", "replace"), zone)
    if full is not None:
        return full
    found = _YEARLESS.search(head)
    if found is None:
        return None
    month, day, hour, minute, second = map(int, found.groups())
    year = datetime.fromtimestamp(near, zone).year if near is not None else 2000
    candidates = []
    for one in (year - 1, year, year + 1) if near is not None else (year,):
        try:
            candidates.append(datetime(one, month, day, hour, minute, second, tzinfo=zone).timestamp())
        except ValueError:
            continue
    if near is None:
        return candidates[0] if candidates else None
    return min(candidates, key=lambda moment: abs(moment - near), default=None)


def engine_facts(engine: Engine | None, *, whole: bool) -> dict[str, FactValue]:
    """`engine_running engine_waiting engine_tps engine_idle`; absent where the whole log has no such line.

    The idle time runs up to the newest line, and is at least that long where its start was not read.
    """
    if engine is None:
        none: FactValue = ABSENT if whole else Unknown(Reason.CUT, "only the end of the log was read")
        return dict.fromkeys(_NAMES, none)
    return {
        "engine_running": engine.running,
        "engine_waiting": engine.waiting,
        "engine_tps": engine.tps,
        "engine_idle": _idle(engine),
    }


def _idle(engine: Engine) -> FactValue:
    if not engine.idle:
        return 0.0
    if engine.idle_since is None or engine.time is None:
        return Unknown(Reason.NOT_READ, "the engine's lines carry no time")
    idle = engine.time - engine.idle_since
    if idle >= 0:
        return idle
    # Without a year a stretch over the new year looks as if it went back by most of one; a clock goes back by less.
    if idle < -_HALF_YEAR:
        return idle + 366 * _DAY
    return Unknown(Reason.MALFORMED, "the times of the engine's lines go back")
