"""The effective policy as rows: what each thing says, where it stands, and what it overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeprules.cli.places import place
from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Act, Add, Choice, Consequence, Param, Policy, Raise, Set, Signal
from sweeprules.engine.language.layers import merge
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.yamltext import scan

Over = Mapping[tuple[str, str], tuple[Mark, Mark | None]]
"""(section, name) -> where the thing that counts stands, and the one that it overrides."""


def overridden(layers: Iterable[Mapping[str, str]]) -> Over:
    """Where each named thing of a good policy stands, and what of an earlier layer it overrides."""
    nodes: list[list[Node]] = []
    for layer in layers:
        read = (scan(layer[file], file).node for file in sorted(layer))
        nodes.append([node for node in read if node is not None])
    found = merge(nodes, [])
    return {
        (section, name): (item.mark, item.over)
        for section, items in found.sections.items()
        for name, item in items.items()
    }


class _Rows:
    """Makes rows whose places are relative to the folder where the person stands."""

    def __init__(self, over: Over, root: Path, here: Path) -> None:
        self._over = over
        self._root = root
        self._here = here

    def mark(self, mark: Mark) -> str:
        return f"{place(mark.file, self._root, self._here)}:{mark.line}"

    def row(self, section: str, name: str, says: str, why: str = "") -> dict[str, Any]:
        mark, over = self._over[section, name]
        return {
            "name": name,
            "says": says,
            "why": why,
            "place": self.mark(mark),
            "overrides": self.mark(over) if over else None,
        }


def rule_rows(policy: Policy, over: Over, root: Path, here: Path) -> list[dict[str, Any]]:
    """One row a rule, in the order of their names."""
    rows = _Rows(over, root, here)
    found = []
    for rule in policy.rules.values():
        row = rows.row("rules", rule.id, "", rule.why)
        del row["name"], row["says"]
        then = [consequence(one) for one in rule.then]
        flags = [one.flag for one in rule.then if isinstance(one, Raise)]
        actions = [one.action for one in rule.then if isinstance(one, Act)]
        found.append({"id": rule.id, "on": rule.on, "then": then, "flags": flags, "actions": actions, **row})
    return sorted(found, key=lambda row: str(row["id"]))


def consequence(one: Consequence) -> str:
    """A consequence in a few words."""
    if isinstance(one, Raise):
        return f"flag {one.flag} ({one.severity}{', resolved' if one.resolved else ''})"
    if isinstance(one, Act):
        return f"action {one.action}"
    if isinstance(one, Signal):
        return f"signal {one.name}"
    return f"{'set' if isinstance(one, Set) else 'add to'} {one.field}" if isinstance(one, Set | Add) else ""


def effective_rows(policy: Policy, over: Over, root: Path, here: Path) -> dict[str, list[dict[str, Any]]]:
    """Every section of the effective policy but the rules."""
    rows = _Rows(over, root, here)
    exemptions = [
        rows.row(
            "exemptions", e.id, f"{', '.join(e.flags)} as {e.as_flag or 'exempt'}{_terms(e.owner, e.expires)}", e.why
        )
        for e in policy.exemptions
    ]
    patterns = [
        rows.row("patterns", p.name, f"{p.kind}, {p.literal!r}", p.never_means and f"never means {p.never_means}")
        for p in policy.patterns.values()
    ]
    return {
        "params": [_param(rows, param) for param in policy.params.values()],
        "lists": [rows.row("lists", name, _listed(values)) for name, values in policy.lists.items()],
        "patterns": patterns,
        "decide": [rows.row("decide", name, _choices(choices)) for name, choices in policy.decide.items()],
        "routes": [
            rows.row("routes", name, ", ".join(dict.fromkeys(route.template or "blocked" for route in routes)))
            for name, routes in policy.routes.items()
        ],
        "exemptions": exemptions,
        "new_words": [
            rows.row(section, name, section.rstrip("s"))
            for section, name in sorted(over)
            if section in ("flags", "signals", "actions")
        ],
    }


def _param(rows: _Rows, param: Param) -> dict[str, Any]:
    kind = value_kind(param.source)
    unit = f" {param.unit}" if param.unit else ""
    row = rows.row("params", param.name, f"{humanise(param.default, kind)}{unit}", param.why)
    row["value"], row["unit"] = _plain(param.default), param.unit or {"duration": "s", "bytes": "B"}.get(kind)
    row["for"] = [
        {
            "match": ", ".join(f"{key} {word}" for key, word in sorted(o.match.items())),
            "value": f"{humanise(o.value, kind)}{unit}",
            "place": rows.mark(o.mark),
        }
        for o in param.overrides
    ]
    return row


def value_kind(source: str) -> str:
    """Whether a param was written as a duration (`30m`) or a size (`64GB`); nothing for a plain value."""
    if source[:1].isdigit() or source[:1] == "-":
        if source.endswith("B"):
            return "bytes"
        if source[-1:] in "smhd":
            return "duration"
    return ""


def _plain(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, bool | int | float | str) else humanise(value)


def _listed(values: Sequence[Value]) -> str:
    return ", ".join(humanise(value) for value in values)


def _choices(choices: Sequence[Choice]) -> str:
    return "one of " + ", ".join(dict.fromkeys(choice.value for choice in choices))


def _terms(owner: str, expires: float | None) -> str:
    parts = [f"owner {owner}" if owner else "", f"until {humanise(expires, 'time')}" if expires is not None else ""]
    said = ", ".join(part for part in parts if part)
    return f" ({said})" if said else ""
