"""The marker of a job's progress over sweeps: when it moved, for how long it stands, and when nothing can be told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.progress import NONE_YET, ProgressMemo, progress, progress_facts
from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, FactValue, Interval, Reason, Unknown

HOUR = 3600.0
CUT = Unknown(Reason.CUT, "only the end was read")


def sweeps(*seen: tuple[float, dict[str, FactValue]], partial: tuple[int, ...] = (), **more: Any):
    """The facts of each sweep in turn, the memo through its plain form as the store keeps it."""
    memo: ProgressMemo | None = None
    found = []
    for number, (hour, facts) in enumerate(seen):
        marked, memo = progress_facts(facts, memo, hour * HOUR, complete=number not in partial, **more)
        memo = None if memo is None else ProgressMemo.decode(json.loads(json.dumps(memo.encode())))
        found.append((marked["progress_marker"], marked["progress_age"], marked["unchanged_sweeps"]))
    return found


def at(step: int | FactValue, **more: FactValue) -> dict[str, FactValue]:
    return {"step": step, **more}


def reason(value: object) -> str:
    return value.reason if isinstance(value, Unknown) else ""


def test_a_marker_that_stands_still_is_as_old_as_the_first_sweep_that_saw_it():
    first, second, third = sweeps((0, at(12)), (4, at(12)), (9, at(12)))
    assert first[0] == "step 12" and reason(first[1]) == "first-sight" and first[2] == 1
    assert second == ("step 12", 4 * HOUR, 2)
    assert third == ("step 12", 9 * HOUR, 3)


def test_a_marker_that_moved_is_new():
    assert sweeps((0, at(12)), (4, at(13)), (5, at(13)))[1:] == [("step 13", 0.0, 1), ("step 13", HOUR, 2)]


def test_the_buffer_and_trials_move_it_too():
    found = sweeps(
        (0, at(12, buffer_n=3, buffer_m=64)),
        (1, at(12, buffer_n=35, buffer_m=64)),
        (2, at(12, buffer_n=35, buffer_m=64)),
    )
    assert found[1:] == [("step 12, buffer 35/64", 0.0, 1), ("step 12, buffer 35/64", HOUR, 2)]
    assert sweeps((0, {"trials_done": 86}), (1, {"trials_done": 87}))[1] == ("trials 87", 0.0, 1)


def test_a_sweep_that_could_not_see_it_starts_and_ends_nothing():
    _, second, third = sweeps((0, at(12)), (4, at(CUT)), (9, at(12)))
    assert [reason(value) for value in second] == ["cut"] * 3
    assert third == ("step 12", 9 * HOUR, 2)


def test_results_that_can_not_be_counted_any_more_may_have_grown():
    both = {"trials_done": 12, "lines.row.count": 40}
    lost = {"trials_done": CUT, "lines.row.count": 40}
    grown = {"trials_done": CUT, "lines.row.count": 41}
    _, second, third, fourth = sweeps((0, both), (4, lost), (9, both), (10, grown), patterns=("row",))
    assert [reason(value) for value in second] == ["cut"] * 3
    assert third == ("trials 12", 9 * HOUR, 2)
    assert fourth == ("row 41 lines", 0.0, 1)


def test_results_that_were_never_counted_leave_the_rest_of_the_marker():
    lost = {"trials_done": CUT, "lines.row.count": 40}
    assert sweeps((0, lost), (4, lost), patterns=("row",))[1] == ("row 40 lines", 4 * HOUR, 2)


def test_a_part_that_was_unread_is_no_move_when_it_is_read():
    assert sweeps((0, at(12, buffer_n=CUT)), (4, at(12, buffer_n=3, buffer_m=8)))[1] == (
        "step 12, buffer 3/8", 4 * HOUR, 2,
    )  # fmt: skip


def test_the_first_step_is_a_move():
    first, second = sweeps((1, {"step": ABSENT, "started": 0.0}), (3, {"step": 1, "started": 0.0}))
    assert first == (NONE_YET, HOUR, 1)
    assert second == ("step 1", 0.0, 1)


def test_what_never_moved_stands_since_the_start():
    assert sweeps((1, {"step": ABSENT, "started": 0.0}), (9, {"step": ABSENT, "started": 0.0}))[1] == (
        NONE_YET, 9 * HOUR, 2,
    )  # fmt: skip


def test_sweeps_that_are_not_whole_do_not_count():
    found = sweeps((0, at(12)), (4, at(12)), (9, at(13)), partial=(1, 2))
    assert [count for _, _, count in found] == [1, 1, 0]


def test_a_printed_time_tells_since_when():
    facts = at(12)
    first, memo = progress_facts(facts, None, 10 * HOUR, complete=True, moved_at=2 * HOUR)
    assert first["progress_age"] == 8 * HOUR
    assert memo is not None
    moved, _ = progress_facts(at(13), memo, 12 * HOUR, complete=True, moved_at=11 * HOUR)
    assert moved["progress_age"] == HOUR
    # A clock that is wrong says nothing: the marker stood elsewhere at the sweep before.
    for wrong in (HOUR, 50 * HOUR):
        moved, _ = progress_facts(at(13), memo, 12 * HOUR, complete=True, moved_at=wrong)
        assert moved["progress_age"] == 0.0


def test_the_mtime_of_the_log_is_no_progress():
    fresh = {"step": 12, "log_age": 60.0, "log.mtime": 9 * HOUR, "log.size": 5}
    assert sweeps((0, {**fresh, "log.mtime": 0.0}), (9, fresh))[1] == ("step 12", 9 * HOUR, 2)


def test_another_attempt_starts_anew():
    found = sweeps((0, at(12, started=0.0)), (9, at(12, started=8 * HOUR)))
    assert found[1][2] == 1 and reason(found[1][1]) == "first-sight"


PATTERNS = ("bar", "row")


def test_without_a_step_the_lines_of_progress_tell():
    def bar(n: FactValue, rows: FactValue) -> dict[str, FactValue]:
        return {"lines.bar.n": n, "lines.bar.m": 90, "lines.row.count": rows, "lines.shm.count": 70}

    found = sweeps(
        (0, bar(3, 40)), (1, bar(3, 40)), (2, bar(3, 41)), (3, bar(3, Interval(41, None))), patterns=PATTERNS
    )
    assert [marker for marker, _, _ in found] == ["bar 3/90, row 40 lines"] * 2 + ["bar 3/90, row 41 lines"] * 2
    assert [count for _, _, count in found] == [1, 2, 1, 2]


def test_one_line_is_one_line():
    assert sweeps((0, {"lines.row.count": 1}), patterns=PATTERNS)[0][0] == "row 1 line"


def test_lines_that_are_fewer_after_a_log_was_turned_over_are_no_progress():
    found = sweeps((0, {"lines.row.count": 40}), (1, {"lines.row.count": 2}), patterns=PATTERNS)
    assert [count for _, _, count in found] == [1, 2]


def test_a_bucket_without_steps_is_not_marked_by_their_absence():
    assert [reason(value) for value in sweeps((0, {"step": NOT_APPLICABLE}))[0]] == ["not-read"] * 3
    assert sweeps((0, {"step": NOT_APPLICABLE, "trials_done": 4}))[0][0] == "trials 4"


# ---------------------------------------------------------------- progress


@pytest.mark.parametrize(
    ("marker", "age", "seen", "cadence", "wanted"),
    [
        ("step 12", 0.0, 1, 1200.0, True),
        ("step 12", 7200.0, 5, 1200.0, True),
        ("step 12", 7201.0, 5, 1200.0, False),
        ("step 12", 9000.0, 5, 1800.0, True),
        ("step 12", 9001.0, 5, 1800.0, False),
        ("step 12", 16560.0, 3, 16920.0, True),
        ("step 12", 9 * HOUR, 1, 1200.0, True),
        ("step 12", Unknown(Reason.FIRST_SIGHT), 1, 1200.0, True),
        (NONE_YET, 600.0, 1, 1200.0, "first-sight"),
        (NONE_YET, 7200.0, 2, 1200.0, "first-sight"),
        (NONE_YET, 7201.0, 2, 1200.0, False),
        (NONE_YET, 9 * HOUR, 2, 1200.0, False),
        (NONE_YET, 9 * HOUR, 1, 1200.0, "first-sight"),
        ("step 12", 0.0, 1, CUT, "cut"),
        (CUT, CUT, CUT, 1200.0, "cut"),
        (NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
    ],
)
def test_progress_is_true_false_or_unknown(marker, age, seen, cadence, wanted):
    marked = {"progress_marker": marker, "progress_age": age, "unchanged_sweeps": seen}
    found = progress(marked, cadence, floor=7200.0, factor=5.0, sweeps=2)
    assert (reason(found) or found) == wanted


# ---------------------------------------------------------------- what is kept


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_however_sweeps_fall_the_count_is_of_whole_ones_in_a_row(seen):
    found = sweeps(*((hour, at(step)) for hour, (step, _) in enumerate(seen)),
                   partial=tuple(number for number, (_, whole) in enumerate(seen) if not whole))  # fmt: skip
    row = 0
    for number, (step, whole) in enumerate(seen):
        row = (row if number and seen[number - 1][0] == step else 0) + whole
        assert found[number][2] == row
        assert found[number][0] == f"step {step}"


def test_the_state_of_another_version_is_refused():
    with pytest.raises(ValueError, match="version 7"):
        ProgressMemo.decode({"version": 7})


def test_what_is_kept_is_bounded():
    facts = {f"lines.p{number}.n": number for number in range(500)}
    _, memo = progress_facts(facts, None, 0.0, complete=True, patterns=[f"p{number}" for number in range(500)])
    assert memo is not None and len(memo.parts) <= 32
