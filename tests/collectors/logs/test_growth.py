"""A log that grows, turns over, is cut short or is not text at all, read over several sweeps."""

from __future__ import annotations

import pytest

from sweeprules.collectors.logs.facts import AT_MOST, FIRST_SIGHT
from sweeprules.collectors.logs.lines import Chunk, Pieces, split_lines
from sweeprules.engine.facts import Interval
from tests.collectors.logs.test_facts import one_sweep
from tests.collectors.slurm.sweeps import Sweep, reason

SHM = b"No available shared memory broadcast block found in 60 seconds\n"
BAR = b"Step Progress: %d/90\n"
CHATTER = b"INFO saved a checkpoint\n"


def log_memo(done: Sweep):
    memo = done.prior.jobs["leonardo:1"].log
    assert memo is not None
    return memo


# ---------------------------------------------------------------- another file, a shorter one, a hole


def test_a_log_that_was_turned_over_is_read_from_its_start():
    first = one_sweep(BAR % 1 + b"Watchdog caught it\n", inode=1)
    second = one_sweep(BAR % 2 + b"fine\n", first.prior, inode=9)
    assert second.job("1").get("lines.watchdog.count") == 0
    assert second.job("1").get("lines.bar.n") == 2
    assert second.job("1").get("log.cut") is False
    assert (log_memo(second).inode, log_memo(second).offset) == (9, len(BAR % 2) + 5)


def test_a_log_that_was_cut_short_and_written_on_is_another():
    first = one_sweep(b"Watchdog caught it\n" * 4)
    shorter = one_sweep(b"Watchdog caught it\n", first.prior)
    grown = one_sweep(b"Watchdog caught it\n" * 2, shorter.prior)
    assert shorter.job("1").get("lines.watchdog.count") == 1
    assert grown.job("1").get("lines.watchdog.count") == 2


def test_a_hole_before_the_text_hides_no_line():
    hole = b"\0" * 20_000
    done = one_sweep(hole + b"Watchdog caught it\n" + hole + BAR % 7 + SHM)
    assert done.job("1").get("lines.watchdog.count") == 1
    assert done.job("1").get("lines.bar.n") == 7
    assert done.job("1").get("heartbeats_only") is True


def test_nothing_but_a_hole_is_no_line():
    assert list(split_lines(b"\0" * 5000, 0)) == []
    assert [line.text for line in split_lines(b"a\0b\n \0\n", 0)] == ["a\0b"]


def test_bytes_of_no_encoding_and_cursor_moves_around_a_line():
    done = one_sweep(b"\xff\xfe\x80\n\x1b[A\x1b[2K\r\xc3(Watchdog caught it\xe2\x28\n\x1b[A" + BAR % 3)
    assert done.job("1").get("lines.watchdog.count") == 1
    assert done.job("1").get("lines.bar.n") == 3


def test_one_line_of_twenty_megabytes():
    whole = BAR % 1 + b"x" * 20_000_000
    done = one_sweep(whole)
    assert reason(done.job("1").get("heartbeats_only")) == reason(done.job("1").get("log.last_time")) == "cut"
    assert done.job("1").get("lines.bar.count") == Interval(0, None)
    ended = one_sweep(whole + b"\n" + BAR % 2, done.prior)
    assert ended.job("1").get("lines.bar.n") == 2
    assert reason(ended.job("1").get("heartbeats_only")) == ""


# ---------------------------------------------------------------- what it costs


def fetched(done: Sweep) -> int:
    tails = [one for one in done.gathered.observations if one.argv[0] == "tail"]
    return sum(len(one.stdout) for one in tails)


def test_a_large_log_that_was_read_costs_what_is_new():
    noise = b"INFO engine throughput 12.5 tokens per second and so on\n" * 200_000
    first = one_sweep(noise)
    assert fetched(first) == FIRST_SIGHT
    again = one_sweep(noise, first.prior)
    assert fetched(again) == FIRST_SIGHT
    new = b"INFO and more of it\n" * 10_000
    grown = one_sweep(noise + new, again.prior)
    assert len(new) <= fetched(grown) <= len(new) + 100
    assert grown.job("1").get("log.cut") is False
    flooded = one_sweep(noise + new + noise, grown.prior)
    assert fetched(flooded) == AT_MOST
    assert flooded.job("1").get("log.cut") is True


# ---------------------------------------------------------------- heartbeats since the last progress


@pytest.mark.parametrize(
    ("sweeps", "wanted"),
    [
        ([BAR % 3, SHM * 3000, SHM * 3000], [False, True, True]),
        ([BAR % 3 + CHATTER, SHM * 3000, SHM * 3000], [False, False, False]),
        ([BAR % 3, SHM * 3000, CHATTER, SHM * 3000], [False, True, False, False]),
        ([BAR % 3 + CHATTER, SHM * 3000, BAR % 4 + SHM, SHM * 3000], [False, False, True, True]),
        ([BAR % 3 + SHM * 30, SHM[:9], SHM[9:] + SHM * 3000], [True, False, True]),
    ],
)
def test_only_heartbeats_however_far_back_the_last_progress_is(sweeps: list[bytes], wanted: list[bool]):
    data, prior, found = b"", None, []
    for piece in sweeps:
        data += piece
        done = one_sweep(data, prior)
        prior = done.prior
        found.append(done.job("1").get("heartbeats_only"))
    assert found == wanted


def test_heartbeats_at_first_sight_do_not_tell_what_came_before_them():
    done = one_sweep(BAR % 3 + CHATTER + SHM * 3000)
    assert reason(done.job("1").get("heartbeats_only")) == "cut"
    assert one_sweep(BAR % 3 + SHM * 3000 + CHATTER).job("1").get("heartbeats_only") is False


# ---------------------------------------------------------------- pieces of a file


def test_pieces_keep_the_places_of_the_file():
    pieces = Pieces([(b"\x1b[31mone\x1b[0m", 10), (b"two\rthree", 500), (b"four\nfive\n", 9_000)])
    assert [(line.text, line.position) for line in pieces.lines()] == [
        ("one", 10), ("two", 500), ("three", 504), ("four", 9_000), ("five", 9_005),
    ]  # fmt: skip
    assert pieces.size == sum(len(part) for part in (b"\x1b[31mone\x1b[0m", b"two\rthree", b"four\nfive\n"))


def test_a_broken_colour_of_one_piece_leaves_the_next_alone():
    pieces = Pieces([(b"one \x1b]0;title", 10), (b"two\x07", 500)])
    assert [line.position for line in pieces.lines()] == [10, 500]
    assert [line.text.rstrip("\x07") for line in pieces.lines()][1] == "two"


def test_no_pieces_are_an_empty_chunk():
    assert list(Pieces([]).lines()) == list(Chunk(b"", 0).lines()) == []
