"""The log of a fine-tuning run of any length, read piece by piece in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.sft import read_sft

OVERLAP = 64 * 1024
"""Bytes that are read again with the next piece: the frame behind a row tells the row's step."""
LEAST = 8 * 1024 * 1024
"""Bytes that are gathered before they are read: each reading looks at the newest rows, however much it is given."""


def read_sft_pieces(
    pieces: Iterable[bytes], aliases: Mapping[str, Sequence[str]], zone: ZoneInfo, *, total: int | None = None
) -> Numbers:
    """What `read_sft` says of a log that comes in pieces from its start; memory is that of a few times `LEAST`."""
    numbers, carried, start, begun = Numbers(), b"", 0, True
    for gathered in _gathered(pieces):
        data = carried + gathered
        numbers = _next(numbers, data, start, begun, aliases, zone, total)
        at = max(0, len(data) - OVERLAP)
        place = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
        keep, begun = (place, True) if at - place < LEAST else (at, False)
        carried, start = data[keep:], start + keep
    return numbers


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= LEAST:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _next(
    before: Numbers,
    data: bytes,
    start: int,
    begun: bool,
    aliases: Mapping[str, Sequence[str]],
    zone: ZoneInfo,
    total: int | None,
) -> Numbers:
    return read_sft(Chunk(data, start, whole_start=begun), aliases, zone, before.memo or None, whole=True, total=total)
