"""Counting operands of `at_least`, and why some can not be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import ConditionProof

NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of `at_least`: its truth, None where its signal is absent, and the reasons of what is not known."""

    truth: Truth | None
    reasons: frozenset[str]


def quorum(operands: Sequence[Operand], wanted: FactValue) -> Truth:
    """`n`: true when that many are true, false when true and unknown ones are fewer; absent ones count as neither."""
    if isinstance(wanted, Unknown):
        return UNKNOWN
    if isinstance(wanted, Absent) or not isinstance(wanted, int | float):
        return FALSE
    sure = sum(o.truth is TRUE for o in operands)
    possible = sure + sum(o.truth is UNKNOWN for o in operands)
    if sure >= wanted:
        return TRUE
    return UNKNOWN if possible >= wanted else FALSE


def evaluable(operands: Sequence[Operand]) -> int:
    """How many operands are true or false."""
    return sum(o.truth is TRUE or o.truth is FALSE for o in operands)


def blocked(operands: Sequence[Operand], ignoring: Sequence[str]) -> bool:
    """Is some operand not evaluable for a reason that is not ignored?

    An operand that is absent as `not-applicable` is not among them: it leaves `of`.
    """
    return any(o.truth in (None, UNKNOWN) and o.reasons - {*ignoring, NOT_APPLICABLE} for o in operands)


def of_proof(proof: ConditionProof) -> frozenset[str]:
    """The reasons of the unknown facts that keep a condition unknown; `not-read` where none is named."""
    if proof.truth is not UNKNOWN:
        return frozenset()
    return frozenset(_named(proof)) or frozenset({Reason.NOT_READ})


def _named(proof: ConditionProof) -> Iterator[str]:
    for use in proof.facts:
        if isinstance(use.value, Unknown):
            yield str(use.value.reason)
    for part in proof.parts:
        if part.truth is UNKNOWN:
            yield from _named(part)
