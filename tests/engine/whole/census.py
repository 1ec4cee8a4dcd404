"""Which constructs of the language a policy holds, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from sweeprules.engine.errors import Mark
from sweeprules.engine.language import ast


def constructs(policy: ast.Policy) -> set[str]:
    """The names of all constructs in a policy, each once."""
    found = {"decide"} if policy.decide else set()
    for node in _nodes(
        [*policy.rules.values(), *policy.exemptions, *policy.features.values(), *policy.routes.values()]
    ):
        found.update(_named(node))
    for name, choices in policy.decide.items():
        found.add(f"decide {name}")
        for node in _nodes(choices):
            found.update(_named(node))
    return found


def _nodes(value: Any) -> Iterator[Any]:
    """Every dataclass below a value."""
    if is_dataclass(value) and not isinstance(value, Mark):
        yield value
        for field in fields(value):
            yield from _nodes(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _nodes(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _nodes(item)


def _named(node: Any) -> Iterable[str]:
    yield type(node).__name__
    match node:
        case ast.Compare():
            yield f"test {node.op}"
            yield from (name for name in ("fold", "possible") if getattr(node, name))
            yield from ["default"] if node.default is not None else []
            yield from ["between counts"] if node.possible and node.op == "between" else []
        case ast.Arith():
            yield f"calc {node.op}"
        case ast.Pick():
            yield node.which
        case ast.Path():
            yield from (f"through {name}" for name in node.relations)
            yield from ["outer"] if node.scope == "outer" else []
        case ast.AtLeast():
            there = {"n": node.n, "evaluable": node.evaluable, "ignoring": node.ignoring or None}
            yield from (f"at_least {name}" for name, side in there.items() if side is not None)
            yield from ["at_least $n"] if isinstance(node.n, ast.ParamRef) else []
        case ast.Quantified():
            yield from (node.which, f"{node.which} of {node.of.type}", f"if_empty {node.if_empty.word}")
            yield from ["where"] if node.where is not None else []
        case ast.Feature():
            yield f"feature {node.is_}"
            yield from (name for name in ("floor", "min_points") if getattr(node, name) is not None)
        case ast.RuleIs():
            yield f"rule is {node.wanted.word}"
        case ast.Hold():
            yield "for sweeps" if node.sweeps is not None else "for time"
        case ast.Rule():
            yield from _of_rule(node)
        case ast.Exemption():
            yield from ["expires"] if node.expires is not None else []
            yield from ["as"] if node.as_flag is not None else []


def _of_rule(rule: ast.Rule) -> Iterable[str]:
    yield f"on {rule.on}"
    yield from (name for name in ("needs", "unless", "explains", "replaces", "hold") if getattr(rule, name))
    yield from ["needs of the job"] if any("." in name for name in rule.needs) else []
    yield from [f"if_unknown {rule.if_unknown}"] if rule.unless is not None else []
    yield from [f"judge {rule.judge}"] if rule.on == "step" else []
