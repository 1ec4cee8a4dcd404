"""Lines of metrics of trainers without a mirror line: a dictionary with a reward, `key=value`, `key:value`, a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics import trainbar
from sweeprules.collectors.metrics.bars import bare_frame, count, line_end, line_start
from sweeprules.collectors.metrics.mirror import MIRROR, Record, number, parse

_AFTER = 1 << 15
"""Bytes before a dictionary in which the bar that counts its step is looked for."""
_REWARD = b"'reward':"
_VALUE = r"[-+]?(?:[Nn]a[Nn]|[Ii]nf(?:inity)?|(?:\d(?:[\d,]*\d)?(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
_EQUALS = re.compile(rf"(?<![^\s|,])([A-Za-z_][\w/.\-]{{0,99}})=({_VALUE})(?=[\s,|]|$)")
_COLON = re.compile(rf"(?:^|\s)([A-Za-z_@][\w/.\-@]{{0,119}}):({_VALUE})(?=\s|$)")
_CELL = re.compile(rf"\|\s*([A-Za-z][\w \-/().]{{0,60}}?)\s*:\s*({_VALUE})\s*(?=\|)")
_ITERATION = re.compile(r"\biteration\s+(\d{1,12})\s*/\s*(\d{1,12})\s*(?=\|)")
_COLON_STEP = re.compile(r"(?:^|\s)step:(\d{1,15})\s+-\s")
_EQUALS_STEP = re.compile(r"(?<![^\s|,])(?:global_)?step=(\d{1,15})(?:/(\d{1,15}))?(?=[\s,|]|$)")
_STEPS = ("global_step", "step", "global_step/max_steps")


def rows(chunk: Chunk, low: int, keys: AbstractSet[str]) -> Iterator[Record]:
    """Such lines from a place on, in their order; those without any of `keys` are passed over.

    A record without a step is one whose trainer prints none and draws no bar beside it.
    """
    found = [record for kind in _KINDS for record in _lines(chunk, low, kind, keys)]
    yield from sorted(found, key=lambda record: record.at)


_Read = Callable[[Chunk, int, int, str], Record | None]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A form of lines of metrics: what each holds, how one record is read, and how a record that is glued on begins."""

    literal: bytes
    read: _Read
    head: re.Pattern[bytes] | None = None


def _lines(chunk: Chunk, low: int, kind: _Kind, keys: AbstractSet[str]) -> Iterator[Record]:
    text = chunk.text
    at = text.find(kind.literal, low)
    high = chunk.begin
    while at >= 0:
        start, high = max(line_start(text, at, chunk.begin), high), line_end(text, at)
        if high < len(text) and text.find(MIRROR, start, high) < 0:
            for first, last in pairwise((start, *_glued(text, start, high, kind.head), high)):
                record = kind.read(chunk, first, last, text[first:last].decode("utf-8", "replace"))
                if record is not None and (record.data is None or not keys.isdisjoint(record.data)):
                    yield record
        at = text.find(kind.literal, max(high, at + 1))


def _glued(text: bytes, start: int, high: int, head: re.Pattern[bytes] | None) -> list[int]:
    """Where on a line further records begin: at the key of the step of the first one, each time it is there again."""
    found = list(head.finditer(text, start, high)) if head is not None else []
    return [one.start() for one in found[1:] if one[1] == found[0][1]]


def _dictionary(chunk: Chunk, start: int, end: int, line: str) -> Record | None:
    """A trainer's dictionary with a reward: `{'loss': 0.0, 'reward': 0.41, ...}`."""
    brace = line.find("{'")
    data = parse(line[brace:]) if brace >= 0 else None
    if data is None:
        return Record(None, start, end, "row", None) if brace >= 0 and "'loss'" in line else None
    step, total = _own_step(data)
    if step is None:
        step, total = _drawn(chunk, start, end, start + max(brace, 0))
    return Record(step, start, end, "row", data, total)


def _drawn(chunk: Chunk, start: int, end: int, at: int) -> tuple[int | None, int | None]:
    """The step by the bar: a row that was written over it is followed by the bar drawn anew; any other row follows it.

    The frame before a row that was written over the bar may be of an earlier step, for not every step is drawn; the
    one before rows that were held back and came all at once is of a later one.
    """
    text = chunk.text
    anew = trainbar.after(text, end, chunk.begin) if trainbar.written(text, start, chunk.begin) else None
    if anew is not None:
        return anew.n, anew.m
    if trainbar.held_back(text, end):
        return None, None
    frame = bare_frame(text, max(chunk.begin, start - _AFTER, text.rfind(_REWARD, chunk.begin, start)), at)
    return (None, None) if frame is None else (frame.n, frame.m)


def _own_step(data: Mapping[str, Any]) -> tuple[int | None, int | None]:
    for key in _STEPS:
        raw = data.get(key)
        if isinstance(raw, str) and "/" in raw:
            first, _, second = raw.partition("/")
            n, m = number(first), number(second)
            if isinstance(n, int) and isinstance(m, int):
                return n, m
        value = number(raw) if raw is not None else None
        if isinstance(value, int | float) and value >= 0 and value == int(value):
            return int(value), None
    return None, None


def _equals(chunk: Chunk, start: int, end: int, line: str) -> Record | None:
    """`step=118 reward=0.311 grad_norm=0.42`."""
    step = _EQUALS_STEP.search(line)
    if step is None:
        return None
    data = dict(_EQUALS.findall(line))
    return Record(int(step[1]), start, end, "row", data, int(step[2]) if step[2] else None)


def _colon(chunk: Chunk, start: int, end: int, line: str) -> Record | None:
    """`step:12 - actor/entropy:0.41 - actor/grad_norm:0.2`."""
    step = _COLON_STEP.search(line)
    if step is None:
        return None
    return Record(int(step[1]), start, end, "row", dict(_COLON.findall(line, step.start())))


def _table(chunk: Chunk, start: int, end: int, line: str) -> Record | None:
    """` iteration  5426/ 250000 | learning rate: 3E-04 | grad norm: 0.3 |`."""
    found = _ITERATION.search(line)
    if found is None:
        return None
    data = {name.strip(): value for name, value in _CELL.findall(line, found.end())}
    return Record(int(found[1]), start, end, "row", data, count(found[2]))


_KINDS = (
    _Kind(_REWARD, _dictionary),
    _Kind(b"step=", _equals, re.compile(rb"(?<![A-Za-z_/.\-])((?:global_)?step)=\d")),
    _Kind(b"step:", _colon, re.compile(rb"(?<![A-Za-z_/.\-])(step):\d{1,15}\s+-\s")),
    _Kind(b" iteration ", _table, re.compile(rb"\b(iteration)\s+\d{1,12}\s*/")),
)


def numbered(records: list[Record], last: int) -> list[Record]:
    """The records with a step each: one that prints none counts on from the one before it."""
    found = []
    for record in records:
        if record.step is None and record.data is not None:
            record = replace(record, step=last + 1)
        if record.step is not None:
            last = record.step
        found.append(record)
    return found
