"""What the loader lets lead to destruction stays true whatever is read besides: nothing unknown was on its way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import World
from sweeprules.engine.language import ast
from sweeprules.engine.language.destructive import unproved
from sweeprules.engine.truth import TRUE, UNKNOWN
from tests.engine import strategies as gen
from tests.engine.evaluate.test_properties import learning

KILL = ast.ActionDef("kill", "standing", True, ("own-jobs",), (), ())


def proved(policy: ast.Policy) -> Iterator[str]:
    """The rules that the loader would let fire a destructive action."""
    for name, rule in policy.rules.items():
        then = (*rule.then, ast.Act("kill", {}, gen.MARK))
        rules = {**policy.rules, name: replace(rule, then=then)}
        if not unproved(replace(policy, rules=rules, actions={"kill": KILL})):
            yield name


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(gen.policies(), learning())
def test_a_rule_that_may_destroy_is_never_true_of_what_more_knowledge_would_spare(
    policy: ast.Policy, worlds: tuple[World, World]
) -> None:
    before, after = (evaluate(policy, world) for world in worlds)
    names = [*proved(policy)]
    for ref, row in before.items():
        # An unsure bucket of the job itself blocks the action when it is judged.
        unsure = ref.kind == "job" and before.decided(ref).get("bucket_sure") is not True
        for name in names if not (unsure and policy.decide) else ():
            if name in row and row[name] is TRUE:
                assert after[ref][name] is TRUE, (name, ref)


def test_the_loader_would_refuse_what_the_property_is_about() -> None:
    """Without the refusal the property fails: a rule on something unknown is true until it is read."""
    path = ast.Path((), "state", "job", "enum")
    unknown = ast.Test(path, ast.Compare("unknown", (), wanted=True), gen.MARK, "state: {unknown: true}")
    policy = gen.make_policy([ast.Rule("r", "job", unknown, (), gen.MARK)])
    assert [*proved(policy)] == []
    (job,) = [s for s in _world({}).subjects.values() if s.ref.kind == "job"]
    assert evaluate(policy, _world({}))[job.ref]["r"] is TRUE
    assert evaluate(policy, _world({"state": "RUNNING"}))[job.ref]["r"] is not UNKNOWN
    assert evaluate(policy, _world({"state": "RUNNING"}))[job.ref]["r"] is not TRUE


def _world(facts: dict[str, str]) -> World:
    from tests.engine.evaluate.worlds import job, world

    return world(job(facts))
