"""Tracebacks behind prefixes, between the lines of others, glued to bars, and lines that only look like their end."""

from __future__ import annotations

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.traces import MAX_TRACEBACKS, Raised, rank_of, tracebacks

TRACE = (
    "Traceback (most recent call last):",
    '  File "/w/train.py", line 30, in step',
    "    loss.backward()",
    '  File "/opt/lib/python3.11/site-packages/torch/y.py", line 2, in backward',
    "ValueError: bad batch",
)


def read(*lines: str) -> list[Raised]:
    return tracebacks(Chunk("".join(f"{line}\n" for line in lines).encode(), 0))


def only(*lines: str) -> tuple[str, str, str, int | None]:
    (one,) = read(*lines)
    return one.type, one.message, one.frame, one.rank


PLAIN = ("ValueError", "bad batch", "train.py:step", None)
RANKED = (*PLAIN[:3], 3)


def test_the_place_of_its_heading_and_of_its_end():
    (one,) = read("before", *TRACE)
    assert one.head is not None
    assert (one.head.position, one.line.text) == (7, "ValueError: bad batch")


@pytest.mark.parametrize(
    "prefix",
    [
        "(EngineCore_DP0 pid=47) ERROR 10-24 16:30:27 [core.py:710] ",
        "2026-07-01 10:00:00,123 - ERROR - ",
        "[2026-07-01 10:00:00] worker 3: ",
    ],
)
def test_the_prefix_of_a_record_is_seen_through_although_its_numbers_change(prefix: str):
    later = prefix.replace("16:30:27", "16:30:28").replace("10:00:00", "10:00:01")
    assert only(*(f"{prefix}{line}" for line in TRACE[:2]), *(f"{later}{line}" for line in TRACE[2:])) == PLAIN


@pytest.mark.parametrize("frame", ["  0%|          | 0/30 [00:00<?, ?it/s]", "\r 38%|███▊      | 23/60 [00:00<00:00]"])
@pytest.mark.parametrize(("prefix", "told"), [("", PLAIN), ("[rank3]: ", RANKED)])
def test_a_frame_of_a_bar_before_it(frame: str, prefix: str, told: tuple[str, str, str, int | None]):
    first, *rest = (f"{prefix}{line}" for line in TRACE)
    assert only(f"{frame}{first}", *rest) == told


def test_what_stands_before_the_heading_may_be_the_end_of_another_line():
    assert only(f"loading the shards {TRACE[0]}", *TRACE[1:]) == PLAIN


def test_lines_of_other_ranks_and_processes_stand_between():
    mixed = [line for pair in zip(TRACE, TRACE, strict=True) for line in (f"[rank3]: {pair[0]}", f"[rank1]: {pair[1]}")]
    assert [(one.type, one.rank) for one in read(*mixed)] == [("ValueError", 3), ("ValueError", 1)]
    others = [line for one in TRACE for line in (f"(Worker pid=7) {one}", "(Other pid=8) KeyError: 'x'", "12%|█ | 3/9")]
    assert [one.type for one in read(*others)] == ["ValueError"]


def test_a_task_of_ray_names_the_error_inside():
    lines = (
        "Traceback (most recent call last):",
        '  File "/w/main.py", line 3, in main',
        "ray.exceptions.RayTaskError(KeyError): ray::go() (pid=7, ip=10.0.0.7)",
        '  File "/w/task.py", line 9, in go',
        "KeyError: 'x'",
    )
    assert only(*lines) == ("KeyError", "'x'", "task.py:go", None)
    assert read(*lines[:4])[0].type == "RayTaskError"


def test_a_chain_of_errors_is_one_each():
    again = "During handling of the above exception, another exception occurred:"
    assert [one.type for one in read(*TRACE, "", again, "", *TRACE[:-1], "KeyError: 'x'")] == ["ValueError", "KeyError"]


@pytest.mark.parametrize("line", ["INFO: go", "Epoch: 3", "Saving", "Killed", "done", "Loss: 3.2"])
def test_a_line_between_is_no_exception(line: str):
    assert only(*TRACE[:-1], line, TRACE[-1]) == PLAIN


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("socket.timeout: timed out", "timeout"),
        ("AssertionError", "AssertionError"),
        ("daytona.SnapshotCapExceeded: 60 of 60", "SnapshotCapExceeded"),
        ("HTTPError: 500", "HTTPError"),
        ("_queue.Empty", "Empty"),
        ("SnapshotCapExceeded", "SnapshotCapExceeded"),
    ],
)
def test_names_of_exceptions(line: str, kind: str):
    assert only(*TRACE[:-1], line)[0] == kind


def test_a_group_of_exceptions():
    lines = (
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "/w/a.py", line 3, in go',
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
    )
    assert [one.frame for one in read(*lines)] == ["a.py:go"]


def test_an_error_that_a_rank_left_to_the_launchers_table():
    assert only(f"  traceback : {TRACE[0]}", *(f"  {line}" for line in TRACE[1:]), "=====") == PLAIN


def test_of_very_many_the_first_and_the_last():
    found = read(*(line for number in range(300) for line in (*TRACE[:-1], f"ValueError: {number}")))
    assert [one.message for one in (found[0], found[-1])] == ["0", "299"]
    assert len(found) == 2 * MAX_TRACEBACKS


def test_ranks():
    assert rank_of("[rank7]: x") == 7
    assert rank_of("[default3]: x") == 3
    assert rank_of("[PG ID 0 PG GUID 0(default_pg) Rank 5] x") == 5
    assert rank_of("Rank 5 is lost") is None


def test_the_heading_of_the_next_one_glued_to_its_end():
    *first, end = TRACE
    found = read(*first, end + TRACE[0], *TRACE[1:4], "KeyError: 'x'")
    assert [(one.type, one.message) for one in found] == [("ValueError", "bad batch"), ("KeyError", "'x'")]


def test_a_hole_of_nuls_within_it():
    data = "\n".join(TRACE[:4]).encode() + b"\n" + b"\x00" * 64 + TRACE[4].encode() + b"\n"
    assert [(one.type, one.frame) for one in tracebacks(Chunk(data, 0))] == [("ValueError", "train.py:step")]
