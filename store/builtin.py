"""The data that ships with the tool: policy, schemas, templates. Found beside the code, wherever that is installed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sweeprules.engine.errors import nearest
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "rules"
TEMPLATES = ROOT / "templates"
SCHEMAS = ROOT / "schemas"
DEMO = ROOT / "demo"

CATALOGUE = "catalogue.yaml"
"""Beside the shipped rules, and not a policy: the closed list of names."""
_MAX_BYTES = 4 * 2**20
_SUFFIX = ".schema.json"


def schema_names() -> tuple[str, ...]:
    """The names of the shipped schemas (`cluster`, `report`, ...), sorted."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in SCHEMAS.glob(f"*{_SUFFIX}")))


def schema_text(name: str) -> str:
    """A shipped schema as text. Raises `StoreError` for a name that there is not, with the nearest one."""
    names = schema_names()
    if name not in names:
        what = f"there is no schema `{name}`; there are {', '.join(names)}"
        raise StoreError(str(SCHEMAS), what, nearest(name, names))
    return read_bounded(SCHEMAS / f"{name}{_SUFFIX}", _MAX_BYTES).decode("utf-8")


def schema(name: str) -> Mapping[str, Any]:
    """A shipped schema as a document. Raises `StoreError`."""
    document: Mapping[str, Any] = json.loads(schema_text(name))
    return document


def catalogue_text() -> str:
    """The shipped catalogue of names. Raises `StoreError`."""
    return read_bounded(RULES / CATALOGUE, _MAX_BYTES).decode("utf-8")
