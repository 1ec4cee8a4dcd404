"""Formulas over leaves whose truths can be supposed otherwise: which leaves would have to change for one to hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Literal, NamedTuple

from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, negate

Key = tuple[object, ...]
"""What tells a leaf from others: the same test of the same subject is one leaf wherever it stands."""
Change = frozenset[tuple[Key, Truth]]
Supposed = Mapping[Key, Truth]
NOTHING: Change = frozenset()
WIDEST = 64
"""Sets of changes that are followed at one place."""
CHOICES = 1000
"""Choices of operands of a quorum that are tried."""
_TRIED_OUT = 6
"""Leaves of a change up to which all its parts are tried; of a larger one a leaf at a time is left out."""


class Leaf(NamedTuple):
    """Something that is true, false or unknown by itself."""

    key: Key
    truth: Truth


@dataclass(frozen=True, slots=True)
class Several:
    """`all` or `any` of its parts."""

    which: Literal["all", "any"]
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Opposite:
    """`not`."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Sure:
    """True where its part is true, else false: what `unless` is under `if_unknown: fire`."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Exactly:
    """`rule: {is: ...}`: true where its part has that truth, else false."""

    part: Formula
    wanted: Truth


@dataclass(frozen=True, slots=True)
class Quorum:
    """At least `n` of its parts."""

    n: float
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Gated:
    """A signal: false where a need is absent (false), unknown where one is unknown, else its body."""

    needs: tuple[Formula, ...]
    body: Formula


@dataclass(frozen=True, slots=True)
class Named:
    """A formula that is told by its name, and supposed as a whole; left alone it goes with its leaves."""

    key: Key
    part: Formula


Formula = Named | Leaf | Several | Opposite | Sure | Exactly | Quorum | Gated


def leaves(formula: Formula) -> Iterator[Leaf]:
    """All leaves, some perhaps more than once; what is told by its name is one."""
    if isinstance(formula, Leaf):
        yield formula
    elif isinstance(formula, Named):
        yield Leaf(formula.key, value(formula.part, {}))
    elif isinstance(formula, Opposite | Sure | Exactly):
        yield from leaves(formula.part)
    else:
        parts = (*formula.needs, formula.body) if isinstance(formula, Gated) else formula.parts
        for part in parts:
            yield from leaves(part)


def value(formula: Formula, supposed: Supposed) -> Truth:
    """The truth of a formula where some leaves are supposed to be otherwise."""
    if isinstance(formula, Leaf):
        return supposed.get(formula.key, formula.truth)
    if isinstance(formula, Named):
        return supposed[formula.key] if formula.key in supposed else value(formula.part, supposed)
    if isinstance(formula, Opposite):
        return negate(value(formula.part, supposed))
    if isinstance(formula, Sure):
        return TRUE if value(formula.part, supposed) is TRUE else FALSE
    if isinstance(formula, Exactly):
        return TRUE if value(formula.part, supposed) is formula.wanted else FALSE
    if isinstance(formula, Several):
        return (min if formula.which == "all" else max)(value(part, supposed) for part in formula.parts)
    if isinstance(formula, Gated):
        gate = min((value(need, supposed) for need in formula.needs), default=TRUE)
        return value(formula.body, supposed) if gate is TRUE else gate
    truths = [value(part, supposed) for part in formula.parts]
    sure, possible = truths.count(TRUE), len(truths) - truths.count(FALSE)
    return TRUE if sure >= formula.n else UNKNOWN if possible >= formula.n else FALSE


@dataclass(slots=True)
class Search:
    """Looks for the smallest changes; `cut` becomes true where something was left out.

    `most` bounds the leaves of one change, `possible` says whether a change can be at all, `widest` is how many are
    followed at one place.
    """

    most: int
    possible: Callable[[Change], bool] = lambda _: True
    widest: int = WIDEST
    cut: bool = False
    _rounds: int = field(default=4)

    def run(self, formula: Formula) -> list[Change]:
        """All changes found that make a formula true and of which no smaller part does; the smallest first."""
        found: set[Change] = set()
        tried: set[Change] = set()
        waiting = [NOTHING]
        for _ in range(self._rounds):
            more: list[Change] = []
            for base in waiting:
                for change in self._towards(formula, TRUE, dict(base)):
                    whole = base | change
                    if whole not in tried and _consistent(whole) and self._fits(whole):
                        tried.add(whole)
                        (found.add if value(formula, dict(whole)) is TRUE else more.append)(whole)
            # A leaf that stands in several places may have undone something: go on from there.
            waiting = more
        self.cut = self.cut or bool(waiting)
        least = {_least(formula, change) for change in found}
        return sorted((c for c in least if self.possible(c)), key=_rank)

    def _fits(self, change: Change) -> bool:
        self.cut = self.cut or len(change) > self.most
        return len(change) <= self.most

    # ------------------------------------------------------------ one formula

    def _towards(self, formula: Formula, want: Truth, supposed: Supposed) -> list[Change]:
        """Changes that give a formula a truth (true or false), as far as its leaves stand in one place each."""
        if value(formula, supposed) is want:
            return [NOTHING]
        if isinstance(formula, Leaf | Named):
            return [] if formula.key in supposed else [frozenset({(formula.key, want)})]
        if isinstance(formula, Opposite):
            return self._towards(formula.part, negate(want), supposed)
        if isinstance(formula, Sure):
            return self._towards(formula.part, want, supposed)
        if isinstance(formula, Exactly):
            return self._exactly(formula, want, supposed)
        if isinstance(formula, Gated):
            return self._gated(formula, want, supposed)
        if isinstance(formula, Quorum):
            return self._quorum(formula, want, supposed)
        if (formula.which == "all") is (want is TRUE):
            return self._each(formula.parts, want, supposed)
        return self._kept(change for part in formula.parts for change in self._towards(part, want, supposed))

    def _exactly(self, formula: Exactly, want: Truth, supposed: Supposed) -> list[Change]:
        if formula.wanted is not UNKNOWN:
            wanted = formula.wanted if want is TRUE else negate(formula.wanted)
            return self._towards(formula.part, wanted, supposed)
        # Nobody is told to make something unknown.
        self.cut = self.cut or want is TRUE
        told = (FALSE, TRUE) if want is FALSE else ()
        return self._kept(change for truth in told for change in self._towards(formula.part, truth, supposed))

    def _gated(self, formula: Gated, want: Truth, supposed: Supposed) -> list[Change]:
        through = self._each([*formula.needs], TRUE, supposed)
        told = self._joined(through, self._towards(formula.body, want, supposed))
        if want is TRUE:
            return told
        shut = [change for need in formula.needs for change in self._towards(need, FALSE, supposed)]
        return self._kept([*shut, *told])

    def _quorum(self, formula: Quorum, want: Truth, supposed: Supposed) -> list[Change]:
        other = [part for part in formula.parts if value(part, supposed) is not want]
        there = len(formula.parts) - len(other)
        # False: so many false ones that the rest is fewer than n.
        lacking = formula.n - there if want is TRUE else len(formula.parts) - formula.n - there
        count = int(-(-lacking // 1)) if want is TRUE else int(lacking // 1) + 1
        if count > len(other):
            return []
        if count > self.most:
            self.cut = True
            return []
        choices = list(islice(combinations(other, max(count, 0)), CHOICES + 1))
        self.cut = self.cut or len(choices) > CHOICES
        return self._kept(change for chosen in choices[:CHOICES] for change in self._each(chosen, want, supposed))

    # ------------------------------------------------------------ sets of changes

    def _each(self, parts: Iterable[Formula], want: Truth, supposed: Supposed) -> list[Change]:
        found: list[Change] = [NOTHING]
        for part in parts:
            found = self._joined(found, self._towards(part, want, supposed))
        return found

    def _joined(self, left: list[Change], right: list[Change]) -> list[Change]:
        return self._kept(a | b for a in left for b in right if _consistent(a | b))

    def _kept(self, changes: Iterable[Change]) -> list[Change]:
        found = sorted({change for change in changes if self._fits(change)}, key=_rank)
        self.cut = self.cut or len(found) > self.widest
        return found[: self.widest]


def _consistent(change: Change) -> bool:
    return len({key for key, _ in change}) == len(change)


def _rank(change: Change) -> tuple[int, list[str]]:
    return len(change), sorted(map(repr, change))


def _least(formula: Formula, change: Change) -> Change:
    """The smallest part of a change that is still enough."""
    if len(change) > _TRIED_OUT:
        for one in sorted(change, key=repr):
            if value(formula, dict(change - {one})) is TRUE:
                return _least(formula, change - {one})
        return change
    for size in range(len(change)):
        for part in combinations(sorted(change, key=repr), size):
            if value(formula, dict(part)) is TRUE:
                return frozenset(part)
    return change
