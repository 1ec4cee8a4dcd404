"""A policy as plain data, the same for two policies that mean the same, and its hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import Truth

_LEFT_OUT = frozenset({"mark", "text", "source", "sha256"})
"""How and where something was written, and what follows from the rest."""


def to_data(policy: Policy) -> dict[str, Any]:
    """The policy as plain JSON data: names, values and conditions, without places and spellings."""
    data = _plain(policy)
    assert isinstance(data, dict)
    del data["order"]
    return data


def digest(policy: Policy, *schemas: str) -> str:
    """SHA-256 over the policy's data and the hashes of the schemas that it was read by."""
    text = json.dumps([to_data(policy), *schemas], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Truth):
        return value.word
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in dataclasses.fields(value) if one.name not in _LEFT_OUT]
        return {"is": type(value).__name__} | {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


class Origin(NamedTuple):
    """One named thing of a policy, where it was written, and its value where it is a single one."""

    section: str
    name: str
    mark: Mark
    value: Value | None = None


def rule_source(policy: Policy) -> Iterator[Origin]:
    """Where each param, pattern, rule and exemption of the effective policy was written."""
    for param in policy.params.values():
        yield Origin("params", param.name, param.mark, param.default)
    for pattern in policy.patterns.values():
        yield Origin("patterns", pattern.name, pattern.mark)
    for name, choices in policy.decide.items():
        yield Origin("decide", name, choices[0].mark)
    for rule in policy.rules.values():
        yield Origin("rules", rule.id, rule.mark)
    for exemption in policy.exemptions:
        yield Origin("exemptions", exemption.id, exemption.mark)
    for action, routes in policy.routes.items():
        yield Origin("routes", action, routes[0].mark)
