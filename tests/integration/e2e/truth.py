"""What Slurm itself says of a user's jobs, read here without the product, on the node and as root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.testbed.slurm import Slurm

TERMINAL = frozenset(
    {
        "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
        "DEADLINE", "GONE",
    }
)  # fmt: skip
#: Slurm's words for a job that the report calls pending or running.
_SAME = {"REQUEUED": "PENDING", "REQUEUE_HOLD": "PENDING", "CONFIGURING": "RUNNING", "COMPLETING": "RUNNING"}


@dataclass(frozen=True, slots=True)
class Truth:
    """The state of every job, array task and heterogeneous part by id, and the exit of those that ended."""

    states: Mapping[str, str] = field(default_factory=dict)
    exits: Mapping[str, str] = field(default_factory=dict)

    def active(self) -> set[str]:
        return {job for job, state in self.states.items() if state not in TERMINAL}


def truth(slurm: Slurm, user: str = "alice") -> Truth:
    """Accounting for what has ended, and the queue, which alone lists held and dependent jobs, for what has not."""
    states: dict[str, str] = {}
    exits: dict[str, str] = {}
    fields = ("-X", "-n", "-P", "-S", "now-1days", "-u", user, "--format=JobID,State,ExitCode")
    for line in slurm.must("sacct", *fields).splitlines():
        job, state, code = line.split("|")
        word = _word(state)
        states[job] = word
        if word in TERMINAL:
            exits[job] = code
    for line in slurm.must("squeue", "-h", "-a", "-r", "-u", user, "-o", "%i|%T").splitlines():
        job, state = line.split("|")
        if states.get(job) not in TERMINAL:
            states[job] = _word(state)
    return Truth(states, exits)


def _word(state: str) -> str:
    word = state.split()[0]
    return _SAME.get(word, word)
