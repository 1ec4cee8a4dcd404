"""Which steps are new: those above the newest one of the last whole sweep that saw a lower one, however far back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.cli import marks
from sweeprules.cli.marks import Marks
from sweeprules.cli.worlds import connect
from sweeprules.engine.evaluate.looking import newest_seen
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import NOT_READ, Ref, Relation, Subject, World
from sweeprules.store.kept import StartingPoint, SweepInfo
from tests.engine.evaluate.site import catalogue, policy

JOB = Ref("job", "leo:1")
POLICY = policy("""
policy: 1
title: t
flags: {high: {subject: job, severity: info, exemptible: true, why: x}}
params: {limit: {default: 0, why: x}}
rules:
  - {id: high, on: step, when: {kl: {gt: $limit}}, then: {flag: high, say: "at {step}"}}
  - {id: was, on: job, when: {previous.state: RUNNING}}
  - {id: was-before, on: job, when: {previous.previous.state: RUNNING}}
""")
Look = tuple[int | None, bool]
"""What one sweep saw as the newest step (None: the log was not read), and whether its cluster was read whole."""


def job(newest: int | None, bad: int) -> list[Subject]:
    """A job with its steps up to the newest; `bad` is the one on which the rule is true."""
    numbers = range(newest + 1) if newest is not None else ()
    refs = [Ref("step", f"leo:1/{number}") for number in numbers]
    steps = [
        Subject(ref, {"step": n, "kl": 1.0 if n == bad else -1.0}, relations={"job": Relation((JOB,))})
        for n, ref in zip(numbers, refs, strict=True)
    ]
    facts = {"key": "leo:1", "state": "RUNNING", "step": NOT_READ if newest is None else newest}
    relations = {} if newest is None else {"steps": Relation(tuple(refs))}
    return [Subject(JOB, facts, relations=relations), *steps]


class Site:
    """Sweeps of one job, one after the other, each from what the one before left."""

    def __init__(self) -> None:
        self.before: tuple[Subject, ...] = ()
        self.marks: Marks = {}
        self.count = 0

    def world(self, newest: int | None, bad: int = -1) -> World:
        info = SweepInfo(f"s{self.count - 1}", 0.0, 0.0, 0.0, True, "native", "")
        start = StartingPoint(last=info if self.count else None, subjects=self.before)
        head = Subject(Ref("sweep", f"s{self.count}"), {"now": 1000.0 * self.count})
        return connect(job(newest, bad), head, start, marks.from_data(marks.to_data(self.marks)))

    def sweep(self, newest: int | None, whole: bool = True) -> None:
        """A sweep is kept; of one whose cluster was not read whole nothing is looked back to."""
        made = self.world(newest)
        seen = newest_seen(POLICY, made, evaluate(POLICY, made))
        clusters = {"leo"} if whole else set[str]()
        self.marks = marks.advance(self.marks, {ref.key: n for ref, n in seen.items()}, {"leo:1"}, clusters)
        if whole:
            self.before = tuple(subject for subject in made.subjects.values() if subject.judged)
        self.count += 1

    def flagged(self, newest: int, bad: int) -> bool:
        """Whether a step on which the rule is true is looked at in the sweep that is next."""
        made = self.world(newest, bad)
        return bool(judge(POLICY, made, catalogue())[JOB].flags)


def new(history: Sequence[Look], newest: int) -> set[int]:
    """The steps that a sweep looks at whose newest step this is."""
    site = Site()
    for look in history:
        site.sweep(*look)
    return {bad for bad in range(newest + 1) if site.flagged(newest, bad)}


@pytest.mark.parametrize(
    ("history", "newest", "expected"),
    [
        ([], 2, {0, 1, 2}),
        ([(1, True)], 3, {2, 3}),
        # A sweep without new steps judges the same ones again, and so do those after it.
        ([(1, True), (3, True)], 3, {2, 3}),
        ([(1, True), (3, True), (3, True), (3, True), (3, True)], 3, {2, 3}),
        ([(0, True), (1, True), (3, True), (3, True)], 4, {4}),
        # One that did not see the steps, or not the whole cluster, is passed over.
        ([(1, True), (3, True), (None, True)], 3, {2, 3}),
        ([(1, True), (3, False)], 3, {2, 3}),
        ([(1, True), (None, False), (3, True)], 3, {2, 3}),
        # A run that went back: the last sweep that saw a lower step counts, not the lowest.
        ([(1, True), (5, True), (3, True)], 5, {4, 5}),
        ([(1, True), (5, True)], 3, {2, 3}),
        ([(5, True), (5, True)], 3, {0, 1, 2, 3}),
    ],
)
def test_new_steps(history: list[Look], newest: int, expected: set[int]) -> None:
    assert new(history, newest) == expected


_LOOKS = st.tuples(st.none() | st.integers(0, 6), st.booleans())


@given(st.lists(_LOOKS, max_size=8), st.integers(0, 6))
def test_new_steps_are_those_of_the_definition(history: list[Look], newest: int) -> None:
    lower = [seen for seen, whole in history if whole and seen is not None and seen < newest]
    limit = lower[-1] if lower else -1
    # The one sweep that is kept whole comes first; where it saw no step at all the marks alone tell.
    assert new(history, newest) == set(range(limit + 1, newest + 1))


def test_the_last_sweep_is_whole_and_of_those_behind_it_nothing_but_the_step_is_known() -> None:
    site = Site()
    for step in (1, 3, 3):
        site.sweep(step)
    truths = evaluate(POLICY, site.world(3))[JOB]
    assert truths["was"].word == "true"
    assert truths["was-before"].word == "unknown"


def test_a_job_that_is_gone_is_forgotten_and_one_of_a_cluster_that_was_not_read_is_not() -> None:
    before = {"leo:1": (3,), "leo:2": (4,), "tacc:3": (5,)}
    after = marks.advance(before, {"leo:1": 7}, {"leo:1"}, {"leo"})
    assert after == {"leo:1": (3, 7), "tacc:3": (5,)}


def test_no_more_marks_are_kept_than_a_run_can_want() -> None:
    kept: Marks = {}
    for step in range(100):
        kept = marks.advance(kept, {"leo:1": step}, {"leo:1"}, {"leo"})
    assert kept == {"leo:1": tuple(range(100 - marks.KEEP, 100))}


def test_marks_of_another_version_are_said_in_words() -> None:
    assert marks.from_data(None) == {}
    with pytest.raises(ValueError, match="version 9; this release reads version 1"):
        marks.from_data({"version": 9, "jobs": {}})
