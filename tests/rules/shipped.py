"""The shipped policy and its rule tests, read as a site reads them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.load import load_policy
from sweeprules.engine.language.yamltext import read
from sweeprules.engine.ruletests import SUFFIX
from sweeprules.store import builtin


@cache
def catalogue() -> Catalogue:
    """The closed list of names."""
    return Catalogue.load(builtin.schema("facts"), read(builtin.catalogue_text(), builtin.CATALOGUE))


def _texts() -> Mapping[str, str]:
    return {f"rules/{path.name}": path.read_text(encoding="utf-8") for path in sorted(builtin.RULES.glob("*.yaml"))}


def layer() -> dict[str, str]:
    """The policy files by name, without their tests and without the catalogue."""
    return {
        name: text
        for name, text in _texts().items()
        if not name.endswith(SUFFIX) and name != f"rules/{builtin.CATALOGUE}"
    }


def rule_tests() -> dict[str, str]:
    """The files of rule tests by name."""
    return {name: text for name, text in _texts().items() if name.endswith(SUFFIX)}


@cache
def policy() -> Policy:
    """The policy as shipped."""
    return load_policy([layer()], catalogue(), schema=builtin.schema("rules"))


def policy_with(text: str) -> Policy:
    """The shipped policy under a site's one file."""
    return load_policy([layer(), {"site/rules/own.yaml": text}], catalogue(), schema=builtin.schema("rules"))
