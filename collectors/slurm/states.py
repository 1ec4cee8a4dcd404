"""Slurm's words for the state of a job, and what they mean to us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sweeprules.engine.facts import NEW_STATE, FactValue, Unknown

ACTIVE = frozenset({"PENDING", "RUNNING"})
TERMINAL = frozenset(
    {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
     "GONE"}
)  # fmt: skip
FAILED = frozenset({"FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"})


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one word of Slurm's means: the state, the phase it tells by itself (`""`: none), a reason, suspension."""

    state: str
    phase: str = ""
    reason: str = ""
    suspended: bool = False


def _all(words: str, meaning: Meaning) -> dict[str, Meaning]:
    return dict.fromkeys(words.split(), meaning)


STATES: Mapping[str, Meaning] = {
    **_all("PENDING REQUEUED REQUEUE_HOLD REQUEUE_FED", Meaning("PENDING", "queued")),
    **_all("RESV_DEL_HOLD SPECIAL_EXIT EXPEDITING", Meaning("PENDING", "queued")),
    "RUNNING": Meaning("RUNNING"),
    **_all("CONFIGURING POWER_UP_NODE", Meaning("RUNNING", "bring-up")),
    **_all("SUSPENDED STOPPED", Meaning("RUNNING", suspended=True)),
    **_all("COMPLETING STAGE_OUT SIGNALING RESIZING UPDATE_DB", Meaning("RUNNING", "teardown")),
    **{word: Meaning(word) for word in sorted(TERMINAL - {"GONE"})},
    "REVOKED": Meaning("CANCELLED", reason="revoked"),
    **_all("LAUNCH_FAILED RECONFIG_FAIL", Meaning("FAILED")),
}
"""The words of 22.05 to 26.05 (catalogue e.2)."""


@dataclass(frozen=True, slots=True)
class StateReading:
    """A state as read: `state` is a word of the catalogue or unknown `new-state:WORD`; `raw` is Slurm's text."""

    state: FactValue
    raw: str
    phase: str = ""
    reason: str = ""
    suspended: bool = False
    cancelled_by: str = ""


def read_state(text: str, table: Mapping[str, Meaning] = STATES) -> StateReading:
    """The reading of `squeue %T`, `sacct State` or `scontrol JobState`.

    Only the first word counts; of a base state with flags (`RUNNING+COMPLETING`) the last flag that is known does.
    """
    raw = text.strip()
    first, _, rest = raw.partition(" ")
    word, *flags = first.upper().split("+")
    by = rest.removeprefix("by ").strip() if word == "CANCELLED" and rest.startswith("by ") else ""
    if word not in table:
        return StateReading(Unknown(NEW_STATE + (word[:40] or "none")), raw)
    meaning = table[next((flag for flag in reversed(flags) if flag in table), word)]
    return StateReading(meaning.state, raw, meaning.phase, meaning.reason, meaning.suspended, by)
