"""Loss, gradient and their kin: quoted or bare, NaN in the open or masked, torn rows, and other trainers' rows."""

from __future__ import annotations

import pytest

from sweeprules.collectors.metrics import sft
from sweeprules.engine.facts import ABSENT, Interval, Reason, Unknown
from tests.collectors.metrics.sftlogs import BANNERS, frame, read, row, training, written


def reason(value: object) -> str:
    assert isinstance(value, Unknown), value
    return str(value.reason)


@pytest.mark.parametrize("quoted", [True, False])
def test_quoted_and_bare_values_are_the_same_numbers(quoted):
    facts = read(row(0.61, 0.42, quoted=quoted) + "\n").facts
    assert (facts["loss"], facts["grad_norm"], facts["learning_rate"], facts["epoch"]) == (0.61, 0.42, 2.5e-05, 0.25)
    assert (facts["has_nan"], facts["nan_suspect"]) == (False, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'1,234.5'", 1234.5),
        ("-3", -3.0),
        ("1e-07", 1e-07),
        ("'2.'", 2.0),
        ("np.float64(0.25)", 0.25),
        ("'9e+05'", 900_000.0),
    ],
)
def test_forms_of_numbers(text, value):
    assert read(f"{{'loss': {text}, 'epoch': 1}}\n").facts["loss"] == value


@pytest.mark.parametrize("text", ["None", "True", "'abc'", "'1,2'", "''", "tensor(x)", "[0.5]"])
def test_what_is_no_number_is_malformed(text):
    facts = read(f"{{'loss': {text}, 'grad_norm': 0.5}}\n").facts
    assert reason(facts["loss"]) == Reason.MALFORMED
    assert facts["grad_norm"] == 0.5
    assert reason(facts["nan_suspect"]) == Reason.MALFORMED


@pytest.mark.parametrize("text", ["nan", "'nan'", "NaN", "inf", "'-inf'", "Infinity"])
@pytest.mark.parametrize("key", ["loss", "grad_norm"])
def test_nan_and_infinity_are_unknown_and_seen(text, key):
    other = {"loss": "'grad_norm': 0.5", "grad_norm": "'loss': 0.5"}[key]
    facts = read(f"{{'loss': 1.0}}\n{{'{key}': {text}, {other}}}\n").facts
    assert reason(facts[key]) == Reason.NAN
    assert facts["has_nan"] is True


@pytest.mark.parametrize("quoted", [True, False])
def test_a_loss_of_zero_after_one_over_zero_with_a_gradient_that_is_none(quoted):
    rows = [row(3.9, 1.0, quoted=quoted), row(0.0, float("nan"), quoted=quoted)]
    facts = read("\n".join(rows) + "\n").facts
    assert (facts["loss"], facts["nan_suspect"], facts["has_nan"]) == (0.0, True, True)
    assert reason(facts["grad_norm"]) == Reason.NAN


def test_a_loss_of_zero_from_the_first_row_on_is_no_masked_one():
    log = row(0.0, float("nan")) + "\n"
    assert read(log).facts["nan_suspect"] is False
    assert reason(read("x\n" + log, whole=False).facts["nan_suspect"]) == Reason.CUT


def test_a_loss_of_zero_where_no_gradient_is_measured_can_not_be_told():
    unmeasured = [row(3.9, 0.0), row(3.7, 0.0), row(0.0, 0.0)]
    facts = read("\n".join(unmeasured) + "\n").facts
    assert reason(facts["nan_suspect"]) == Reason.NOT_READ
    assert facts["has_nan"] is False
    measured = [row(3.9, 0.5), row(0.0, 0.0)]
    assert read("\n".join(measured) + "\n").facts["nan_suspect"] is False


def test_a_loss_over_zero_needs_no_gradient_to_be_sound():
    facts = read(row(1.2) + "\n" + "{'loss': 1.1, 'learning_rate': 1e-05, 'epoch': 0.2, 'throughput': 1234.5}\n").facts
    assert (facts["loss"], facts["nan_suspect"]) == (1.1, False)
    assert facts["grad_norm"] == Unknown(Reason.NOT_READ, "the run prints this key, and its newest row did not")
    masked = read(row(1.2) + "\n" + "{'loss': 0.0, 'learning_rate': 1e-05, 'epoch': 0.2}\n").facts
    assert masked["nan_suspect"] == facts["grad_norm"]


def test_a_dict_inside_another_is_no_row():
    facts = read(row(1.2, 0.3) + "\n" + "{'task': {'name': 'causal', 'loss': 0.5}}\n").facts
    assert (facts["loss"], facts["grad_norm"], facts["malformed_lines"]) == (1.2, 0.3, 0)
    assert read("metrics: {'loss': 0.5, 'grad_norm': 0.1}\n").facts["loss"] == 0.5


def test_a_gradient_of_zero_with_a_loss_is_nothing():
    assert read(row(3.9, 0.0) + "\n" + row(3.8, 0.0) + "\n").facts["nan_suspect"] is False


def test_the_loss_of_reinforcement_learning_is_about_zero_by_nature():
    rows = [row(1e-08, 0.0, reward=1.0, reward_std=0.2, kl=0.01), row(0.0, 0.0, reward=0.75, reward_std=0.5, kl=0.02)]
    numbers = read(
        frame(1, 6, 1) + "".join(frame(n, 6, n) + written(text) + frame(n, 6, n) for n, text in enumerate(rows, 1))
    )
    assert numbers.facts["nan_suspect"] is False
    assert [(p.step, p.values["reward"], p.values["reward_spread"], p.values["kl"]) for p in numbers.points] == [
        (1, 1.0, 0.2, 0.01),
        (2, 0.75, 0.5, 0.02),
    ]
    assert sft.series_of(numbers.memo).rewards == {1: 1.0, 2: 0.75}


def test_the_fork_counts_ranks_whose_loss_is_none():
    more = {"loss_rank_avg": 0.27, "loss_nan_ranks": 2, "valid_targets_min": 5081}
    facts = read(row(float("nan"), 0.4, quoted=False, **more) + "\n").facts
    assert (facts["loss_nan_ranks"], facts["has_nan"]) == (2, True)
    assert read(row(0.4) + "\n").facts["loss_nan_ranks"] is ABSENT
    assert reason(read(row(0.4, loss_nan_ranks=1) + "\n" + row(0.4) + "\n").facts["loss_nan_ranks"]) == Reason.NOT_READ
    assert reason(read(row(0.4, loss_nan_ranks=1.5) + "\n").facts["loss_nan_ranks"]) == Reason.MALFORMED


def test_a_key_that_only_earlier_rows_print_is_unknown_and_one_that_none_prints_absent():
    facts = read("{'loss': 1.0, 'grad_norm': 0.5}\n{'loss': 0.9}\n").facts
    assert reason(facts["grad_norm"]) == Reason.NOT_READ
    assert facts["learning_rate"] is ABSENT


def test_rows_of_evaluation_and_of_the_end_are_no_rows_of_training():
    log = row(0.9) + "\n{'eval_loss': 4.09, 'eval_runtime': 0.01, 'epoch': 1.5}\n"
    log += "{'train_runtime': '2.8', 'train_loss': 'nan'}\n{'task': {'name': 'x'}}\n"
    facts = read(log).facts
    assert (facts["loss"], facts["has_nan"], facts["malformed_lines"]) == (0.9, False, 0)


@pytest.mark.parametrize(
    "torn",
    [
        "{'loss': 0.5, 'grad_no\n",
        "'loss': 0.5, 'grad_norm': 0.4}\n",
        "{'loss': 0.5, 'grad_norm': 0.4 17%|█| 10/60 [00:01<00:09, 5.00it/s]2}\n",
        "{'loss': 0.5, 'grad{'x': 1}\n",
        "{'loss': 0.5,, 'grad_norm': 0.4}\n",
        "{'loss': 0.5 'grad_norm': 0.4}\n",
    ],
)
def test_a_torn_row_is_counted_and_nothing_of_it_believed(torn):
    facts = read(row(0.9) + "\n" + torn).facts
    assert facts["malformed_lines"] == 1
    assert reason(facts["loss"]) == reason(facts["has_nan"]) == Reason.MALFORMED
    assert read(row(0.9) + "\n" + torn + row(0.8) + "\n").facts["loss"] == 0.8


def test_a_row_that_is_still_being_written_is_left_for_the_next_reading():
    facts = read(row(0.9) + "\n{'loss': 0.5, 'grad_no").facts
    assert (facts["loss"], facts["malformed_lines"]) == (0.9, 0)
    assert read(row(0.9) + "\n" + row(0.8)).facts["loss"] == 0.8


def test_before_the_first_row_the_numbers_are_unknown():
    facts = read(BANNERS["bare"].format(60) + frame(1, 60, 5)).facts
    assert reason(facts["loss"]) == reason(facts["has_nan"]) == reason(facts["nan_suspect"]) == Reason.NOT_READ


def test_a_run_that_ended_without_a_row_prints_none():
    facts = read(BANNERS["bare"].format(60) + frame(59, 60, 295) + frame(60, 60, 300)).facts
    assert facts["loss"] is facts["has_nan"] is facts["nan_suspect"] is facts["loss_nan_ranks"] is ABSENT
    cut = read("x\n" + BANNERS["bare"].format(60) + frame(60, 60, 300), whole=False).facts
    assert reason(cut["has_nan"]) == Reason.CUT


def test_colours_prefixes_nul_bytes_and_broken_text_beside_a_row():
    log = (
        b"\xff\xfe\x00\r\x1b[32m"
        + row(0.9).encode()
        + b"\x1b[0m \x00\xc3\n\x1b[36m(w pid=12)\x1b[0m "
        + row(0.7).encode()
        + b"\x1b[A\n"
    )
    facts = read(log).facts
    assert (facts["loss"], facts["malformed_lines"]) == (0.7, 0)


def test_one_line_of_twenty_megabytes():
    log = row(0.9) + "\n" + "'loss': {" + "x" * 20_000_000
    assert read(log).facts["loss"] in (0.9, read("'loss': {" + "x" * 300_000 + "\n").facts["loss"])


def test_megatrons_iterations():
    line = " iteration {:8}/  250000 | consumed samples: 43408 | elapsed time per iteration (ms): 4247.9 |"
    line += " learning rate: 2.999E-04 | lm loss: 2.1E+00 | grad norm: {} |\n"
    numbers = read(line.format(5425, "0.8") + line.format(5426, "nan"))
    facts = numbers.facts
    assert (facts["step"], facts["max_step"], facts["step_source"], facts["has_nan"]) == (5426, 250_000, "line", True)
    assert (facts["loss"], facts["learning_rate"]) == (2.1, 2.999e-04)
    assert facts["rate"] == pytest.approx(4.2479)
    assert [point.step for point in numbers.points] == [5425, 5426]
    assert read(line.format(5425, "0.8") + line.format(5426, "12.5")[:-6]).facts["step"] == 5425


def test_points_carry_the_step_of_the_bar_behind_the_row():
    numbers = read(BANNERS["five"].format(60) + training(60, 45, every=5))
    assert [point.step for point in numbers.points] == list(range(5, 50, 5))
    assert numbers.points[0].values == {"loss": 3.0, "grad_norm": 0.505, "learning_rate": 2.5e-05}
    assert {point.attempt for point in numbers.points} == {1}


def test_a_point_whose_step_can_not_be_told_is_left_out():
    fast = frame(5, 60, 1, "80.00it/s") + row(0.9) + "\n"
    assert read(BANNERS["bare"].format(60) + fast).points == ()
    assert read(BANNERS["bare"].format(60) + "\n" + row(0.9) + "\n" + frame(9, 60, 45)).points == ()


def test_steps_that_are_made_again_are_another_attempt():
    log = (
        BANNERS["five"].format(60)
        + training(60, 30)
        + "\nLoading model from x/checkpoint-20.\n"
        + training(60, 40, start=20)
    )
    assert [(point.step, point.attempt) for point in read(log).points] == [(10, 1), (20, 1), (30, 1), (30, 2), (40, 2)]


def test_keys_of_the_policy_come_first():
    facts = read("{'loss': 1.0, 'my/loss': 0.25, 'epoch': 1}\n", aliases={"loss": ("my/loss",)}).facts
    assert facts["loss"] == 0.25


def test_of_very_many_rows_the_newest_are_read_and_the_first_remembered():
    rows = [row(3.0, 0.0)] * 5 + [row(0.0, 0.0)] * 600
    facts = read("\n".join(rows) + "\n").facts
    assert reason(facts["nan_suspect"]) == Reason.NOT_READ
    assert facts["malformed_lines"] == Interval(0, None)


def megatron(step, loss, grad):
    return f" iteration {step}/ 10 | lm loss: {loss} | grad norm: {grad} |"


def points(text):
    return [(point.step, point.attempt, point.get("loss"), point.get("grad_norm")) for point in read(text).points]


@pytest.mark.parametrize("between", ["", " ", " [rank1]: "])
def test_rows_that_are_glued_into_one_line_keep_their_own_numbers(between):
    text = megatron(1, 2.5, 0.3) + between + megatron(2, 1.5, 0.9) + "\n"
    assert points(text) == [(1, 1, 2.5, 0.3), (2, 1, 1.5, 0.9)]


def test_a_row_that_another_one_broke_off_has_the_fields_that_it_ended():
    text = megatron(1, 2.5, 0.3)[:-5] + megatron(2, 1.5, 0.9) + "\n"
    assert points(text) == [(1, 1, 2.5, ABSENT), (2, 1, 1.5, 0.9)]


def test_a_comma_for_the_decimal_point_makes_no_thousands():
    assert reason(read("{'loss': '0,311', 'epoch': '1'}\n").facts["loss"]) == Reason.MALFORMED


def test_a_dict_that_names_a_key_twice_is_of_two_rows_and_broken():
    facts = read("{'loss': '0.5', 'grad_norm': '0.3', 'loss': '0.7'}\n").facts
    assert reason(facts["loss"]) == Reason.MALFORMED


def test_the_same_row_from_several_ranks_is_no_attempt_more_and_another_one_is():
    def told(loss):
        return row(loss, **{"global_step/max_steps": "5/60"})

    assert points(told(0.5) + told(0.5) + "\n" + told(0.5) + "\n") == [(5, 1, 0.5, 0.5)]
    assert points(told(0.5) + "\n" + told(0.75) + "\n") == [(5, 1, 0.5, 0.5), (5, 2, 0.75, 0.5)]


@pytest.mark.parametrize("noise", ["/\x00\n", "/Z\n", "\x00", "\n"])
def test_the_name_of_a_save_that_noise_cut_tells_of_no_save(noise):
    text = BANNERS["bare"].format(60) + f"Model weights saved in out/checkpoint-1{noise}30/model.safetensors\n"
    assert read(text).facts["checkpoint_step"] is ABSENT


@pytest.mark.parametrize("noise", ["/\x00\n", "/\n", "\x00", "\n", "/"])
def test_the_name_of_a_resume_that_noise_cut_tells_of_no_resume(noise):
    text = BANNERS["bare"].format(60) + f"Loading model from out/checkpoint-1{noise}30.\n"
    assert isinstance(read(text).facts["step"], Unknown)


def test_a_last_save_whose_name_goes_on_behind_the_number_tells_of_no_save():
    text = BANNERS["bare"].format(60) + "last_model_checkpoint: out/checkpoint-{}\n"
    assert read(text.format("1/\n30")).facts["checkpoint_step"] is ABSENT
    assert read(text.format("30")).facts["checkpoint_step"] == 30
