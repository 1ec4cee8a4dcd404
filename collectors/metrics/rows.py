"""Rows of numbers as trainers print them: dicts (Hugging Face and what is built on it) and Megatron's fields."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import line_end, line_start
from sweeprules.engine.facts import FactValue, Reason, Unknown

_PAIR = re.compile(
    rb"\s*'([^'{}\r\n]{1,256})'\s*:\s*(?:'([^'\r\n]{0,1000})'|\"([^\"\r\n]{0,1000})\"|([^\s,'\"{}]{1,1000}?))\s*(,|$)"
)
_NUMBER = re.compile(
    r"(?:(?:np|numpy|torch)\.)?(?:[a-z]+\d*\()?\s*"
    r"(?P<n>[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?))\s*\)?",
    re.IGNORECASE | re.ASCII,
)
_ITERATION = re.compile(rb"iteration\s+(\d{1,15})/\s*(\d{1,15})\s*\|")
_OF = re.compile(r"(\d{1,15})\s*/\s*(\d{1,15})", re.ASCII)
_DICT = b"'loss':"
_MEGATRON = b"iteration "
_TOLD = "global_step/max_steps"
BROKEN = Unknown(Reason.MALFORMED, "the newest row of metrics is broken")
NOT_FINITE = Unknown(Reason.NAN, "printed as nan or infinity")
_NO_NUMBER = Unknown(Reason.MALFORMED, "printed, and not as a number")


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row: key -> text as printed. `low` and `high` are its places in the chunk's plain text.

    `whole` is False for a row that can not be read: then it has no values. `step` and `total` are what it says itself.
    """

    low: int
    high: int
    values: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    step: int | None = None
    total: int | None = None

    def get(self, *keys: str) -> FactValue | None:
        """The first of some keys that it prints, as a number; unknown when it is none; None when it prints none."""
        for key in keys:
            if key in self.values:
                return number(self.values[key])
        return None


def number(text: str) -> FactValue:
    """A printed number, quoted or not, with thousands commas or not; NaN and infinity are unknown, as is a word."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return _NO_NUMBER
    value = float(found["n"].replace(",", ""))
    return value if math.isfinite(value) else NOT_FINITE


def last_rows(chunk: Chunk, most: int) -> list[Row]:
    """At most `most` rows from the end of a chunk, in printed order; an unfinished one at its very end is no row."""
    text = chunk.text
    found: list[Row] = []
    at = len(text)
    dict_at, bar_at = _before(text, _DICT, chunk.begin, at), _before(text, _MEGATRON, chunk.begin, at)
    while len(found) < most and max(dict_at, bar_at) >= 0:
        if dict_at > bar_at:
            row, at = _dict_row(chunk, dict_at), dict_at
            dict_at = _before(text, _DICT, chunk.begin, at)
        else:
            row, at = _megatron_row(chunk, bar_at), bar_at
            bar_at = _before(text, _MEGATRON, chunk.begin, at)
        if row is not None:
            found.append(row)
    return found[::-1]


def first_rows(chunk: Chunk, most: int) -> list[Row]:
    """At most `most` dict rows from the beginning of a chunk, in printed order."""
    found: list[Row] = []
    at = chunk.text.find(_DICT, chunk.begin)
    while at >= 0 and len(found) < most:
        row = _dict_row(chunk, at)
        if row is not None:
            found.append(row)
        at = chunk.text.find(_DICT, at + 1)
    return found


def _before(text: bytes, literal: bytes, begin: int, end: int) -> int:
    return text.rfind(literal, begin, end)


def _dict_row(chunk: Chunk, at: int) -> Row | None:
    """The dict that holds the key at a place; None where it is not finished yet, or is a part of another one."""
    text = chunk.text
    start, end = line_start(text, at, chunk.begin), line_end(text, at)
    low, high = text.rfind(b"{", start, at), text.find(b"}", at, end)
    if high < 0:
        return None if end == len(text) else Row(max(low, start), at, whole=False)
    if low >= 0 and text[max(start, low - 4) : low].rstrip().endswith((b"':", b'":')):
        return None
    values = _pairs(text[low + 1 : high]) if low >= 0 and not _goes_on(text[high + 1 : end]) else None
    if values is None:
        return Row(max(low, start), high + 1, whole=False)
    step, total = _told(values)
    return Row(low, high + 1, MappingProxyType(values), True, step, total)


def _goes_on(rest: bytes) -> bool:
    """Does a line go on as if the dict had not ended there? Then it did not."""
    before_next = rest.partition(b"{")[0]
    return b"':" in before_next or b"}" in before_next


def _pairs(inner: bytes) -> dict[str, str] | None:
    """Key and text of each pair of a flat dict; None when a byte of it is anything else, or a key is there twice."""
    values: dict[str, str] = {}
    at = 0
    while at < len(inner):
        pair = _PAIR.match(inner, at)
        if pair is None:
            return None
        text = next(group for group in pair.group(2, 3, 4) if group is not None)
        key = pair[1].decode("utf-8", "replace")
        if key in values:
            return None
        values[key] = text.decode("utf-8", "replace")
        at = pair.end()
        if not pair[5]:
            return values
    return None


def _told(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    """The step and the total that a row prints beside its numbers."""
    both = _OF.fullmatch(values.get(_TOLD, "").strip())
    if both is not None and int(both[1]) <= int(both[2]):
        return int(both[1]), int(both[2])
    alone = values.get("global_step", "").strip()
    return (int(alone), None) if alone.isascii() and alone.isdigit() and len(alone) <= 15 else (None, None)


def _megatron_row(chunk: Chunk, at: int) -> Row | None:
    text = chunk.text
    head = _ITERATION.match(text, at)
    if head is None or int(head[1]) > int(head[2]):
        return None
    end = line_end(text, at)
    glued = _ITERATION.search(text, head.end(), end)
    end = end if glued is None else glued.start()
    fields = text[head.end() : end].rstrip()
    if end == len(text) and not fields.endswith(b"|"):
        return None
    values = dict(_fields(fields))
    return Row(at, end, MappingProxyType(values), bool(values), int(head[1]), int(head[2]))


def _fields(rest: bytes) -> Iterator[tuple[str, str]]:
    for part in rest.decode("utf-8", "replace").split("|")[:-1]:
        key, colon, value = part.rpartition(":")
        if colon and key.strip():
            yield key.strip(), value.strip()
