"""A difference between the evaluators as plain data: the rules, the facts and both answers, nothing of the machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import Truth

if TYPE_CHECKING:
    from sweeprules.engine.durable.checked import Difference
    from sweeprules.engine.durable.run import DurableTruths

FORMAT = 1
MOST_SUBJECTS = 50
"""Subjects whose facts are written out; all differences are listed."""


def reproducer(
    policy: Policy,
    world: World,
    differences: Iterable[Difference],
    truths: Mapping[Ref, Mapping[str, Truth]],
    found: DurableTruths,
) -> dict[str, object]:
    """Plain data (JSON types) from which the difference can be seen again: store writes it."""
    listed = list(differences)
    refs = list(dict.fromkeys(d.ref for d in listed))[:MOST_SUBJECTS]
    around = _around(world, refs)
    return {
        "format": FORMAT,
        "policy_sha256": policy.sha256,
        "policy": plain(policy),
        "differences": [
            {"rule": d.rule, "subject": str(d.ref), "native": d.native, "durable": d.durable} for d in listed
        ],
        "subjects": [plain(world.subjects[ref]) for ref in around if ref in world.subjects],
        "native": {str(ref): {rule: t.word for rule, t in truths.get(ref, {}).items()} for ref in refs},
        "durable": {
            str(ref): {
                "true": sorted(rule for rule, subjects in found.true.items() if ref in subjects),
                "false": sorted(rule for rule, subjects in found.false.items() if ref in subjects),
            }
            for ref in refs
        },
    }


def _around(world: World, refs: Iterable[Ref]) -> list[Ref]:
    """The subjects, what their relations lead to, and the sweep."""
    wanted: dict[Ref, None] = {ref: None for ref in world.subjects if ref.kind == "sweep"}
    for ref in refs:
        wanted[ref] = None
        subject = world.subjects.get(ref)
        for relation in () if subject is None else subject.relations.values():
            wanted.update(dict.fromkeys(relation.members))
    return list(wanted)


def plain(value: object) -> object:
    """Any value of the policy or the world as JSON types; a dataclass is an object with its `type`."""
    if isinstance(value, Truth):
        return value.word
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, Subject):
        return {name: plain(getattr(value, name)) for name in ("ref", "judged", "facts", "relations")}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
