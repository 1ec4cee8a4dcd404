"""Logs of real runs through the readers, whole and as they grow, and what the run itself holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import read_rl
from sweeprules.collectors.metrics.sft import read_sft
from sweeprules.engine.facts import Unknown
from tests.collectors.metrics.rl_logs import aliases

UTC = ZoneInfo("UTC")
Read = Callable[[Chunk, Mapping[str, Any] | None], Numbers]


def sft(chunk: Chunk, before: Mapping[str, Any] | None) -> Numbers:
    return read_sft(chunk, aliases(), UTC, before, whole=True)


def rl(chunk: Chunk, before: Mapping[str, Any] | None) -> Numbers:
    return read_rl(chunk, aliases(), UTC, before, whole=True)


def whole(read: Read, log: bytes) -> Numbers:
    """What one reading of a log says."""
    return read(Chunk(log, 0), None)


def grown(read: Read, log: bytes, cuts: Sequence[int]) -> Iterator[tuple[int, Numbers]]:
    """What sweeps say of a log that grew to each of some lengths, each on the memo of the one before."""
    memo: Mapping[str, Any] | None = None
    start = 0
    for cut in cuts:
        # A sweep reads some of what it read before anew, as the collectors do.
        low = max(0, start - 8192)
        low = log.rfind(b"\n", 0, low) + 1 if low else 0
        found = read(Chunk(log[low:cut], low), memo)
        memo = json.loads(json.dumps(dict(found.memo)))
        start = cut
        yield cut, found


def truth(folder: Path) -> dict[str, Any]:
    """What the trainer held in memory at its end."""
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return found


def logged(history: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The rows of training by step; those of evaluation and of the end have no `loss`."""
    return {row["step"]: row for row in history if "loss" in row}


def same_points(numbers: Numbers, history: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> None:
    """Every step that the trainer holds was read, no other one, and each number to the digits that are printed.

    `names` are our names by the trainer's.
    """
    rows = logged(history)
    assert [point.step for point in numbers.points] == sorted(rows)
    for point in numbers.points:
        for theirs, ours in names.items():
            value = point.get(ours)
            assert not isinstance(value, Unknown), (point.step, ours, value)
            assert value == pytest.approx(rows[point.step][theirs], rel=5e-4, abs=5e-5), (point.step, ours)
