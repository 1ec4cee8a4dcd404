"""The generated cases hold every construct of the language, and what these say is not always the same."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Absent, Completeness, FactValue, Interval, Unknown
from sweeprules.engine.language import ast
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import ConditionProof
from tests.engine.whole.cases import case
from tests.engine.whole.census import constructs

CASES = 600
OFTEN = CASES // 40
"""A construct that stands in fewer of the cases than one in 40 is hardly tried out."""


def _language() -> set[str]:
    """All constructs, as far as the language's own types name them; a new one is missed here until it is generated."""
    classes: list[Any] = [*get_args(ast.Condition), *get_args(ast.Right), *get_args(ast.Consequence)]
    quantifiers = ("every", "some", "count", "sum")
    return {
        *(cls.__name__ for cls in classes),
        "Arith",
        "Signalled",
        "Collect",
        "Hold",
        "Exemption",
        "Route",
        *(f"test {op}" for op in get_args(ast.Operator)),
        *(f"feature {kind}" for kind in get_args(ast.FeatureKind)),
        *(f"calc {op}" for op in ("+", "-", "*", "/", "neg", "min", "max", "abs", "round_half_up")),
        *(f"at_least {part}" for part in ("n", "$n", "evaluable", "ignoring")),
        *(f"rule is {truth.word}" for truth in Truth),
        *(f"if_empty {truth.word}" for truth in Truth),
        *quantifiers,
        *(f"{which} of relation" for which in quantifiers),
        *(f"{which} of list" for which in quantifiers if which != "sum"),
        *(f"{which} of map" for which in quantifiers),
        *(f"on {kind}" for kind in ("job", "step", "run", "cluster")),
        *(f"judge {judge}" for judge in ("new", "latest", "any")),
        *(f"through {name}" for name in ("cluster", "run", "next_link", "previous", "job", "row", "sweep")),
        *("least", "most", "outer", "where", "fold", "possible", "default", "floor", "min_points"),
        *("needs", "needs of the job", "unless", "if_unknown hold", "if_unknown fire", "explains", "replaces"),
        *("for sweeps", "for time", "expires", "as", "decide", "decide bucket", "decide flavour"),
    }


def test_every_construct_is_generated_often() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        seen.update(constructs(case(seed).policy))
    rare = {name: seen[name] for name in _language() if seen[name] < OFTEN}
    assert not rare, rare


def test_every_construct_is_true_false_and_unknown_at_times() -> None:
    """Truths by kind of condition, features and fields by kind of value: one that is always the same tries nothing."""
    seen: Counter[str] = Counter()
    for seed in range(CASES // 2):
        one = case(seed)
        truths = evaluate(*one)
        prover = Prover(one.policy, one.world, truths)
        for ref, row in truths.items():
            for rule in row:
                for part in prover.rule(rule, ref).conditions:
                    _count(part, seen)
            for name, value in truths.decided(ref).items():
                feature = one.policy.features.get(name)
                seen[f"{feature.is_ if feature else name} {_kind(value)}"] += 1
    told = ("true", "false", "unknown")
    whats = ["all", "any", "not", "at_least", "unless", "flagged", "signal", "every", "some", "count", "sum", "for"]
    wanted = {f"{what} {truth}" for what in whats for truth in told}
    wanted |= {f"rule {truth}" for truth in ("true", "false")}
    wanted |= {f"{kind} {what}" for kind in get_args(ast.FeatureKind) for what in ("value", "unknown")}
    wanted |= {f"{name} {what}" for name in ("bucket", "phase", "tags") for what in ("value", "unknown")}
    rare = {name: seen[name] for name in wanted if seen[name] < 10}
    assert not rare, rare


def _count(proof: ConditionProof, seen: Counter[str]) -> None:
    what = proof.text.partition(":")[0].partition(" ")[0]
    seen[f"{what} {proof.truth.word}"] += 1
    for part in proof.parts:
        _count(part, seen)


def _kind(value: FactValue) -> str:
    return "unknown" if isinstance(value, Unknown) else "absent" if isinstance(value, Absent) else "value"


def test_worlds_hold_what_is_hard_to_read() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        one = case(seed)
        for subject in one.world.subjects.values():
            seen["not judged"] += not subject.judged
            seen["earlier"] += "@" in subject.ref.key
            seen["attempt"] += "attempt" in subject.facts
            for value in subject.facts.values():
                seen["nan"] += isinstance(value, float) and value != value
                seen["infinite"] += isinstance(value, float) and abs(value) == float("inf")
                seen[type(value).__name__] += isinstance(value, Interval | Unknown | Absent)
            for relation in subject.relations.values():
                seen[str(relation.completeness)] += 1
        numbers = [s.facts["step"] for s in one.world.subjects.values() if s.ref.kind == "step"]
        seen["gap"] += any(isinstance(n, int) and n > 4 and n - 1 not in numbers for n in numbers)
        seen["again"] += len(numbers) > len(set(numbers))
        seen["held"] += bool(one.held)
    whats = (
        "not judged",
        "earlier",
        "attempt",
        "nan",
        "infinite",
        "Interval",
        "Unknown",
        "Absent",
        "gap",
        "again",
        "held",
    )
    rare = {name: seen[name] for name in (*whats, "gap", "again", "held", *Completeness) if seen[name] < OFTEN}
    assert not rare, rare


def test_verdicts_hold_flags_that_are_exempt_replaced_and_explained_and_actions_that_are_blocked() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CASES // 2):
        one = case(seed)
        for verdict in judge(one.policy, one.world, None, None, one.held).values():
            for flag in verdict.flags:
                seen["flag"] += 1
                seen["exempt flag"] += flag.exempt
                seen["explained flag"] += bool(flag.explained_by)
                seen["flag of a step"] += flag.step is not None
            for action in verdict.actions:
                seen[action.status] += 1
            seen.update(f"exemption {truth.word}" for truth in verdict.exempted.values())
    whats = ("flag", "exempt flag", "explained flag", "flag of a step", "open", "blocked", "exempt")
    exempted = tuple(f"exemption {truth.word}" for truth in Truth)
    rare = {name: seen[name] for name in (*whats, *exempted) if seen[name] < 10}
    assert not rare, rare
