"""What the standard jobs are by their names, and which flags each may have, written down from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: The standard jobs that come to rest only after one or two minutes.
SLOW = ("timeout", "chain1", "chain2", "deadline")

#: The bucket of each standard job, by its name's prefix; exceptions by name come before prefixes.
BUCKETS: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "rl", "chain1": "rl", "chain2": "rl", "chain3": "rl", "running": "rl", "silent": "rl",
        "silent2": "rl", "fail": "sft", "cancelled": "eval", "oom": "sft", "array": "datagen", "pending": "eval",
        "pendres": "datagen", "pendres2": "datagen", "pipe": "rl", "unicode": "sft", "newline": "rl", "quotes": "eval",
        "tab": "rl", "eq": "rl", "longname": "rl", "defout": "catch-all", "outnodes": "catch-all", "segv": "sft",
        "complete": "sft", "stepfail": "sft", "hold": "catch-all", "requeue": "rl", "nodir": "eval", "badwd": "eval",
        "begin": "eval", "het": "rl", "depnever": "rl", "deadline": "eval",
    }
)  # fmt: skip

_NONE = frozenset[str]()
_BRINGUP = frozenset({"bringup"})
_FAILURE = frozenset({"failure"})
#: Exit 0:53 without a quota that was read: neither cause may be named (S48).
_UNREAD = frozenset({"failure", "evidence-missing"})
_BY_LABEL: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        # Started lately, and no first step or result so far.
        **dict.fromkeys(("silent", "silent2", "longname", "het", "pendres"), _BRINGUP),
        # Its log has metric lines: bring-up is over.
        "running": _NONE,
        **dict.fromkeys(("fail", "segv", "array"), _FAILURE),
        "oom": frozenset({"failure", "sft-oom"}),
        # The allocation ended well, a step of it did not.
        "stepfail": frozenset({"failure", "sacct-masked"}),
        **dict.fromkeys(("nodir", "badwd"), _UNREAD),
        # Waiting is no fault, nor is a cancellation by its owner, nor an end that accounting calls good.
        **dict.fromkeys(("pending", "pendres2", "hold", "begin", "depnever", "cancelled"), _NONE),
        **dict.fromkeys(("pipe", "unicode", "newline", "quotes", "tab", "eq", "defout", "complete"), _NONE),
        # A catch-all job has no bring-up; its log is found although the scheduler's path is no real one.
        "outnodes": _NONE,
    }
)
#: Those that change within two minutes: the flags that go with the state of the job which `label` names.
_BY_STATE: Mapping[tuple[str, str], frozenset[str]] = MappingProxyType(
    {
        ("timeout", "RUNNING"): _BRINGUP,
        ("timeout", "TIMEOUT"): frozenset({"chain-ended"}),
        ("chain1", "RUNNING"): _BRINGUP,
        # Slurm takes a moment to start the next link, and it may not have printed its first step yet.
        ("chain1", "TIMEOUT"): frozenset({"chain-restart-ok"}),
        # Slurm starts it again about two minutes after its requeue.
        ("requeue", "PENDING"): _NONE,
        ("requeue", "RUNNING"): _BRINGUP,
        ("deadline", "PENDING"): _NONE,
        ("deadline", "DEADLINE"): _FAILURE,
    }
)


def flags_of(label: str, state: str) -> frozenset[str]:
    """The flags that a standard job has in a first sweep; those of a chain's row are under `chain1`."""
    label = "chain1" if label in ("chain2", "chain3") else label
    by_state = _BY_STATE.get((label, state))
    return _BY_LABEL[label] if by_state is None else by_state


def name_in_accounting(name: str) -> str:
    """How accounting spells a job's name: it keeps a double quote as a back quote."""
    return name.replace('"', "`")
