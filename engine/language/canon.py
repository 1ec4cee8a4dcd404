"""A policy as plain data, the same for two policies that mean the same, and its hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.origins import Origin
from sweeprules.engine.truth import Truth

_LEFT_OUT = frozenset({"mark", "text", "source", "sha256", "origins", "overlays"})
"""How and where something was written, and what follows from the rest."""


def to_data(policy: Policy) -> dict[str, Any]:
    """The policy as plain JSON data: names, values and conditions, without places and spellings."""
    data = plain_data(policy)
    assert isinstance(data, dict)
    del data["order"]
    return data


def digest(policy: Policy, *schemas: str) -> str:
    """SHA-256 over the policy's data and the hashes of the schemas that it was read by."""
    text = json.dumps([to_data(policy), *schemas], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def plain_data(value: object) -> object:
    """Any part of a policy as plain JSON data, without places and spellings: alike for parts that say the same."""
    if isinstance(value, Truth):
        return value.word
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in dataclasses.fields(value) if one.name not in _LEFT_OUT]
        return {"is": type(value).__name__} | {name: plain_data(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain_data(one) for key, one in value.items()}
    return [plain_data(one) for one in value] if isinstance(value, tuple | list) else value


def rule_source(policy: Policy) -> Iterator[Origin]:
    """Where each value of the effective policy was written, and what of an earlier layer it stands over."""
    return iter(policy.origins)
