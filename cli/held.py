"""What rules with `for:` remember between sweeps, as a document of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Ref
from sweeprules.engine.holds import Held, HoldState, advance

HOLDS = "holds"
"""The name of the document in the store's prior state."""


def to_data(held: Held) -> dict[str, Any]:
    """JSON-ready; `from_data` gives an equal value back."""
    rows = [[rule, ref.kind, ref.key, asdict(state)] for (rule, ref), state in sorted(held.items())]
    return {"version": 1, "states": rows}


def from_data(data: Mapping[str, Any] | None) -> dict[tuple[str, Ref], HoldState]:
    """The states of `to_data`; none before the first sweep. Another version: ValueError."""
    if not data:
        return {}
    if data.get("version") != 1:
        raise ValueError(f"the kept holds have version {data.get('version')!r}; this release reads version 1")
    return {(rule, Ref(kind, key)): HoldState(**state) for rule, kind, key, state in data["states"]}


def held_states(before: Held, truths: Truths, now: float, sweep_id: str, keep: float) -> Held:
    """What rules hold for the next sweep; what was last looked at more than `keep` seconds before is forgotten."""
    after = advance(before, truths.looks(), now, sweep_id)
    return {key: state for key, state in after.items() if state.last_at is None or state.last_at >= now - keep}
