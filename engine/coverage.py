"""What rule tests show of the rules: each truth a rule may have, each condition both ways, each exemption at work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate import reasons
from sweeprules.engine.evaluate.plan import index
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Condition,
    Const,
    Exemption,
    Flagged,
    Not,
    Policy,
    Quantified,
    Rule,
    RuleIs,
    Signalled,
    Test,
)
from sweeprules.engine.language.walk import Part, parts
from sweeprules.engine.ruletests import Judged, RuleTest, judge_test
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import ConditionProof


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a test can show, where it is written, and whether one did: `never true`, `log_age never false`."""

    text: str
    mark: Mark
    shown: bool


@dataclass(frozen=True, slots=True)
class Covered:
    """All points of one rule or exemption; `owner` is `rule ID` or `exemption ID`."""

    owner: str
    mark: Mark
    points: tuple[Point, ...]

    @property
    def gaps(self) -> tuple[Point, ...]:
        """The points that no test showed, in order of place."""
        return tuple(point for point in self.points if not point.shown)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Rules and exemptions in the order of the policy."""

    parts: tuple[Covered, ...]

    @property
    def shown(self) -> int:
        """How many points some test showed."""
        return sum(point.shown for part in self.parts for point in part.points)

    @property
    def total(self) -> int:
        """How many points there are."""
        return sum(len(part.points) for part in self.parts)

    @property
    def percent(self) -> float:
        """How many of a hundred points some test showed, rounded down to a tenth; 100 where there is none."""
        return 1000 * self.shown // self.total / 10 if self.total else 100.0

    @property
    def gaps(self) -> tuple[tuple[Covered, Point], ...]:
        """What no test showed, with the rule or exemption that it belongs to."""
        return tuple((part, point) for part in self.parts for point in part.gaps)


def coverage(
    policy: Policy, catalogue: Catalogue, tests: Iterable[RuleTest], measured: Callable[[str], bool] = lambda _: True
) -> Coverage:
    """What the worlds of the tests show of the rules and exemptions in the files that are `measured`.

    A point is shown by a world in which it comes about, whether or not the test expects anything of it. Of a rule these
    are its truths (unknown only where a condition of it can be), and of each condition that has no condition below it,
    and each branch of an `any`, that it was true and that it was false. Of an exemption these are its conditions, and
    that a flag was exempt because of it.
    """
    rules = [rule for rule in policy.rules.values() if measured(rule.mark.file)]
    exemptions = [one for one in policy.exemptions if measured(one.mark.file)]
    seen = _Seen()
    for test in tests:
        _witness(test, judge_test(test, policy, catalogue), rules, exemptions, seen)
    found = [_of_rule(rule, seen) for rule in rules]
    return Coverage((*found, *(_of_exemption(one, seen) for one in exemptions)))


# ---------------------------------------------------------------- what the tests show


class _Seen:
    """Truths by rule, by condition (the very object in the policy) and the exemptions that were at work."""

    def __init__(self) -> None:
        self.rules: dict[str, set[Truth]] = {}
        self.conditions: dict[int, set[Truth]] = {}
        self.exempting: set[str] = set()

    def of(self, node: Part) -> set[Truth]:
        return self.conditions.setdefault(id(node), set())


class _Witness(Prover):
    """A prover that notes the truth of every condition it comes by."""

    def __init__(self, judged: Judged, test: RuleTest, seen: _Seen) -> None:
        super().__init__(judged.policy, test.given.world, judged.truths, index(judged.policy))
        self._seen = seen

    def condition(self, condition: Condition, scope: Scope) -> ConditionProof:
        proof = super().condition(condition, scope)
        self._seen.of(condition).add(proof.truth)
        return proof

    def _operand(self, item: Condition | Signalled, scope: Scope) -> tuple[reasons.Operand, ConditionProof]:
        operand, proof = super()._operand(item, scope)
        if isinstance(item, Signalled) and operand.truth is not None:
            self._seen.of(item).add(operand.truth)
        return operand, proof


def _witness(
    test: RuleTest, judged: Judged, rules: Sequence[Rule], exemptions: Sequence[Exemption], seen: _Seen
) -> None:
    witness = _Witness(judged, test, seen)
    refs: Mapping[str, list[Ref]] = {
        kind: [subject.ref for subject in test.given.world.of_kind(kind)]
        for kind in {rule.on for rule in rules} | {exemption.on for exemption in exemptions}
    }
    for rule in rules:
        for ref in refs[rule.on]:
            witness.rule(rule.id, ref)
            seen.rules.setdefault(rule.id, set()).add(judged.truths.truth(rule.id, ref))
    for exemption in exemptions:
        for ref in refs[exemption.on]:
            witness.exemption(exemption, ref)
    seen.exempting |= {flag.exemption for v in judged.verdicts.values() for flag in v.flags if flag.exempt}


# ---------------------------------------------------------------- what there is to show


def _of_rule(rule: Rule, seen: _Seen) -> Covered:
    conditions = [rule.when] if rule.unless is None else [rule.when, rule.unless]
    truths = seen.rules.get(rule.id, set())
    wanted = [TRUE, FALSE]
    if rule.needs or any(_in_doubt(part) for condition in conditions for part in parts(condition)):
        wanted.append(UNKNOWN)
    points = [Point(f"never {truth.word}", rule.mark, truth in truths) for truth in wanted]
    for condition in conditions:
        points += _branches(condition, seen, rule.mark)
    return Covered(f"rule {rule.id}", rule.mark, tuple(points))


def _of_exemption(one: Exemption, seen: _Seen) -> Covered:
    exempt = Point("no flag was ever exempt by it", one.mark, one.id in seen.exempting)
    return Covered(f"exemption {one.id}", one.mark, (exempt, *_branches(one.when, seen, one.mark)))


def _branches(condition: Condition, seen: _Seen, mark: Mark) -> Iterator[Point]:
    """The leaves of a condition and the branches of its `any`, each both ways."""
    alternatives = {id(item) for part in parts(condition) if isinstance(part, Any) for item in part.items}
    for part in parts(condition):
        if isinstance(part, All | Any | Not) and id(part) not in alternatives:
            continue
        for truth in (TRUE, FALSE):
            yield Point(f"{_said(part)} never {truth.word}", part.mark, truth in seen.of(part))


def _said(part: Part) -> str:
    if isinstance(part, Test | Quantified):
        return f"`{part.text}`"
    if isinstance(part, Flagged):
        return f"`flagged: {part.flag}`"
    if isinstance(part, RuleIs):
        return f"`rule: {part.id} is {part.wanted.word}`"
    if isinstance(part, Signalled):
        return f"signal {part.name}"
    words: dict[type, str] = {All: "the branch `all`", Any: "the branch `any`", Not: "the branch `not`"}
    return words.get(type(part), "`at_least`")


def _in_doubt(part: Part) -> bool:
    """Can this condition itself be unknown? Not one that asks what is known, or of a rule, or that has a default."""
    if isinstance(part, Test):
        test = part.compare
        settled = test.default is not None and all(isinstance(right, Const) for right in test.rights)
        return test.op not in ("known", "unknown") and not settled
    return isinstance(part, Flagged | Quantified | Signalled | AtLeast)
