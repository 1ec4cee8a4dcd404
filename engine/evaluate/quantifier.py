"""`every`, `some`, `count` and `sum` over the members of a relation or list, for all rows of a frame at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sweeprules.engine.evaluate.calc import calculate
from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.evaluate.frame import Frame
from sweeprules.engine.evaluate.leaf import negated, pack, unpack
from sweeprules.engine.evaluate.resolve import Members, Thing
from sweeprules.engine.evaluate.truths import CODE, F, T, U
from sweeprules.engine.facts import Absent, FactValue, Interval, Unknown
from sweeprules.engine.language import ast

Fields = frozenset[tuple[str, str]]
ColumnOf = Callable[[ast.Condition, Frame], int]


class _Span(NamedTuple):
    """The members of one row: where they stand in the inner frame, or why there are none to ask."""

    start: int
    end: int
    whole: bool
    missing: Unknown | Absent | None


def quantified(condition: ast.Quantified, frame: Frame, column: ColumnOf, fields: Fields) -> int:
    """The truths of a quantifier over all rows of a frame.

    Members are gathered once for each thing that holds the relation, unless the condition looks out of its `where`.
    """
    relations, outwards = condition.of.relations, _looks_out(condition)
    if not relations or outwards:
        return pack(_over(condition, frame, frame.holders(relations), column, fields))
    holders = frame.holders(relations)
    first: dict[int, int] = {}
    places = [first.setdefault(id(holder), len(first)) for holder in holders]
    unique = list({id(h): h for h in holders}.values())
    things: list[Thing] = [h for h in unique if not isinstance(h, Unknown | Absent)]
    inner = Frame(frame.lens, condition.of.kind, things)
    answers = iter(_over(condition, inner, things, column, fields))
    codes = [CODE_OF_MISSING[type(h)] if isinstance(h, Unknown | Absent) else next(answers) for h in unique]
    return pack([codes[place] for place in places])


CODE_OF_MISSING: dict[type, int] = {Unknown: U, Absent: F}


def _looks_out(condition: ast.Quantified) -> bool:
    # Right sides may be anywhere below; their text is the cheapest thing to ask. Overrides read the subject around.
    text = repr((condition.where, condition.holds))
    return "scope='outer'" in text or "ParamRef" in text or "Path(" in repr(condition.compare)


def _over(
    condition: ast.Quantified,
    frame: Frame,
    holders: Sequence[Thing | Unknown | Absent],
    column: ColumnOf,
    fields: Fields,
) -> list[int]:
    things: list[Thing] = []
    up: list[int] = []
    spans: list[_Span] = []
    for row, holder in enumerate(holders):
        members: Members | Thing | Unknown | Absent = holder
        if not isinstance(holder, Unknown | Absent):
            members = frame.lens.members_of(holder, condition.of)
        start = len(things)
        if isinstance(members, Members):
            things += members.things
            up += [row] * len(members.things)
            spans.append(_Span(start, len(things), members.whole, None))
        elif isinstance(members, Unknown | Absent):
            spans.append(_Span(start, start, True, members))
    inner = Frame(frame.lens, condition.member_kind, things, None, frame, up)
    return _reduced(condition, frame, inner, spans, column, fields)


def _reduced(
    condition: ast.Quantified, frame: Frame, inner: Frame, spans: list[_Span], column: ColumnOf, fields: Fields
) -> list[int]:
    chosen = inner.ones * T if condition.where is None else column(condition.where, inner)
    where = unpack(chosen, inner.count)
    if condition.which in ("every", "some"):
        holds = inner.ones * T if condition.holds is None else column(condition.holds, inner)
        each = negated(chosen, inner.ones) | holds if condition.which == "every" else chosen & holds
        truths = unpack(each, inner.count)
        return [_existential(condition, s, where[s.start : s.end], truths[s.start : s.end]) for s in spans]
    summed: Sequence[FactValue] = () if condition.summed is None else inner.raw(condition.summed, fields)
    codes: list[int] = []
    for row, span in enumerate(spans):
        total: FactValue | None = span.missing
        if total is None and condition.which == "count":
            total = _count(where[span.start : span.end], span.whole)
        elif total is None:
            total = _sum(where[span.start : span.end], summed[span.start : span.end], span.whole)
        codes.append(_tested(condition, total, frame, row))
    return codes


def _existential(condition: ast.Quantified, span: _Span, where: bytes, truths: bytes) -> int:
    if span.missing is not None:
        return U if isinstance(span.missing, Unknown) else F
    if not span.whole:
        # A member that was not read may break an `every`, or make a `some`.
        edge: Callable[..., int] = min if condition.which == "every" else max
        return edge((U, *truths))
    empty = CODE[condition.if_empty]
    if not any(where):
        return empty
    truth = min(truths) if condition.which == "every" else max(truths)
    # With no member chosen for sure there may be none at all.
    return truth if T in where or truth == empty else U


def _count(where: bytes, whole: bool) -> FactValue:
    sure, possible = where.count(T), where.count(T) + where.count(U)
    if whole and sure == possible:
        return sure
    return Interval(sure, possible if whole else None)


def _sum(where: bytes, values: Sequence[FactValue], whole: bool) -> FactValue:
    if not whole:
        return Unknown("cut", "not all members were read")
    if U in where:
        return Unknown("not-read", "it is unknown whether a member counts")
    chosen = [v for v, code in zip(values, where, strict=True) if code == T and not isinstance(v, Absent)]
    return calculate("sum", chosen)


def _tested(condition: ast.Quantified, total: FactValue | None, frame: Frame, row: int) -> int:
    if condition.compare is None or total is None:
        return U
    scope = frame.scope(row)
    rights = [frame.lens.right(right, scope) for right in condition.compare.rights]
    return CODE[compare(condition.compare, total, rights, frame.lens.policy.patterns)]
