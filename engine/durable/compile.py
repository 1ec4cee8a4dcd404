"""A policy as nodes: for each rule the branches in which it is true and, where others negate it, where it is false.

What is left to durable-rules: comparisons, limits, membership, presence, quorums, and the chaining over flags, signals,
rules and exemptions. What is computed beforehand and handed over as a column: name patterns, arithmetic, picks, counts
(their comparison is not), quantifiers, and the few tests that need a value which the engine can not hold.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sweeprules.engine.durable.dnf import (
    ALWAYS,
    NEVER,
    Blocked,
    Carried,
    Column,
    Counted,
    Derived,
    Evaluable,
    Field,
    Formula,
    Held,
    Holds,
    Is,
    Key,
    LimitIs,
    Lowered,
    RightSide,
    RuleTruth,
    both,
    either,
    one,
)
from sweeprules.engine.durable.leaves import ABSENT, KNOWN, MustLowerError, comparison, leaf
from sweeprules.engine.durable.reads import needed
from sweeprules.engine.evaluate.plan import CARRIED
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Compare,
    Condition,
    Const,
    Exemption,
    Flagged,
    Not,
    ParamRef,
    Path,
    Policy,
    Quantified,
    Raise,
    Right,
    Rule,
    RuleIs,
    Signal,
    Signalled,
    Test,
)
from sweeprules.engine.truth import FALSE, TRUE

MOST_BRANCHES = 6
"""Largest product that a conjunction is written out to; beyond it a disjunction becomes a node of its own."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A quorum: `needed` of the operands, each a node with an ordinal, hold of one subject."""

    operands: tuple[Key, ...]
    needed: int


@dataclass(frozen=True, slots=True)
class Node:
    """Something that durable-rules finds to hold of subjects of one kind: by any of its branches, or by a quorum."""

    key: Key
    kind: str
    body: Formula | Ladder


@dataclass(slots=True)
class Compiled:
    """All nodes of a policy, each key once."""

    nodes: dict[Key, Node] = field(default_factory=dict)


def word(want: bool) -> Literal["true", "false"]:
    """The side of a node's key."""
    return "true" if want else "false"


class Compiler:
    """Compiles one policy; `compiled` grows as nodes are asked for."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.compiled = Compiled()
        self._raisers: dict[tuple[str, str, str], dict[str, Rule]] = defaultdict(dict)
        for rule in policy.rules.values():
            for consequence in rule.then:
                if isinstance(consequence, Raise):
                    self._raisers["flag", consequence.flag, rule.on][rule.id] = rule
                if isinstance(consequence, Signal):
                    self._raisers["signal", consequence.name, rule.on][rule.id] = rule
        self._lowered: dict[int, Lowered] = {}
        self._evaluables: dict[int, Evaluable] = {}
        self._blocked: dict[int, Blocked] = {}

    def everything(self) -> Compiled:
        """The true side of every rule and exemption, and whatever these need."""
        for rule in self.policy.rules.values():
            self.rule(rule.id, True)
        for exemption in self.policy.exemptions:
            self._exemption(exemption)
        return self.compiled

    # ------------------------------------------------------------ nodes

    def rule(self, name: str, want: bool) -> Key:
        """The node of a rule's truth or falsity."""
        key = ("rule", name, word(want))
        rule = self.policy.rules[name]
        if self._open(key, rule.on):
            self._close(key, self._rule_formula(rule, want))
        return key

    def _open(self, key: Key, kind: str) -> bool:
        if key in self.compiled.nodes:
            return False
        self.compiled.nodes[key] = Node(key, kind, NEVER)
        return True

    def _close(self, key: Key, body: Formula | Ladder) -> None:
        self.compiled.nodes[key] = replace(self.compiled.nodes[key], body=body)

    def _rule_formula(self, rule: Rule, want: bool) -> Formula:
        """The rule's own conditions, and its needs: an absent one makes it false, an unknown one unknown."""
        body = self._body(rule, want)
        needs = [Column(Field(needed(rule, name)), "p") for name in rule.needs]
        if want:
            return self._conjunction([body, *(one(Is(column, "eq", KNOWN)) for column in needs)], rule.on)
        return either([body, *(one(Is(column, "eq", ABSENT)) for column in needs)])

    def _body(self, rule: Rule, want: bool) -> Formula:
        """What the rule says, and that it has been so for long enough."""
        body = self._said(rule, want)
        if rule.hold is None:
            return body
        long_enough = one(Is(Column(Held(rule.id, rule.hold), "c"), "eq", 2 if want else 0))
        return self._conjunction([body, long_enough], rule.on) if want else either([body, long_enough])

    def _said(self, rule: Rule, want: bool) -> Formula:
        """`when` and not `unless`; an unknown `unless` holds the rule back unless it says to fire."""
        when = self.formula(rule.when, rule.on, want)
        if rule.unless is None:
            return when
        if not want:
            return either([when, self.formula(rule.unless, rule.on, True)])
        if rule.if_unknown == "hold":
            return self._conjunction([when, self.formula(rule.unless, rule.on, False)], rule.on)
        blocks = self._named(("unless", rule.id, "true"), rule.on, self.formula(rule.unless, rule.on, True))
        return self._conjunction([when, one(Is(Column(Holds(blocks), "c"), "eq", 0))], rule.on)

    def _exemption(self, exemption: Exemption) -> None:
        """An exemption holds where its condition does, before it expires."""
        key = ("exemption", exemption.id, "true")
        if self._open(key, exemption.on):
            parts = [self.formula(exemption.when, exemption.on, True)]
            if exemption.expires is not None:
                now = Path(("sweep",), "now", "sweep", "time")
                before = Compare("lt", (Const(exemption.expires),))
                parts.append(self._test(Test(now, before, exemption.mark, "expires"), True))
            self._close(key, self._conjunction(parts, exemption.on))

    def _named(self, key: Key, kind: str, body: Formula | Ladder) -> Key:
        if self._open(key, kind):
            self._close(key, body)
        return key

    def _raised(self, flag: str, kind: str, want: bool) -> Formula:
        """A flag: the greatest truth of the rules that raise it on this subject, or on what is carried to it."""
        parts = [one(Derived(self.rule(name, want))) for name in self._raisers["flag", flag, kind]]
        for other, (_, to, _) in CARRIED.items():
            if to == kind and other not in self.policy.flags[flag].subjects:
                for name in self._raisers["flag", flag, other]:
                    parts.append(one(Is(Column(Carried(name), "c"), "eq", 2 if want else 0)))
        if not parts:
            return NEVER if want else ALWAYS
        if len(parts) == 1:
            return parts[0]
        key = ("flag", flag, kind, word(want))
        if key not in self.compiled.nodes:
            self._named(key, kind, either(parts) if want else self._conjunction(parts, kind))
        return one(Derived(key))

    def _signalled(self, signal: str, kind: str, want: bool) -> Formula:
        """A signal is true where a rule that gives it is; it can not become true where each of them is false or absent.

        An unknown need makes a signal unknown even where the rule's conditions are false.
        """
        rules = self._raisers["signal", signal, kind]
        if want:
            return either(one(Derived(self.rule(name, True))) for name in rules)
        return self._conjunction([self._silent(rule) for rule in rules.values()], kind) if rules else ALWAYS

    def _silent(self, rule: Rule) -> Formula:
        if not rule.needs:
            return one(Derived(self.rule(rule.id, False)))
        key = ("silent", rule.id, "false")
        if self._open(key, rule.on):
            needs = [Column(Field(needed(rule, name)), "p") for name in rule.needs]
            told = self._conjunction([self._body(rule, False), *(one(Is(n, "eq", KNOWN)) for n in needs)], rule.on)
            self._close(key, either([told, *(one(Is(n, "eq", ABSENT)) for n in needs)]))
        return one(Derived(key))

    # ------------------------------------------------------------ conditions

    def formula(self, condition: Condition, kind: str, want: bool) -> Formula:
        """The branches in which a condition is true (`want`) or false of a subject of `kind`."""
        match condition:
            case All() | Any():
                parts = [self.formula(item, kind, want) for item in condition.items]
                return self._conjunction(parts, kind) if isinstance(condition, All) is want else either(parts)
            case Not():
                return self.formula(condition.item, kind, not want)
            case Flagged():
                return self._raised(condition.flag, kind, want)
            case RuleIs():
                return self._rule_is(condition, want)
            case AtLeast():
                return self._at_least(condition, kind, want)
            case Test():
                return self._test(condition, want)
            case Quantified():
                return self._quantified(condition, want)

    def _test(self, test: Test, want: bool) -> Formula:
        try:
            found = leaf(self.policy, test, want)
        except MustLowerError:
            return self._beforehand(test, want)
        return found

    def _quantified(self, condition: Quantified, want: bool) -> Formula:
        if condition.which in ("count", "sum") and condition.compare is not None:
            try:
                found = comparison(self.policy, Counted(condition), _counted_type(condition), condition.compare, want)
            except MustLowerError:
                pass
            else:
                return found
        return self._beforehand(condition, want)

    def _beforehand(self, condition: Condition, want: bool) -> Formula:
        origin = self._lowered.setdefault(id(condition), Lowered(condition))
        return one(Is(Column(origin, "c"), "eq", 2 if want else 0))

    def _rule_is(self, condition: RuleIs, want: bool) -> Formula:
        if want and condition.wanted in (TRUE, FALSE):
            return one(Derived(self.rule(condition.id, condition.wanted is TRUE)))
        # Its opposite, and unknown, are only settled once the rule is: a later part of the program reads its truth.
        self.rule(condition.id, True)
        self.rule(condition.id, False)
        column = Column(RuleTruth(condition.id), "c")
        return one(Is(column, "eq" if want else "neq", int(condition.wanted)))

    def _conjunction(self, parts: Sequence[Formula], kind: str) -> Formula:
        """Both, written out while that is small; the widest disjunctions become nodes of their own."""
        parts = list(parts)
        while _product(parts) > MOST_BRANCHES:
            widest = max(range(len(parts)), key=lambda i: len(parts[i]))
            key = ("or", kind, str(sum(1 for k in self.compiled.nodes if k[0] == "or")), "true")
            parts[widest] = one(Derived(self._named(key, kind, parts[widest])))
        return both(parts)

    # ------------------------------------------------------------ quorums

    def _at_least(self, condition: AtLeast, kind: str, want: bool) -> Formula:
        parts = []
        if condition.n is not None:
            parts.append(self._quorum(condition, condition.n, kind, want))
        if condition.evaluable is not None:
            parts.append(self._evaluable(condition, condition.evaluable, want))
        if condition.ignoring:
            origin = self._blocked.setdefault(id(condition), Blocked(condition))
            parts.append(one(Is(Column(origin, "c"), "eq", 2 if want else 0)))
        return self._conjunction(parts, kind) if want else either(parts)

    def _evaluable(self, condition: AtLeast, compare: Compare, want: bool) -> Formula:
        origin = self._evaluables.setdefault(id(condition), Evaluable(condition))
        return comparison(self.policy, origin, "integer", compare, want)

    def _quorum(self, condition: AtLeast, n: Right, kind: str, want: bool) -> Formula:
        """True: n operands are true. False: so many are false or absent that n can not be reached any more."""
        operands = [self._operand(operand, kind, want) for operand in condition.of]
        total = len(operands)
        if isinstance(n, ParamRef) and not self.policy.params[n.name].overrides:
            n = Const(self.policy.params[n.name].default)
        if isinstance(n, Const):
            return self._reach(operands, _needed(n.value, total, want), kind)
        status, value = Column(RightSide(n), "p"), Column(RightSide(n), "n")
        known = LimitIs(status, "eq", KNOWN)
        ends: Formula = one(known, LimitIs(value, "lte", 0))
        if not want:
            ends = either([one(LimitIs(status, "eq", ABSENT)), one(known, LimitIs(value, "gt", total))])
        choices = [ends]
        for count in range(1, total + 1):
            here = one(known, LimitIs(value, "gt", count - 1), LimitIs(value, "lte", count))
            choices.append(self._conjunction([here, self._reach(operands, _needed(count, total, want), kind)], kind))
        return either(choices)

    def _operand(self, operand: Condition | Signalled, kind: str, want: bool) -> Formula:
        if isinstance(operand, Signalled):
            return self._signalled(operand.name, kind, want)
        return self.formula(operand, kind, want)

    def _reach(self, operands: Sequence[Formula], needed: int, kind: str) -> Formula:
        if needed <= 0:
            return ALWAYS
        if needed > len(operands):
            return NEVER
        if needed == 1:
            return either(operands)
        if needed == len(operands):
            return self._conjunction(operands, kind)
        keys = tuple(self._operand_node(operand, kind) for operand in operands)
        number = str(sum(1 for k in self.compiled.nodes if k[0] == "quorum"))
        return one(Derived(self._named(("quorum", kind, number, "true"), kind, Ladder(keys, needed))))

    def _operand_node(self, operand: Formula, kind: str) -> Key:
        match operand:
            case (branch,) if len(branch) == 1:
                (only,) = branch
                if isinstance(only, Derived):
                    return only.node
        number = str(sum(1 for k in self.compiled.nodes if k[0] == "or"))
        return self._named(("or", kind, number, "true"), kind, operand)


def _needed(n: object, total: int, want: bool) -> int:
    if isinstance(n, bool) or not isinstance(n, int | float):
        raise TypeError(f"a quorum of {n!r}")
    return math.ceil(n) if want else total - math.ceil(n) + 1


def _counted_type(condition: Quantified) -> str:
    return "interval" if condition.which == "count" else "number"


def _product(parts: Sequence[Formula]) -> int:
    size = 1
    for part in parts:
        size *= max(len(part), 1)
    return size


def computed(policy: Policy, condition: Condition | Signalled) -> Iterator[bool]:
    """For each leaf of a condition: whether durable-rules computes it itself. A quantifier is one leaf."""
    match condition:
        case All() | Any():
            for item in condition.items:
                yield from computed(policy, item)
        case Not():
            yield from computed(policy, condition.item)
        case AtLeast():
            for operand in condition.of:
                yield from computed(policy, operand)
            yield from [True] * ((condition.n is not None) + (condition.evaluable is not None))
            yield from [False] * bool(condition.ignoring)
        case Test():
            yield _can(lambda: leaf(policy, condition, True)) and _can(lambda: leaf(policy, condition, False))
        case Quantified(which="count" | "sum", compare=compare) if compare is not None:
            kind = _counted_type(condition)
            yield _can(lambda: comparison(policy, Counted(condition), kind, compare, True))
        case Quantified():
            yield False
        case _:
            yield True


def _can(formula: Callable[[], Formula]) -> bool:
    try:
        formula()
    except MustLowerError:
        return False
    return True
