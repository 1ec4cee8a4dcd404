"""Limits that are reckoned from other fields of the same subject, and what they come to there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.evaluate.resolve import Lens, Scope
from sweeprules.engine.facts import FactValue, Ref, Subject, World
from sweeprules.engine.language.ast import Policy, Right, Test
from sweeprules.engine.language.walk import within
from sweeprules.engine.testwriting import paths


@dataclass(frozen=True, slots=True)
class Limit:
    """A right side that reads fields of a subject of this kind, beside which one of its fields is held."""

    kind: str
    field: str
    right: Right


class _Facts:
    """Worlds of tests give decided fields as facts."""

    def field(self, ref: Ref, name: str) -> FactValue | None:
        return None


def limits(part: object) -> Iterator[Limit]:
    """The limits of a part of a policy; one of which either side is reached by a relation is left out."""
    for test in within(part):
        if not isinstance(test, Test) or test.path.relations:
            continue
        for right in test.compare.rights:
            read = tuple(paths(right))
            if read and not any(path.relations for path in read):
                yield Limit(test.path.kind, test.path.field, right)


def worth(limit: Limit, subject: Subject, policies: Sequence[Policy]) -> list[int | float]:
    """What a limit comes to on a subject under each policy; nothing where it comes to no number."""
    lenses = (Lens(policy, World({subject.ref: subject}), _Facts()) for policy in policies)
    found = (lens.right(limit.right, Scope(subject)) for lens in lenses)
    return [value for value in found if isinstance(value, int | float) and is_number(value)]
