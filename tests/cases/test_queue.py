"""Answers of a queue that say nothing of any job, and those that look alike and say that there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def some(rng: Random, ids: Sequence[str]) -> Observation:
    """Some jobs, all with words of an error in their name or none of them."""
    name = rng.choice(("rl__x", "sft__Socket_timed_out", "eval-error"))
    return observation(("squeue",), squeue_text([job(one, name=name) for one in ids]), code=0)


@pytest.mark.parametrize("make", [error_with_exit_0, error_on_two_lines])
def test_an_error_is_no_empty_queue(make: Callable[[Random], Observation]) -> None:
    for number in range(TIMES):
        answer = read_queue(make(Random(number)), MARKS, "UTC")
        assert answer.why, number
        assert not answer.rows


def test_an_answer_without_complaint_is_believed() -> None:
    for number in range(TIMES):
        rng = Random(number)
        ids = [str(one) for one in rng.sample(range(1, 9_999_999), rng.choice((0, 0, 1, 3, 8)))]
        answer = read_queue(some(rng, ids) if ids else empty(rng), MARKS, "UTC")
        assert not answer.why, (number, answer.why)
        assert set(answer.rows) == set(ids), number
        assert answer.job_lines == len(ids), number
