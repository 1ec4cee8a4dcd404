"""A long fine-tuning log in pieces says what it says at once."""

from __future__ import annotations

import pytest

from sweeprules.collectors.metrics import sft_stream
from sweeprules.collectors.metrics.sft import series_of
from sweeprules.collectors.metrics.sft_stream import read_sft_pieces
from tests.collectors.metrics.sftlogs import BANNERS, UTC, read, training

LOG = (BANNERS["factory"].format("3,000") + training(3000, 900) + "\n{'loss': 0.1, 'gr\n").encode()
LOG += training(3000, 1200, start=900).encode()


@pytest.mark.parametrize("size", [700, 5000, 30_000, 10**6])
def test_pieces_of_any_size(monkeypatch, size):
    monkeypatch.setattr(sft_stream, "LEAST", 4000)
    monkeypatch.setattr(sft_stream, "OVERLAP", 2000)
    numbers = read_sft_pieces((LOG[at : at + size] for at in range(0, len(LOG), size)), {}, UTC)
    at_once = read(LOG)
    same = [name for name in at_once.facts if name not in ("rate", "eta")]
    assert {name: numbers.facts[name] for name in same} == {name: at_once.facts[name] for name in same}
    assert numbers.facts["rate"] == pytest.approx(5.0)
    assert series_of(numbers.memo).newest == series_of(at_once.memo).newest


def test_nothing_is_no_log_of_a_run():
    assert read_sft_pieces((), {}, UTC).facts == {}


def test_one_line_without_an_end(monkeypatch):
    monkeypatch.setattr(sft_stream, "LEAST", 4000)
    monkeypatch.setattr(sft_stream, "OVERLAP", 2000)
    pieces = [BANNERS["bare"].format(60).encode(), *[b"x" * 3000] * 20, b"\n" + training(60, 20).encode()]
    facts = read_sft_pieces(pieces, {}, UTC).facts
    assert (facts["step"], facts["max_step"]) == (20, 60)
