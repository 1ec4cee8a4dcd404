"""Conditions over whole frames: every operator is a few operations on columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.evaluate.frame import Frame
from sweeprules.engine.evaluate.leaf import negated, pack, unpack
from sweeprules.engine.evaluate.plan import Index
from sweeprules.engine.evaluate.quantifier import quantified
from sweeprules.engine.evaluate.truths import CODE, F, T, U
from sweeprules.engine.facts import FactValue
from sweeprules.engine.language import ast
from sweeprules.engine.truth import TRUE, UNKNOWN

GONE = 2
"""The code of an absent signal, beside F, U and T."""


class Chained(Protocol):
    """What conditions read of other rules, as columns over a frame."""

    index: Index
    volatile: frozenset[tuple[str, str]]

    def flagged(self, flag: str, frame: Frame) -> int:
        """The greatest truth of the rules that raise a flag."""

    def rule(self, rule: str, frame: Frame) -> bytes:
        """A rule's truths."""

    def signal(self, name: str, frame: Frame) -> bytes:
        """A signal's truths; `GONE` where it is absent."""

    def operands(self, condition: ast.AtLeast, frame: Frame, row: int) -> bool:
        """Is some operand of a row not evaluable for a reason that is not ignored?"""


class Conditions:
    """Computes conditions over frames."""

    def __init__(self, chained: Chained) -> None:
        self._chained = chained
        self._by_type: dict[type, Callable[..., int]] = {
            ast.All: self._all,
            ast.Any: self._any,
            ast.Not: self._not,
            ast.Test: self._test,
            ast.Flagged: self._flagged,
            ast.RuleIs: self._rule_is,
            ast.AtLeast: self._at_least,
            ast.Quantified: self._quantified,
        }

    def column(self, condition: ast.Condition, frame: Frame) -> int:
        """The truths of a condition over all rows of a frame."""
        return self._by_type[type(condition)](condition, frame)

    def _all(self, condition: ast.All, frame: Frame) -> int:
        truths = frame.ones * T
        for item in condition.items:
            if not truths:
                break
            truths &= self.column(item, frame)
        return truths

    def _any(self, condition: ast.Any, frame: Frame) -> int:
        truths = 0
        for item in condition.items:
            truths |= self.column(item, frame)
        return truths

    def _not(self, condition: ast.Not, frame: Frame) -> int:
        return negated(self.column(condition.item, frame), frame.ones)

    def _test(self, condition: ast.Test, frame: Frame) -> int:
        return frame.test(condition, self._chained.index.computed, self._chained.volatile)

    def _flagged(self, condition: ast.Flagged, frame: Frame) -> int:
        return self._chained.flagged(condition.flag, frame)

    def _rule_is(self, condition: ast.RuleIs, frame: Frame) -> int:
        wanted = CODE[condition.wanted]
        table = bytes(T if code == wanted else F for code in range(256))
        return int.from_bytes(self._chained.rule(condition.id, frame).translate(table), "little")

    def _quantified(self, condition: ast.Quantified, frame: Frame) -> int:
        return quantified(condition, frame, self.column, self._chained.index.computed)

    # ------------------------------------------------------------ at_least

    def _at_least(self, condition: ast.AtLeast, frame: Frame) -> int:
        columns = [self._operand(item, frame) for item in condition.of]
        truths = frame.ones * T
        if condition.n is not None:
            truths &= self._quorum(columns, condition.n, frame)
        if condition.evaluable is not None:
            truths &= self._evaluable(columns, condition.evaluable, frame)
        if condition.ignoring and truths:
            codes = bytearray(unpack(truths, frame.count))
            for row, code in enumerate(codes):
                if code != F and not self._chained.operands(condition, frame, row):
                    codes[row] = F
            truths = pack(codes)
        return truths

    def _operand(self, item: ast.Condition | ast.Signalled, frame: Frame) -> int:
        if isinstance(item, ast.Signalled):
            return int.from_bytes(self._chained.signal(item.name, frame), "little")
        return self.column(item, frame)

    def _quorum(self, columns: Sequence[int], wanted: ast.Right, frame: Frame) -> int:
        ones = frame.ones
        sure = unpack(sum(c & (c >> 1) & ones for c in columns), frame.count)
        possible = unpack(sum(c & ones for c in columns), frame.count)
        at_least = ast.Compare("ge", (wanted,))

        def truth(row: int, n: FactValue) -> int:
            if compare(at_least, sure[row], (n,)) is TRUE:
                return T
            return F if compare(at_least, possible[row], (n,)) < UNKNOWN else U

        if isinstance(wanted, ast.Const):
            n = wanted.value
            enough = bytes(CODE[compare(at_least, count, (n,))] for count in range(256))
            reached = int.from_bytes(sure.translate(enough), "little")
            return reached | (int.from_bytes(possible.translate(enough), "little") & ones)
        right = frame.lens.right
        return pack([truth(row, right(wanted, frame.scope(row))) for row in range(frame.count)])

    def _evaluable(self, columns: Sequence[int], test: ast.Compare, frame: Frame) -> int:
        # True and false are the codes whose two bits are alike.
        counts = unpack(sum(~((c >> 1) ^ c) & frame.ones for c in columns), frame.count)
        patterns = frame.lens.policy.patterns
        if all(isinstance(right, ast.Const) for right in test.rights):
            rights = [right.value for right in test.rights if isinstance(right, ast.Const)]
            table = bytes(CODE[compare(test, count, rights, patterns)] for count in range(256))
            return int.from_bytes(counts.translate(table), "little")
        return pack(list(self._counted(counts, test, frame)))

    def _counted(self, counts: bytes, test: ast.Compare, frame: Frame) -> Iterable[int]:
        for row, count in enumerate(counts):
            scope = frame.scope(row)
            rights = [frame.lens.right(right, scope) for right in test.rights]
            yield CODE[compare(test, count, rights, frame.lens.policy.patterns)]
