"""Mutated logs: no exception, no unbounded time, and each field that is read is one that the original printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.sft import read_sft
from sweeprules.engine.facts import Absent, Interval, Unknown
from tests.collectors.metrics.sftlogs import BANNERS, UTC, frame, read, row, training

TOTAL = 26_788
PARTS = (
    BANNERS["five"].format("26,788"),
    BANNERS["factory"].format(TOTAL),
    "Running tokenizer on dataset: 100%|██████████| 555519/555519 [01:05<00:00, 8531.2 examples/s]\n",
    *(piece + "\n" for piece in training(TOTAL, 130, every=13, quoted=False).split("\n")),
    *(piece + "\n" for piece in training(TOTAL, 230, every=17, start=130).split("\n")),
    "[transformers] Model weights saved in out/checkpoint-130/model.safetensors\n",
    "[transformers] Loading model from out/checkpoint-130.\n",
    " iteration      177/   26788 | learning rate: 2.500E-05 | lm loss: 2.25E+00 | grad norm: 0.625 |\n",
    "{'eval_loss': 4.09110689163208, 'eval_runtime': 0.0103, 'epoch': 1.5}\n",
    "{'train_runtime': '9.4', 'train_loss': '1.5', 'epoch': '2'}\n",
    row(0.0, float("nan"), loss_nan_ranks=3) + "\n",
    '[rank1]: Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nRuntimeError: x\n',
    "\x1b[36m(train pid=77)\x1b[0m " + row(0.75) + "\x1b[A\n",
    frame(2, 2, 1, "2.00it/s", "Loading checkpoint shards: ") + "\n",
)
ROWS = [float(f"{1 + 10 / step:.4g}") for step in range(1, 240)] + [1 + 10 / step for step in range(1, 240)]
TRUE = {
    "step": {*range(231)},
    "max_step": {TOTAL},
    "total_source": {"banner", "bar"},
    "step_source": {"bar", "line", "checkpoint"},
    "checkpoint_step": {130},
    "loss": {*ROWS, 0.0, 0.75, 2.25},
    "grad_norm": {
        0.5,
        0.625,
        *(0.5 + step / 1000 for step in range(240)),
        *(float(f"{0.5 + n / 1000:.4g}") for n in range(240)),
    },
    "learning_rate": {2.5e-05},
    "epoch": {0.25},
    "loss_nan_ranks": {3},
    "has_nan": {True, False},
    "nan_suspect": {True, False},
}
NOISE = st.lists(st.sampled_from(list(b"\x00\x1b\xff\xc3{'\"[]|%/:=\n\r XYZq(")), max_size=20).map(bytes)
"""Bytes that make no other row: one more digit, or a brace before a break, would, and nothing shows it."""
CODES = ("utf-16-le", "latin-1", "utf-8")


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Some pieces of a log: each whole, cut at an end, put into another, or written in another code.

    The total of a banner is never cut within its digits: what is left would be a number like any other.
    """
    pieces = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8))
    made: list[bytes] = []
    for piece in pieces:
        raw = piece.encode()
        kind = draw(st.sampled_from(("whole", "whole", "front", "end", "glued", "inside", "coded", "noise")))
        at = draw(st.integers(0, raw.index(b"=") if b"Total optimization" in raw else len(raw)))
        if kind == "front":
            raw = b"\n" + raw[:at] + b"\n"
        elif kind == "end":
            raw = b"\n" + raw[at:]
        elif kind == "glued":
            raw = raw.rstrip(b"\n")
        elif kind == "inside":
            raw = raw[:at] + draw(st.sampled_from(PARTS)).encode() + raw[at:]
        elif kind == "coded":
            raw = piece.encode("utf-8").decode("utf-8").encode(draw(st.sampled_from(CODES)), "replace")
        elif kind == "noise":
            raw = raw[:at] + draw(NOISE) + raw[at:]
        made.append(raw)
    return b"".join(made)


def check(numbers: Numbers) -> None:
    for name, value in numbers.facts.items():
        if isinstance(value, Unknown | Absent | Interval) or name in ("rate", "eta", "malformed_lines"):
            continue
        assert value in TRUE[name], (name, value)
    for point in numbers.points:
        assert point.step in TRUE["step"]


def mutations(number: int) -> Callable[[], None]:
    @settings(max_examples=number, deadline=None)
    @given(mutated())
    def run(data: bytes) -> None:
        check(read(data))

    return run


@pytest.mark.parametrize("number", [5_000, pytest.param(100_000, marks=pytest.mark.deep)])
def test_each_field_of_a_mutated_log_is_one_of_the_original_or_unknown(number):
    mutations(number)()


@given(st.binary(max_size=2000), st.integers(0, 10**12), st.booleans())
@settings(max_examples=500, deadline=None)
def test_any_bytes(data, start, whole):
    read_sft(Chunk(data, start, whole_start=whole), {}, UTC, None, whole=whole)


@pytest.mark.parametrize(
    "literal",
    [b"'loss':", b"%|", b"iteration 1/2 |", b"{'loss': 1", b"/60 [", b"Total optimization steps", b"global step "],
)
@pytest.mark.parametrize("glue", [b"", b"\n", b"\r", b" "])
def test_many_of_one_literal_take_time_in_proportion(literal, glue):
    data = b"  Total optimization steps = 60\n" + (literal + glue) * (3_000_000 // len(literal + glue))
    read(data)
