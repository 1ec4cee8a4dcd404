"""Whether conditions can hold together at all, whatever the facts are; in doubt they can."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from sweeprules.engine.catalogue import Catalogue, FieldDef
from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Unknown, Value
from sweeprules.engine.language.ast import (
    All,
    Any,
    Compare,
    Condition,
    Const,
    Not,
    ParamRef,
    Path,
    Policy,
    Right,
    RuleIs,
    Signalled,
    Test,
)
from sweeprules.engine.language.canon import plain_data
from sweeprules.engine.truth import FALSE, TRUE, Truth

MOST = 500
"""Combinations of alternatives that are tried before two conditions are taken to go together."""
_LENIENT = frozenset({"contains", "contains_any", "glob", "regex", "matches"})
"""Tests of a text that a few texts can not stand for."""
_TEXT_BASES = frozenset({"text", "enum"})
_ORDERED = frozenset({"integer", "number", "ratio", "duration", "time", "bytes"})


_Tests = Sequence[tuple[Compare, "Asked"]]


class Asked(Enum):
    """What is asked of a condition: that it is true, is false, is not true, is not false."""

    TRUE = "true"
    FALSE = "false"
    NOT_TRUE = "not true"
    NOT_FALSE = "not false"

    def met(self, truth: Truth) -> bool:
        """Whether a truth is what is asked for."""
        if self in {Asked.TRUE, Asked.NOT_TRUE}:
            return (truth is TRUE) is (self is Asked.TRUE)
        return (truth is FALSE) is (self is Asked.FALSE)


_DENIED = {
    Asked.TRUE: Asked.FALSE,
    Asked.FALSE: Asked.TRUE,
    Asked.NOT_TRUE: Asked.NOT_FALSE,
    Asked.NOT_FALSE: Asked.NOT_TRUE,
}
_UPWARD = frozenset({Asked.TRUE, Asked.NOT_FALSE})
"""All of an `all` have to be so; of the other two one is enough."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One condition and what is asked of it."""

    node: Condition | Signalled
    asked: Asked


class Possible:
    """Answers for one policy."""

    def __init__(self, policy: Policy, catalogue: Catalogue) -> None:
        self._policy = policy
        self._catalogue = catalogue
        self._keys: dict[int, tuple[Condition | Signalled, str]] = {}

    def together(self, wishes: Iterable[Wish]) -> bool:
        """False only when no facts at all make every wish come true."""
        options = [_options(part) for wish in wishes for part in _conjuncts(wish)]
        # What has no alternative is looked at first: it may clash by itself, however many there are of the rest.
        if not self._go_together([one for ways in options if len(ways) == 1 for one in ways[0]]):
            return False
        for tried, chosen in enumerate(itertools.product(*options)):
            if tried >= MOST or self._go_together(list(itertools.chain(*chosen))):
                return True
        return False

    def _go_together(self, wishes: Sequence[Wish]) -> bool:
        if self._denies_itself(wishes):
            return False
        fields: dict[tuple[str, str], list[Wish]] = {}
        for wish in wishes:
            if isinstance(wish.node, Test):
                path = wish.node.path
                fields.setdefault((path.scope, path.text), []).append(wish)
        return all(self._some_value(found) for found in fields.values())

    def _some_value(self, wishes: Sequence[Wish]) -> bool:
        """Whether a value of one field makes all of these tests come out as asked."""
        tests = [(one.node, one.asked) for one in wishes if isinstance(one.node, Test)]
        path = tests[0][0].path
        compares = [(test.compare, asked) for test, asked in tests]
        values = None if any(test.possible for test, _ in compares) else self._candidates(path, compares)
        if values is None:
            return True
        return any(
            all(self._met(value, test, asked) for test, asked in compares) for value in (NOT_READ, ABSENT, *values)
        )

    def _candidates(self, path: Path, tests: _Tests) -> Iterable[FactValue] | None:
        """A few values that stand for all; None where there are no such few."""
        spec = self.spec(path)
        if path.type == "boolean":
            return (True, False)
        if spec is not None and spec.words and spec.type == "enum":
            return spec.words
        if path.type in _TEXT_BASES:
            return self._texts(tests)
        if path.type in _ORDERED:
            low, high = spec.range if spec is not None else (None, None)
            constants = self._constants(test for test, _ in tests)
            found = _numbers([*constants, *(end for end in (low, high) if end is not None)], path.type == "integer")
            return [one for one in found if (low is None or one >= low) and (high is None or one <= high)]
        return None

    def _denies_itself(self, wishes: Sequence[Wish]) -> bool:
        """Whether one condition is asked to be and not to be, or one rule to have two truths."""
        asked: dict[str, set[Asked]] = {}
        truths: dict[str, set[Truth]] = {}
        for wish in wishes:
            asked.setdefault(self._key(wish.node), set()).add(wish.asked)
            if isinstance(wish.node, RuleIs) and wish.asked is Asked.TRUE:
                truths.setdefault(wish.node.id, set()).add(wish.node.wanted)
        if any(len(found) > 1 for found in truths.values()):
            return True
        return any(not any(all(one.met(truth) for one in found) for truth in Truth) for found in asked.values())

    def _key(self, node: Condition | Signalled) -> str:
        # The node is kept beside its key, so that its id is not used again.
        if id(node) not in self._keys:
            self._keys[id(node)] = (node, key_of(node))
        return self._keys[id(node)][1]

    def spec(self, path: Path) -> FieldDef | None:
        """What the catalogue says of a field; None of one that the policy made."""
        kind = self._catalogue.kinds.get(path.kind)
        return kind.fields.get(path.field) if kind is not None else None

    def _texts(self, tests: _Tests) -> list[str] | None:
        """Every text that is named, and one that begins with it and goes on as none does."""
        fixed = [test for test, asked in tests if asked is Asked.TRUE and test.op in {"eq", "in"} and not test.fold]
        if any(not isinstance(right, Const | ParamRef) for test in fixed for right in test.rights):
            return None
        if fixed:
            return sorted({one for one in self._constants(fixed) if isinstance(one, str)})
        if any(test.op in _LENIENT or test.fold for test, _ in tests):
            return None
        named = sorted({one for one in self._constants(test for test, _ in tests) if isinstance(one, str)})
        return [*named, *(f"{text}\uffff" for text in ("", *named))]

    def _constants(self, tests: Iterable[Compare]) -> list[Value]:
        found: list[Value] = []
        for test in tests:
            for right in test.rights:
                for value in self.values(right) or ():
                    found.extend(value if isinstance(value, tuple) else (value,))
        return found

    def values(self, right: Right) -> tuple[Value, ...] | None:
        """All values that a right side can have; None where they depend on facts."""
        if isinstance(right, Const):
            return (right.value,)
        if isinstance(right, ParamRef):
            param = self._policy.params[right.name]
            return (param.default, *(row.value for row in param.overrides))
        return None

    def _met(self, value: FactValue, test: Compare, asked: Asked) -> bool:
        """Whether the test comes out as asked for some value of its right sides."""
        known = [self.values(right) for right in test.rights]
        if any(one is None for one in known):
            # A right side that is read can have any value, or none; it only matters where the left one is known.
            if not isinstance(value, Unknown | Absent) or test.default is not None:
                return True
            return asked.met(compare(test, value, [NOT_READ] * len(known)))
        choices = itertools.product(*(one for one in known if one is not None))
        return any(asked.met(compare(test, value, rights, self._policy.patterns)) for rights in choices)


def _numbers(constants: Iterable[Value], whole: bool) -> Iterator[float]:
    """Numbers at, between and beyond the constants: an ordering test can not tell more than these."""
    points = sorted({one for one in constants if isinstance(one, int | float) and not isinstance(one, bool)})
    if not points:
        yield 0
        return
    yield points[0] - 1
    yield points[-1] + 1
    for low, high in itertools.pairwise(points):
        if not whole:
            yield (low + high) / 2
        elif high - low > 1:
            yield int(low) + 1
    yield from (point for point in points if not whole or point == int(point))


# ---------------------------------------------------------------- alternatives


def _conjuncts(wish: Wish) -> Iterator[Wish]:
    """The wishes that all have to come true for this one to."""
    node, asked = wish.node, wish.asked
    if isinstance(node, Not):
        yield from _conjuncts(Wish(node.item, _DENIED[asked]))
    elif isinstance(node, All | Any) and isinstance(node, All) is (asked in _UPWARD):
        for item in node.items:
            yield from _conjuncts(Wish(item, asked))
    else:
        yield wish


def _options(wish: Wish) -> list[list[Wish]]:
    """The ways in which a wish can come true, each a list of wishes about single conditions; cut after MOST + 1."""
    node, asked = wish.node, wish.asked
    if isinstance(node, Not):
        return _options(Wish(node.item, _DENIED[asked]))
    if not isinstance(node, All | Any):
        return [[wish]]
    inner = [_options(Wish(item, asked)) for item in node.items]
    if isinstance(node, All) is (asked in _UPWARD):
        chosen = itertools.islice(itertools.product(*inner), MOST + 1)
        return [list(itertools.chain(*one)) for one in chosen]
    return [one for options in inner for one in options][: MOST + 1]


def key_of(node: Condition | Signalled) -> str:
    """The same text for conditions that say the same."""
    return json.dumps(plain_data(node), sort_keys=True)
