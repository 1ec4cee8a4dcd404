"""The cadence of a job: its own gaps within a phase, those of jobs like it or the default, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.cadence import (
    KEYS,
    Params,
    cadence_facts,
    history_after,
    history_key,
    model_size,
    remaining_share,
    worth,
)
from sweeprules.collectors.gaps import (
    KEEP,
    KINDS,
    STEADY,
    SWEPT,
    CadenceMemo,
    Gaps,
    Moved,
    Signs,
    decode_history,
    encode_history,
    learn,
)
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare, scan
from sweeprules.engine.facts import Unknown
from tests.collectors.slurm.sweeps import pattern

PARAMS = Params(1800.0)
KEY = history_key("rl", "8b", "leonardo")


def steps(times: Sequence[float], stream: str = "step", first: int = 1, place: int = 0) -> tuple[Moved, ...]:
    return tuple(Moved(stream, first + n, at, None, place + 100 * n) for n, at in enumerate(times))


def every(seconds: float, count: int, start: float = 1_000_000.0) -> list[float]:
    return [start + seconds * number for number in range(count)]


def facts_of(signs: Signs, phase: str = STEADY, memo: CadenceMemo | None = None, **more: Any):
    history = more.pop("history", {})
    found, after = cadence_facts(signs, phase, memo, history, KEY, more.pop("params", PARAMS), **more)
    return (found["cadence"], found["cadence_source"], found["cadence_gaps"]), after


# ---------------------------------------------------------------- its own gaps


def test_ten_gaps_tell_a_cadence_and_nine_do_not():
    assert facts_of(Signs(steps(every(1200, 11))))[0] == (1200.0, "learned", 10)
    assert facts_of(Signs(steps(every(1200, 10))))[0] == (1800.0, "default", 9)


def test_gaps_over_several_sweeps_are_one_series():
    times, memo = every(1200, 11), None
    for number in range(0, 11, 3):
        found, memo = facts_of(Signs(steps(times[number : number + 3], first=number + 1)), memo=memo)
        memo = CadenceMemo.decode(json.loads(json.dumps(memo.encode())))
    assert found == (1200.0, "learned", 10)


def test_the_99th_percentile_of_what_is_no_standstill():
    gaps = [60.0] * 190 + [720.0] * 4
    assert worth(gaps, PARAMS) == (60.0, 190)
    assert worth([60.0] * 210 + [540.0] * 4, PARAMS) == (540.0, 214)
    assert worth([600.0] * 12 + [5 * 3600.0], PARAMS) == (600.0, 12)


def test_few_gaps_that_are_longer_than_the_default_show_that_it_is_too_short():
    assert facts_of(Signs(steps(every(16_920, 3))))[0] == (16_920.0, "default", 2)
    assert facts_of(Signs(steps(every(9 * 3600, 3))))[0] == (6 * 3600.0, "default", 2)
    assert facts_of(Signs(steps(every(60, 3))))[0] == (1800.0, "default", 2)


def test_floor_and_ceiling():
    assert worth([0.0] * 20, PARAMS) == (1.0, 20)
    assert worth([9 * 3600.0] * 20, PARAMS) == (6 * 3600.0, 20)
    assert worth([9 * 3600.0] * 20, Params(1800.0, ceiling=12 * 3600.0)) == (9 * 3600.0, 20)


def test_of_two_streams_the_slower_one_is_the_cadence():
    both = (*steps(every(60, 300), "buffer"), *steps(every(1200, 11)))
    assert facts_of(Signs(both))[0] == (1200.0, "learned", 10)


def test_a_fast_stream_does_not_stand_for_a_slow_one_of_which_too_little_is_known():
    for count, cadence in ((1, 1800.0), (4, 16_000.0)):
        both = (*steps(every(60, 300), "buffer"), *steps(every(16_000, count)))
        assert facts_of(Signs(both))[0][:2] == (cadence, "default")


def test_a_bar_that_is_drawn_again_ends_no_gap():
    memo = None
    for hour in range(12):
        again = Moved("step", hour, 1000.0 + 3600 * hour + 1800, None, 50)
        new = Moved("step", hour + 1, 1000.0 + 3600 * (hour + 1), None, 90)
        found, memo = facts_of(Signs((again, new)), memo=memo)
    assert found == (3600.0, "learned", 12)


def test_a_job_that_went_back_and_bytes_that_were_not_read_are_no_gap():
    memo = learn(None, Signs(steps(every(60, 4), first=10)))
    back = learn(memo, Signs(steps([1_000_900.0], first=3)))
    assert back.gaps[STEADY, "step"].count == 3
    unread = learn(memo, Signs(steps([1_000_900.0], first=30), gap=True))
    assert unread.gaps[STEADY, "step"].count == 3
    assert learn(unread, Signs(steps([1_000_960.0], first=31))).gaps[STEADY, "step"].newest[-1] == 60.0


def test_a_new_attempt_keeps_the_gaps_and_counts_none_across():
    memo = learn(None, Signs(steps(every(60, 4)), started=5.0))
    after = learn(memo, Signs(steps([1_009_000.0], first=9), started=900.0))
    assert after.gaps[STEADY, "step"].count == 3
    assert memo.inherited().lasts == {}


# ---------------------------------------------------------------- phases


def test_saving_and_evaluating_are_phases_of_their_own():
    times = [at + 900 * (number // 5) for number, at in enumerate(every(60, 60))]
    saves = tuple((100 * number - 50, "checkpoint") for number in range(5, 60, 5))
    found, memo = facts_of(Signs(steps(times), saves))
    assert found == (60.0, "learned", 48)
    saving, _ = facts_of(Signs(), "checkpoint", memo)
    assert saving == (960.0, "learned", 11)
    assert facts_of(Signs(), "eval", memo)[0][:2] == (1800.0, "default")


@pytest.mark.parametrize("phase", ["bring-up", "first-step", "upload", "eval"])
def test_a_phase_of_which_nothing_was_learned_has_at_least_the_default(phase: str):
    _, fast = facts_of(Signs(steps(every(60, 20))))
    assert facts_of(Signs(), phase, fast)[0][:2] == (1800.0, "default")
    _, slow = facts_of(Signs(steps(every(16_920, 20))))
    assert facts_of(Signs(), phase, slow)[0] == (16_920.0, "learned", 19)


def test_where_no_phase_can_be_told_work_is_steady():
    assert facts_of(Signs(steps(every(60, 20))), "")[0] == (60.0, "learned", 19)


# ---------------------------------------------------------------- sweeps, history, default


def test_without_printed_times_the_sweeps_tell():
    memo = None
    for number in range(11):
        found, memo = facts_of(Signs(far=10 * number, at=3000.0 * number), memo=memo)
    assert found == (300.0, "learned", 10)
    again = learn(memo, Signs(far=100, at=99_000.0))
    assert again.gaps == memo.gaps


def test_lines_without_times_are_a_stream_that_tells_nothing():
    untimed = tuple(Moved("row", None, None, None, 10 * n) for n in range(40))
    found, memo = facts_of(Signs((*untimed, *steps(every(5, 40), "buffer"))))
    assert found[:2] == (1800.0, "default")
    assert (STEADY, SWEPT) not in memo.gaps


def test_the_history_of_jobs_like_it():
    history = {f"{KEY} {STEADY}": Gaps((700.0,) * 30, 30), "rl 70b leonardo steady": Gaps((9000.0,) * 30, 30)}
    assert facts_of(Signs(steps(every(1200, 5))), history=history)[0] == (700.0, "history", 30)
    assert facts_of(Signs(steps(every(1200, 12))), history=history)[0] == (1200.0, "learned", 11)
    few = {f"{KEY} {STEADY}": Gaps((700.0,) * 9, 9)}
    assert facts_of(Signs(), history=few)[0][:2] == (1800.0, "default")


def test_jobs_leave_each_gap_to_their_kind_once():
    before = None
    history: dict[str, Gaps] = {}
    for number in range(5):
        after = learn(before, Signs(steps(every(60, 4, start=1_000_000 + 240.0 * number), first=1 + 4 * number)))
        history = history_after(history, [(KEY, before, after)])
        before = after
    assert history[f"{KEY} {STEADY}"] == Gaps((60.0,) * 19, 19)
    assert history_after(history, [(KEY, before.inherited(), before)]) == history


def test_a_default_that_can_not_be_told_stays_unknown():
    found, _ = facts_of(Signs(), params=Params(Unknown("not-read")))
    assert isinstance(found[0], Unknown) and isinstance(found[1], Unknown)


def test_near_the_end_of_an_evaluation_the_gaps_of_its_bulk_count_for_nothing():
    signs = Signs(steps(every(60, 80)))
    assert facts_of(signs, remaining=0.3)[0] == (60.0, "learned", 79)
    assert facts_of(signs, remaining=0.2)[0] == (1800.0, "default", 79)
    slow = Signs(steps(every(2400, 80)))
    assert facts_of(slow, remaining=0.2)[0] == (2400.0, "learned", 79)


@pytest.mark.parametrize(
    ("given_facts", "wanted"),
    [
        ({"trials_done": 80, "trials_planned": 89}, 9 / 89),
        ({"lines.trial-mean.n": 89, "lines.trial-mean.m": 89}, 0.0),
        ({"trials_done": Unknown("cut"), "trials_planned": 89}, None),
        ({"trials_done": 8, "trials_planned": 0}, None),
        ({}, None),
    ],
)
def test_what_remains(given_facts, wanted):
    assert remaining_share(given_facts) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("names", "size"),
    [
        (("Qwen/Qwen3-8B", None), "8b"),
        ((None, "rl__a2_1.5b_long"), "1.5b"),
        ((Unknown("not-read"), "sft__32B-tacc"), "32b"),
        (("laion/none", "eval-x_tb2"), "?"),
        ((None, "a3b2-x"), "?"),
    ],
)
def test_the_size_of_a_model_by_its_name(names, size):
    assert model_size(*names) == size


# ---------------------------------------------------------------- from the lines of a log

MATCHERS = prepare({
    "bar": pattern("bar", "progress", "Step Progress:", r"Progress:\s*(?:\d+%\|[^|]*\|\s*)?(?P<n>\d+)/", n="integer"),
    "row": pattern("row", "progress", "'loss':"),
    "mean": pattern("mean", "progress", "Mean:", r"(?P<n>\d+)/(?P<m>\d+)\s+Mean:", n="integer", m="integer"),
})  # fmt: skip
UTC = ZoneInfo("UTC")


def learned_from(data: bytes) -> CadenceMemo:
    reading = scan(Chunk(data, 0), MATCHERS, UTC)
    return learn(None, Signs(reading.moved, reading.breaks))


def test_times_that_lines_print():
    data = b"".join(b"2026-11-30 1%d:30:00 INFO Step Progress: %d/90\nnoise\n" % (n, n) for n in range(10))
    assert learned_from(data).gaps[STEADY, "bar"].newest == (3600.0,) * 9


def test_the_clock_of_a_bar():
    data = b"".join(
        b"\x1b[36m(w pid=3)\x1b[0m Step Progress:  2%%|#  | %d/90 [%d:%02d:00<9:00:00, 90s/it]\r"
        % (n, n // 4, n % 4 * 15)
        for n in range(20)
        for _ in range(3)
    )
    assert learned_from(data).gaps[STEADY, "bar"].newest == (900.0,) * 19


def test_rows_that_are_printed_over_a_bar_and_a_save_between_them():
    def row(n: int) -> bytes:
        save = b"Saving model checkpoint to /w/checkpoint-%d\n" % n if n == 6 else b""
        minute = n + (9 if n >= 6 else 0)
        return save + b"\r 4%%|# | %d/90 [%02d:30<1:00:00, 6s/it]\r    \r{'loss': 0.5}\n" % (10 * n, minute)

    memo = learned_from(b"".join(row(n) for n in range(12)))
    assert memo.gaps[STEADY, "row"].newest == (60.0,) * 10
    assert memo.gaps["checkpoint", "row"].newest == (600.0,)


def test_results_as_rich_draws_them():
    data = b"".join(b"  %d/90 Mean: 0.211 \xe2\x94\x81\xe2\x94\x81 0:%02d:00 3:33:02\r" % (n, n) for n in range(1, 20))
    assert learned_from(data).gaps[STEADY, "mean"].newest == (60.0,) * 18


# ---------------------------------------------------------------- what is kept


def test_what_is_kept_is_bounded():
    memo = None
    for number in range(40):
        memo = learn(memo, Signs(steps(every(1, 900), f"stream{number}")))
    assert memo is not None
    assert len(memo.gaps) == len(memo.lasts) == KINDS
    assert max(len(gaps.newest) for gaps in memo.gaps.values()) == KEEP
    assert len(json.dumps(memo.encode())) < 40_000
    one = learn(None, Signs(steps(every(1, 900))))
    history = history_after({}, [(f"kind{number}", None, one) for number in range(2 * KEYS)])
    assert len(history) == KEYS
    assert f"kind{2 * KEYS - 1} {STEADY}" in history


@given(
    st.lists(st.tuples(st.integers(0, 30), st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e6)), max_size=40),
    st.booleans(),
)
def test_any_signs_are_kept_and_read_back(signs, gap):
    moved = tuple(Moved(f"s{far % 3}", far or None, time, clock, 10 * n) for n, (far, time, clock) in enumerate(signs))
    memo = learn(None, Signs(moved, ((55, "eval"),), gap, far=3, at=7.0))
    assert CadenceMemo.decode(json.loads(json.dumps(memo.encode()))) == memo
    assert all(0 <= one <= 7 * 86400 for gaps in memo.gaps.values() for one in gaps.newest)
    history = history_after({}, [(KEY, None, memo)])
    assert decode_history(json.loads(json.dumps(encode_history(history)))) == history


def test_the_state_of_another_version_is_refused():
    for read in (CadenceMemo.decode, decode_history):
        with pytest.raises(ValueError, match="version 7"):
            read({"version": 7})
