"""Which relations the rules about a job read: what an explanation has to fetch with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from sweeprules.engine.language.ast import Path, Policy


def relations(policy: Policy) -> frozenset[str]:
    """The relations that rules and exemptions about jobs read."""
    found: set[str] = set()
    conditions: list[object] = [c for r in policy.rules.values() if r.on == "job" for c in (r.when, r.unless, r.then)]
    _walk([*conditions, *(e.when for e in policy.exemptions)], found)
    return frozenset(found)


def _walk(node: object, found: set[str]) -> None:
    if isinstance(node, Path):
        found.update(node.relations)
        if node.type == "relation":
            found.add(node.field)
    elif isinstance(node, tuple | list):
        for item in node:
            _walk(item, found)
    elif isinstance(node, Mapping):
        for item in node.values():
            _walk(item, found)
    elif is_dataclass(node):
        for spec in fields(node):
            _walk(getattr(node, spec.name), found)
