"""Which relations the rules about a job read: what an explanation has to fetch with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sweeprules.engine.language.ast import Path, Policy
from sweeprules.engine.testwriting import paths


def relations(policy: Policy) -> frozenset[str]:
    """The relations that rules and exemptions about jobs read."""
    rules = tuple((rule.when, rule.unless, rule.then) for rule in policy.rules.values() if rule.on == "job")
    return frozenset(_relations(paths((rules, tuple(one.when for one in policy.exemptions)))))


def sweeps_back(policy: Policy) -> int:
    """How many earlier sweeps the rules look back to: the longest row of `previous` in a path, and at least one."""
    parts = (policy.rules, policy.decide, policy.exemptions, policy.routes)
    return max([1, *(_longest(path) for path in paths(parts))])


def _longest(path: Path) -> int:
    row = longest = 0
    for name in (*path.relations, path.field if path.type == "relation" else ""):
        row = row + 1 if name == "previous" else 0
        longest = max(longest, row)
    return longest


def _relations(found: Iterable[Path]) -> Iterator[str]:
    for path in found:
        yield from path.relations
        if path.type == "relation":
            yield path.field
