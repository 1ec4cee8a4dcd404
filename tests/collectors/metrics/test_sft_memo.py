"""A log that is read piece by piece over many sweeps tells what it tells when it is read at once."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.metrics.sft import series_of
from sweeprules.engine.facts import Interval, Unknown
from tests.collectors.metrics.sftlogs import BANNERS, read, row, training

LOG = (
    BANNERS["five"].format("1,500")
    + training(1500, 70)
    + "\n[transformers] Model weights saved in out/checkpoint-60/model.safetensors\n{'loss': 0.5, 'gra\n"
    + training(1500, 110, start=70)
).encode()
FACTS = (
    "step",
    "max_step",
    "total_source",
    "loss",
    "grad_norm",
    "epoch",
    "has_nan",
    "checkpoint_step",
    "malformed_lines",
)


@given(st.lists(st.integers(0, len(LOG)), max_size=5), st.integers(0, 600))
@settings(max_examples=150, deadline=None)
def test_pieces_that_overlap_add_up(cuts, overlap):
    memo = None
    ends = [*sorted(cuts), len(LOG)]
    read_to = 0
    numbers = read(b"")
    for end in ends:
        whole_lines = max(LOG.rfind(b"\n", 0, end), LOG.rfind(b"\r", 0, end)) + 1
        start = max(0, read_to - overlap)
        start = max(LOG.rfind(b"\n", 0, start), LOG.rfind(b"\r", 0, start)) + 1
        numbers = read(LOG[start:end], memo, start=start)
        memo = json.loads(json.dumps(dict(numbers.memo)))
        read_to = whole_lines
    at_once = read(LOG)
    assert {name: numbers.facts[name] for name in FACTS} == {name: at_once.facts[name] for name in FACTS}
    steps = {point.step for point in series_of(memo).points}
    assert steps <= {point.step for point in series_of(at_once.memo).points}


def test_the_numbers_stay_when_nothing_new_is_printed():
    first = read(LOG)
    again = read(b"NCCL INFO nothing\n", first.memo, start=len(LOG))
    same = [name for name in first.facts if first.facts[name] == again.facts[name]]
    assert same == list(first.facts)
    assert again.points == ()


def test_rows_that_are_read_twice_are_counted_once():
    first = read(LOG)
    again = read(LOG, first.memo)
    assert again.facts["malformed_lines"] == first.facts["malformed_lines"] == 1
    assert again.points == ()
    assert series_of(again.memo) == series_of(first.memo)


def test_a_memo_of_another_reader_is_none():
    assert read(LOG, {"kind": "rl", "x": 1}).facts == read(LOG).facts
    assert series_of({}).points == ()


def test_after_a_gap_the_count_of_torn_rows_is_a_lower_bound():
    torn = b"half of one\n{'loss': 1, 'x\n" + row(0.5).encode() + b"\n"
    assert read(torn, whole=False).facts["malformed_lines"] == Interval(1, None)


def test_what_was_read_at_first_is_known_later_from_the_end_alone():
    first = read(LOG)
    later = training(1500, 130, start=110).encode()
    facts = read(later, first.memo, start=len(LOG) + 10_000_000, whole=False).facts
    assert (facts["max_step"], facts["total_source"], facts["step"]) == (1500, "banner", 130)
    assert not isinstance(facts["eta"], Unknown)


def test_a_memo_does_not_grow_with_the_log():
    memo = None
    sizes = []
    for part in range(6):
        text = training(100_000, 400 * (part + 1), start=400 * part, every=2)
        memo = read((BANNERS["bare"].format(100_000) if part == 0 else "") + text, memo, start=part * 10**6).memo
        sizes.append(len(json.dumps(dict(memo))))
    assert max(sizes) < 2 * sizes[1]
