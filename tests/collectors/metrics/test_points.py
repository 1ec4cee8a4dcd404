"""Points over sweeps and links, and the subjects that are made of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.metrics.points import (
    CUT,
    KEEP,
    MOST,
    NO_LONGER,
    Point,
    Series,
    merge,
    step_relation,
    step_subjects,
)
from sweeprules.engine.facts import ABSENT, Completeness, FactValue, Reason, Ref, Source, Unknown

JOB = Ref("job", "leo:31")
NAN = Unknown(Reason.NAN, "printed as nan")


def point(step: int, attempt: int = 1, **values: FactValue) -> Point:
    return Point(step, attempt, "", 1.78e9 + step, values, 100 * step)


def series(*points: Point, whole: bool = True) -> Series:
    rewards = {one.step: 0.01 * one.step for one in points}
    return Series().extended(points, whole=whole, rewards=rewards)


values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**53), 2**53),
    st.builds(Unknown, st.sampled_from([Reason.NAN, Reason.MALFORMED]), st.text(max_size=5)),
)
points = st.builds(
    Point,
    st.integers(0, 99),
    st.integers(1, 3),
    st.just(""),
    st.none() | st.floats(0, 2e9),
    st.dictionaries(st.sampled_from(["reward", "grad_norm", "kl"]), values),
    st.integers(0, 10**12),
)


@given(st.lists(points, max_size=20), st.booleans())
def test_a_series_survives_its_memo(those: list[Point], whole: bool) -> None:
    rewards = {one.step: None if one.step % 7 == 0 else float(one.step) for one in those}
    kept = Series().extended(those, whole=whole, rewards=rewards)
    assert Series.decode(json.loads(json.dumps(kept.encode()))) == kept


def test_a_memo_of_nothing_is_a_link_that_nobody_read() -> None:
    assert Series.decode({}) == Series()


def test_a_series_keeps_the_new_points_and_some_of_the_old_ones() -> None:
    old = series(*(point(step) for step in range(1, 201)))
    later = old.extended([point(step) for step in range(201, 204)], whole=True, rewards={201: 0.5})
    assert [one.step for one in later.points] == list(range(204 - KEEP - 3, 204))
    assert not later.begun
    assert later.rewards[1] == 0.01
    many = old.extended([point(step) for step in range(201, 2000)], whole=True, rewards={})
    assert len(many.points) == MOST
    assert many.points[-1].step == 1999


def test_the_latest_attempt_is_shown_and_the_first_reward_counts() -> None:
    first = series(point(7, grad_norm=0.1), point(8, grad_norm=0.2)).extended(
        [point(7, 2, grad_norm=0.9)], whole=True, rewards={7: 0.99}
    )
    second = series(point(8, grad_norm=0.5), point(9, grad_norm=0.6))
    merged = merge([("30", first), ("31", second)])
    shown = [(one.step, one.link, one.attempt, one.get("grad_norm")) for one in merged.display]
    assert shown == [(7, "30", 2, 0.9), (8, "31", 1, 0.5), (9, "31", 1, 0.6)]
    assert merged.rewards == {7: 0.07, 8: 0.08, 9: 0.09}
    assert list(merged.rewards) == [7, 8, 9]


def test_a_step_says_what_it_did_not_print() -> None:
    mine = series(point(3, grad_norm=0.1, entropy=0.5), point(4, grad_norm=NAN))
    first, second = step_subjects(JOB, mine, ["grad_norm", "entropy", "kl"])
    assert (first.ref, second.ref) == (Ref("step", "leo:31/3"), Ref("step", "leo:31/4"))
    assert (second.get("grad_norm"), second.get("entropy"), second.get("kl")) == (NAN, NO_LONGER, ABSENT)
    assert (second.get("step"), second.get("attempt"), second.get("link")) == (4, 1, "31")
    assert second.relations["job"].members == (JOB,)


def test_a_key_that_another_link_prints_is_no_longer_printed() -> None:
    mine, other = series(point(4, grad_norm=0.2)), series(point(3, kl=0.1))
    (step,) = step_subjects(JOB, mine, ["kl"], run=merge([("30", other), ("31", mine)]))
    assert step.get("kl") == NO_LONGER


def test_of_a_log_that_was_cut_no_key_is_absent() -> None:
    mine = series(point(4, grad_norm=0.2), whole=False)
    (step,) = step_subjects(JOB, mine, ["kl"])
    assert step.get("kl") == CUT
    relation = step_relation(mine, (step,))
    assert (relation.completeness, relation.reason) == (Completeness.PARTIAL, "cut")


def test_older_points_that_are_let_go_leave_the_relation_partial() -> None:
    mine = series(*(point(step) for step in range(1, 100))).extended([point(100)], whole=True, rewards={})
    steps = step_subjects(JOB, mine, [])
    assert step_relation(mine, steps).completeness is Completeness.PARTIAL
    young = series(point(1))
    assert step_relation(young, step_subjects(JOB, young, [])).completeness is Completeness.WHOLE


def test_a_step_carries_its_place_in_the_log() -> None:
    (step,) = step_subjects(JOB, series(point(3, kl=0.1)), ["kl"], source=Source("o1", "tail", "login1"))
    assert step.sources["kl"].position == 300


def test_a_step_without_a_time_says_so() -> None:
    mine = series(Point(3, 1, "", None, {}, 0))
    (step,) = step_subjects(JOB, mine, [])
    assert isinstance(step.get("time"), Unknown)
