"""Errors seeded into native, one for each class of condition that durable-rules computes: all are caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from sweeprules.engine.durable.checked import check, with_exemptions
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate import conditions, frame, leaf, native
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.engine import strategies as gen
from tests.engine.durable import make

CADENCE = ast.FieldRef(make.path("cadence"))
SEEDED = make.policy(
    make.rule("gt", make.test("nodes", "gt", 2), make.signal("a")),
    make.rule("ge", make.test("nodes", "ge", 2), make.signal("b"), needs=("grad_norm",)),
    make.rule("eq", make.test("state", "eq", "RUNNING"), make.signal("c")),
    make.rule("ne", make.test("state", "ne", "RUNNING")),
    make.rule("in", make.test("state", "in", ("RUNNING", "PENDING"))),
    make.rule("between", make.test("grad_norm", "between", 0.5, 2)),
    make.rule("bool", make.test("suspended", "eq", True)),
    make.rule("known", make.test("grad_norm", "known")),
    make.rule("absent", make.test("grad_norm", "absent")),
    make.rule("limit", make.test("log_age", "gt", ast.ParamRef("stale_floor")), make.flag("old")),
    make.rule("field", make.test("log_age", "ge", CADENCE)),
    make.rule("quorum", make.at_least(2, "a", "b", "c"), make.flag("many")),
    make.rule("chain", make.every(make.flagged("many"), make.flagged("old")), make.flag("both")),
    make.rule("not", make.no(make.flagged("both"))),
    make.rule("rule", make.rule_is("quorum", UNKNOWN)),
    make.rule("unless", make.test("nodes", "ge", 0), unless=make.flagged("old")),
    make.rule("fire", make.test("nodes", "ge", 0), unless=make.flagged("old"), if_unknown="fire"),
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def seeded_world() -> World:
    nodes: list[FactValue] = [0, 1, 2, 3, NOT_READ, ABSENT]
    grads: list[FactValue] = [0.5, 0.4, 2, 2.5, NOT_READ, ABSENT]
    ages: list[FactValue] = [30, 31, 1800, 1801, 5401, NOT_READ]
    states: list[FactValue] = ["RUNNING", "PENDING", "FAILED", NOT_READ, ABSENT]
    jobs = []
    for i in range(360):
        facts: dict[str, FactValue] = {
            "nodes": nodes[i % 6],
            "grad_norm": grads[i // 6 % 6],
            "log_age": ages[(i // 3) % 6],
            "cadence": [30, 1800, ABSENT][i % 3],
            "state": states[i % 5],
            "suspended": [True, False, NOT_READ][i % 3],
            "bucket": ["rl", "sft", "eval", Unknown("cut")][i % 4],
        }
        jobs.append(make.job(str(i), **facts))
    return make.world(*jobs)


def _ignore_overrides(param: ast.Param, place: object) -> FactValue:
    return param.default


def test_the_seeded_policy_agrees_without_a_seed(session: Session) -> None:
    world = seeded_world()
    assert check(SEEDED, world, evaluate(SEEDED, world), session=session).status == "equal"


def _caught(session: Session) -> set[str]:
    world = seeded_world()
    result = check(SEEDED, world, evaluate(SEEDED, world), session=session)
    assert result.status == "differs"
    assert result.divergence is not None
    return {d.rule for d in result.divergence.differences}


@pytest.mark.parametrize(("old", "new", "rule"), [("gt", "ge", "gt"), ("ge", "gt", "ge"), ("le", "lt", "between")])
def test_a_wrong_comparison_of_numbers_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, old: str, new: str, rule: str
) -> None:
    monkeypatch.setitem(leaf._OPERATORS, old, leaf._OPERATORS[new])
    original = leaf._holds
    swap = {leaf.operator.ge: leaf.operator.gt, leaf.operator.le: leaf.operator.lt}
    monkeypatch.setattr(leaf, "_holds", lambda t, c, r: original(swap.get(t, t) if rule == "between" else t, c, r))
    assert rule in _caught(session)


@pytest.mark.parametrize("op", ["eq", "ne", "in", "known", "absent"])
def test_a_wrong_test_of_texts_or_presence_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    original = leaf.compare

    def wrong(test: ast.Compare, left: Any, *rest: Any) -> Any:
        truth = original(test, left, *rest)
        return TRUE if test.op == op and left in ("FAILED", NOT_READ, ABSENT, 0) else truth

    monkeypatch.setattr(leaf, "compare", wrong)
    assert op in _caught(session)


def test_booleans_that_are_mixed_up_are_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    original = leaf.compare
    monkeypatch.setattr(leaf, "compare", lambda t, left, *r: TRUE if left is False else original(t, left, *r))
    assert "bool" in _caught(session)


@pytest.mark.parametrize("left", [NOT_READ, ABSENT])
def test_an_unknown_or_absent_side_that_passes_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, left: FactValue
) -> None:
    original = leaf.compare
    monkeypatch.setattr(leaf, "compare", lambda t, side, *r: TRUE if side is left else original(t, side, *r))
    assert {"gt", "eq", "ne", "in", "between"} & _caught(session)


def test_limits_without_their_overrides_are_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeprules.engine.evaluate.resolve.param_value", _ignore_overrides)
    assert "limit" in _caught(session)


def test_a_limit_compared_the_wrong_way_is_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    original = frame.compare

    def wrong(test: ast.Compare, *rest: Any) -> Any:
        return original(ast.Compare({"gt": "ge", "ge": "gt"}[test.op], test.rights), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(frame, "compare", wrong)
    assert {"limit", "field"} <= _caught(session)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_quorum_that_is_off_by_one_is_caught(session: Session, monkeypatch: pytest.MonkeyPatch, by: int) -> None:
    original = conditions.Conditions._quorum

    def wrong(self: Any, columns: Any, wanted: Any, frame: Any) -> int:
        return original(self, columns, ast.Const(wanted.value + by), frame)

    monkeypatch.setattr(conditions.Conditions, "_quorum", wrong)
    assert "quorum" in _caught(session)


@pytest.mark.parametrize("truths", [0, 3])
def test_flags_that_are_lost_or_invented_are_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, truths: int
) -> None:
    monkeypatch.setattr(native.Native, "flagged", lambda self, flag, frame: frame.ones * truths)
    assert {"chain", "not", "unless"} & _caught(session)


def test_needs_that_do_not_count_are_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.Native, "_present", lambda self, name, frame: frame.ones * 3)
    assert "ge" in _caught(session)


def test_a_rules_truth_that_is_misread_is_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions.Conditions, "_rule_is", lambda self, condition, frame: 0)
    assert "rule" in _caught(session)


@pytest.mark.parametrize("rule", ["unless", "fire"])
def test_an_unless_that_does_not_hold_back_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.setattr(native.Native, "_body", lambda self, r, frame: self.conditions.column(r.when, frame))
    assert rule in _caught(session)


STEPPED = make.policy(
    make.rule("low", make.test("entropy", "lt", 1, kind="step"), make.flag("up"), make.signal("s"), on="step"),
    make.rule("high", make.test("grad_norm", "gt", 1, kind="step"), make.signal("t"), on="step", needs=("grad_norm",)),
    make.rule("two", make.at_least(2, "s", "t"), make.flag("both"), on="step"),
    make.rule("carried", make.every(make.flagged("up"), make.flagged("both"))),
    make.rule("none", make.no(make.flagged("up"))),
    exemptions=(
        ast.Exemption(
            "late", "job", make.test("nodes", "ge", 1), ("alone",), None, "", "", gen.NOW - 1.0, "", make.MARK
        ),
    ),
)


def stepped_world() -> World:
    """Jobs of one step or two, with every mix of the two series."""
    values: list[FactValue] = [0.5, 1.5, NOT_READ, ABSENT]
    subjects = []
    for i, (entropy, grad) in enumerate(product(values, values)):
        job = Ref("job", f"leo:{i}")
        steps = [Ref("step", f"leo:{i}/{n}") for n in range(1 + i % 2)]
        for n, step in enumerate(steps):
            facts = {"step": n, "entropy": entropy if n == 0 else 0.5, "grad_norm": grad}
            subjects.append(Subject(step, facts, {}, {"job": Relation((job,))}))
        subjects.append(make.job(str(i), {"steps": Relation(tuple(steps))}, nodes=1))
    return make.world(*subjects)


def _caught_along_steps(session: Session) -> set[str]:
    world = stepped_world()
    result = check(STEPPED, world, evaluate(STEPPED, world), session=session)
    assert result.divergence is not None
    return {d.rule for d in result.divergence.differences}


def test_the_policy_about_steps_agrees_without_a_seed(session: Session) -> None:
    world = stepped_world()
    truths = evaluate(STEPPED, world)
    assert check(STEPPED, world, truths, session=session).status == "equal"
    assert {rule for rule, _ in truths.firings()} == {"low", "high", "two", "carried", "none"}


@pytest.mark.parametrize("wrong", [TRUE, FALSE])
def test_a_chain_from_steps_to_their_job_that_breaks_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, wrong: Truth
) -> None:
    monkeypatch.setattr(native, "carried", lambda *_: wrong)
    assert {"carried", "none"} & _caught_along_steps(session)


def test_signals_that_are_taken_from_another_step_are_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    original = native.Native.signal

    def shifted(self: Any, name: str, frame: Any) -> bytes:
        found = original(self, name, frame)
        return found[1:] + found[:1] if name == "t" else found

    monkeypatch.setattr(native.Native, "signal", shifted)
    assert "two" in _caught_along_steps(session)


def test_an_absent_signal_that_counts_is_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "GONE", 3)
    assert "two" in _caught_along_steps(session)


def test_an_exemption_that_outlives_its_end_is_caught(session: Session) -> None:
    policy = make.policy(make.rule("r", make.test("nodes", "ge", 1), make.flag("alone")), exemptions=STEPPED.exemptions)
    world = make.world(*make.jobs_of([1, 2]))
    truths = evaluate(policy, world)
    seen = with_exemptions(truths, judge(policy, world, None, truths))
    assert check(policy, world, seen, session=session).status == "equal"
    for_ever = replace(policy, exemptions=(replace(policy.exemptions[0], expires=None),))
    wrong = with_exemptions(truths, judge(for_ever, world, None, truths))
    result = check(policy, world, wrong, session=session)
    assert result.divergence is not None
    assert {d.rule for d in result.divergence.differences} == {"exemption:late"}
