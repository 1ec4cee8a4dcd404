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
    states, exits = _accounted(slurm, "-S", "now-1days", "-u", user)
    queued = dict(
        line.split("|") for line in slurm.must("squeue", "-h", "-a", "-r", "-u", user, "-o", "%i|%T").splitlines()
    )
    # A requeued job that was cancelled while it waited stays REQUEUED there, unless it is asked for by its id.
    unsure = [job for job, state in states.items() if state not in TERMINAL and job not in queued]
    if unsure:
        more, more_exits = _accounted(slurm, "-j", ",".join(unsure))
        states, exits = states | more, exits | more_exits
    states |= {job: _word(state) for job, state in queued.items() if states.get(job) not in TERMINAL}
    return Truth(states, exits)


def _accounted(slurm: Slurm, *which: str) -> tuple[dict[str, str], dict[str, str]]:
    states: dict[str, str] = {}
    exits: dict[str, str] = {}
    for line in slurm.must("sacct", "-X", "-n", "-P", *which, "--format=JobID,State,ExitCode").splitlines():
        job, state, code = line.split("|")
        states[job] = _word(state)
        if states[job] in TERMINAL:
            exits[job] = code
    return states, exits


def _word(state: str) -> str:
    word = state.split()[0]
    return _SAME.get(word, word)
