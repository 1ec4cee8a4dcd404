"""Step, total and checkpoint of a fine-tuning run: the training bar among all the others."""

from __future__ import annotations

import pytest

from sweeprules.engine.facts import ABSENT, Reason, Unknown
from tests.collectors.metrics.sftlogs import BANNERS, frame, read, row, training, written

PACKING = "".join(
    frame(n, 555_519, 60, "8531.2 examples/s", "Running tokenizer on dataset (num_proc=16): ")
    for n in (0, 200_000, 555_519)
)
BARE_PACKING = "".join(frame(n, 555_519, 60, "8531.20it/s") for n in (0, 200_000, 400_000, 555_519))
SHARDS = frame(0, 4, 0, "?it/s", "Loading checkpoint shards: ") + frame(
    4, 4, 2, "2.01it/s", "Loading checkpoint shards: "
)
WRITING = (
    "\n\r"
    + frame(0, 1, 0, "?it/s", "Writing model shards: ")
    + "\x1b[A"
    + frame(1, 1, 0, "551.46it/s", "Writing model shards: ")
)


def why(value: object) -> str:
    assert isinstance(value, Unknown), value
    return str(value.reason)


@pytest.mark.parametrize("banner", BANNERS.values(), ids=BANNERS)
@pytest.mark.parametrize("total", ["26788", "26,788"])
def test_the_banner_tells_the_total_in_each_of_its_wordings(banner, total):
    facts = read(banner.format(total) + training(26_788, 120)).facts
    assert (facts["step"], facts["max_step"]) == (120, 26_788)
    assert (facts["total_source"], facts["step_source"]) == ("banner", "bar")


@pytest.mark.parametrize("other", [PACKING, BARE_PACKING, SHARDS, WRITING], ids=["tokens", "packing", "load", "save"])
def test_no_other_bar_is_taken_for_the_training_bar(other):
    log = BANNERS["bare"].format("26,788") + other + training(26_788, 120) + "\n" + other
    facts = read(log).facts
    assert (facts["step"], facts["max_step"]) == (120, 26_788)


def test_a_bar_of_evaluation_between_training_is_none():
    evaluation = "".join(frame(n, 12, n, "1.00it/s") for n in range(13)) + written(
        row(0, eval_loss=1.5).replace("'loss': '0', ", "")
    )
    facts = read(BANNERS["five"].format(60) + training(60, 20) + evaluation).facts
    assert (facts["step"], facts["max_step"]) == (20, 60)


@pytest.mark.parametrize(
    "said", ["", "\n[transformers] \n***** Running Evaluation *****\n[transformers]   Num examples = 60\n"]
)
@pytest.mark.parametrize("upto", [0, 1, 30, 60])
def test_a_bar_of_evaluation_of_as_many_batches_as_the_training_has_steps(said, upto):
    below = [f"\n{frame(n, 60, 9 * n, '9.00s/it')}\x1b[A" for n in range(upto + 1)]
    log = BANNERS["five"].format(60) + training(60, 20) + said + "".join(below)
    facts = read(log).facts
    assert (facts["step"], facts["rate"]) == (20, pytest.approx(5.0))
    over = written(row(0, eval_loss=1.5).replace("'loss': '0', ", "")) + frame(20, 60, 640) + frame(21, 60, 645)
    facts = read(log + over).facts
    assert (facts["step"], facts["eta"]) == (21, pytest.approx(39 * 5.0))


def test_a_bar_whose_total_equals_the_training_total_and_counts_examples_is_none():
    log = (
        BANNERS["bare"].format(100)
        + frame(100, 100, 1, "900.00 examples/s", "Map: ")
        + frame(100, 100, 1, "90.0 examples/s")
    )
    facts = read(log).facts
    assert why(facts["step"]) == Reason.NOT_READ
    assert facts["max_step"] == 100


def test_without_a_banner_the_configuration_tells_the_total():
    facts = read(BARE_PACKING + training(300, 25), total=300).facts
    assert (facts["step"], facts["max_step"], facts["total_source"]) == (25, 300, "config")


def test_without_both_the_bar_that_rows_are_printed_over_tells_it():
    facts = read(BARE_PACKING + training(300, 25) + BARE_PACKING).facts
    assert (facts["step"], facts["max_step"], facts["total_source"]) == (25, 300, "bar")


def test_a_row_that_is_glued_to_its_bar_tells_it_too():
    log = (
        frame(13, 260, 8, "1.63it/s")
        + row(0.7157, 12.79, **{"memory/max_active (GiB)": 2.98, "tokens/total": 512})
        + "\n"
    )
    numbers = read(log)
    assert (numbers.facts["step"], numbers.facts["max_step"]) == (13, 260)
    assert [point.step for point in numbers.points] == [13]


def held_back(*, upto: int, evaluation: bool = True, end: bool = True) -> str:
    """A run whose rows came all at once, as a pipe holds them back, with a bar of evaluation within its own bar."""
    bars = [frame(n, 24, 5 * n) for n in range(13)]
    aside = [frame(0, 1), frame(1, 1)] if evaluation else []
    rest = [frame(n, 24, 5 * n) for n in range(12, upto + 1)]
    rows = "".join(row(1 + 10 / step) + "\n" for step in (3, 6, 9, 12))
    return "".join([*bars, rows, *aside, *(rest if end else [])])


def test_rows_that_came_all_at_once_are_of_no_step_and_the_bar_around_all_others_is_the_training_bar():
    numbers = read(held_back(upto=24))
    assert (numbers.facts["step"], numbers.facts["max_step"]) == (24, 24)
    assert (numbers.facts["loss"], numbers.points) == (1.833, ())


def test_where_another_bar_is_drawn_last_rows_that_came_all_at_once_tell_no_step():
    facts = read(held_back(upto=24, end=False)).facts
    assert isinstance(facts["step"], Unknown)
    assert isinstance(facts["max_step"], Unknown)


def test_a_bar_as_wide_as_a_wide_terminal_is_read():
    wide = [f"\r{25 * n:3}%|{'█' * 400}| {n}/4 [00:05<00:05,  5.00s/it]" for n in range(4)]
    assert read("".join(wide)).facts["step"] == 3


def test_in_the_end_of_a_log_alone_a_bar_without_rows_is_not_taken_for_the_training_bar():
    log = "\n" + "".join(frame(n, 1250, 2 * n) for n in range(300, 900))
    assert read(log, whole=False).facts == {}
    first = read(BANNERS["bare"].format(916) + training(916, 100))
    facts = read(log, first.memo, start=1 << 20, whole=False).facts
    assert (facts["step"], facts["max_step"]) == (100, 916)


def test_one_bar_that_moves_is_taken_for_now_and_not_kept():
    log = "".join(frame(n, 300, 5 * n) for n in range(5))
    numbers = read(log)
    assert (numbers.facts["step"], numbers.facts["max_step"], numbers.facts["total_source"]) == (4, 300, "bar")
    assert numbers.memo["total"] is None
    assert numbers.memo["step"] is None


@pytest.mark.parametrize(
    "log",
    [BARE_PACKING, SHARDS, frame(0, 9) + frame(9, 9), "".join(frame(n, 3, n) for n in range(4))],
    ids=["packing", "shards", "jump", "at its end"],
)
def test_a_bar_at_its_end_without_rows_is_no_run_that_is_done(log):
    assert "step" not in read(log).facts


def test_a_log_of_another_kind_says_nothing():
    for log in (
        "",
        "hello\nworld\n",
        'WANDB_MIRROR kind=train step=4 metrics={"loss": 1}\n',
        "{'task': {'name': 'x'}}\n",
    ):
        numbers = read(log)
        assert (dict(numbers.facts), numbers.points, dict(numbers.memo)) == ({}, (), {})


def test_without_a_bar_the_step_is_unknown_and_not_estimated():
    facts = read(BANNERS["five"].format(60) + training(60, 40, bar=False)).facts
    assert facts["max_step"] == 60
    assert why(facts["step"]) == why(facts["step_source"]) == why(facts["eta"]) == Reason.NOT_READ
    assert facts["loss"] == 1.25


@pytest.mark.parametrize("told", ["global_step/max_steps", "global_step"])
def test_a_row_that_names_its_step_tells_it_without_a_bar(told):
    text = "1200/1500" if "/" in told else 1200
    numbers = read(BANNERS["bare"].format(1500) + row(0.8, 0.4, **{told: text}) + "\n")
    facts = numbers.facts
    assert (facts["step"], facts["max_step"], facts["step_source"]) == (1200, 1500, "line")
    assert [point.step for point in numbers.points] == [1200]


def test_a_resumed_run_stands_at_its_checkpoint_until_the_first_frame_jumps():
    log = (
        "[transformers] Loading model from out/checkpoint-40.\n"
        + BANNERS["five"].format(60)
        + frame(0, 60, rate="?it/s")
    )
    facts = read(log).facts
    assert (facts["step"], facts["step_source"], facts["checkpoint_step"]) == (40, "checkpoint", 40)
    facts = read(log + training(60, 47, start=40)).facts
    assert (facts["step"], facts["step_source"]) == (47, "bar")
    assert facts["rate"] == pytest.approx(5.0)


@pytest.mark.parametrize(
    "line",
    [
        "  Continuing training from global step 40\n",
        "  Resuming training from checkpoint with epoch 1 and global step 40\n",
    ],
)
def test_each_wording_of_a_resume(line):
    assert read(BANNERS["bare"].format(60) + line).facts["step"] == 40


def test_the_best_model_that_is_loaded_at_the_end_is_no_resume():
    log = BANNERS["bare"].format(60) + training(60, 60) + "\nLoading best model from out/checkpoint-40 (score: 1.2).\n"
    assert read(log).facts["step"] == 60


def test_a_log_that_begins_anew_in_one_file_stands_where_the_new_start_does():
    log = BANNERS["bare"].format(60) + training(60, 50)
    again = "\nLoading model from out/checkpoint-40.\n" + BANNERS["bare"].format(60)
    assert read(log + again).facts["step"] == 40


def test_a_start_anew_without_a_checkpoint_stands_at_nothing_until_its_bar_is_drawn():
    log = "Loading model from out/checkpoint-40.\n" + BANNERS["bare"].format(60) + training(60, 50, start=40)
    again = log + "\n" + BANNERS["bare"].format(60)
    facts = read(again).facts
    assert (why(facts["step"]), why(facts["rate"]), facts["checkpoint_step"]) == ("not-read", "warming-up", 40)
    facts = read(again + frame(0, 60, rate="?it/s")).facts
    assert (facts["step"], facts["step_source"]) == (0, "bar")


def test_a_second_training_in_one_log_has_no_step_of_the_first():
    log = BANNERS["bare"].format(60) + training(60, 60) + "\n"
    first = read(log)
    assert first.facts["step"] == 60
    facts = read(BANNERS["bare"].format(40), first.memo, start=len(log.encode())).facts
    assert (why(facts["step"]), facts["max_step"], why(facts["eta"])) == ("not-read", 40, "not-read")
    facts = read(BANNERS["bare"].format(40) + training(40, 3), first.memo, start=len(log.encode())).facts
    assert (facts["step"], facts["max_step"], facts["eta"]) == (3, 40, pytest.approx(185.0))


def test_a_saved_checkpoint_is_one_whose_weights_were_written():
    log = BANNERS["five"].format(60) + training(60, 20)
    assert read(log).facts["checkpoint_step"] is ABSENT
    begun = log + "[transformers] Saving model checkpoint to out/checkpoint-20\n"
    assert read(begun).facts["checkpoint_step"] is ABSENT
    assert (
        read(begun + "[transformers] Model weights saved in out/checkpoint-20/model.safetensors\n").facts[
            "checkpoint_step"
        ]
        == 20
    )


def test_a_run_to_its_end():
    log = (
        BANNERS["bare"].format("1,000")
        + training(1000, 1000, every=100)
        + written("{'train_runtime': '9.1', 'train_loss': '1.2', 'epoch': '1'}")
        + frame(1000, 1000, 5000)
    )
    facts = read(log).facts
    assert (facts["step"], facts["max_step"], facts["eta"]) == (1000, 1000, 0.0)


def test_of_the_end_alone_what_stands_before_is_unknown():
    facts = read("x\n" + row(0.5) + "\n", whole=False).facts
    assert why(facts["step"]) == why(facts["max_step"]) == why(facts["total_source"]) == Reason.CUT
    assert facts["loss"] == 0.5


def test_a_frame_that_lost_digits_contradicts_its_percentage():
    broken = frame(15, 60, 75).replace("15/60", "5/60")
    assert read(BANNERS["bare"].format(60) + frame(11, 60, 55) + broken).facts["step"] == 11


def test_an_unfinished_banner_tells_nothing():
    assert "max_step" not in read("  Total optimization steps = 26").facts


@pytest.mark.parametrize("prefix", ["Training: ", "train: ", "3: ", "Training Steps: "])
def test_a_description_that_says_training_and_the_label_of_a_task_are_no_hindrance(prefix):
    log = BANNERS["bare"].format(60) + frame(7, 60, 35, desc=prefix)
    assert read(log).facts["step"] == 7


def test_quotes_show_where_it_was_read():
    quotes = read(BANNERS["factory"].format(60) + training(60, 20)).quotes
    assert "20/60" in quotes["step"]
    assert quotes["max_step"].endswith("Total optimization steps = 60")
    assert quotes["loss"].startswith("{'loss': '1.5'")
