"""How a policy becomes rulesets: limits of the engine, order, what is left out, quorums and memberships."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.engine.durable.checked import check, leaf_report, run_durable
from sweeprules.engine.durable.compile import computed
from sweeprules.engine.durable.dnf import ALWAYS, NEVER, Derived, both, either, one
from sweeprules.engine.durable.graph import components
from sweeprules.engine.durable.program import Decide, program
from sweeprules.engine.durable.run import DurableTruths, Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import ABSENT, NOT_READ, Completeness, FactValue, Interval, Ref, Relation, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import UNKNOWN
from tests.engine.durable import make
from tests.engine.durable.agreeing import agreed
from tests.engine.durable.safe import assert_safe


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def test_a_policy_of_many_rules_is_split_and_every_rule_is_found(session: Session) -> None:
    """All 150 rules hold of one job, which a single ruleset could not do."""
    rules = []
    for i in range(150):
        limit, own = make.test("log_age", "gt", ast.ParamRef("stale_floor")), make.test("nodes", "ge", i % 5)
        tests = [make.test("state", "in", ("RUNNING", "PENDING")), limit if i % 3 == 0 else own]
        if i >= 10:
            tests.append(make.flagged(f"f{i - 10}"))
        rules.append(make.rule(f"r{i}", make.every(*tests), make.flag(f"f{i}")))
    policy = make.policy(*rules)
    made = program(policy)
    assert len(made.units) > 4
    assert not made.left_out
    for unit in made.units:
        assert_safe(unit)
    jobs = [make.job(str(i), state="RUNNING", nodes=i, log_age=6000, bucket="eval") for i in (4, 9)]
    found = agreed(policy, make.world(*jobs), session)
    assert all(found.true[f"r{i}"] == make.refs("4", "9") for i in range(150))


@pytest.mark.parametrize("needed", range(8))
def test_a_quorum_is_the_plain_count(session: Session, needed: int) -> None:
    """All 64 ways of six operands, each true or false, and some of them unknown or absent."""
    fields = ["nodes", "grad_norm", "entropy", "log_age", "cadence", "elapsed"]
    signals = [make.rule(f"s{i}", make.test(f, "ge", 1), make.signal(f"s{i}")) for i, f in enumerate(fields)]
    quorum = make.at_least(needed, *(f"s{i}" for i in range(6)))
    policy = make.policy(*signals, make.rule("reached", quorum, make.flag("up")), make.rule("not", make.no(quorum)))
    jobs, expected, refused = [], set(), set()
    values: list[FactValue] = [1, 0, NOT_READ, ABSENT]
    for row in [*itertools.product(values[:2], repeat=6), *itertools.product(values, repeat=3)]:
        row = row if len(row) == 6 else row * 2
        job = make.job(str(len(jobs)), **dict(zip(fields, row, strict=True)))
        jobs.append(job)
        if row.count(1) >= needed:
            expected.add(job.ref)
        elif row.count(1) + row.count(NOT_READ) < needed:
            refused.add(job.ref)
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["reached"] == expected
    assert found.true["not"] == refused


def test_a_quorum_whose_number_is_a_limit(session: Session) -> None:
    rows = (ast.Override({"bucket": "rl"}, 2, make.MARK), ast.Override({"bucket": "sft"}, 3, make.MARK))
    param = ast.Param("n", 1, "", "", rows, make.MARK)
    fields = ["nodes", "grad_norm", "entropy"]
    signals = [make.rule(f"s{i}", make.test(f, "ge", 1), make.signal(f"s{i}")) for i, f in enumerate(fields)]
    reached = make.rule("reached", make.at_least(ast.ParamRef("n"), "s0", "s1", "s2"), make.flag("up"))
    policy = make.policy(*signals, reached, make.rule("not", make.no(make.flagged("up"))), params={"n": param})
    needed = {"rl": 2, "sft": 3, "eval": 1}
    values: list[FactValue] = [1, 0, NOT_READ]
    jobs = [
        make.job(f"{bucket}{i}", bucket=bucket, **dict(zip(fields, row, strict=True)))
        for bucket in needed
        for i, row in enumerate(itertools.product(values, repeat=3))
    ]
    found = agreed(policy, make.world(*jobs), session)
    wanted = {j.ref for j in jobs if [j.get(f) for f in fields].count(1) >= needed[str(j.get("bucket"))]}
    assert found.true["reached"] == wanted


@pytest.mark.parametrize("possible", [False, True])
@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "between"])
def test_counts_known_between_two_ends(session: Session, op: Any, possible: bool) -> None:
    counts = [Interval(0, 2), Interval(2, None), Interval(3, 3), Interval(1, 5)]
    ends: list[FactValue] = [0, 2, 3, *counts, ABSENT, NOT_READ]
    rights = (2, 3) if op == "between" else (3,)
    test = make.test("rl_running", op, *rights, kind="cluster", possible=possible)
    policy = make.policy(
        make.rule("is", test, on="cluster"),
        make.rule("not", make.no(test), on="cluster"),
        make.rule("doubt", make.rule_is("is", UNKNOWN), on="cluster"),
    )
    clusters = [Subject(Ref("cluster", str(i)), {"rl_running": value}) for i, value in enumerate(ends)]
    assert agreed(policy, World({c.ref: c for c in clusters}), session)


def test_a_rule_about_a_step_counts_for_its_job(session: Session) -> None:
    step = ast.Path((), "entropy", "step", "number")
    test = ast.Test(step, ast.Compare("gt", (ast.Const(1),)), make.MARK, "entropy")
    policy = make.policy(
        make.rule("spike", test, make.flag("spike"), on="step", judge="any"),
        make.rule("seen", make.flagged("spike")),
        make.rule("unseen", make.no(make.flagged("spike"))),
    )
    subjects: list[Subject] = []
    for name, values, completeness in (
        ("hit", [0.5, 2.0], Completeness.WHOLE),
        ("calm", [0.5], Completeness.WHOLE),
        ("cut", [0.5], Completeness.PARTIAL),
        ("unknown", [NOT_READ], Completeness.WHOLE),
        ("none", [], Completeness.WHOLE),
    ):
        refs = tuple(Ref("step", f"{name}:{i}") for i in range(len(values)))
        subjects.append(make.job(name, {"steps": Relation(refs, completeness)}))
        for ref, value in zip(refs, values, strict=True):
            subjects.append(Subject(ref, {"entropy": value}, {}, {"job": Relation((subjects[0].ref,))}))
    found = agreed(policy, make.world(*subjects, make.job("unread")), session)
    assert found.true["seen"] == make.refs("hit")
    assert found.true["unseen"] == make.refs("calm", "none")


def test_fields_that_rules_set_are_read_afterwards(session: Session) -> None:
    policy = make.policy(
        make.rule("one", make.test("nodes", "ge", 1), ast.Set("flavour", ast.Const("standard"), make.MARK)),
        make.rule("two", make.test("nodes", "ge", 2), ast.Set("flavour", ast.Const("agentic"), make.MARK)),
        make.rule("tag", make.test("nodes", "ge", 1), ast.Add("tags", ast.Const("big"), make.MARK)),
        make.rule("standard", make.test("flavour", "eq", "standard")),
        make.rule("other", make.no(make.test("flavour", "eq", "standard"))),
        make.rule("tagged", make.test("tags", "contains", "big")),
    )
    values: list[FactValue] = [0, 1, 2, NOT_READ]
    jobs = [make.job(str(i), nodes=value, flavour="none", tags=()) for i, value in enumerate(values)]
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["standard"] == make.refs("1")
    assert found.true["other"] == make.refs("0")
    assert found.true["tagged"] == make.refs("1", "2")
    steps = program(policy).steps
    assert {(s.kind, s.name) for s in steps if isinstance(s, Decide)} == {("job", "flavour"), ("job", "tags")}


def test_rules_that_build_on_each_other_in_a_circle(session: Session) -> None:
    policy = make.policy(
        make.rule("a", make.either(make.test("nodes", "ge", 1), make.flagged("b")), make.flag("a")),
        make.rule("b", make.either(make.test("entropy", "ge", 1), make.flagged("a")), make.flag("b")),
        make.rule("neither", make.no(make.flagged("a")), make.flag("neither")),
        make.rule("after", make.flagged("neither")),
    )
    jobs = [make.job(str(i), nodes=n, entropy=e) for i, (n, e) in enumerate(itertools.product((0, 1), repeat=2))]
    truths = evaluate(policy, make.world(*jobs))
    result = check(policy, make.world(*jobs), truths, session=session)
    assert result.status == "equal"
    # That a circle holds of nothing can not be derived: native alone judges what needs it, and it is said.
    assert set(result.left_out) == {"neither", "after"}
    assert all(result.left_out.values())
    found = run_durable(policy, make.world(*jobs), session=session)
    assert isinstance(found, DurableTruths)
    assert found.true["a"] == found.true["b"] == make.refs("1", "2", "3")


def test_nothing_that_is_held_or_looks_along_a_series_is_left_out_and_features_are_decided_first() -> None:
    held = ast.Hold(ast.Const(2), None, make.MARK)
    ratio = ast.Feature("ratio", "entropy", "ratio_to_mean", ast.Const(3), None, None, None, make.MARK)
    feature = ast.Test(ast.Path((), "ratio", "step", "number"), ast.Compare("gt", (ast.Const(1),)), make.MARK, "ratio")
    entropy = ast.Test(ast.Path((), "entropy", "step", "number"), feature.compare, make.MARK, "entropy")
    policy = make.policy(
        make.rule("held", make.test("nodes", "ge", 1), make.flag("held"), hold=held),
        make.rule("after", make.flagged("held"), ast.Set("flavour", ast.Const("x"), make.MARK)),
        make.rule("reads", make.test("flavour", "eq", "x")),
        make.rule("new", entropy, on="step"),
        make.rule("series", feature, on="step", judge="any"),
        make.rule("plain", make.test("nodes", "ge", 1)),
        features={"ratio": ratio},
    )
    made = program(policy)
    assert not made.left_out
    assert [step for step in made.steps if isinstance(step, Decide)] == [
        Decide("step", "ratio"),
        Decide("job", "flavour"),
    ]


def test_no_rule_is_one_lowered_column_unless_that_is_its_only_leaf() -> None:
    name = make.test("name", "glob", "rl*")
    others = (make.test("nodes", "ge", 1), make.test("state", "eq", "RUNNING"))
    policy = make.policy(make.rule("r", make.every(name, *others)))
    (node,) = program(policy).nodes.values()
    assert isinstance(node.body, tuple)
    assert [len(branch) for branch in node.body] == [3]
    assert list(computed(policy, name)) == [False]
    assert leaf_report(policy) == (2, 1)


def test_long_memberships_and_texts_in_order_are_computed_beforehand(session: Session) -> None:
    many = tuple(f"x{i}" for i in range(40))
    policy = make.policy(
        make.rule("long", make.test("name", "in", many)),
        make.rule("short", make.test("name", "in", many[:5])),
        make.rule("none", make.test("name", "not_in", many[:5])),
        make.rule("order", make.test("name", "gt", "x1")),
        make.rule("fold", make.test("name", "eq", "X3", fold=True)),
    )
    assert leaf_report(policy) == (3, 2)
    names: list[FactValue] = ["x3", "x30", "x", "X3", ABSENT, NOT_READ]
    jobs = [Subject(Ref("job", f"leo:{i}"), {"name": n}) for i, n in enumerate(names)]
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["fold"] == make.refs("0", "3")
    assert found.true["none"] == make.refs("1", "2", "3")


def test_the_same_policy_always_becomes_the_same_program() -> None:
    rules = [make.rule(f"r{i}", make.every(make.test("nodes", "ge", i), make.flagged(f"f{i}"))) for i in range(9)]
    rules += [make.rule(f"f{i}", make.test("entropy", "ge", i), make.flag(f"f{i}")) for i in range(9)]
    made, again = program(make.policy(*rules)), program(make.policy(*rules))
    assert [u.definition for u in made.units] == [u.definition for u in again.units]


literals = st.integers(0, 3).map(lambda i: Derived(("n", str(i))))
formulas = st.lists(st.frozensets(literals, max_size=3), max_size=3).map(tuple)


@settings(max_examples=200)
@given(st.lists(formulas, min_size=1, max_size=3), st.sets(st.integers(0, 3)))
def test_formulas_mean_what_and_and_or_mean(parts: list[Any], true: set[int]) -> None:
    def holds(formula: Any) -> bool:
        return any(all(int(atom.node[1]) in true for atom in branch) for branch in formula)

    assert holds(both(parts)) == all(map(holds, parts))
    assert holds(either(parts)) == any(map(holds, parts))
    assert (holds(ALWAYS), holds(NEVER), holds(one())) == (True, False, True)


@settings(max_examples=200)
@given(st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=4), min_size=8, max_size=8))
def test_components_are_circles_in_the_order_of_their_needs(needs: dict[int, list[int]]) -> None:
    def reaches(start: int) -> set[int]:
        seen, todo = set(), list(needs[start])
        while todo:
            key = todo.pop()
            if key not in seen:
                seen.add(key)
                todo += needs[key]
        return seen

    groups = list(components(list(needs), needs))
    assert sorted(key for group in groups for key in group) == sorted(needs)
    done: set[int] = set()
    for group in groups:
        for key in group:
            assert set(group) == {key} | {other for other in reaches(key) if key in reaches(other)}
            assert set(needs[key]) <= done | set(group)
        done |= set(group)
