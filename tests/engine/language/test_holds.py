"""`for:` and `judge`: where they stand, and what is said where they can not."""

from __future__ import annotations

import pytest

from sweeprules.engine.language import ast
from tests.engine.language.loading import load, problems, rule, rules

PARAMS = (
    "params: {twice: {default: 2, unit: sweeps}, once: {default: 1, unit: sweeps}, long: {default: 3h},"
    " bare: {default: 2}, never: {default: 0s},"
    " varied: {default: 3, unit: sweeps, for: [{bucket: sft, value: 1}]}}\n"
)


def held(text: str, *, on: str = "job", when: str = "{state: RUNNING}") -> str:
    return PARAMS + rules(f"  - {{id: r.one, on: {on}, when: {when}, for: {text}}}\n")


@pytest.mark.parametrize(
    ("text", "sweeps", "seconds"),
    [
        ("2 sweeps", ast.Const(2, "2 sweeps"), None),
        ("3h", None, ast.Const(10800, "3h")),
        ("$twice", ast.ParamRef("twice"), None),
        ("$long", None, ast.ParamRef("long")),
    ],
)
def test_a_hold(text: str, sweeps: ast.Right | None, seconds: ast.Right | None) -> None:
    hold = load(held(text)).rules["r.one"].hold
    assert hold is not None
    assert (hold.sweeps, hold.seconds) == (sweeps, seconds)
    assert hold.mark.line == 3


def test_a_rule_without_one_has_none() -> None:
    assert load(rules(rule("{state: RUNNING}"))).rules["r.one"].hold is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 sweep", "`1 sweep` holds nothing (write 2 sweeps or more, or leave it out)"),
        ("0s", "`0s` holds nothing"),
        ("two sweeps", "expected `2 sweeps`, a duration such as 3h, or $param, got `two sweeps`"),
        ("2 sweps", "expected `2 sweeps`"),
        ("3", "expected `2 sweeps`, a duration such as 3h, or $param, got an integer: `3`"),
        ("$bare", "`$bare` is a number; for: needs a duration, or a number of sweeps (declared at"),
        ("$once", "`$once` can be 1, which holds nothing"),
        ("$never", "`$never` can be 0, which holds nothing"),
        ("$varied", "`$varied` can be 1, which holds nothing"),
        ("$twise", "unknown param `twise` (did you mean twice?)"),
    ],
)
def test_a_broken_hold(text: str, message: str) -> None:
    found = problems(held(text))
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(
    ("on", "when", "hint"),
    [
        ("step", "{kl: {gt: 0}}", "count steps with a feature"),
        ("sweep", "{complete: false}", "write it about a cluster"),
    ],
)
def test_what_is_seen_once_can_not_be_held(on: str, when: str, hint: str) -> None:
    found = problems(held("3h", on=on, when=when))
    assert len(found) == 1, found
    assert f"each {on} is seen once" in found[0]
    assert hint in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "decide: {bucket: [{when: {state: RUNNING}, is: rl, for: 2 sweeps}]}\n",
        "decide: {bucket: [{otherwise: rl, for: 2 sweeps}]}\n",
        "exemptions: [{id: e, when: {state: RUNNING}, flags: [stale-log], for: 3h}]\n",
        "routes: {cancel-salvage: [{otherwise: blocked, for: 3h}]}\n",
    ],
)
def test_only_a_rule_can_be_held(text: str) -> None:
    found = problems(text)
    assert len(found) == 1, found
    assert "only a rule can be held over sweeps; write for: in a rule" in found[0]


def test_a_key_that_has_no_place_is_not_offered() -> None:
    found = problems("decide: {bucket: [{otherwise: rl, fur: 2 sweeps}]}\n")
    assert "unknown key `fur`; expected when, is or otherwise" in found[0]
    assert "for" not in found[0].split("expected")[1]


def test_a_hold_waits_for_what_its_param_depends_on() -> None:
    text = held("$varied").replace("value: 1", "value: 5") + "decide: {bucket: [{otherwise: rl}]}\n"
    assert load(text).order == (("decide:bucket",), ("r.one",))


def test_judge_chooses_steps() -> None:
    assert load(rules(rule("{kl: {gt: 0}}", "{signal: grad}", on="step"))).rules["r.one"].judge == "new"
    for word in ("new", "latest", "any"):
        text = rules(rule("{kl: {gt: 0}}", "{signal: grad}", on="step", more=f"judge: {word}"))
        assert load(text).rules["r.one"].judge == word
    assert (
        "`newest` is not one of new, latest or any (did you mean new?)"
        in problems(rules(rule("{kl: {gt: 0}}", "{signal: grad}", on="step", more="judge: newest")))[0]
    )
    found = problems(rules(rule("{state: RUNNING}", more="judge: latest")))
    assert "judge chooses steps, and this rule is about a job" in found[0]
