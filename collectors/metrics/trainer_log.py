"""What stands beside the log of a fine-tuning run: its `trainer_log.jsonl`, and the model at the top of its folder."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from sweeprules.engine.facts import FactValue, Reason, Unknown

NAME = "trainer_log.jsonl"
TRIES = 20
"""Lines from the end on that are looked at, until one can be read."""
ROUNDED = 99.995
"""Percent from which on a completion of two decimals reads as 100, although a step is missing."""
_LONGEST = 64 * 1024
_EMPTY = Unknown(Reason.NOT_READ, "the trainer's own log is empty so far")
_TORN = Unknown(Reason.MALFORMED, "no line at the end of the trainer's own log can be read")
_WEIGHTS = re.compile(r"(?:model|pytorch_model|adapter_model)\.(?:safetensors|bin)", re.ASCII)
_PART = re.compile(
    r"(?P<base>model|pytorch_model|adapter_model)-(?P<n>\d{5})-of-(?P<of>\d{5})\.(?P<end>safetensors|bin)", re.ASCII
)
_SHARDS = re.compile(r"global_step\d+|pytorch_model_fsdp_\d+|__\d+_\d+\.distcp|zero_to_fp32\.py", re.ASCII)


def percentage(data: bytes) -> FactValue:
    """The completion, 0 to 100, by the newest line of the end of a `trainer_log.jsonl`; good for completion only.

    While the run goes on the file may be empty or stand still: that says nothing of the run.
    """
    lines = [line for line in data[-_LONGEST:].splitlines() if line.strip()]
    if not lines:
        return _EMPTY
    for line in reversed(lines[-TRIES:]):
        found = _completion(line)
        if found is not None:
            return found
    return _TORN


def agreed(share: FactValue, step: FactValue, total: FactValue) -> FactValue:
    """A completion that the job's own log bears out; one that says done while steps are missing is of another run."""
    if not (isinstance(step, int) and isinstance(total, int) and isinstance(share, int | float)):
        return share
    if share >= 100 and step < total:
        return Unknown(Reason.DISAGREE, f"the trainer's own log says done, the job's log says step {step} of {total}")
    return share


def _completion(line: bytes) -> float | None:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    steps, total, said = _count(row.get("current_steps")), _count(row.get("total_steps")), row.get("percentage")
    share = 100 * steps / total if steps is not None and total else None
    if share is not None and share >= 100:
        return 100.0
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said) or not 0 <= said <= 100:
        return None
    # A line that calls a run done of which it says that steps are missing contradicts itself.
    return None if said >= 100 and share is not None and share < ROUNDED else float(said)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def checkpoint_kind(names: Iterable[str]) -> FactValue:
    """The form of the saved model by the names at the top of its folder: `direct`, `sharded` or `none`.

    Direct are weights that load as they are, one file or all of its parts; sharded are an optimiser's shards with no
    weights beside them, which have to be consolidated first. Of weights of which a part is missing nothing is told.
    """
    listed = {name.rstrip("/").rpartition("/")[2] for name in names}
    if any(_WEIGHTS.fullmatch(name) for name in listed):
        return "direct"
    parts = [part for name in listed if (part := _PART.fullmatch(name))]
    if parts:
        groups: dict[tuple[str, str, str], set[int]] = {}
        for part in parts:
            groups.setdefault((part["base"], part["of"], part["end"]), set()).add(int(part["n"]))
        if any(numbers == set(range(1, int(of) + 1)) for (_, of, _), numbers in groups.items()):
            return "direct"
        return Unknown(Reason.DISAGREE, "some parts of the model are missing")
    return "sharded" if any(_SHARDS.fullmatch(name) for name in listed) else "none"
