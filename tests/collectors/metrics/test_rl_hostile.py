"""No bytes break the reader of RL logs, none take it long, and what it reads of broken ones is what was printed."""

from __future__ import annotations

import json
import random
import time
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import read_rl
from sweeprules.engine.facts import Unknown
from tests.collectors.metrics import rl_logs
from tests.collectors.metrics.rl_broken import NOISE, mutated

UTC = ZoneInfo("UTC")
LAST = 4
FORMS = ({}, {"mirror": False}, {"console": False})


def read(data: bytes) -> Numbers:
    return read_rl(Chunk(data, 0), rl_logs.aliases(), UTC, whole=True)


@cache
def log(form: int, colour: bool) -> bytes:
    return rl_logs.run(rl_logs.learning(1, LAST), total=LAST, colour=colour, **FORMS[form])


@cache
def printed() -> dict[int, dict[str, float]]:
    """Step -> field -> number, as the trainer had it."""
    return {
        point.step: {name: float(value) for name, value in point.values.items() if isinstance(value, int | float)}
        for point in read(log(0, False)).points
    }


def check(form: int, colour: bool, seed: int, times: int) -> None:
    """Every number that is read of a broken log is the one that was printed, or is not known."""
    numbers = read(mutated(log(form, colour), seed, times))
    json.dumps(numbers.memo)
    for point in numbers.points:
        for name, value in point.values.items():
            if not isinstance(value, Unknown):
                assert value == pytest.approx(printed()[point.step][name], abs=6e-5), (point.step, name)
    step, last = numbers.facts.get("step"), numbers.facts.get("max_step")
    assert isinstance(step, Unknown) or step is None or step in range(LAST + 1)
    assert isinstance(last, Unknown) or last is None or last == LAST


broken = given(st.integers(0, len(FORMS) - 1), st.booleans(), st.integers(0, 2**32), st.integers(1, 12))


@settings(max_examples=5_000, deadline=None)
@broken
def test_a_broken_log_tells_what_was_printed_or_nothing(form: int, colour: bool, seed: int, times: int) -> None:
    check(form, colour, seed, times)


@pytest.mark.deep
@settings(max_examples=100_000, deadline=None)
@broken
def test_very_many_broken_logs(form: int, colour: bool, seed: int, times: int) -> None:
    check(form, colour, seed, times)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(NOISE)), max_size=30), st.binary(max_size=2))
def test_any_bytes_are_read(parts: list[bytes], between: bytes) -> None:
    json.dumps(read(between.join(parts)).memo)


@pytest.mark.parametrize(
    "line",
    [
        b"x" * 20_000_000,
        b"\r".join([b"Training Step Progress:  10%|x  | 3/60 [0:01<0:09, 1.0s/it]"] * 300_000),
        b"WANDB_MIRROR kind=train step=3 metrics={" + b'"a": [' * 3_000_000,
        b"WANDB_MIRROR " * 300_000,
        b"'trainer/global_step'" * 900_000,
        b"{'" * 9_000_000,
        b"Started: '" * 2_000_000,
        b"generation throughput: " * 800_000,
        b"step=" * 4_000_000,
        b"'reward': {" * 1_800_000,
        b"use_tis ckpt_interval raining steps " * 500_000,
        b"\x1b[31m" * 4_000_000,
        b"WANDB_MIRROR kind=train step=3 metrics={" + b"'a': 1, " * 2_000_000,
    ],
)
def test_one_long_line_is_read_in_time_that_grows_with_its_length(line: bytes) -> None:
    begun = time.process_time()
    numbers = read(rl_logs.run(rl_logs.learning(1, 2)) + line)
    assert time.process_time() - begun < 15
    assert numbers.facts["has_nan"] is False


def test_a_mirror_line_of_200_kib_is_read() -> None:
    metrics = {f"generate/errors/{n}": n for n in range(7000)} | {"policy/raw_grad_norm": 0.25}
    log = rl_logs.Log()
    log.mirror(3, metrics)
    assert len(log.data) > 200_000
    assert read(log.data).points[0].get("grad_norm") == 0.25


def test_noise_on_its_own_is_no_run() -> None:
    rng = random.Random(5)
    text = b"\n".join(rng.choice([b"loss went down", b"steps: many", b"reward in heaven"]) for _ in range(2000))
    assert read(text) == Numbers()


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("saved checkpoint for global_step_120", "checkpoint_step", 120),
        ("Resumed training from global_step 120", "step", 120),
        ("Total training steps: 120", "max_step", 120),
        ("max training steps (120)", "max_step", 120),
        ("ckpt_interval: 120", "save_interval", 120),
    ],
)
def test_a_number_that_the_end_of_what_was_read_cuts_is_not_the_number(line: str, name: str, value: int) -> None:
    log = rl_logs.run(rl_logs.learning(1, 2))
    before, place = read(log).facts.get(name), line.index(str(value))
    assert read(log + line.encode() + b"\n").facts[name] == value
    for cut in range(place, place + 4):
        assert read(log + line[:cut].encode()).facts.get(name) == before
