"""How long a step takes, over the trailing window, and what is left out of it."""

from __future__ import annotations

import pytest

from sweeprules.engine.facts import Reason, Unknown
from tests.collectors.metrics.sftlogs import BANNERS, frame, read, training


def drawn(seconds: list[float], total: int = 1000, first: int = 0) -> str:
    return BANNERS["bare"].format(total) + "".join(frame(first + n, total, at) for n, at in enumerate(seconds))


def test_the_rate_is_that_of_the_window_in_seconds_a_step():
    facts = read(drawn([4.5 * n for n in range(60)])).facts
    assert facts["rate"] == pytest.approx(4.5, rel=0.02)
    assert facts["eta"] == pytest.approx((1000 - 59) * 4.5, rel=0.02)


def test_a_save_is_left_out():
    at, marks = 0.0, []
    for step in range(80):
        at += 90.0 if step % 20 == 10 else 4.5
        marks.append(at)
    assert read(drawn(marks)).facts["rate"] == pytest.approx(4.5, rel=0.05)


def test_a_run_that_became_slow_is_slow():
    marks = [4.0 * n for n in range(30)] + [120 + 30.0 * n for n in range(120)]
    assert read(drawn(marks)).facts["rate"] == pytest.approx(30, rel=0.02)


def test_steps_that_are_drawn_now_and_then():
    log = BANNERS["bare"].format(9000) + "".join(frame(7 * n, 9000, n, "7.00it/s") for n in range(60))
    assert read(log).facts["rate"] == pytest.approx(1 / 7, rel=0.02)


def test_within_a_few_seconds_the_printed_rate_is_taken():
    log = BANNERS["bare"].format(60) + "".join(frame(n, 60, 0, "20.00it/s") for n in range(1, 9))
    assert read(log).facts["rate"] == pytest.approx(0.05)


@pytest.mark.parametrize("steps", [0, 1])
def test_of_one_step_no_rate_can_be_told(steps):
    facts = read(drawn([9.0 * n for n in range(1, steps + 1)])).facts
    rate = facts["rate"] if steps else read(BANNERS["bare"].format(60)).facts["rate"]
    assert isinstance(rate, Unknown)
    assert rate.reason == Reason.WARMING_UP


def test_the_jump_to_the_checkpoint_is_no_training():
    log = BANNERS["five"].format(500) + frame(0, 500, 0, "?it/s")
    log += "".join(frame(400 + n, 500, 600 + 10 * n, "10.0s/it") for n in range(1, 20))
    assert read(log).facts["rate"] == pytest.approx(10.0)


def test_a_second_start_in_one_file_is_measured_by_itself():
    log = BANNERS["bare"].format(500) + "".join(frame(n, 500, 50 * n) for n in range(40))
    log += BANNERS["bare"].format(500) + training(500, 45, start=20, pace=8.0)
    assert read(log).facts["rate"] == pytest.approx(8.0)


def test_days_are_read_as_hours():
    log = BANNERS["bare"].format(5000) + "".join(frame(n, 5000, 338 * n) for n in range(900, 960))
    assert read(log).facts["rate"] == pytest.approx(338)


def test_the_rate_that_is_printed_behind_a_jump_is_that_of_the_jump():
    log = BANNERS["five"].format(60) + frame(0, 60, rate="?it/s") + frame(41, 60, 1, "118.54it/s")
    facts = read(log + frame(42, 60, 6, "118.54it/s")).facts
    assert (facts["step"], facts["rate"]) == (42, Unknown(Reason.WARMING_UP, "fewer than two steps were drawn"))
    facts = read(log + frame(42, 60, 6, "90.1it/s") + frame(43, 60, 11, "60.2it/s")).facts
    assert (facts["rate"], facts["eta"]) == (pytest.approx(5.0), pytest.approx(85.0))
