"""What is read of elsewhere: needs of the job that a step belongs to, flags that stay on steps, held signals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sweeprules.engine.durable.reads import needed
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.holds import Held, HoldState
from sweeprules.engine.language import ast
from tests.engine import strategies as gen
from tests.engine.durable import make
from tests.engine.durable.kept import Kept, keeping


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    with keeping() as child:
        yield child


def agreed(kept: Kept, policy: ast.Policy, world: World, held: Held, rule: str) -> set[Ref]:
    """Where a rule is true by both evaluators."""
    truths = evaluate(policy, world, held)
    kept.agree(policy, world, truths, held)
    return {ref for ref, row in truths.items() if rule in row and row[rule].word == "true"}


def stepped(nodes: list[FactValue]) -> World:
    """One job for each number of nodes, with one step."""
    found: list[Subject] = []
    for i, value in enumerate(nodes):
        step, job = Ref("step", f"leo:{i}/1"), Ref("job", f"leo:{i}")
        found.append(Subject(step, {"step": 1, "entropy": 0.1}, {}, {"job": Relation((job,))}))
        found.append(make.job(str(i), {"steps": Relation((step,))}, nodes=value))
    return make.world(*found)


LOW = make.test("entropy", "lt", 1, kind="step")


def test_a_rule_about_steps_may_need_a_fact_of_their_job(kept: Kept) -> None:
    rule = make.rule("r", LOW, make.signal("s"), on="step", needs=("job.nodes", "entropy"))
    quorum = make.rule("q", make.at_least(1, "s"), on="step")
    counts = ast.AtLeast((ast.Signalled("s", make.MARK),), None, ast.Compare("eq", (ast.Const(0),)), (), make.MARK)
    policy = make.policy(rule, quorum, make.rule("e", counts, on="step"))
    world = stepped([1, NOT_READ, ABSENT])
    assert needed(rule, "job.nodes").text == "job.nodes"
    for name, steps in (("r", {"leo:0/1"}), ("q", {"leo:0/1"}), ("e", {"leo:1/1", "leo:2/1"})):
        assert {ref.key for ref in agreed(kept, policy, world, {}, name)} == steps


@pytest.mark.parametrize(("subjects", "carried"), [(("job",), True), (("job", "step"), False)])
def test_a_flag_that_stands_on_steps_is_not_one_of_their_job(
    kept: Kept, subjects: tuple[str, ...], carried: bool
) -> None:
    low = make.rule("low", LOW, make.flag("f"), on="step", judge="any")
    policy = make.policy(low, make.rule("seen", make.flagged("f")), make.rule("quiet", make.no(make.flagged("f"))))
    policy = replace(policy, flags={"f": replace(gen.flag_def("f"), subjects=subjects)})
    jobs = {Ref("job", "leo:0")}
    assert agreed(kept, policy, stepped([1]), {}, "seen") == (jobs if carried else set())
    assert agreed(kept, policy, stepped([1]), {}, "quiet") == (set() if carried else jobs)


@pytest.mark.parametrize(("looks", "blocked"), [(0, False), (1, True)])
def test_why_a_held_signal_is_unknown_takes_what_it_had_been(kept: Kept, looks: int, blocked: bool) -> None:
    hold = ast.Hold(ast.Const(2, "2 sweeps"), None, make.MARK)
    signal = make.rule("held", make.test("nodes", "ge", 1), make.signal("s"), hold=hold)
    doubt = ast.AtLeast((ast.Signalled("s", make.MARK),), None, ast.Compare("lt", (ast.Const(1),)), ("cut",), make.MARK)
    policy = make.policy(signal, make.rule("doubt", doubt))
    world = make.world(make.job("0", nodes=Unknown("malformed")))
    ref = Ref("job", "leo:0")
    held = {("held", ref): HoldState(looks, "s0" if looks else "", 0.0 if looks else None, 0.0, "01"[looks])}
    assert agreed(kept, policy, world, held, "doubt") == ({ref} if blocked else set())
