"""The shipped policy on made-up worlds: both evaluators agree on it, and durable-rules does most of the work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli.loading import Loaded, choose_site, compile_site
from sweeprules.engine.catalogue import Catalogue, FieldDef
from sweeprules.engine.durable.checked import check, leaf_report, with_exemptions
from sweeprules.engine.durable.compile import computed
from sweeprules.engine.durable.program import program
from sweeprules.engine.durable.reads import sources
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language import ast
from tests.engine.durable.safe import assert_safe

ROOT = Path(__file__).resolve().parents[3]
JOBS = 250


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return compile_site(choose_site(ROOT))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def test_most_leaves_are_computed_by_durable_rules_and_nothing_is_left_out(loaded: Loaded) -> None:
    made = program(loaded.policy)
    assert not made.left_out
    for unit in made.units:
        assert_safe(unit)
    own, lowered = leaf_report(loaded.policy)
    assert own > lowered


def test_a_rule_of_one_lowered_leaf_has_no_other(loaded: Loaded) -> None:
    """A rule with several leaves is never handed over as one precomputed answer: each leaf is a column of its own."""
    for rule in loaded.policy.rules.values():
        leaves = list(computed(loaded.policy, rule.when))
        assert len(leaves) == 1 or not isinstance(rule.when, ast.Quantified)


class Maker:
    """Makes worlds of one policy: values that its tests ask about, some near its thresholds, some unknown or absent."""

    def __init__(self, policy: ast.Policy, catalogue: Catalogue, seed: int) -> None:
        self.rng = random.Random(seed)
        self.catalogue = catalogue
        self.asked: dict[str, list[Any]] = {}
        conditions = [c for r in policy.rules.values() for c in (r.when, r.unless) if c is not None]
        conditions += [e.when for e in policy.exemptions]
        conditions += [c.when for choices in policy.decide.values() for c in choices if c.when is not None]
        for condition in conditions:
            self._constants(condition)
        self.numbers = [p.default for p in policy.params.values() if isinstance(p.default, int | float)]
        self.lines = [p.literal for p in policy.patterns.values()]
        self.read = {(s.kind, s.field) for c in conditions for s in sources(c) if isinstance(s, ast.Path)}

    def _constants(self, node: Any) -> None:
        if isinstance(node, ast.Test):
            for right in node.compare.rights:
                if isinstance(right, ast.Const):
                    values = right.value if isinstance(right.value, tuple) else (right.value,)
                    self.asked.setdefault(node.path.field, []).extend(values)
        for name in ("items", "of"):
            for item in getattr(node, name, ()) if isinstance(getattr(node, name, ()), tuple) else ():
                self._constants(item)
        for name in ("item", "where", "holds"):
            if getattr(node, name, None) is not None:
                self._constants(getattr(node, name))

    def world(self) -> World:
        """A sweep of two clusters."""
        sweep = Ref("sweep", "s")
        subjects = {sweep: Subject(sweep, {"now": 1_800_000_000.0, **self.facts("sweep")})}
        clusters = [Ref("cluster", name) for name in ("leonardo", "tacc")]
        jobs = [Ref("job", f"{clusters[i % 2].key}:{i}") for i in range(JOBS)]
        runs = [Ref("run", f"run:{i}") for i in range(JOBS // 2)]
        for ref in clusters:
            subjects[ref] = Subject(ref, {**self.facts("cluster"), "name": ref.key})
        for ref in runs:
            subjects[ref] = Subject(ref, self.facts("run"), {}, {"links": self.many(jobs), "row": self.some(jobs)})
        for i, ref in enumerate(jobs):
            relations = {
                "cluster": Relation((clusters[i % 2],)),
                "run": self.some(runs),
                "next_link": self.some(jobs),
                "prior_link": self.some(jobs),
                "siblings": self.many(jobs),
            }
            kept = {name: relation for name, relation in relations.items() if self.rng.random() < 0.9}
            facts = {**self.facts("job"), "cluster": clusters[i % 2].key}
            subjects[ref] = Subject(ref, facts, {}, kept, self.rng.random() < 0.95)
        return World(subjects)

    def facts(self, kind: str) -> dict[str, FactValue]:
        """Facts of one subject: those that rules read, and a few more."""
        found: dict[str, FactValue] = {}
        for name, field in self.catalogue.kinds[kind].fields.items():
            if (kind, name) in self.read and self.rng.random() < 0.9:
                found[name] = self.value(field)
        return found

    def value(self, field: FieldDef) -> FactValue:
        """One value of a field."""
        chance = self.rng.random()
        if chance < 0.1:
            return Unknown(self.rng.choice([Reason.NOT_READ, Reason.CUT, Reason.READ_FAILED]))
        if chance < 0.2:
            return self.rng.choice([ABSENT, NOT_APPLICABLE])
        match field.type:
            case "boolean":
                return self.rng.random() < 0.5
            case "interval":
                low = self.rng.randrange(8)
                return self.rng.choice([low, Interval(low, low + 2), Interval(low, None)])
            case "list":
                return tuple(self.rng.sample([*map(str, self.asked.get(field.name, [])), "x", "y"], 2))
            case "map" | "record-list":
                return {} if field.type == "map" else ()
            case "text" | "enum":
                asked = [v for v in self.asked.get(field.name, []) if isinstance(v, str)]
                words = [*asked, *(getattr(field, "words", None) or ())] or ["word"]
                word = str(self.rng.choice(words))
                return word if field.type == "enum" else self.rng.choice([word, f"{word}-x", f"a {word}", "other"])
        near = float(self.rng.choice([*self.numbers, 0, 1, *self._known(field.name)]))
        number = self.rng.choice([near, near + 1, near - 1, near * 3 + 0.5])
        return int(number) if field.type == "integer" else number

    def _known(self, name: str) -> list[float]:
        return [v for v in self.asked.get(name, []) if isinstance(v, int | float)]

    def some(self, refs: list[Ref]) -> Relation:
        """A relation of at most one."""
        return Relation((self.rng.choice(refs),) if self.rng.random() < 0.6 else ())

    def many(self, refs: list[Ref]) -> Relation:
        """A relation of a few, at times not whole."""
        members = tuple(self.rng.sample(refs, self.rng.randrange(4)))
        return Relation(members, self.rng.choice([Completeness.WHOLE, Completeness.WHOLE, Completeness.PARTIAL]))


@pytest.mark.parametrize("seed", range(4))
def test_both_evaluators_agree_on_made_up_worlds(loaded: Loaded, session: Session, seed: int) -> None:
    policy = loaded.policy
    world = Maker(policy, loaded.catalogue, seed).world()
    truths = evaluate(policy, world)
    seen = with_exemptions(truths, judge(policy, world, loaded.catalogue, truths))
    result = check(policy, world, seen, session=session)
    assert result.status == "equal", result.failure or result.divergence
    assert not result.skipped
    fired = {rule for rule, _ in truths.firings()}
    assert len(fired) > len(policy.rules) / 3
