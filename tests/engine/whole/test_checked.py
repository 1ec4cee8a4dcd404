"""Whole policies and worlds: durable-rules finds what the native evaluator finds, by one child that is kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from hypothesis import given

from sweeprules.engine.evaluate.native import evaluate
from tests.engine.durable.kept import RENEW, Kept, keeping
from tests.engine.whole.cases import LENGTHS, Case, case, cases, examples


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    with keeping() as child:
        yield child


@pytest.mark.parametrize("count", LENGTHS)
def test_checked_equals_native(kept: Kept, count: int) -> None:
    tally = {"examples": 0, "firings": 0, "skipped": 0, "subjects": 0}
    before = kept.started

    @examples(count)
    @given(cases)
    def law(case: Case) -> None:
        truths = evaluate(case.policy, case.world, case.held)
        result = kept.agree(case.policy, case.world, truths, case.held)
        tally["examples"] += 1
        tally["firings"] += result.firings
        tally["skipped"] += len(result.skipped)
        tally["subjects"] += len(truths)

    law()
    assert tally["examples"] >= count
    assert tally["firings"] > 5 * count, tally
    assert tally["skipped"] < tally["subjects"] / 100, tally
    assert kept.lost == 0
    # Some rulesets an example: a child is renewed now and then, and never started for one example.
    assert kept.started - before <= 1 + tally["examples"] * 12 // RENEW, (kept.started, tally)


def test_a_child_that_was_ended_is_replaced_and_the_next_example_is_checked(kept: Kept) -> None:
    one = case(1)
    truths = evaluate(one.policy, one.world, one.held)
    assert kept.check(one.policy, one.world, truths, one.held).status == "equal"
    os.kill(kept.session().child.pid, signal.SIGKILL)
    result = kept.check(one.policy, one.world, truths, one.held)
    if result.status != "equal":
        # It was still there when it was asked for time, and gone when it was given work.
        assert result.failure is not None
        assert result.failure.kind == "crash"
    assert kept.check(one.policy, one.world, truths, one.held).status == "equal"


def test_an_example_that_takes_too_long_is_given_up_and_the_next_one_has_its_own_time() -> None:
    with keeping(deadline=1.0) as kept:
        one = case(2)
        truths = evaluate(one.policy, one.world, one.held)
        kept.agree(one.policy, one.world, truths, one.held)
        os.kill(kept.session().child.pid, signal.SIGSTOP)
        started = time.monotonic()
        kept.agree(one.policy, one.world, truths, one.held)
        assert 0.5 < time.monotonic() - started < 30
        assert (kept.started, kept.lost) == (2, 1)
