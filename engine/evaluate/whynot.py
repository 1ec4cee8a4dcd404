"""Why not: the smallest sets of conditions that would have to be otherwise for a rule to be true, and how far off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

from sweeprules.engine.evaluate import formula as f
from sweeprules.engine.evaluate.compare import compare, is_number
from sweeprules.engine.evaluate.plan import Behind
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Subject, Unknown
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import ConditionProof

MOST_SETS = 8
MOST_LEAVES = 4
FARTHEST = 16
"""Conditions of the one set that is given where none is of `MOST_LEAVES`."""
SMALL = 12
"""Leaves of a rule behind a flag or a signal up to which they are named; of a larger one the flag itself is."""


@dataclass(frozen=True, slots=True)
class Need:
    """One condition that would have to be otherwise: what it is, what it needs, and how far off it is.

    `rule` is the rule in which it stands, `wanted` the truth that it would need. `distance` is how far a number is from
    its limit, in the unit of its field (`type`); `reason` why it is unknown. `key` tells conditions apart. `quorum`
    says in words how it stands with the `at_least` that the condition is an operand of, once in each set.
    """

    rule: str
    ref: Ref
    text: str
    truth: Truth
    wanted: Truth
    actual: str
    needed: str
    line: int
    key: f.Key
    distance: float | None = None
    type: str = ""
    reason: str = ""
    quorum: str = ""

    @property
    def words(self) -> str:
        """The need in a line: `grad_ratio = 1.96: false by 0.04, needs > 2 ($ratio_limit)`."""
        off = f" by {_apart(self.distance, self.type)}" if self.distance is not None else ""
        why = f" ({self.reason})" if self.reason and not self.actual else ""
        needs = self.needed if self.wanted is TRUE else f"not {self.needed}"
        quorum = f" [{self.quorum}]" if self.quorum else ""
        needs = f", needs {needs}" if self.needed else ""
        return f"{self.actual or self.text}: {self.truth.word}{off}{why}{needs}{quorum}"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What keeps a rule from being true on a subject.

    Each of `sets` is enough by itself, and no part of it is; the smallest and nearest stand first. `cut` is True where
    there may be more, or larger ones, than are given. For a rule that is true there is nothing to say.
    """

    rule: str
    ref: Ref
    truth: Truth
    sets: tuple[tuple[Need, ...], ...]
    cut: bool


def why_not(prover: Prover, rule_id: str, ref: Ref) -> WhyNot:
    """The smallest sets of conditions whose change would make a rule true on a judged subject.

    At most `MOST_SETS` sets of at most `MOST_LEAVES`; where there is none so small, one that is larger. Through flags,
    rules and signals it goes to the conditions of the rules behind them where these are few.
    """
    tree = _Tree(prover)
    whole = tree.rule(rule_id, ref)
    truth = f.value(whole, {})
    if truth is TRUE:
        return WhyNot(rule_id, ref, truth, (), cut=False)
    search = f.Search(MOST_LEAVES, tree.possible)
    changes = search.run(whole)
    if not changes and search.cut:
        changes = f.Search(FARTHEST, tree.possible, widest=MOST_LEAVES).run(whole)[:1]
    sets = [tree.needs(change) for change in changes]
    sets.sort(key=lambda needs: (len(needs), [_nearness(need) for need in needs]))
    cut = search.cut or tree.cut or len(sets) > MOST_SETS
    return WhyNot(rule_id, ref, truth, tuple(sets[:MOST_SETS]), cut)


def _nearness(need: Need) -> tuple[bool, float, str]:
    return need.truth is UNKNOWN, math.inf if need.distance is None else float(need.distance), repr(need.key)


@dataclass(frozen=True, slots=True)
class _Tested:
    """A test that can be asked of another value: its path from a subject, and its right sides there."""

    test: ast.Test
    subject: Ref
    rights: tuple[FactValue, ...]


class _Tree:
    """Builds the formula of a rule from its proof; leaves are described by `needs`."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self._open: list[str] = []
        self._leaves: dict[f.Key, Need] = {}
        self._tests: dict[f.Key, _Tested] = {}
        self._under: set[f.Key] = set()
        """Leaves behind something that is told by its name: what they would do to it is not worked out."""
        self._parts_of: dict[f.Key, set[str]] = {}
        """Leaf -> the rules that it is a part of, besides the one that is asked about."""
        self._read: dict[f.Key, tuple[ast.Condition | ast.Signalled, str]] = {}
        """Leaf -> its condition, and the kind that this is about."""
        self._through: set[f.Key] = set()
        """Conditions that are followed to what they are made of."""
        self._indirect: frozenset[str] | None = None
        self._quorums: dict[f.Key, str] = {}
        self.cut = False

    def needs(self, change: f.Change) -> tuple[Need, ...]:
        """The needs of a change, the nearest first."""
        found = sorted((replace(self._leaves[key], wanted=wanted) for key, wanted in change), key=_nearness)
        told: set[str] = set()
        for i, need in enumerate(found):
            quorum = self._quorums.get(need.key, "")
            if quorum not in told:
                told.add(quorum)
                found[i] = replace(need, quorum=quorum)
        return tuple(found)

    # ------------------------------------------------------------ rules

    def rule(self, rule_id: str, ref: Ref) -> f.Formula:
        """The formula of a rule on a subject."""
        needs, body = self._parts(rule_id, ref)
        return f.Several("all", (*needs, body))

    def _parts(self, rule_id: str, ref: Ref) -> tuple[tuple[f.Formula, ...], f.Formula]:
        rule = self._prover.policy.rules[rule_id]
        scope = Scope(self._prover.lens.world.subjects[ref])
        proofs = list(self._prover.rule(rule_id, ref).conditions)
        self._open.append(rule_id)
        needs = tuple(self._leaf(("known", name, ref), proofs.pop(0), rule_id, ref) for name in rule.needs)
        parts = [self._condition(rule.when, proofs.pop(0), rule_id, scope)]
        if rule.unless is not None:
            inner = self._condition(rule.unless, proofs.pop(0).parts[0], rule_id, scope)
            parts.append(f.Opposite(f.Sure(inner) if rule.if_unknown == "fire" else inner))
        if rule.hold is not None:
            parts.append(self._leaf(("for", rule_id, ref), proofs.pop(0), rule_id, ref))
        self._open.pop()
        return needs, f.Several("all", tuple(parts))

    def _behind(self, rule_id: str, ref: Ref) -> tuple[tuple[f.Formula, ...], f.Formula] | None:
        """The parts of a rule that another one reads; None where the rule reads itself."""
        if rule_id in self._open:
            self.cut = True
            return None
        return self._parts(rule_id, ref)

    def _short(self, whole: f.Formula, leaf: f.Leaf) -> f.Formula:
        """What is behind a name, or its name where that is much."""
        return whole if len(_keys([whole])) <= SMALL else f.Named(leaf.key, whole)

    # ------------------------------------------------------------ conditions

    def _condition(self, condition: ast.Condition, proof: ConditionProof, rule: str, scope: Scope) -> f.Formula:
        if isinstance(condition, ast.All | ast.Any):
            pairs = zip(condition.items, proof.parts, strict=True)
            parts = tuple(self._condition(item, part, rule, scope) for item, part in pairs)
            return f.Several("all" if isinstance(condition, ast.All) else "any", parts)
        if isinstance(condition, ast.Not):
            return f.Opposite(self._condition(condition.item, proof.parts[0], rule, scope))
        assert isinstance(scope.own, Subject)
        ref = scope.own.ref
        leaf = self._leaf((type(condition).__name__, _identity(condition), ref), proof, rule, ref)
        self._read[leaf.key] = (condition, ref.kind)
        if isinstance(condition, ast.Test):
            self._measure(condition, leaf.key, scope)
        elif isinstance(condition, ast.AtLeast):
            return self._followed(self._at_least(condition, proof, rule, scope), leaf)
        elif isinstance(condition, ast.Flagged | ast.RuleIs):
            whole = self._flagged(condition, ref) if isinstance(condition, ast.Flagged) else self._ruled(condition, ref)
            return self._followed(None if whole is None else self._short(whole, leaf), leaf)
        return leaf

    def _followed(self, whole: f.Formula | None, leaf: f.Leaf) -> f.Formula:
        """What a condition is made of, or itself where that is not told."""
        if whole is None:
            return leaf
        self._through.add(leaf.key)
        return whole

    def _ruled(self, condition: ast.RuleIs, ref: Ref) -> f.Formula | None:
        own = ref.kind == self._prover.policy.rules[condition.id].on
        parts = self._behind(condition.id, ref) if own else None
        return None if parts is None else f.Exactly(_whole(*parts), condition.wanted)

    def _flagged(self, condition: ast.Flagged, ref: Ref) -> f.Formula | None:
        parts: list[f.Formula] = []
        for other in self._prover.index.raisers.get(condition.flag, ()):
            found = self._behind(other.id, ref) if other.on == ref.kind else None
            if found is None:
                self._under |= _keys(parts)
                return None
            parts.append(_whole(*found))
        return f.Several("any", tuple(parts)) if parts else None

    def _at_least(self, condition: ast.AtLeast, proof: ConditionProof, rule: str, scope: Scope) -> f.Formula | None:
        n = None if condition.n is None else self._prover.lens.right(condition.n, scope)
        plain = condition.evaluable is None and not condition.ignoring and is_number(n)
        parts: list[f.Formula] = []
        for item, part in zip(condition.of, proof.parts, strict=True):
            if isinstance(item, ast.Signalled):
                parts.append(self._signal(item, part, rule, scope))
            else:
                parts.append(self._condition(item, part, rule, scope))
        if plain and isinstance(n, int | float):
            told = self._stands(condition, proof, n, parts)
            for key in _keys(parts) if proof.truth is not TRUE else ():
                self._quorums.setdefault(key, told)
            return f.Quorum(n, tuple(parts))
        self._under |= _keys(parts)
        return None

    def _signal(self, item: ast.Signalled, proof: ConditionProof, rule: str, scope: Scope) -> f.Formula:
        assert isinstance(scope.own, Subject)
        ref = scope.own.ref
        found = [self._behind(r.id, ref) for r in self._prover.index.signallers.get((ref.kind, item.name), ())]
        gated = [f.Gated(*parts) for parts in found if parts is not None]
        leaf = self._leaf(("Signalled", item.name, ref), proof, rule, ref)
        if not found or len(gated) < len(found):
            self._under |= _keys(gated)
            return leaf
        return self._short(gated[0] if len(gated) == 1 else f.Several("any", tuple(gated)), leaf)

    def _stands(self, condition: ast.AtLeast, proof: ConditionProof, n: float, parts: Sequence[f.Formula]) -> str:
        """How it stands with a quorum: `needs 2 of 4 signals; 1 true, 1 false by 0.04, 2 unknown (cut)`."""
        what = "signals" if all(isinstance(item, ast.Signalled) for item in condition.of) else "conditions"
        truths = [part.truth for part in proof.parts]
        off = [self._leaves[key] for part, t in zip(parts, truths, strict=True) if t is FALSE for key in _keys([part])]
        near = min((n for n in off if n.truth is FALSE and n.distance is not None), key=_nearness, default=None)
        doubts = [self._leaves[k] for part, t in zip(parts, truths, strict=True) if t is UNKNOWN for k in _keys([part])]
        told = [f"{truths.count(TRUE)} true"]
        if FALSE in truths:
            told.append(f"{truths.count(FALSE)} false{_by(near, truths.count(FALSE))}")
        if UNKNOWN in truths:
            why = ", ".join(dict.fromkeys(need.reason for need in doubts if need.reason))
            told.append(f"{truths.count(UNKNOWN)} unknown" + (f" ({why})" if why else ""))
        return f"needs {humanise(n)} of {len(truths)} {what}; {', '.join(told)}"

    # ------------------------------------------------------------ leaves

    def _leaf(self, key: f.Key, proof: ConditionProof, rule: str, ref: Ref) -> f.Leaf:
        self._parts_of.setdefault(key, set()).update(self._open[1:])
        if key not in self._leaves:
            unknown = [use.value for use in proof.facts if isinstance(use.value, Unknown)]
            reason = ""
            if proof.truth is UNKNOWN and unknown:
                reason = f"{unknown[0].reason}: {unknown[0].detail}" if unknown[0].detail else str(unknown[0].reason)
            self._leaves[key] = Need(
                rule, ref, proof.text, proof.truth, TRUE, proof.actual, proof.needed, proof.line, key, reason=reason
            )
        return f.Leaf(key, proof.truth)

    def _measure(self, condition: ast.Test, key: f.Key, scope: Scope) -> None:
        """Note how far the value of a test is from its limit, and what it can be tested against."""
        lens, test = self._prover.lens, condition.compare
        rights = tuple(lens.right(right, scope) for right in test.rights)
        assert isinstance(scope.own, Subject)
        self._tests[key] = _Tested(condition, scope.own.ref, rights)
        distance = _distance(test, lens.value(condition.path, scope), rights)
        old = self._leaves[key]
        if distance is not None and old.distance is None:
            self._leaves[key] = replace(old, distance=distance, type=condition.path.type)

    # ------------------------------------------------------------ what can be at once

    def possible(self, change: f.Change) -> bool:
        """Can one value satisfy all that a change asks of it? State RUNNING and PENDING at once can not be.

        A change of which it is not known what else it would change is left out too.
        """
        if any(key in self._under for key, _ in change) or self._reaches(change):
            self.cut = True
            return False
        asked: dict[object, list[tuple[_Tested, Truth]]] = {}
        for key, wanted in change:
            tested = self._tests.get(key)
            if tested is not None:
                asked.setdefault((tested.subject, repr(tested.test.path)), []).append((tested, wanted))
        return all(len(tests) == 1 or self._satisfiable(tests) for tests in asked.values())

    def _reaches(self, change: f.Change) -> bool:
        """Does it change a rule on which a condition builds by another way: a field that is set, a count of flags?"""
        changed = {rule for key, _ in change for rule in self._parts_of.get(key, ())}
        if changed and self._indirect is None:
            behind = Behind(self._prover.policy, self._prover.index)
            opaque = [self._read[key] for key in self._leaves if key in self._read and key not in self._through]
            self._indirect = frozenset().union(*(behind.rules(condition, kind) for condition, kind in opaque))
        return bool(changed and self._indirect and changed & self._indirect)

    def _satisfiable(self, tests: Sequence[tuple[_Tested, Truth]]) -> bool:
        if any(t.test.compare.op in _OPAQUE for t, _ in tests):
            return True
        patterns = self._prover.policy.patterns
        return any(
            all(compare(t.test.compare, value, t.rights, patterns) is wanted for t, wanted in tests)
            for value in _candidates(tests)
        )


_OPAQUE = frozenset({"regex", "glob", "matches", "contains", "contains_any", "unknown", "known"})


def _candidates(tests: Sequence[tuple[_Tested, Truth]]) -> Iterator[FactValue]:
    """Values among which one is that satisfies all tests that can be satisfied together, in the usual cases."""
    yield from (ABSENT, "", "?", True, False)
    flat = [v for t, _ in tests for right in t.rights for v in (right if isinstance(right, tuple) else (right,))]
    numbers = sorted(v for v in flat if isinstance(v, int | float) and is_number(v))
    yield from flat
    for low, high in pairwise(numbers):
        yield (low + high) / 2
    if numbers:
        yield from (numbers[0] - 1, numbers[-1] + 1)
    texts = [v for v in flat if isinstance(v, str)]
    for one, other in permutations(texts, 2):
        yield one + other


def _by(nearest: Need | None, several: int) -> str:
    """How far off the nearest of the operands is that are false."""
    if nearest is None or nearest.distance is None:
        return ""
    return f"{', one' if several > 1 else ''} by {_apart(nearest.distance, nearest.type)}"


def _apart(distance: float, kind: str) -> str:
    """How far two values of a type are from each other, in words: between two times lies a duration."""
    return humanise(distance, "duration" if kind == "time" else kind)


def _distance(test: ast.Compare, value: FactValue, rights: Sequence[FactValue]) -> float | None:
    """How far a number is from the nearest limit of a test; None for anything else."""
    if test.op not in ("lt", "le", "gt", "ge", "eq", "between") or not isinstance(value, int | float):
        return None
    limits = [right for right in rights if isinstance(right, int | float) and is_number(right)]
    if not is_number(value) or not limits or len(limits) != len(rights):
        return None
    off = min(abs(value - limit) for limit in limits)
    return off if math.isfinite(off) else None


def _identity(condition: ast.Condition) -> str:
    # repr and not ==: 1, 1.0 and True are equal to Python. Where a test stands in its file does not matter.
    if isinstance(condition, ast.Test):
        return repr((condition.path, condition.compare))
    if isinstance(condition, ast.Flagged):
        return condition.flag
    if isinstance(condition, ast.RuleIs):
        return f"{condition.id} {condition.wanted.word}"
    return repr(condition)


def _keys(parts: Iterable[f.Formula]) -> set[f.Key]:
    return {leaf.key for part in parts for leaf in f.leaves(part)}


def _whole(needs: tuple[f.Formula, ...], body: f.Formula) -> f.Formula:
    return f.Several("all", (*needs, body))
