"""Why not, over the whole language: each set of needs is enough, and no part of it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.whynot import MOST_LEAVES, MOST_SETS, Need, _identity, why_not
from sweeprules.engine.facts import ABSENT, Ref, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import TRUE, Truth
from tests.engine.strategies import MARK
from tests.engine.whole.cases import LENGTHS, Case, cases, examples

Flips = Mapping[tuple[Any, ...], Truth]


@pytest.mark.parametrize("count", LENGTHS)
def test_each_set_is_enough_and_no_part_of_it_is(count: int) -> None:
    seen: Counter[str] = Counter()

    @examples(count)
    @given(cases)
    def law(case: Case) -> None:
        truths = evaluate(*case)
        prover = Prover(case.policy, case.world, truths)
        for rule, ref in _asked(truths):
            found = why_not(prover, rule, ref)
            assert found.truth is truths.truth(rule, ref)
            assert len(found.sets) <= MOST_SETS
            seen["more"] += found.cut
            for needs in found.sets:
                assert 0 < len(needs) <= MOST_LEAVES or (found.cut and len(found.sets) == 1)
                seen.update(f"{need.key[0]}" for need in needs)
                seen["with distance"] += any(need.distance is not None for need in needs)
                seen[f"of {len(needs)}"] += 1
                assert supposing(case, needs, ref).truth(rule, ref) is TRUE, (rule, ref, needs)
                for part in combinations(needs, len(needs) - 1):
                    assert supposing(case, part, ref).truth(rule, ref) is not TRUE, (rule, ref, part)

    law()
    kinds = ("Test", "Flagged", "Quantified", "AtLeast", "known", "for", "with distance", "of 2", "of 3")
    rare = {kind: seen[kind] for kind in kinds if seen[kind] < count / 100}
    assert not rare, (rare, seen)


def _asked(truths: Truths) -> list[tuple[str, Ref]]:
    """Some rules of each kind of subject that are not true: all of them would take minutes and say no more."""
    quiet = [(rule, ref) for ref, row in sorted(truths.items()) for rule, t in row.items() if t is not TRUE]
    return quiet[:: max(1, len(quiet) // 6)]


def supposing(case: Case, needs: Iterable[Need], ref: Ref) -> Truths:
    """The truths where just these conditions are otherwise, on one subject."""
    flips = {need.key[:2]: need.wanted for need in needs}
    rules = {name: _flipped(rule, flips, ref) for name, rule in case.policy.rules.items()}
    facts = {r: replace(s, facts={**s.facts, "~": r.key, "gone": ABSENT}) for r, s in case.world.subjects.items()}
    return evaluate(replace(case.policy, rules=rules), World(facts), case.held)


def _flipped(rule: ast.Rule, flips: Flips, ref: Ref) -> ast.Rule:
    """The rule where conditions about one subject are supposed; its needs and its hold stand in `when` then."""
    if rule.on != ref.kind:
        return rule
    unless = None if rule.unless is None else _otherwise(rule.unless, flips, ref)
    parts = [_otherwise(rule.when, flips, ref)]
    changed = {name: flips[("known", name)] for name in rule.needs if ("known", name) in flips}
    needs = tuple(name for name in rule.needs if name not in changed)
    if any(truth is not TRUE for truth in changed.values()):
        needs = (*needs, "gone")
    hold = rule.hold
    if ("for", rule.id) in flips:
        hold = None
        parts.append(_always(flips["for", rule.id] is TRUE))
    return replace(rule, when=ast.All(tuple(parts), MARK), unless=unless, needs=needs, hold=hold)


def _otherwise(condition: Any, flips: Flips, ref: Ref) -> Any:
    name = condition.name if isinstance(condition, ast.Signalled) else _identity(condition)
    truth = flips.get((type(condition).__name__, name))
    if truth is not None:
        here = ast.Test(ast.Path((), "~", ref.kind, "text"), ast.Compare("eq", (ast.Const(ref.key),)), MARK, "here")
        if isinstance(condition, ast.Signalled):
            return _always(truth is TRUE)
        elsewhere = ast.All((ast.Not(here, MARK), condition), MARK)
        return ast.Any((ast.All((here, _always(truth is TRUE)), MARK), elsewhere), MARK)
    if isinstance(condition, ast.All | ast.Any):
        return replace(condition, items=tuple(_otherwise(item, flips, ref) for item in condition.items))
    if isinstance(condition, ast.Not):
        return replace(condition, item=_otherwise(condition.item, flips, ref))
    if isinstance(condition, ast.AtLeast):
        return replace(condition, of=tuple(_otherwise(item, flips, ref) for item in condition.of))
    return condition


def _always(truth: bool) -> ast.Condition:
    return ast.Test(ast.Path((), "nobody", "any", "text"), ast.Compare("known", wanted=not truth), MARK, "supposed")
