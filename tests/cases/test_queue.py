"""Answers of a queue that say nothing of any job, and those that look alike and say that there is none."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from sweeprules.collectors.slurm.squeue import read_queue
from sweeprules.engine.observation import Observation
from tests.collectors.slurm.fake import MARKS, job, observation, squeue_text

TIMES = 50
_ERRORS = (
    "slurm_load_jobs error: Socket timed out on send/recv operation",
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
    "squeue: error: slurm_receive_msg: Socket timed out on send/recv operation,",
    "slurm_load_jobs error: Zero Bytes were transmitted or received",
)


def error_with_exit_0(rng: Random) -> Observation:
    """An error on the other channel, exit 0, and now and then the cluster's name where jobs should stand."""
    name = rng.choice(("", f"CLUSTER: c{rng.randrange(99)}\n"))
    return observation(("squeue",), name, code=0, stderr=f"{rng.choice(_ERRORS)}\n")


def error_on_two_lines(rng: Random) -> Observation:
    """Nothing but two lines of error."""
    code = rng.choice((0, 1, 1, 255))
    return observation(("squeue",), "", code=code, stderr=f"{rng.choice(_ERRORS)}\n{rng.choice(_ERRORS)}\n")


def empty(rng: Random) -> Observation:
    """No job and no word of complaint."""
    return observation(("squeue",), rng.choice(("", "\n", "  \n")), code=0)


def some(rng: Random) -> Observation:
    """Some jobs, one of them with words of an error in its name."""
    name = rng.choice(("rl__x", "sft__Socket_timed_out", "eval-error"))
    jobs = [job(str(rng.randrange(1, 9_999_999)), name=name) for _ in range(rng.randrange(1, 9))]
    return observation(("squeue",), squeue_text(jobs), code=0)


def either(rng: Random) -> Observation:
    """One or the other."""
    return empty(rng) if rng.random() < 0.5 else some(rng)


@pytest.mark.parametrize("make", [error_with_exit_0, error_on_two_lines])
def test_an_error_is_no_empty_queue(make: Callable[[Random], Observation]) -> None:
    for number in range(TIMES):
        answer = read_queue(make(Random(number)), MARKS, "UTC")
        assert answer.why, number
        assert not answer.rows


def test_an_answer_without_complaint_is_believed() -> None:
    for number in range(TIMES):
        answer = read_queue(either(Random(number)), MARKS, "UTC")
        assert not answer.why, (number, answer.why)
        assert len(answer.rows) == answer.job_lines or answer.rows
