"""What stands before the end of a log: asked for once, searched where it is, and put before the end for the readers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs import ask, older
from sweeprules.collectors.logs.facts import AT_MOST, FIRST_SIGHT, FoundLog
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.lines import split_lines
from sweeprules.collectors.logs.older import Lack, Older, lacks, older_commands, older_pieces, read_older, with_older
from sweeprules.collectors.prior import LogMemo
from sweeprules.collectors.transport.allow import check
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.engine.facts import Reason, Unknown
from sweeprules.engine.observation import Failure, Observation
from tests.collectors.slurm.fake import observation

MIRROR = "WANDB_MIRROR"


def lack(
    size: int, start: int | None = None, *, job_id: str = "1", literals: Sequence[str] = (MIRROR,), path: str = "/w/x"
):
    log = FoundLog(path, "scheduler", FileStat(1, 1, size, 0.0), None, observation(("stat",)))
    return Lack(job_id, log, max(0, size - FIRST_SIGHT) if start is None else start, tuple(literals))


def here(batch: Sequence[Command]) -> tuple[Observation, ...]:
    """The commands on this machine."""
    answers = LocalTransport().call("here", batch, time.monotonic() + 30).answers
    return tuple(
        observation(command.argv, one.stdout, code=one.exit, cut=one.cut, failure=one.failure)
        for command, one in zip(batch, answers, strict=True)
    )


# ---------------------------------------------------------------- when


MEMO = LogMemo("/w/x", "scheduler", 1, 1, 1000)


@pytest.mark.parametrize(
    ("memo", "start", "points", "wanted"),
    [
        (None, 5000, 3, True),
        (None, 0, 3, False),
        (None, 5000, 64, False),
        (MEMO, 5000, 3, True),
        (replace(MEMO, searched=True), 5000, 3, False),
        (replace(MEMO, from_start=True), 5000, 3, False),
    ],
)  # fmt: skip
def test_a_log_is_looked_through_once_and_only_when_it_can_tell_more(memo, start, points, wanted):
    assert lacks(memo, start, points, 64) is wanted


def test_the_smallest_first_and_no_more_than_one_call_holds():
    many = [lack(900_000 - number, job_id=str(number)) for number in range(150)]
    taken, commands = older_commands(many)
    assert len(taken) == len(commands) == older.MOST_JOBS
    assert [one.job_id for one in taken[:2]] == ["149", "148"]
    assert sum(one.max_bytes for one in commands) <= older.MOST_KEPT
    assert {one.keep for one in commands} == {"end"}
    for command in commands:
        assert check(command.argv) == "grep"


def test_a_file_system_is_not_read_out():
    giant = older.MOST_READ // 3
    taken, _ = older_commands([lack(giant, job_id=str(number)) for number in range(9)])
    assert len(taken) == 3


@pytest.mark.parametrize("one", [lack(older.LARGEST * 2), lack(9_000_000, literals=())])
def test_a_longer_end_of_what_is_too_large_or_has_no_literal(one: Lack):
    _, (command,) = older_commands([one])
    assert check(command.argv) == "tail"
    assert command.argv[2] == f"+{one.start - AT_MOST + 1}"
    assert (command.max_bytes, command.keep) == (AT_MOST, "start")


# ---------------------------------------------------------------- what comes back


def rows(first: int, last: int) -> bytes:
    noise = b"INFO engine running 4 requests\n" * 40
    return b"".join(
        noise + b"\x1b[36m(w pid=7)\x1b[0m WANDB_MIRROR kind=train step=%d x\n" % at for at in range(first, last)
    )


@pytest.mark.parametrize("literals", [(MIRROR,), ()])
def test_the_end_with_what_stands_before_it_is_the_whole_log_in_its_order(tmp_path: Path, literals: Sequence[str]):
    whole = rows(1, 200)
    path = tmp_path / "it's $HOME.out"
    path.write_bytes(whole)
    start = len(whole) - 5000
    found, _ = read_older([lack(len(whole), start, literals=literals, path=str(path))], here)
    pieces = older_pieces(found["1"])
    assert not isinstance(pieces, Unknown)
    chunk = with_older(pieces, whole[start:], start, whole_start=False)
    wanted = [line for line in split_lines(whole, 0) if MIRROR in line.text]
    assert [line for line in chunk.lines() if MIRROR in line.text] == wanted


def test_rows_between_the_frames_of_a_bar(tmp_path: Path):
    whole = b"".join(
        b"\r %d%%|##| %d/90 [00:10<05:00]" % (at, at) + (b"\r   \r{'loss': %d.5}\n" % at if at % 10 == 9 else b"")
        for at in range(90)
    )
    path = tmp_path / "x.out"
    path.write_bytes(whole)
    found, _ = read_older([lack(len(whole), len(whole) - 300, literals=("'loss':",), path=str(path))], here)
    pieces = older_pieces(found["1"])
    assert not isinstance(pieces, Unknown)
    chunk = with_older(pieces, whole[-300:], len(whole) - 300, whole_start=False)
    rows_read = [line for line in chunk.lines() if "loss" in line.text]
    assert rows_read == [line for line in split_lines(whole, 0) if "loss" in line.text]


@pytest.mark.parametrize("room", [6000, 9000])
def test_of_very_many_matches_the_newest_whole_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int):
    monkeypatch.setattr(ask, "SEARCH_BYTES", room)
    whole = rows(1, 300)
    path = tmp_path / "x.out"
    path.write_bytes(whole)
    found, _ = read_older([lack(len(whole), path=str(path))], here)
    pieces = older_pieces(found["1"])
    assert not isinstance(pieces, Unknown)
    assert found["1"].observation.cut == 1
    end = len(whole) - FIRST_SIGHT
    older_rows = [line.position for line in split_lines(whole, 0) if MIRROR in line.text and line.position < end]
    assert pieces and [at for _, at in pieces] == older_rows[-len(pieces) :]
    assert all(whole[at : at + len(line)] == line for line, at in pieces)


def test_matches_of_the_end_that_leave_no_room_for_older_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ask, "SEARCH_BYTES", 2000)
    path = tmp_path / "x.out"
    path.write_bytes(rows(1, 300))
    found, _ = read_older([lack(path.stat().st_size, path=str(path))], here)
    assert older_pieces(found["1"]) == Unknown(Reason.CUT, "the newest matches left no room for older ones")


def answered(stdout: bytes = b"", until: int = 1000, **more: object) -> Older:
    return Older(until, True, 0, observation(("grep",), stdout, **more))


def test_nothing_found_is_nothing_and_a_failure_is_unknown():
    assert older_pieces(answered(code=1)) == ()
    assert isinstance(older_pieces(answered(code=2, stderr="grep: /w/x: Permission denied\n")), Unknown)
    assert isinstance(older_pieces(answered(code=None, failure=Failure.DEADLINE)), Unknown)
    longer = replace(answered(code=1, stderr="tail: gone\n"), searched=False)
    assert isinstance(older_pieces(longer), Unknown)


def test_a_search_whose_time_was_up_gives_what_it_had():
    found = older_pieces(answered(b"x\n7:WANDB_MIRROR a\n90:WANDB_MIR", code=124, failure=Failure.TIMEOUT, cut=1))
    assert found == ((b"WANDB_MIRROR a", 7),)


@pytest.mark.parametrize(
    ("stdout", "more", "why"),
    [
        (b"", {"code": 124, "failure": Failure.TIMEOUT, "cut": 1}, Reason.READ_FAILED),
        (b"7:WANDB_MIRROR a\n90:WANDB_MIR", {"code": 124, "failure": Failure.TIMEOUT, "cut": 1}, Reason.READ_FAILED),
        (b"", {"code": None, "failure": Failure.TIMEOUT}, Reason.READ_FAILED),
        (b"part of one line that is longer than all that is kept\n", {"cut": 1}, Reason.CUT),
        (b"x\n2000:WANDB_MIRROR of the end, which was read anyway\n", {"cut": 1}, Reason.CUT),
        (b"x\n7:WANDB_MIRROR a\n", {"code": 2, "cut": 1, "stderr": "grep: Input/output error"}, Reason.READ_FAILED),
    ],
)  # fmt: skip
def test_a_search_that_was_cut_does_not_say_that_nothing_is_there(stdout: bytes, more: dict[str, Any], why: Reason):
    found = older_pieces(answered(stdout, **more))
    assert isinstance(found, Unknown) and found.reason is why


def test_a_line_that_reaches_into_the_end_is_read_once():
    data = b"tail of a line\nnext\n"
    chunk = with_older([(b"first", 10), (b"the tail of a line", 96)], data, 100, whole_start=False)
    assert [line.text for line in chunk.lines()] == ["first", "the tail of a line", "next"]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 100), st.integers(0, 1))
def test_any_answer_is_read(stdout: bytes, until: int, cut: int):
    pieces = older_pieces(answered(stdout, until, cut=cut))
    if isinstance(pieces, Unknown):
        assert cut and pieces.reason is Reason.CUT
        return
    assert pieces or not cut
    chunk = with_older(pieces, b"end\n", until, whole_start=True)
    assert [line.text for line in chunk.lines()][-1] == "end"
