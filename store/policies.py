"""Compiled policies beside the sweeps that they judged, so that an explanation needs no YAML and no site."""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeprules.engine import errors, truth
from sweeprules.engine.language import ast, origins, terms
from sweeprules.engine.language.ast import Policy
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded, write_atomic

FOLDER = "policies"
_MAX_BYTES = 64 * 2**20
_HINT = "sweep again, and explain the new sweep"


@dataclass(frozen=True, slots=True)
class KeptPolicy:
    """A policy with the catalogue's types, by (kind, field), and the relations that its rules about jobs read."""

    policy: Policy
    types: Mapping[tuple[str, str], str]
    relations: frozenset[str] = frozenset()


class _Values(pickle.Unpickler):
    """Builds nothing but this package's own values: a damaged or planted file runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("sweeprules.engine.") or (module, name) in _PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a policy")


_PLAIN = frozenset({("builtins", "frozenset"), ("builtins", "set"), ("types", "MappingProxyType")})


MODULES = (ast, terms, origins, errors, truth)
"""Where the classes stand that a compiled policy is made of."""


@functools.cache
def shape() -> str:
    """A word for the shape of a compiled policy: another one whenever a class that it is made of gains or loses a part.

    A policy that was kept by another version builds values that lack what this one reads, and would fail much later.
    """
    made = [
        f"{module.__name__}.{name}{[*getattr(found, '__dataclass_fields__', getattr(found, '_fields', ()))]}"
        for module in MODULES
        for name, found in sorted(vars(module).items())
        if isinstance(found, type) and found.__module__ == module.__name__
    ]
    return hashlib.sha256("\n".join(made).encode()).hexdigest()[:12]


def _path(state: Path, sha256: str) -> Path:
    return state / FOLDER / f"{sha256}.{shape()}.policy"


def save_policy(state: Path, kept: KeptPolicy) -> None:
    """Keep a policy under its hash; one that is there already stays. Raises `StoreError`."""
    path = _path(state, kept.policy.sha256)
    if not path.is_file():
        write_atomic(path, pickle.dumps((kept.policy, dict(kept.types), kept.relations), protocol=5))


def read_policy(state: Path, sha256: str) -> KeptPolicy:
    """The policy with this hash. Raises `StoreError` when it is not kept, or not as this version writes it."""
    path = _path(state, sha256)
    if not path.is_file():
        others = sorted((state / FOLDER).glob(f"{sha256}*.policy")) if sha256.isalnum() else []
        if others:
            raise StoreError(
                str(others[0]), "the policy of that sweep was kept by another version of sweeprules", _HINT
            )
        raise StoreError(str(path), "the policy of that sweep is not kept", _HINT)
    try:
        policy, types, relations = _Values(io.BytesIO(read_bounded(path, _MAX_BYTES))).load()
    except _UNREADABLE as error:
        raise StoreError(str(path), f"is damaged: {error}", _HINT) from error
    if not isinstance(policy, Policy) or policy.sha256 != sha256:
        raise StoreError(str(path), "is not the policy that its name says", _HINT)
    return KeptPolicy(policy, types, relations)


_UNREADABLE = (
    *(pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError, IndexError),
    *(KeyError, OverflowError, MemoryError, RecursionError),
)
"""What a damaged pickle can raise."""
