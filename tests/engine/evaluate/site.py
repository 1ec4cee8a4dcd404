"""The shipped words and a small policy for tests that start from text."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.load import load_policy
from sweeprules.engine.language.yamltext import read

ROOT = Path(__file__).resolve().parents[3]


@lru_cache
def catalogue() -> Catalogue:
    """The catalogue as shipped."""
    facts = json.loads((ROOT / "schemas/facts.schema.json").read_text())
    return Catalogue.load(facts, read((ROOT / "rules/catalogue.yaml").read_text(), "rules/catalogue.yaml"))


def policy(text: str) -> Policy:
    """A policy of one file."""
    schema = json.loads((ROOT / "schemas/rules.schema.json").read_text())
    return load_policy([{"rules/t.yaml": text}], catalogue(), schema=schema)
