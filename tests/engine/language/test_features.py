"""Features over a series, metrics, and what is said of a broken one."""

from __future__ import annotations

import pytest

from sweeprules.engine.language import ast
from tests.engine.language.loading import FULL, load, problems, rule, rules

PARAMS = (
    "params: {ten: {default: 10, unit: points}, few: {default: 5, unit: steps}, limit: {default: 2.5},"
    " hours: {default: 3h}, words: {default: x}, bare: {default: 10}, none: {default: 0, unit: points},"
    " half: {default: 2.5, unit: points},"
    " varied: {default: 10, unit: points, for: [{bucket: sft, value: 0}]}}\n"
)


def told(feature: str, more: str = "") -> list[str]:
    """What is said of one feature, without its place."""
    text = f"{PARAMS}{more}features:\n  made: {feature}\n" + rules(rule("{made: {gt: $limit}}", on="step", then="[]"))
    found = problems(text.replace(", then: []", ""))
    return [one.split(": ", 1)[1] for one in found]


@pytest.fixture(scope="module")
def full() -> ast.Policy:
    return load({"full.yaml": FULL.read_text()})


def test_a_feature_has_its_parts(full: ast.Policy) -> None:
    made = full.features["grad_ratio"]
    assert (made.series, made.is_, made.type) == ("grad_norm", "ratio_to_mean", "number")
    assert (made.window, made.min_points) == (ast.ParamRef("ten_points"), ast.ParamRef("few_points"))
    assert made.floor == ast.Const(0.001)
    assert made.where is None
    assert full.features["entropy_off"].floor == ast.ParamRef("entropy_floor")
    counted = full.features["grad_high_run"]
    assert counted.where == ast.Compare("gt", (ast.ParamRef("grad_norm_limit"),))
    assert (counted.window, counted.type) == (None, "integer")
    assert full.features["rate_kept"].type == "duration"
    assert {one.is_ for one in full.features.values()} == {
        "ratio_to_mean", "deviation_from_mean", "deviation_from_trend", "consecutive", "share", "slope", "since_change",
    }  # fmt: skip


def test_a_feature_is_read_as_a_field_of_a_step(full: ast.Policy) -> None:
    series = full.rules["rl.series"].when
    assert isinstance(series, ast.Any)
    paths = {one.path.text: one.path for one in series.items if isinstance(one, ast.Test)}
    assert paths["grad_ratio"] == ast.Path((), "grad_ratio", "step", "number")
    assert paths["grad_high_run"].type == "integer"
    assert paths["rate_kept"].type == "duration"
    assert paths["previous.grad_ratio"] == ast.Path(("previous",), "grad_ratio", "step", "number")
    members = full.rules["rl.series-of-a-job"].when
    assert isinstance(members, ast.Quantified)
    assert isinstance(members.holds, ast.Test)
    assert members.holds.path.kind == "step"


def test_a_metric_is_a_field_of_a_step(full: ast.Policy) -> None:
    assert full.metrics["z_clip"].aliases == ("policy/z_clip", "policy/zclip_ratio")
    assert (full.metrics["pause"].unit, full.metrics["pause"].type) == ("s", "duration")
    more = full.metrics["grad_norm"]
    assert (more.new, more.aliases) == (False, ("policy/grad_l2",))
    assert full.metrics["z_clip"].new
    assert full.features["zclip_slope"].series == "z_clip"


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ("{series: gradnorm, is: slope, window: $ten}", "unknown series `gradnorm` (did you mean grad_norm?)"),
        ("{series: link, is: slope, window: $ten}", "`link` is a text; slope needs a series of numbers"),
        ("{series: made, is: slope, window: $ten}", "`made` is a feature, and a feature is made of a series alone"),
        ("{series: kl, is: slope, window: $tenn}", "unknown param `tenn` (did you mean ten?)"),
        ("{series: kl, is: slope, window: 10}", "thresholds are params: `10` has no name"),
        ("{series: kl, is: slope, window: 1}", "window is a param"),
        ("{series: kl, is: slope, window: $bare}", "window is a number of points or steps"),
        ("{series: kl, is: slope, window: $hours}", "`$hours`: a number can not be compared with a duration"),
        ("{series: kl, is: slope, window: $none}", "window can not be 0; expected a whole number, 2 or more"),
        ("{series: kl, is: slope, window: $varied}", "window can not be 0; expected a whole number, 2 or more"),
        ("{series: kl, is: share, where: {gt: 0}, window: $half}", "window can not be 2.5; expected a whole number, 1"),
        ("{series: kl, is: slope, window: $few, min_points: $ten}", "10 points never are in a window of 5"),
        ("{series: kl, is: ratio_to_mean, window: $ten, floor: 0}", "floor has to be above 0"),
        (
            "{series: kl, is: ratio_to_mean, window: $ten, floor: $hours}",
            "a number can not be compared with a duration",
        ),
        ("{series: kl, is: ratio_to_mean, window: $ten, floor: .kl}", "floor is a value or a param"),
        ("{series: kl, is: consecutive, where: {gt: 2.5}}", "thresholds are params: `2.5` has no name"),
        ("{series: kl, is: consecutive, where: {prefix: x}}", "prefix tests a text; this is a number"),
        ("{series: kl, is: consecutive, where: {gt: $words}}", "`$words`: a number can not be compared with a text"),
        ("{series: kl, is: consecutive, where: {gt: .reward}}", "`where` of a feature compares a point with a value"),
        ("{series: kl, is: consecutive, where: {unknown: true}}", "`where` of a feature can not ask for unknown"),
        ("{series: kl, is: consecutive, where: {gt: 0, default: 1, because: x}}", "can not ask for default"),
        ("{series: kl, is: consecutive}", "missing here: the key `where`"),
        ("{series: kl, is: consecutive, where: {gt: 0}, window: $ten}", "the key `window` does not fit here"),
        ("{series: kl, is: slope, window: $ten, where: {gt: 0}}", "the key `where` does not fit here"),
        ("{series: kl, is: slope, window: $ten, floor: 1}", "the key `floor` does not fit here"),
        ("{series: kl, is: ratio_to_mean}", "missing here: the key `window`"),
        ("{series: kl, is: ratio}", "`ratio` is not one of ratio_to_mean"),
        ("{series: kl, is: slope, window: $ten, windo: 1}", "unknown key `windo`; expected series, is, window"),
    ],
)
def test_a_broken_feature(feature: str, message: str) -> None:
    found = told(feature)
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("grad_norm", "the feature `grad_norm` has the name of a field of step"),
        ("run", "the feature `run` has the name of a relation of step"),
        ("any", "`any` is a word of conditions"),
    ],
)
def test_a_feature_can_not_take_a_name(name: str, message: str) -> None:
    assert message in problems(f"features: {{{name}: {{series: kl, is: since_change}}}}\n")[0]


def test_any_scalar_series_can_change_or_be_counted() -> None:
    text = "features:\n  moved: {series: link, is: since_change}\n"
    text += "  same: {series: link, is: consecutive, where: {prefix: a}}\n"
    assert set(load(text).features) == {"moved", "same"}


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("kl: {aliases: [a]}", "the metric `kl` is a field of a step already (write add: [...] for more keys of it)"),
        ("step: {aliases: [a]}", "is a field of a step already"),
        ("new: {add: [a]}", "unknown field `new` of step to add keys to"),
        ("job: {aliases: [a]}", "the metric `job` has the name of a relation of step"),
        ("one: {aliases: [a]}\n  two: {aliases: [b, a]}", "the key `a` is one of the metric `one`"),
        ("one: {aliases: [a], unit: parsecs}", "unknown unit `parsecs`"),
        ("one: {unit: s}", "missing here: the key `aliases`"),
        ("one: {aliases: []}", "this list is empty"),
        ("kl: {add: [a], unit: s}", "the key `unit` does not fit here"),
        ("one: {aliases: [a], kind: x}", "unknown key `kind`"),
    ],
)
def test_a_broken_metric(metrics: str, message: str) -> None:
    found = problems(f"metrics:\n  {metrics}\n")
    assert len(found) == 1, found
    assert message in found[0]


def test_keys_of_several_layers_are_put_together() -> None:
    first, second = "metrics: {kl: {add: [a]}, own: {aliases: [x]}}\n", "metrics: {kl: {add: [b]}, own: {add: [z]}}\n"
    found = load({"a.yaml": first}, {"b.yaml": second}).metrics
    assert found["kl"].aliases == ("a", "b")
    assert found["own"].aliases == ("x", "z")
    assert "is there already" in problems({"a.yaml": first}, {"b.yaml": "metrics: {own: {aliases: [z]}}"})[0]


def test_a_rule_that_reads_a_feature_waits_for_what_its_params_depend_on() -> None:
    text = PARAMS.replace("value: 0", "value: 5") + "features: {made: {series: kl, is: slope, window: $varied}}\n"
    text += "decide: {bucket: [{otherwise: rl}]}\n" + rules(
        "  - {id: r.one, on: step, when: {made: {gt: 0}}, then: {signal: grad}}\n"
    )
    assert load(text).order == (("decide:bucket",), ("r.one",))
    assert load(text.replace("$varied", "$ten")).order == (("decide:bucket", "r.one"),)
