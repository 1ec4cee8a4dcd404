"""What a check says: agreement, differences with a reproducer, failures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sweeprules.engine.durable.checked import CheckResult, check, leaf_report, run_durable, with_exemptions
from sweeprules.engine.durable.run import DurableTruths, Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Interval, Ref, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from tests.engine import strategies as gen
from tests.engine.durable import make

STALE = make.policy(
    make.rule("stale", make.test("log_age", "gt", ast.ParamRef("stale_floor")), make.flag("stale")),
    make.rule("moving", make.every(make.test("state", "eq", "RUNNING"), make.no(make.flagged("stale")))),
)
AGES: list[FactValue] = [20, 40, 1801, 5401, NOT_READ, ABSENT]
WORLD = make.world(
    *(
        make.job(f"{bucket}{i}", bucket=bucket, log_age=age, state="RUNNING")
        for bucket in ("rl", "sft", "eval")
        for i, age in enumerate(AGES)
    )
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def checked(policy: ast.Policy, world: World, **more: Any) -> CheckResult:
    return check(policy, world, evaluate(policy, world), **more)


def test_agreement(session: Session) -> None:
    result = checked(STALE, WORLD, session=session)
    assert (result.status, result.diverged) == ("equal", False)
    assert result.firings > 10


def test_a_difference_names_rule_subject_and_both_answers(session: Session) -> None:
    truths = {ref: dict(row) for ref, row in evaluate(STALE, WORLD).items()}
    wrong = Ref("job", "leo:rl3")
    truths[wrong]["stale"] = FALSE
    result = check(STALE, WORLD, truths, session=session)
    assert (result.status, result.diverged) == ("differs", True)
    assert result.divergence is not None
    found = {(d.rule, d.ref, d.native, d.durable) for d in result.divergence.differences}
    assert ("stale", wrong, "false", "true") in found
    assert {ref for _, ref, _, _ in found} == {wrong}


def test_a_reproducer_is_plain_data_that_holds_policy_facts_and_both_answers(session: Session) -> None:
    truths = {ref: dict(row) for ref, row in evaluate(STALE, WORLD).items()}
    truths[Ref("job", "leo:rl4")]["stale"] = TRUE
    divergence = check(STALE, WORLD, truths, session=session).divergence
    assert divergence is not None
    data = json.loads(json.dumps(divergence.reproducer))
    assert data["differences"] == [
        {"rule": "stale", "subject": "job:leo:rl4", "native": "true", "durable": "not true"},
    ]
    assert data["policy"]["rules"]["stale"]["when"]["compare"]["rights"] == [
        {"type": "ParamRef", "name": "stale_floor"}
    ]
    assert [s["ref"] for s in data["subjects"]] == ["sweep:s1", "job:leo:rl4"]
    assert data["subjects"][1]["facts"]["log_age"] == {"type": "Unknown", "reason": "not-read", "detail": ""}
    assert data["native"]["job:leo:rl4"]["stale"] == "true"
    assert data["durable"]["job:leo:rl4"] == {"true": [], "false": []}


@pytest.mark.parametrize(("fault", "status", "kind"), [("slow", "failed", "timeout"), ("crash", "failed", "crash")])
def test_a_fault_is_a_failure_and_no_verdict_changes(fault: str, status: str, kind: str) -> None:
    truths = evaluate(STALE, WORLD)
    before = {ref: dict(row) for ref, row in truths.items()}
    result = check(STALE, WORLD, truths, deadline=2.0, fault=fault)
    assert result.status == status
    assert result.diverged
    assert result.failure is not None
    assert result.failure.kind == kind
    assert {ref: dict(row) for ref, row in truths.items()} == before


@pytest.mark.parametrize("world", [WORLD, make.world(make.job("0", log_age=NOT_READ))], ids=["much", "nothing"])
def test_a_wrong_engine_is_a_difference(world: World) -> None:
    result = checked(STALE, world, fault="wrong", deadline=20.0)
    assert result.status == "differs"
    assert result.divergence is not None
    assert result.divergence.differences


def test_a_subject_that_can_not_be_encoded_is_judged_by_native_alone_and_counted(session: Session) -> None:
    policy = make.policy(
        make.rule("big", make.test("nodes", "gt", 5), make.flag("big")),
        make.rule("calm", make.no(make.flagged("big"))),
        make.rule("called", make.test("name", "eq", "x")),
    )
    values: list[Any] = [2**60, 7, 2**53 + 1, True, "8", Interval(6, 9)]
    jobs = [*make.jobs_of(values), make.job("long", name="x" * 70_000), make.job("broken", name="\ud800")]
    result = checked(policy, make.world(*jobs), session=session)
    assert result.status == "equal"
    assert set(result.skipped) == set(make.refs("0", "2", "3", "4", "5", "long", "broken"))
    assert all(result.skipped.values())


def test_many_long_texts_go_in_several_batches(session: Session) -> None:
    policy = make.policy(
        make.rule("is", make.test("name", "eq", "x")),
        make.rule("not", make.no(make.test("name", "eq", "y")), make.flag("f")),
        make.rule("none", make.no(make.flagged("f"))),
    )
    jobs = [Subject(Ref("job", f"leo:{i}"), {"name": chr(0x1F600) * 14_000 + str(i)}) for i in range(300)]
    result = checked(policy, make.world(*jobs), session=session)
    assert (result.status, len(result.skipped)) == ("equal", 0)


def test_hostile_text_reaches_the_engine_as_text(session: Session) -> None:
    names = ['"', "\\", '"}]', "\n", "\0", "a\u2028b", "🙂", "$m", "", "x" * 60_000, "\x1b[31m", "</script>"]
    policy = make.policy(
        *(make.rule(f"n{i}", make.test("name", "eq", name)) for i, name in enumerate(names)),
        make.rule("other", make.test("name", "not_in", (*names[:3], *names[5:9]))),
    )
    world = make.world(*(make.job(str(i), name=name) for i, name in enumerate(names)))  # type: ignore[arg-type]
    result = checked(policy, world, session=session)
    assert result.status == "equal"
    assert not result.skipped


def test_exemptions_are_found_too(session: Session) -> None:
    exemption = ast.Exemption(
        "meant", "job", make.test("name", "prefix", "abl"), ("up",), None, "", "", gen.NOW + 60.0, "", make.MARK
    )
    late = ast.Exemption(
        "late", "job", make.test("nodes", "ge", 1), ("up",), None, "", "", gen.NOW - 1.0, "", make.MARK
    )
    policy = make.policy(make.rule("up", make.test("nodes", "ge", 2), make.flag("up")), exemptions=(exemption, late))
    jobs = [make.job(str(i), nodes=n, name=t) for i, (n, t) in enumerate([(2, "abl"), (2, "x"), (1, "abl")])]
    jobs.append(make.job("3", nodes=2, name=NOT_READ))
    world = make.world(*(Subject(j.ref, {**j.facts}, {}, j.relations) for j in jobs))
    truths = with_exemptions(evaluate(policy, world), judge(policy, world))
    result = check(policy, world, truths, session=session)
    assert result.status == "equal", result
    found = run_durable(policy, world, session=session)
    assert isinstance(found, DurableTruths)
    assert found.true["exemption:meant"] == make.refs("0", "2")
    assert not found.true["exemption:late"]
    wrong = {ref: {k: UNKNOWN if k == "exemption:meant" else t for k, t in row.items()} for ref, row in truths.items()}
    assert check(policy, world, wrong, session=session).status == "differs"


def test_the_leaf_report_counts_what_durable_rules_computes_itself() -> None:
    quantified = ast.Quantified(
        "some", ast.Path((), "siblings", "job", "relation"), "job", None, make.test("nodes", "eq", 1), None, None,
        FALSE, make.MARK, "some",
    )  # fmt: skip
    policy = make.policy(
        make.rule("a", make.every(make.test("nodes", "ge", 1), make.test("name", "glob", "x*")), make.signal("s")),
        make.rule("b", make.either(make.flagged("f"), quantified, make.at_least(1, "s", "t"))),
    )
    # nodes, flagged, two signals and the quorum are computed; the glob and the quantifier are lowered.
    assert leaf_report(policy) == (5, 2)
