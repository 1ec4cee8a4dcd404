"""Laws of the native evaluator over generated policies and worlds of the whole language."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given

from sweeprules.engine.evaluate import settle
from sweeprules.engine.evaluate.effects import field_value
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.plan import index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import FactValue, Ref, Relation, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import TRUE, UNKNOWN, Truth, every, negate, some
from sweeprules.engine.verdicts import ConditionProof
from tests.engine.whole.cases import LENGTHS, Case, cases, examples, learning, seeds

K = TypeVar("K")
V = TypeVar("V")
lengths = pytest.mark.parametrize("count", LENGTHS)


@lengths
def test_a_rule_is_said_to_have_fired_exactly_when_it_fired(count: int) -> None:
    """The proof of each rule on each subject has the truth that was found, and so has each field that rules decide."""
    seen: Counter[Truth] = Counter()

    @examples(count)
    @given(cases)
    def law(case: Case) -> None:
        truths = evaluate(*case)
        prover = Prover(case.policy, case.world, truths)
        assert set(truths) == {s.ref for s in case.world.subjects.values() if s.judged}
        for ref, row in truths.items():
            assert set(row) == {rule.id for rule in case.policy.rules.values() if rule.on == ref.kind}
            for rule, truth in row.items():
                seen[truth] += 1
                assert prover.rule(rule, ref).truth is truth, (rule, ref)
            for name, value in truths.decided(ref).items():
                # Features are held against a plain reading of their series elsewhere.
                assert name in case.policy.features or _same(value, _decided(case.policy, prover, ref, name, row)), (
                    name,
                    ref,
                )

    law()
    assert all(seen[truth] > count for truth in Truth), seen


def _decided(policy: ast.Policy, prover: Prover, ref: Ref, name: str, truths: dict[str, Truth]) -> FactValue:
    subject = prover.lens.world.subjects[ref]
    listed = policy.decide.get("bucket" if name == "bucket_sure" else name) if ref.kind == "job" else None
    if listed is None:
        return field_value(prover.lens, subject, name, index(policy).setters[ref.kind, name], truths)
    claims = [(TRUE if c.when is None else prover.condition(c.when, Scope(subject)).truth, c.value) for c in listed]
    value, sure = settle.decide(claims, forgiving=name != "flavour")
    return sure if name == "bucket_sure" else value


def _same(left: FactValue, right: FactValue) -> bool:
    return type(left) is type(right) and left == right


@lengths
def test_connectives_are_kleenes_in_every_proof(count: int) -> None:
    """`all`, `any` and `not` of each proof are the strong Kleene ones of the truths of its parts."""
    seen: Counter[str] = Counter()

    def walk(proof: ConditionProof) -> None:
        parts = [part.truth for part in proof.parts]
        laws = {"all": every, "any": some, "not": lambda given: negate(*given)}
        if proof.text in laws and parts:
            seen[proof.text] += 1
            assert proof.truth is laws[proof.text](parts), proof
        for part in proof.parts:
            walk(part)

    @examples(count)
    @given(cases)
    def law(case: Case) -> None:
        prover = Prover(case.policy, case.world, evaluate(*case))
        for ref in case.world.subjects:
            for rule in case.policy.rules.values():
                if rule.on == ref.kind:
                    for condition in prover.rule(rule.id, ref).conditions:
                        walk(condition)

    law()
    assert all(seen[name] > count for name in ("all", "any", "not")), seen


@lengths
def test_more_knowledge_never_turns_true_to_false_nor_false_to_true(count: int) -> None:
    seen: Counter[str] = Counter()

    @examples(count)
    @given(learning)
    def law(pair: tuple[Case, World]) -> None:
        case, more = pair
        before, after = evaluate(*case), evaluate(case.policy, more, case.held)
        for ref, row in before.items():
            for rule, was in row.items():
                seen[f"{was.word} to {after[ref][rule].word}"] += 1
                assert was is UNKNOWN or after[ref][rule] is was, (rule, ref)

    law()
    # Something was learned that mattered, in both directions.
    assert seen["unknown to true"] > count / 4, seen
    assert seen["unknown to false"] > count / 4, seen


@lengths
def test_no_order_of_rules_subjects_facts_or_members_matters(count: int) -> None:
    @examples(count)
    @given(cases, seeds)
    def law(case: Case, seed: int) -> None:
        other, world = turned(case, seed)
        first, second = evaluate(*case), evaluate(other, world, case.held)
        assert shown(first) == shown(second) == shown(evaluate(other, mirrored(world), case.held))
        # Arguments of actions list the members of a relation in its order: of verdicts the law holds but for that.
        one = judge(case.policy, case.world, None, first, case.held)
        assert one == judge(other, world, None, second, case.held)
        assert list(one) == sorted(one)

    law()


def turned(case: Case, seed: int) -> tuple[ast.Policy, World]:
    """The same policy and world, written down in another order."""
    rng = random.Random(seed)
    policy = replace(
        case.policy,
        rules=_shuffled(case.policy.rules, rng),
        features=_shuffled(case.policy.features, rng),
        params=_shuffled(case.policy.params, rng),
        flags=_shuffled(case.policy.flags, rng),
        decide=_shuffled(case.policy.decide, rng),
        exemptions=tuple(rng.sample(case.policy.exemptions, len(case.policy.exemptions))),
    )
    subjects = {
        ref: replace(subject, facts=_shuffled(subject.facts, rng), relations=_shuffled(subject.relations, rng))
        for ref, subject in case.world.subjects.items()
    }
    return policy, World(_shuffled(subjects, rng))


def mirrored(world: World) -> World:
    """The same world with the members of each relation the other way round.

    The links of a run stay as they are: they stand in the order in which they ran.
    """
    return World({ref: replace(s, relations=_mirrored(s.relations)) for ref, s in world.subjects.items()})


def _mirrored(relations: Mapping[str, Relation]) -> dict[str, Relation]:
    return {n: r if n == "links" else replace(r, members=r.members[::-1]) for n, r in relations.items()}


def _shuffled(table: Mapping[K, V], rng: random.Random) -> dict[K, V]:
    return dict(rng.sample(list(table.items()), len(table)))


def shown(truths: Truths) -> object:
    """All that was found, NaN and types included."""
    return {ref: (dict(row), {n: repr(v) for n, v in truths.decided(ref).items()}) for ref, row in truths.items()}


def test_a_rule_that_supports_itself_alone_is_false() -> None:
    """Rules that build on each other have the least truths that fit: by proofs alone both could as well be true."""
    from tests.engine.durable import make

    policy = make.policy(
        make.rule("x0", make.either(make.test("nodes", "ge", 2), make.flagged("b")), make.flag("a")),
        make.rule("x1", make.every(make.test("nodes", "ge", 1), make.flagged("a")), make.flag("b")),
    )
    jobs = make.jobs_of([0, 1, 2])
    found = {ref.key: [t.word for t in row.values()] for ref, row in evaluate(policy, make.world(*jobs)).items() if row}
    assert found == {"leo:0": ["false", "false"], "leo:1": ["false", "false"], "leo:2": ["true", "true"]}
