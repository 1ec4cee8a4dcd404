"""The trainer's own log is good for completion only; the model's form is told by a listing of one folder."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.metrics.trainer_log import agreed, checkpoint_kind, percentage
from sweeprules.engine.facts import Reason, Unknown


def line(steps: int, total: int, share: float, **more: object) -> bytes:
    return json.dumps({"current_steps": steps, "total_steps": total, "percentage": share, **more}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (line(40, 916, 4.37, loss=0.5), 4.37),
        (line(916, 916, 100.0, loss=0.5) + line(916, 916, 100.0), 100.0),
        (line(900, 916, 98.25) + line(916, 916, 99.99), 100.0),
        (line(40, 916, 4.37) + b'{"current_steps": 50, "tot', 4.37),
        (b'{"percentage": 100.0}\n', 100.0),
        (line(40, 916, 4.37) + line(50, 916, 100.0), 4.37),
        (line(99_999, 100_000, 100.0), 100.0),
        (line(40, 916, 4.37) + b"[1]\n7\nnull\n", 4.37),
    ],
)
def test_completion(data, value):
    assert percentage(data) == value


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_an_empty_file_says_nothing_of_the_run(data):
    found = percentage(data)
    assert isinstance(found, Unknown)
    assert found.reason == Reason.NOT_READ


@pytest.mark.parametrize("share", ["NaN", "Infinity", "101", "-1", "true", '"100.0"', "null"])
def test_what_is_no_share_is_malformed(share):
    found = percentage(b'{"current_steps": 4, "percentage": ' + share.encode() + b"}\n")
    assert isinstance(found, Unknown)
    assert found.reason == Reason.MALFORMED


def test_a_file_that_another_run_left_is_not_believed():
    found = agreed(100.0, 400, 916)
    assert isinstance(found, Unknown)
    assert found.reason == Reason.DISAGREE


@pytest.mark.parametrize(
    ("share", "step", "total"),
    [
        (100.0, 916, 916),
        (43.7, 400, 916),
        (100.0, Unknown(Reason.NOT_READ), 916),
        (100.0, 400, Unknown(Reason.CUT)),
        (Unknown(Reason.NOT_READ), 400, 916),
    ],
)
def test_a_share_that_nothing_speaks_against_stands(share, step, total):
    assert agreed(share, step, total) == share


@given(st.binary(max_size=400))
def test_any_bytes(data):
    found = percentage(line(3, 9, 33.3) + data)
    assert isinstance(found, float | Unknown)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["config.json", "model.safetensors", "checkpoint-40"], "direct"),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], "direct"),
        (["pytorch_model.bin"], "direct"),
        (["adapter_model.safetensors"], "direct"),
        (["global_step916/", "zero_to_fp32.py", "config.json"], "sharded"),
        (["global_step916", "zero_to_fp32.py", "model.safetensors"], "direct"),
        (["pytorch_model_fsdp_0"], "sharded"),
        (["config.json", "checkpoint-40", "trainer_log.jsonl"], "none"),
        ([], "none"),
        (["model.safetensors.index.json", "xmodel.safetensors", "model.safetensors.tmp"], "none"),
        (["/w/x/model.safetensors"], "direct"),
    ],
)
def test_the_form_of_the_model(names, kind):
    assert checkpoint_kind(names) == kind


def test_parts_that_are_missing_tell_nothing():
    found = checkpoint_kind(["model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"])
    assert isinstance(found, Unknown)
    assert found.reason == Reason.DISAGREE
