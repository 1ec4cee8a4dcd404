"""What a trainer says once: how many steps it plans, from which checkpoint it resumed, which one it saved last."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import count, line_end, line_start

TRIES = 50
"""Lines that hold a literal and are looked at, from the end on, until one says what is asked."""
_TOTALS = (
    (b"Total optimization steps", re.compile(rb"Total optimization steps\s*=\s*(\d[\d,]{0,18})(?=\s)")),
    (b"| Total steps", re.compile(rb"\| Total steps\s*=\s*(\d[\d,]{0,18})(?=\s)")),
)
_RESUMED = (
    (b"Loading model from ", re.compile(rb"Loading model from \S*checkpoint-(\d{1,15})/?\.(?=\s)")),
    (b"global step ", re.compile(rb"(?:Resuming|Continuing) training from .{0,80}?global step (\d{1,15})(?=\s)")),
)
# Noise within a name leaves the beginning of a number: only a file that is named whole tells of its checkpoint.
_FILE = rb"\S*checkpoint-(\d{1,15})/[\w.-]+\.(?:safetensors|json|bin)\.?(?=\s)"
_SAVED = (
    (b"weights saved in ", re.compile(rb"[Mm]odel weights saved in " + _FILE)),
    (b"in the index located at ", re.compile(rb"in the index located at " + _FILE)),
    (b"tokenizer config file saved in ", re.compile(rb"tokenizer config file saved in " + _FILE)),
    (b"last_model_checkpoint: ", re.compile(rb"last_model_checkpoint: \S*checkpoint-(\d{1,15})(?=\s)")),
)


@dataclass(frozen=True, slots=True)
class Said:
    """A number that a line says, and where in the chunk's plain text."""

    value: int
    at: int


def banner_total(chunk: Chunk) -> Said | None:
    """The planned steps by the newest banner, with or without thousands commas."""
    return _last(chunk, _TOTALS)


def resumed_at(chunk: Chunk) -> Said | None:
    """The step of the checkpoint that the newest start went on from."""
    return _last(chunk, _RESUMED)


def saved_at(chunk: Chunk) -> Said | None:
    """The step of the newest checkpoint whose weights were written, not only begun."""
    return _last(chunk, _SAVED)


def _last(chunk: Chunk, wanted: tuple[tuple[bytes, re.Pattern[bytes]], ...]) -> Said | None:
    found = [said for literal, regex in wanted if (said := _newest(chunk, literal, regex)) is not None]
    return max(found, key=lambda said: said.at, default=None)


def _newest(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes]) -> Said | None:
    text = chunk.text
    at = text.rfind(literal, chunk.begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        start = line_start(text, at, chunk.begin)
        found = regex.search(text, start, min(line_end(text, at) + 1, at + 4096))
        if found is not None:
            return Said(count(found[1]), found.start())
        at = text.rfind(literal, chunk.begin, at)
    return None
