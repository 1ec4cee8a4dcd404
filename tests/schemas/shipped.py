"""What these tests read: the shipped schemas and the YAML files that they are for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
_DATE = "tag:yaml.org,2002:timestamp"
_BOOLEAN = "tag:yaml.org,2002:bool"


class _Core(yaml.SafeLoader):
    """SafeLoader nearer to the YAML 1.2 core schema: dates and words such as `on` and `no` stay text."""


_Core.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in {_DATE, _BOOLEAN}]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Core.add_implicit_resolver(_BOOLEAN, re.compile(r"^(?:true|false)$"), list("tf"))


def read_yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), _Core)


def parse_yaml(text: str) -> Any:
    return yaml.load(text, _Core)


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return loaded


def problems(name: str, document: object) -> list[tuple[str, str]]:
    """The errors of a document under a schema, each as (dotted path, message)."""
    errors = Draft202012Validator(schema(name)).iter_errors(document)
    return [(".".join(str(part) for part in error.absolute_path), error.message) for error in errors]
