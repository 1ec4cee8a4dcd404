"""What the log of an RL run tells."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.rl import read_rl, settings_of
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from tests.collectors.metrics import rl_logs
from tests.collectors.metrics.rl_logs import Log

UTC = ZoneInfo("UTC")


def read(data: bytes | str, *, whole: bool = True, before: Mapping[str, Any] | None = None, **more: Any) -> Numbers:
    raw = data.encode() if isinstance(data, str) else data
    return read_rl(Chunk(raw, 0), rl_logs.aliases(), UTC, before, whole=whole, **more)


def steps(numbers: Numbers) -> list[tuple[int, int]]:
    return [(point.step, point.attempt) for point in numbers.points]


def reason(value: FactValue) -> str:
    return value.reason if isinstance(value, Unknown) else ""


# ---------------------------------------------------------------- lines of metrics


@pytest.mark.parametrize("colour", [True, False])
def test_each_step_is_a_point_with_its_numbers_and_its_time(colour: bool) -> None:
    numbers = read(rl_logs.run(rl_logs.learning(1, 3), colour=colour))
    assert steps(numbers) == [(1, 1), (2, 1), (3, 1)]
    last = numbers.points[-1]
    assert (last.get("reward"), last.get("entropy"), last.get("pass_at_k")) == (0.21 + 0.012, 0.71 - 0.009, 0.55)
    assert last.time is not None
    assert numbers.points[0].time is not None
    assert last.time > numbers.points[0].time > 1.78e9


def test_the_dictionary_of_the_console_tells_the_same_in_four_digits() -> None:
    metrics = rl_logs.learning(1, 3)
    mirror, console = read(rl_logs.run(metrics, console=False)), read(rl_logs.run(metrics, mirror=False))
    assert steps(mirror) == steps(console)
    for one, other in zip(mirror.points, console.points, strict=True):
        assert one.values.keys() == other.values.keys()
        for name, value in one.values.items():
            assert other.get(name) == pytest.approx(value, abs=6e-5)


def test_lines_of_other_processes_and_bars_may_stand_within_a_dictionary() -> None:
    log = Log()
    log.console(5, rl_logs.healthy(5, random.Random(1)))
    lines = log.lines
    for place in (3, 6, 9, 12):
        lines.insert(place, f"{log.actor}(EngineCore pid=9) INFO 08-01 04:10:00 loading 'policy/kl': 9,\n")
        lines.insert(place, f"{log.driver}\r{log.bar(5, glued='x')}\n")
    numbers = read(log.data)
    assert steps(numbers) == [(5, 1)]
    assert len(numbers.points[0].values) == 15


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("WANDB_MIRROR kind=train step=9 metrics={'policy/raw_grad_norm': 0.25}", {"grad_norm": 0.25}),
        ("WANDB_MIRROR {'trainer/global_step': 9, 'policy/raw_grad_norm': nan}", {"grad_norm": "nan"}),
        ("WANDB_MIRROR step=9 {\"raw_grad_norm\": '1,204.5'}", {"grad_norm": 1204.5}),
        ('WANDB_MIRROR kind=train step=9 metrics={"policy/raw_grad_norm": Infinity}', {"grad_norm": "nan"}),
        ('WANDB_MIRROR kind=train step=9 metrics={"policy/raw_grad_norm": null}', {"grad_norm": "malformed"}),
        ('WANDB_MIRROR kind=train step=9 metrics={"policy/raw_grad_norm": true}', {"grad_norm": "malformed"}),
        ('WANDB_MIRROR kind=train step=9 metrics={"raw_grad_norm": ' + "9" * 5000 + "}", {"grad_norm": "malformed"}),
        ('WANDB_MIRROR kind=train step=9 metrics={"policy/raw_grad_norm": 1e999}', {"grad_norm": "nan"}),
        ('WANDB_MIRROR kind=train step=9 metrics={"raw_grad_norm": 7, "policy/raw_grad_norm": 8}', {"grad_norm": 8}),
        ('WANDB_MIRROR kind=train step=9 metrics={"raw_grad_norm": 7} [repeated 2x across cluster]', {"grad_norm": 7}),
        ('WANDB_MIRROR kind=train step=9 metrics={"raw_grad_norm": 7}Training Step Progress: 9/60 [', {"grad_norm": 7}),
        ('WANDB_MIRROR kind=train step=9 metrics={"reward/avg_pass_at_3": 0.5}', {"pass_at_k": 0.5}),
        ('task=/u/rl/0 attempt=1 | WANDB_MIRROR kind=train step=9 metrics={"raw_grad_norm": 7}', {"grad_norm": 7}),
    ],
)
def test_a_mirror_line_in_the_forms_that_were_seen(line: str, values: dict[str, float | str]) -> None:
    numbers = read(line + "\n")
    assert steps(numbers) == [(9, 1)]
    found = {name: reason(value) or value for name, value in numbers.points[0].values.items()}
    assert found == values
    assert numbers.facts["malformed_lines"] == 0


@pytest.mark.parametrize(
    "line",
    [
        'WANDB_MIRROR kind=train step=9 metrics={"a": 0.1, "b": ',
        'WANDB_MIRROR kind=train step=9 metrics={"_serialize_error": "no"}',
        "WANDB_MIRROR kind=train step=9 metrics=",
        'WANDB_MIRROR kind=train step=-3 metrics={"a": 1}',
        "WANDB_MIRROR kind=train step=9 metrics=" + '{"a":' * 3000,
        'WANDB_MIRROR {"policy/raw_grad_norm": 1}',
        "WANDB_MIRROR kind=train step=9 metrics={'a': 0.1, 'b': 0.2",
    ],
)
def test_a_broken_line_is_counted_and_passed_over(line: str) -> None:
    numbers = read(f"{line}\nsomething else\n{line}\n")
    assert steps(numbers) == []
    assert numbers.facts["malformed_lines"] == 2


def test_what_is_not_training_is_no_step_and_not_broken() -> None:
    numbers = read('WANDB_MIRROR kind=eval step=4 metrics={"x": 1}\nWANDB_MIRROR kind=startup step=0 metrics={"\n')
    assert (steps(numbers), numbers.facts) == ([], {})
    both = read('WANDB_MIRROR kind=eval step=4 metrics={"x": 1}\nWANDB_MIRROR kind=train step=3 metrics={"kl": 1}\n')
    assert steps(both) == [(3, 1)]


def test_two_records_on_one_line_are_two() -> None:
    text = 'WANDB_MIRROR kind=train step=1 metrics={"kl": 1}WANDB_MIRROR kind=train step=2 metrics={"kl": 2}\n'
    assert steps(read(text)) == [(1, 1), (2, 1)]


# ---------------------------------------------------------------- how far it is


def test_a_link_without_a_line_of_metrics_is_where_its_bar_is() -> None:
    log = Log(total=90)
    log.say("Total training steps: 90")
    log.say("Successfully loaded complete checkpoint state from global_step_40")
    facts = read(log.data).facts
    assert (facts["step"], facts["step_source"], facts["max_step"], facts["checkpoint_step"]) == (40, "line", 90, 40)
    log.bar(40, "00:00<?, ?it/s")
    log.say("Started: 'step'")
    facts = read(log.data).facts
    assert (facts["step"], facts["step_source"], facts["phase"]) == (40, "bar", "first-step")
    log.bar(43)
    facts = read(log.data).facts
    assert (facts["step"], facts["max_step"], facts["phase"]) == (43, 90, "steady")


@pytest.mark.parametrize(
    "bar",
    [
        "Policy Train epoch [1/1]:  50%|xx   | 4/8 [00:01<00:01, 2.0it/s]",
        "Generation Buffer Progress:  50%|xx   | 4/8 [00:01<00:01, 2.0it/s]",
        "Generating Trajectories:  50%|xx   | 4/8 [00:01<00:01, 2.0it/s]",
        "Loading checkpoint shards: 100%|xx| 4/8 [00:01<00:01, 2.0it/s]",
    ],
)
def test_other_bars_are_no_step(bar: str) -> None:
    log = Log()
    log.bar(17)
    log.lines.append(f"{log.driver}\r{bar}\n")
    assert read(log.data).facts["step"] == 17


@pytest.mark.parametrize(
    ("text", "step", "last"),
    [
        ("Training Step Progress: 41/300\n", 41, 300),
        ("Training Step Progress: 7 / 20\n", 7, 20),
        ("Training Step Progress: 1,041/12,000 [1:00<2:00]\n", 1041, 12000),
        ("Training Batches Processed:  12%|x   | 6/50 [00:10<01:00, 1.2s/it]\n", 6, 50),
        ("Training Step Progress:  98%|x   | 78/80 [1:10<0:02]\rTraining Step Progress: 86it [1:20, 9s/it]\n", 86, 80),
    ],
)
def test_the_training_bar_in_its_forms(text: str, step: int, last: int) -> None:
    facts = read("Total training steps: 80\n" + text).facts
    assert facts["step"] == step
    assert facts["max_step"] == (last if last != 80 else 80)


def test_a_bar_that_is_cut_is_not_read() -> None:
    assert read("Training Step Progress: 3/60 [0:1\nTraining Step Progress: 4/6").facts["step"] == 3


def test_the_checkpoints_own_file_counts_before_the_log() -> None:
    data = rl_logs.run(rl_logs.learning(1, 3)) + b"Successfully saved checkpoint for global_step_2 to: /w/x\n"
    assert read(data).facts["checkpoint_step"] == 2
    assert read(data, checkpoint=3).facts["checkpoint_step"] == 3
    assert read(data, checkpoint=Unknown(Reason.READ_FAILED)).facts["checkpoint_step"] == 2
    log = Log()
    log.say("Total training steps: 60")
    assert read(log.data, checkpoint=ABSENT).facts["checkpoint_step"] is ABSENT
    facts = read(log.data, checkpoint=24).facts
    assert (facts["step"], facts["step_source"]) == (24, "checkpoint")


@pytest.mark.parametrize(
    "line",
    [
        "Resumed at global_step 60 >= max training steps (60); run is already COMPLETE. Finalizing.",
        "Training already complete on resume — exiting cleanly.",
        "[RLJobRunner] Canonical checkpoint already at/past max_steps — run is COMPLETE",
    ],
)
def test_a_run_past_its_end_says_so(line: str) -> None:
    log = Log()
    log.say("Total training steps: 60")
    log.say(line)
    facts = read(log.data).facts
    assert (facts["overshoot_line"], facts["max_step"], facts["phase"]) == (True, 60, "teardown")
    assert read(rl_logs.run(rl_logs.learning(1, 3))).facts["overshoot_line"] is False


def test_a_run_that_reached_its_last_step() -> None:
    data = rl_logs.run(rl_logs.learning(1, 20), total=20) + b"Reached max training steps (20)\nTraining done!\n"
    facts = read(data).facts
    assert (facts["step"], facts["max_step"], facts["phase"]) == (20, 20, "teardown")


@pytest.mark.parametrize(
    ("timers", "phase"),
    [
        (["Started: 'step'", "Started: 'save_checkpoints'"], "checkpoint"),
        (["Started: 'step'", "Started: 'save_checkpoints'", "Finished: 'save_checkpoints', time cost: 9.0s"], "steady"),
        (["Started: 'eval'"], "eval"),
        (["Started: 'step'", "Started: 'sync_weights'"], "steady"),
    ],
)
def test_the_phase_by_the_timer_that_runs(timers: list[str], phase: str) -> None:
    log = Log()
    log.step(4, rl_logs.healthy(4, random.Random(1)))
    for timer in timers:
        log.say(timer)
    assert read(log.data).facts["phase"] == phase


# ---------------------------------------------------------------- what else it tells


def test_a_wedge_shows_in_the_buffer() -> None:
    log = Log()
    log.say("Started: 'wait_for_generation_buffer'")
    log.bar(11)
    log.buffer(35, 64)
    facts = read(log.data).facts
    assert (facts["buffer_n"], facts["buffer_m"], facts["step"]) == (35, 64, 11)
    assert facts["engine_running"] is ABSENT


def test_only_the_newest_line_says_whether_there_is_a_number_that_is_none() -> None:
    metrics = rl_logs.learning(1, 3)
    metrics[2]["timing/step"] = float("inf")
    assert read(rl_logs.run(metrics)).facts["has_nan"] is False
    metrics[3]["policy/raw_grad_norm"] = float("nan")
    facts = read(rl_logs.run(metrics, mirror=False)).facts
    assert (facts["has_nan"], facts["all_zero_diagnostics"]) == (True, False)


def test_diagnostics_of_zero_are_no_healthy_ones() -> None:
    metrics = rl_logs.learning(1, 3)
    metrics[3] |= dict.fromkeys((f"policy/log_ratio_abs_{name}" for name in ("mean", "p99", "max")), 0.0)
    numbers = read(rl_logs.run(metrics))
    assert numbers.facts["all_zero_diagnostics"] is True
    assert reason(numbers.points[-1].get("log_ratio_mean")) == "malformed"
    assert numbers.points[-1].get("grad_norm") == metrics[3]["policy/raw_grad_norm"]
    metrics[3]["policy/log_ratio_abs_max"] = 0.1
    numbers = read(rl_logs.run(metrics))
    assert (numbers.facts["all_zero_diagnostics"], numbers.points[-1].get("log_ratio_mean")) == (False, 0.0)


def test_the_constants_of_a_fallback_are_no_measurement() -> None:
    metrics = rl_logs.learning(1, 3)
    tis = {"imp_ratio_mean": 1.0, "imp_ratio_capped_fraction": 0.0, "log_ratio_abs_mean": 0.0}
    metrics[3] |= {f"policy/tis/{name}": value for name, value in tis.items()}
    last = read(rl_logs.run(metrics)).points[-1]
    assert {reason(last.get(name)) for name in ("tis_imp_ratio", "tis_capped", "tis_log_ratio")} == {"malformed"}
    metrics[3]["policy/tis/log_ratio_abs_mean"] = 0.004
    last = read(rl_logs.run(metrics)).points[-1]
    assert (last.get("tis_imp_ratio"), last.get("tis_log_ratio")) == (1.0, 0.004)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("trainer.algorithm.use_tis=true", True),
        ("use_tis: true\nuse_tis: false", False),
        ("'use_tis': True,", True),
        ("use_tis_cap: 2.0", ABSENT),
    ],
)
def test_the_last_setting_of_tis(line: str, value: FactValue) -> None:
    assert read(f"Total training steps: 3\n{line}\n").facts["tis_enabled"] == value


def test_failed_trajectories_of_the_newest_line_or_of_the_batch() -> None:
    metrics = rl_logs.learning(1, 3)
    metrics[3]["generate/num_failed_trajectories"] = 5
    assert read(rl_logs.run(metrics)).facts["failed_trajectories"] == 5
    text = "Total training steps: 3\nBatch generation complete: 60/64 successful, 4 failed instances, 0 masked\n"
    assert read(text).facts["failed_trajectories"] == 4


def test_ranks_that_staged_their_data() -> None:
    lines = [f"Staging train_data on this node (rank {rank}/8)\n" for rank in (0, 3, 3, 5)]
    facts = read("".join(lines)).facts
    assert (facts["staged_ranks"], facts["staged_of"]) == (3, 8)


def test_the_save_interval_where_the_settings_are_printed() -> None:
    assert read("Total training steps: 3\ntrainer.ckpt_interval=12\n").facts["save_interval"] == 12
    assert read("Total training steps: 3\n'ckpt_interval': -1,\n").facts["save_interval"] is ABSENT
    assert "save_interval" not in read("Total training steps: 3\n").facts


def test_the_setting_as_far_as_it_is_printed() -> None:
    log = Log()
    log.say("MarinSkyRL now at 41cd09e77a")
    log.say("main.py trainer.policy.model.path=org/base-8B trainer.placement.policy_num_nodes=2 other=1")
    log.say("'num_inference_engines': 8, 'policy_num_gpus_per_node': 4}")
    first = read(log.data)
    parts = {"code": "41cd09e77a", "model": "org/base-8B", "policy_num_nodes": "2"}
    parts |= {"num_inference_engines": "8", "policy_num_gpus_per_node": "4"}
    assert settings_of(first.memo) == parts
    later = read(log.data + rl_logs.run(rl_logs.learning(1, 3)), before=first.memo)
    assert settings_of(later.memo) == parts
    assert settings_of(read("Total training steps: 3\n").memo) == settings_of(None) == {}


def test_what_only_the_end_of_a_log_shows_is_unknown_where_it_may_stand_before() -> None:
    facts = read(rl_logs.run(rl_logs.learning(1, 3)), whole=False).facts
    cut = {name for name, value in facts.items() if isinstance(value, Unknown) and value.reason == Reason.CUT}
    assert cut == {"malformed_lines", "tis_enabled", "staged_ranks", "staged_of", "learning_rate"}
    assert (facts["step"], facts["overshoot_line"]) == (3, False)
    log = Log()
    log.buffer(3, 4)
    facts = read(log.data, whole=False).facts
    assert {reason(facts[name]) for name in ("step", "max_step", "has_nan", "metric_families")} == {"cut"}


@pytest.mark.parametrize(
    "text", ["", "hello\n", "{'loss': 0.4, 'epoch': 0.1}\n", "requests: 3/8 [00:01<?]\n", "\r\n\r"]
)
def test_another_log_is_told_nothing_of(text: str) -> None:
    assert read(text) == Numbers()


def test_the_line_behind_the_newest_numbers_is_quoted() -> None:
    numbers = read(rl_logs.run(rl_logs.learning(1, 3)))
    assert numbers.quotes["has_nan"].startswith("WANDB_MIRROR kind=train step=3")
    assert len(numbers.quotes["has_nan"]) <= 300
