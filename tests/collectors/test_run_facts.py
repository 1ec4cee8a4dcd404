"""What log, command and directory of a training run say together, and where each of it was read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.collectors.numbers import Told
from sweeprules.collectors.steps import with_numbers
from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Reason, Ref, Source, Subject, Unknown
from sweeprules.engine.language.ast import Pattern
from tests.collectors.test_steps import ALIASES, mirror, read

REF = Ref("job", "c:1")
COMMAND = "x --max_steps 900 trainer.ckpt_interval=20 --save_steps 40"
AT = {name: Source("1", name, "l") for name in ("command", "checkpoint_step")}
ROW = b"{'loss': '0.5', 'global_step': '40', 'epoch': '0.1'}\n"
SETTING = b"MarinSkyRL now at 3f2a91c\npolicy.model.path: m/8B\npolicy_num_nodes: 2\nnum_inference_engines: 4\n"


def swept(text: bytes | None, bucket: str = "rl", **facts: FactValue) -> Subject:
    """The job after its log was read; without a text there is none to read."""
    checkpoint = facts.get("checkpoint_step", NOT_READ)
    subject = Subject(REF, {"command": "x", "state": "RUNNING", "nodes": 4, **facts}, AT)
    logs = {}
    if text is not None:
        rung = Pattern("rung-mesh", "rung", "mesh up", "mesh up", {}, 50, "", Mark("x.yaml", 1, 1))
        command = facts.get("command", "x")
        logs = {"c:1": replace(read(text), checkpoint=checkpoint, command=command, patterns=(rung,))}
    made, found = with_numbers([subject], {REF: bucket}, logs, {**ALIASES, "loss": ("loss",)})
    assert all(isinstance(one, Told) for one in found.values())
    return made[0]


def reason(value: FactValue | None) -> object:
    return value.reason if isinstance(value, Unknown) else value


def test_the_rung_of_a_start_and_of_a_step() -> None:
    assert swept(b"hello\n").get("bringup_rung") is ABSENT
    assert swept(mirror(1)).get("bringup_rung") == "first-step"
    assert swept(mirror(1), "sft").facts.get("bringup_rung") is None


def test_the_file_of_the_newest_checkpoint_counts_for_more_than_the_log() -> None:
    text = mirror(1, 2) + b"saved checkpoint for global_step_20\n"
    assert swept(text).get("checkpoint_step") == 20
    found = swept(text, checkpoint_step=40)
    assert found.get("checkpoint_step") == 40 and found.sources["checkpoint_step"] == AT["checkpoint_step"]
    unread = swept(text, checkpoint_step=Unknown(Reason.MALFORMED))
    assert unread.get("checkpoint_step") == 20 and unread.sources["checkpoint_step"] != AT["checkpoint_step"]


def test_what_only_the_command_configures() -> None:
    rl = swept(mirror(1), command=COMMAND)
    assert (rl.get("save_interval"), rl.get("max_step")) == (20, 900)
    assert rl.sources["save_interval"] == rl.sources["max_step"] == AT["command"]
    told = swept(b"Total training steps: 300\n'ckpt_interval': 5\n" + mirror(1), command=COMMAND)
    assert (told.get("save_interval"), told.get("max_step")) == (5, 300)
    sft = swept(ROW, "sft", command=COMMAND)
    assert (sft.get("save_interval"), sft.get("max_step"), sft.get("total_source")) == (40, 900, "config")


def test_the_directory_by_the_log_where_the_command_names_none() -> None:
    line = b"trainer.ckpt_path=/w/rl/x/ckpts\n"
    assert swept(line + mirror(1)).get("run_dir") == "/w/rl/x"
    assert swept(line + mirror(1), run_dir="/w/rl/y").get("run_dir") == "/w/rl/y"
    assert reason(swept(mirror(1)).get("run_dir")) == Reason.NOT_READ


def test_the_setting_is_told_by_log_and_command() -> None:
    key = swept(SETTING + mirror(1)).get("settings_key")
    assert isinstance(key, str) and key != swept(SETTING.replace(b"8B", b"1B") + mirror(1)).get("settings_key")
    assert reason(swept(mirror(1)).get("settings_key")) == Reason.NOT_READ


@pytest.mark.parametrize(
    ("said", "steps", "found"),
    [(100.0, 900, Reason.DISAGREE), (100.0, 40, 100.0), (40.0, 900, 40.0), (ABSENT, 900, ABSENT)],
)
def test_a_completion_that_the_bar_does_not_bear_out(said: FactValue, steps: int, found: object) -> None:
    made = swept(ROW, "sft", percentage=said, command=f"x --max_steps {steps}")
    assert reason(made.get("percentage")) == found


def test_a_run_that_left_no_log_printed_nothing() -> None:
    sft = swept(None, "sft", **{"log.exists": ABSENT})
    assert all(sft.get(name) is ABSENT for name in ("loss", "grad_norm", "has_nan", "nan_suspect", "loss_nan_ranks"))
    assert "step" not in sft.facts and "max_step" not in sft.facts
    rl = swept(None, **{"log.exists": ABSENT})
    assert all(rl.get(name) is ABSENT for name in ("bringup_rung", "tis_enabled", "buffer_n"))
    for other in (
        swept(None, "sft", **{"log.exists": Unknown(Reason.READ_FAILED)}),
        swept(None, "sft", state="PENDING", **{"log.exists": ABSENT}),
        swept(None, "datagen", **{"log.exists": ABSENT}),
    ):
        assert "loss" not in other.facts
