"""Which numbers of an RL run, and of which of its lines, say that its weights are none."""

from __future__ import annotations

import pytest

from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.engine.facts import Reason
from tests.collectors.metrics import rl_logs
from tests.collectors.metrics.test_rl import read, reason

TOLD = (
    "reward/avg_raw_reward",
    "policy/policy_loss",
    "policy/raw_grad_norm",
    "policy/policy_entropy",
    "policy/log_ratio_abs_mean",
    "policy/log_ratio_abs_p99",
    "policy/log_ratio_abs_max",
)
UNTOLD = (
    "async/staleness_mean",
    "policy/anything",
    "policy/ppo_clip_ratio",
    "policy/rollout_train_prob_diff_mean",
    "policy/tis/imp_ratio_mean",
    "reward/avg_pass_at_16",
    "timing/step",
    "trainer/epoch",
)


def _last_line(key: str, value: float, *, mirror: bool) -> Numbers:
    metrics = rl_logs.learning(1, 3)
    metrics[3][key] = value
    return read(rl_logs.run(metrics, mirror=mirror))


@pytest.mark.parametrize("mirror", [True, False])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("key", TOLD)
def test_numbers_of_the_weights_are_told(key: str, value: str, mirror: bool) -> None:
    assert _last_line(key, float(value), mirror=mirror).facts["has_nan"] is True


@pytest.mark.parametrize("mirror", [True, False])
@pytest.mark.parametrize("key", UNTOLD)
def test_other_numbers_say_nothing_of_the_weights(key: str, mirror: bool) -> None:
    assert _last_line(key, float("nan"), mirror=mirror).facts["has_nan"] is False


@pytest.mark.parametrize("kind", ["eval", "startup"])
def test_lines_of_evaluation_and_of_the_start_say_nothing_of_the_weights(kind: str) -> None:
    line = f'WANDB_MIRROR kind={kind} step=3 metrics={{"policy/raw_grad_norm": NaN, "reward": NaN}}\n'
    data = rl_logs.run(rl_logs.learning(1, 3)) + line.encode()
    assert read(data).facts["has_nan"] is False
    assert read(data.replace(f"kind={kind}".encode(), b"kind=train")).facts["has_nan"] is True


def _fallen() -> bytes:
    metrics = rl_logs.learning(1, 3)
    metrics[3]["policy/raw_grad_norm"] = float("nan")
    return rl_logs.run(metrics)


def test_an_attempt_that_begins_after_the_numbers_has_printed_none_yet() -> None:
    assert read(_fallen()).facts["has_nan"] is True
    begun = _fallen() + b"Successfully loaded complete checkpoint state from global_step_2\n"
    assert reason(read(begun).facts["has_nan"]) == Reason.NOT_READ


def test_an_attempt_that_is_replaced_says_nothing_more() -> None:
    again = _fallen() + rl_logs.run({3: rl_logs.learning(3, 3)[3]})
    assert read(again).facts["has_nan"] is False


def test_a_resume_of_which_an_earlier_sweep_read_counts_as_well() -> None:
    before = read(_fallen())
    data = _fallen() + b"Successfully loaded complete checkpoint state from global_step_2\n"
    assert reason(read(data, before=before.memo).facts["has_nan"]) == Reason.NOT_READ
