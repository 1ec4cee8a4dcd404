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


def sweeps_back(policy: Policy) -> int:
    """How many earlier sweeps the rules look back to: the longest row of `previous` in a path, and at least one."""
    found: list[Path] = []
    parts = (policy.rules, policy.decide, policy.exemptions, policy.routes)
    _paths(parts, found)
    return max([1, *(_longest(path) for path in found)])


def _longest(path: Path) -> int:
    row = longest = 0
    for name in (*path.relations, path.field if path.type == "relation" else ""):
        row = row + 1 if name == "previous" else 0
        longest = max(longest, row)
    return longest


def _paths(node: object, found: list[Path]) -> None:
    if isinstance(node, Path):
        found.append(node)
    elif isinstance(node, tuple | list):
        for item in node:
            _paths(item, found)
    elif isinstance(node, Mapping):
        for item in node.values():
            _paths(item, found)
    elif is_dataclass(node):
        for spec in fields(node):
            _paths(getattr(node, spec.name), found)


def _walk(node: object, found: set[str]) -> None:
    paths: list[Path] = []
    _paths(node, paths)
    for path in paths:
        found.update(path.relations)
        if path.type == "relation":
            found.add(path.field)
