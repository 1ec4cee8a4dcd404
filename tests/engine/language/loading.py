"""Loads policies for tests from text, with the shipped catalogue and schema."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import PolicyError
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.load import load_policy
from sweeprules.engine.language.yamltext import read

ROOT = Path(__file__).resolve().parents[3]
FULL = Path(__file__).parent / "data" / "full.yaml"


@functools.cache
def catalogue() -> Catalogue:
    text = (ROOT / "rules" / "catalogue.yaml").read_text()
    return Catalogue.load(
        json.loads((ROOT / "schemas" / "facts.schema.json").read_text()), read(text, "catalogue.yaml")
    )


@functools.cache
def schema() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / "schemas" / "rules.schema.json").read_text())
    return document


def load(*layers: str | bytes | dict[str, str], templates: Collection[str] | None = None) -> Policy:
    """A policy of layers; a text is a layer of one file, `policy: 1` is added where it is missing."""
    files = [layer if isinstance(layer, dict) else {f"layer{n}.yaml": layer} for n, layer in enumerate(layers)]
    headed = [{name: _headed(text) for name, text in one.items()} for one in files]
    return load_policy(headed, catalogue(), schema=schema(), templates=templates)


def _headed(text: str | bytes) -> str | bytes:
    return text if isinstance(text, bytes) or "policy:" in text else f"{text}\npolicy: 1\n"


def problems(*layers: str | bytes | dict[str, str], templates: Collection[str] | None = None) -> list[str]:
    """What is said of a policy; empty when it loads."""
    try:
        load(*layers, templates=templates)
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    return []


def rule(when: str, then: str = "{flag: stale-log}", *, on: str = "job", id: str = "r.one", more: str = "") -> str:
    """One rule in flow style, as an item of `rules:`."""
    return f"  - {{id: {id}, on: {on}, when: {when}, then: {then}{', ' + more if more else ''}}}\n"


def rules(*texts: str) -> str:
    return "rules:\n" + "".join(texts)
