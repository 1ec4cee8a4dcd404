"""A log of any length, read piece by piece in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.names import Names
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import Kept

OVERLAP = 64 * 1024
"""Bytes that are read again with the next piece, for what was half written at its end."""
LONGEST = 4 * 1024 * 1024
"""Bytes of an unended line that are carried on; a longer one is no line of metrics."""


def read_rl_pieces(pieces: Iterable[bytes], aliases: Mapping[str, Sequence[str]], zone: ZoneInfo) -> Numbers:
    """What `read_rl` says of a log that comes in pieces from its start, of some MiB each: memory is that of a piece."""
    names, kept = Names.of(aliases), Kept()
    quotes: Mapping[str, str] = {}
    carried, start, begun = b"", 0, True
    for piece in pieces:
        data = carried + piece
        if _after_break(data, len(data)) == 0 and len(data) < LONGEST:
            carried = data
            continue
        kept, quotes = kept.after(Chunk(data, start, whole_start=begun), names, zone, whole=True)
        keep, begun = _kept(data)
        carried, start = data[keep:], start + keep
    if carried:
        kept, quotes = kept.after(Chunk(carried, start, whole_start=begun), names, zone, whole=True)
    return kept.numbers(quotes, whole=True)


def _kept(data: bytes) -> tuple[int, bool]:
    """From where on bytes are carried on, and whether a line begins there."""
    at = max(0, (_after_break(data, len(data)) or len(data)) - OVERLAP)
    place = _after_break(data, at)
    return (place, True) if at - place < LONGEST else (at, False)


def _after_break(data: bytes, at: int) -> int:
    """The place behind the last break before a place; 0 without any."""
    return max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
