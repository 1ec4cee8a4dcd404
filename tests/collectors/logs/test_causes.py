"""The first real cause: by time, by place, by who tells it, over several logs and several readings."""

from __future__ import annotations

import json
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.logs.candidates import read_causes
from sweeprules.collectors.logs.causes import KEEP, Cause, Causes, Standing, decode, encode, first_cause, joined, merge
from sweeprules.collectors.logs.completion import Completion
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare
from sweeprules.collectors.logs.traces import tracebacks
from tests.collectors.slurm.sweeps import pattern

UTC = ZoneInfo("UTC")
PATTERNS = {
    one.name: one
    for one in (
        pattern("hang", "fault", "Watchdog caught"),
        pattern("gpu", "fault", "CUDA out of memory"),
        pattern("task", "fault", "RayTaskError"),
        pattern("actor", "fault", "ActorDiedError"),
        pattern("row", "progress", "'loss':"),
        pattern("bar", "progress", "Step:", r"Step: (?P<n>\d+)/(?P<m>\d+)", n="integer", m="integer"),
        pattern("telemetry", "benign", "read-only"),
    )
}
MATCHERS = prepare(PATTERNS)
UNTIL = 1_782_907_200.0
"""2026-07-01T12:00:00Z."""


def causes(*lines: str, path: str = "/w/a.out", start: int = 0, before: Causes | None = None) -> Causes:
    chunk = Chunk("".join(f"{line}\n" for line in lines).encode(), start)
    done = before.completion if before else None
    return read_causes(chunk, tracebacks(chunk), MATCHERS, path, UTC, UNTIL, done)


def first(*lines: str) -> Cause | None:
    return first_cause([causes(*lines)])


def trace(error: str, prefix: str = "") -> tuple[str, ...]:
    return tuple(
        f"{prefix}{line}"
        for line in ("Traceback (most recent call last):", '  File "/w/t.py", line 3, in go', "    go()", error)
    )


def kind(*lines: str) -> str | None:
    found = first(*lines)
    return None if found is None else found.type


# ---------------------------------------------------------------- in one log


def test_the_traceback_that_is_no_wrapper():
    assert kind(*trace("ChildFailedError: x"), *trace("ValueError: y")) == "ValueError"
    assert kind(*trace("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: x")) is None


def test_a_line_that_matches_a_pattern_gives_its_name_and_is_quoted_whole():
    found = first(*trace("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "[rank3]: "))
    assert found is not None
    assert (found.type, found.rank) == ("gpu", 3)
    assert found.message == "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"


@pytest.mark.parametrize(
    "fallout",
    [
        "RuntimeError: Connection closed by peer [10.0.0.7]:4242",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "SignalException: Process 7 got signal: 15",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.",
        "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
    ],
)
def test_what_a_death_brings_about_is_no_cause(fallout: str):
    assert kind(*trace(fallout, "[rank0]: "), *trace("KeyError: 'x'", "[rank1]: ")) == "KeyError"
    assert kind(*trace(fallout)) is None


def test_the_reason_that_an_abort_gives_is_one():
    told = "NCCL communicator was aborted on rank 3.  Original reason for failure was: [Rank 3] Watchdog caught"
    assert kind(f"RuntimeError: {told}") == "hang"
    assert kind("RuntimeError: NCCL communicator was aborted on rank 3. Watchdog caught") is None


def test_the_earlier_clock_wins_over_the_earlier_place():
    late = "[rank1]:[E630 10:00:09.1 x] Watchdog caught"
    early = "[rank2]:[E630 09:00:09.1 x] Watchdog caught"
    found = first(late, early)
    assert found is not None
    assert (found.rank, found.time) == (2, UNTIL - 27 * 3600 + 9)


def test_without_a_clock_the_earlier_place_wins():
    found = first("[rank1]: Watchdog caught", "[rank2]: Watchdog caught")
    assert found is not None
    assert (found.rank, found.time, found.position) == (1, None, 0)


def test_one_operation_on_many_ranks_is_one_event():
    line = "[rank{0}]: Watchdog caught: WorkNCCL(SeqNum={1}, OpType=ALLREDUCE) ran for 7 ms"
    found = causes(*(line.format(rank, 41) for rank in (5, 2, 7)), line.format(2, 42)).found
    assert [(one.operation, one.rank, one.ranks) for one in found] == [
        ("ALLREDUCE 41", 5, (2, 5, 7)),
        ("ALLREDUCE 42", 2, (2,)),
    ]


def test_a_record_below_an_error_is_none():
    assert kind("WARNING 07-01 10:00:00 [x.py:1] retrying after CUDA out of memory") is None
    assert kind("INFO CUDA out of memory is what this avoids") is None
    assert kind("n1:7 [0] NCCL WARN CUDA out of memory") == "gpu"
    assert kind(*trace("ValueError: x", "WARNING 07-01 10:00:00 [x.py:1] ")) is None


def test_a_traceback_that_the_policy_calls_benign_is_none():
    assert kind(*trace("OSError: read-only file system")) is None


def test_source_code_in_a_traceback_is_no_line():
    lines = (
        "Traceback (most recent call last):",
        '  File "/w/t.py", line 3, in go',
        "    raise ActorDiedError",
        "KeyError: 1",
    )
    assert [one.type for one in causes(*lines).found] == ["KeyError"]


def test_what_ray_lists_as_possible_is_no_cause():
    assert (
        kind("The actor died. There are some potential root causes. (1) CUDA out of memory (2) ActorDiedError") is None
    )
    assert kind("This can happen when a", "\t(1) raylet crashes (CUDA out of memory)") is None


def test_a_death_that_is_told_gives_way_to_the_word_of_the_dead():
    assert kind("ActorDiedError: the actor died", *trace("ValueError: x")) == "ValueError"
    assert kind("ActorDiedError: the actor died") == "actor"


def test_but_not_to_what_comes_long_after():
    told = "2026-07-01 10:00:00 ActorDiedError: the actor died"
    assert kind(told, *trace("2026-07-01 10:05:00 x"), "2026-07-01 10:05:00 CUDA out of memory") == "actor"
    assert kind(told, "2026-07-01 10:00:40 CUDA out of memory") == "gpu"
    assert kind("ActorDiedError: x", *["-" * 200] * 100, *trace("ValueError: x")) == "actor"


def test_what_a_run_survived_gives_way():
    rows = [f"{{'loss': {number}}}" for number in range(3)]
    assert kind(*trace("ValueError: early"), *rows, *trace("KeyError: late")) == "KeyError"
    assert kind(*trace("ValueError: early"), *rows[:2], *trace("KeyError: late")) == "ValueError"
    assert kind(*trace("ValueError: early"), *rows) == "ValueError"
    assert kind("CUDA out of memory", *rows, "Watchdog caught") == "hang"


def test_the_same_row_again_is_no_progress_and_frames_of_a_bar_are_none():
    assert kind(*trace("ValueError: early"), *["{'loss': 1}"] * 9, *trace("KeyError: late")) == "ValueError"
    frames = [f"Step: {number}/9" for number in range(9)]
    assert kind(*trace("ValueError: early"), *frames, *trace("KeyError: late")) == "ValueError"


WALL = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-07-01T10:00:00 DUE TO TIME LIMIT ***"
STEP = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-07-01T10:00:00 ***"


def test_what_follows_the_wall_is_no_cause():
    assert kind(WALL, *trace("ValueError: x")) is None
    assert kind(WALL.replace("TIME LIMIT", "PREEMPTION"), *trace("ValueError: x")) is None
    assert kind(*trace("KeyError: x"), WALL, *trace("ValueError: x")) == "KeyError"


def test_what_follows_the_end_of_a_step_gives_way():
    assert kind(STEP, *trace("ValueError: x")) == "ValueError"
    assert kind("2026-07-01 10:00:01 CUDA out of memory", STEP, "2026-07-01 09:00:00 Watchdog caught") == "gpu"


def test_a_stack_of_c_stands_where_nothing_else_does():
    stack = "Exception raised from checkTimeout at ../x.cpp:632 (most recent call first):"
    assert kind(stack) == "c10::Error"
    assert kind(stack, "Watchdog caught") == "hang"
    assert kind("Exception raised from sendBytes at ../Utils.hpp:653 (most recent call first):") is None
    assert kind("Thread 0x7f (most recent call first):") is None


def test_the_launchers_table_is_seen():
    assert causes("Root Cause (first observed failure):").summary
    assert causes("torch.x.ChildFailedError:").summary
    assert not causes("Root Cause unknown").summary


# ---------------------------------------------------------------- behind the end of the work


DONE = ("100%|██████████| 40/40 [1:00<00:00]", "Saved checkpoint at /w/global_step_40")


def test_what_fails_behind_saved_work_is_teardown():
    assert kind(*DONE, "Watchdog caught") == "teardown"
    assert kind("Watchdog caught", *DONE) == "hang"
    assert kind(*DONE) is None
    assert kind(*DONE, "[rank4]:[E205 18:11:06.3 x] watchdog got stuck for 480 seconds") == "teardown"


def test_the_step_that_is_saved_is_the_last_one():
    assert kind(DONE[0], "Saved checkpoint at /w/global_step_39", "Watchdog caught") == "hang"
    assert kind(DONE[0], "Saving checkpoint to /w/global_step_40", "Watchdog caught") == "hang"
    assert kind(DONE[0], "Saving model to /w/checkpoint-40", "{'train_runtime': 9}", "Watchdog caught") == "teardown"
    assert kind(DONE[0], "removing /w/global_step_40", "Watchdog caught") == "hang"
    assert kind("Reached max training steps (40)", DONE[1], "Watchdog caught") == "teardown"
    assert kind("'global_step/max_steps': '40/40'", "last_model_checkpoint: /w/checkpoint-40", "Watchdog caught") == (
        "teardown"
    )


def test_a_failure_of_another_log_at_an_unknown_time_is_no_teardown():
    other = causes("Watchdog caught", path="/w/b.out")
    found = first_cause([causes(*DONE), other])
    assert found is not None
    assert found.type == "hang"


# ---------------------------------------------------------------- over logs and readings


def test_the_earliest_over_several_logs():
    main = causes("2026-07-01 10:00:09 CUDA out of memory")
    worker = causes("x", "2026-07-01 10:00:01 Watchdog caught", path="/w/worker.out")
    untold = causes("Watchdog caught", path="/w/worker.out")
    assert (first_cause([main, worker]) or main.found[0]).path == "/w/worker.out"
    assert (first_cause([main, untold]) or untold.found[0]).path == "/w/a.out"
    assert first_cause([]) is None
    assert first_cause([causes("fine")]) is None


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 8])
def test_two_readings_say_what_one_would(cut: int):
    lines = ["Watchdog caught", *DONE, *trace("KeyError: 1"), STEP, "Root Cause (first observed failure):"]
    begun = causes(*lines[:cut])
    later = causes(*lines[cut:], start=sum(len(line.encode()) + 1 for line in lines[:cut]), before=begun)
    assert merge(begun, later) == causes(*lines)


@given(st.lists(st.sampled_from([*DONE, "Watchdog caught", "{'loss': 1}", "CUDA out of memory", STEP, WALL, "x"])))
def test_the_memory_of_a_log_goes_through_json(lines: list[str]):
    found = causes(*lines)
    assert decode(json.loads(json.dumps(encode(found)))) == found


def test_the_memory_of_a_log_is_bounded():
    found = [Cause("x", "m", "/w/a.out", position, standing=Standing.OWN) for position in range(1000)]
    assert [one.position for one in joined(found, 500)] == [*range(KEEP), *range(500, 500 + KEEP)]
    assert len(causes(*["Watchdog caught"] * 3000).found) <= 2 * KEEP
    many = causes(*(f"100%| | {n}/{n} [x]" for n in range(2, 500)))
    assert len(many.completion.full) == 8


def test_the_end_of_the_work_is_told_once():
    assert Completion({40: 10}, {40: 20}, {}, None).done == 20
    assert Completion({40: 10}, {}, {40: 15}, 30).done == 30
    assert Completion({40: 10}, {}, {40: 35}, 30).done is None
    assert Completion({40: 10}, {39: 20}, {}, None).done is None
