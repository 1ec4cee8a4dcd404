"""The effective policy as rows: what each thing says, where it stands, and what it overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeprules.cli.places import place
from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.wording import right
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import (
    Act,
    Add,
    Choice,
    Consequence,
    Const,
    Exemption,
    Feature,
    Metric,
    Param,
    Pattern,
    Policy,
    Raise,
    Right,
    Route,
    Set,
    Signal,
)
from sweeprules.engine.language.layers import merge
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.origins import Overlay
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

    def part(self, says: str, mark: Mark) -> dict[str, Any]:
        return {"says": says, "place": self.mark(mark)}

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
    """Every section of the effective policy but the rules.

    A thing that more than one layer may have a part in (a param, a list, a metric) or that is made of lines (decide,
    routes) has the place of each part under `parts`; a param has those of its overrides under `for`.
    """
    rows = _Rows(over, root, here)
    own = _own_parts(policy)
    return {
        "params": [_param(rows, param, own) for param in policy.params.values()],
        "lists": [
            _parted(rows, "lists", name, _listed(values), own[("lists", name)]) for name, values in policy.lists.items()
        ],
        "patterns": [_pattern(rows, one) for one in policy.patterns.values()],
        "metrics": [_metric(rows, one, own) for one in policy.metrics.values()],
        "features": [rows.row("features", one.name, _feature(one)) for one in policy.features.values()],
        "decide": [_decided(rows, name, choices) for name, choices in policy.decide.items()],
        "routes": [_routed(rows, name, routes) for name, routes in policy.routes.items()],
        "exemptions": [_exemption(rows, one) for one in policy.exemptions],
        "disabled": [_disabled(rows, one) for one in policy.overlays if one.disabled],
        "new_words": [
            rows.row(section, name, section.rstrip("s"))
            for section, name in sorted(over)
            if section in ("flags", "signals", "actions")
        ],
    }


_Parts = Mapping[tuple[str, str], Sequence[tuple[str, Mark]]]
"""(section, name) -> what its parts say, and where each was written."""


def _own_parts(policy: Policy) -> _Parts:
    found: dict[tuple[str, str], list[tuple[str, Mark]]] = {}
    for one in policy.origins:
        members = found.setdefault((one.section, one.name), [])
        if one.part:
            members.append((one.part, one.mark))
    return found


def _parted(rows: _Rows, section: str, name: str, says: str, parts: Sequence[tuple[str, Mark]]) -> dict[str, Any]:
    return {**rows.row(section, name, says), "parts": [rows.part(part, mark) for part, mark in parts]}


def _pattern(rows: _Rows, one: Pattern) -> dict[str, Any]:
    means = one.never_means and f"never means {one.never_means}"
    order = "" if one.order is None else f" {one.order}"
    return rows.row("patterns", one.name, f"{one.kind}{order}, {one.literal!r}", means)


def _metric(rows: _Rows, one: Metric, own: _Parts) -> dict[str, Any]:
    unit = f" in {one.unit}" if one.unit else ""
    says = f"{'a new series' if one.new else 'more keys'}{unit}: {', '.join(one.aliases)}"
    return _parted(rows, "metrics", one.name, says, own[("metrics", one.name)])


def _feature(one: Feature) -> str:
    sides = {"window": one.window, "min_points": one.min_points, "floor": one.floor}
    said = [f"{name} {_side(side)}" for name, side in sides.items() if side is not None]
    where = [f"where {one.where.op} {', '.join(map(_side, one.where.rights))}"] if one.where is not None else []
    return ", ".join([f"{one.is_} of {one.series}", *said, *where])


def _side(side: Right) -> str:
    return right(side) or (humanise(side.value) if isinstance(side, Const) else "")


def _disabled(rows: _Rows, one: Overlay) -> dict[str, Any]:
    says = f"{one.section.rstrip('s')} disabled: {one.because}"
    return {"name": one.name, "says": says, "why": "", "place": rows.mark(one.mark), "overrides": rows.mark(one.over)}


def _decided(rows: _Rows, name: str, choices: Sequence[Choice]) -> dict[str, Any]:
    parts = [
        (choice.value if choice.when is not None else f"otherwise {choice.value}", choice.mark) for choice in choices
    ]
    return _parted(rows, "decide", name, _choices(choices), parts)


def _routed(rows: _Rows, name: str, routes: Sequence[Route]) -> dict[str, Any]:
    says = ", ".join(dict.fromkeys(route.template or "blocked" for route in routes))
    parts = [
        (f"{'' if route.when is not None else 'otherwise '}{route.template or 'blocked'}", route.mark)
        for route in routes
    ]
    return _parted(rows, "routes", name, says, parts)


def _exemption(rows: _Rows, one: Exemption) -> dict[str, Any]:
    says = f"{', '.join(one.flags)} as {one.as_flag or 'exempt'}{_terms(one.owner, one.expires)}"
    return rows.row("exemptions", one.id, says, one.why)


def _param(rows: _Rows, param: Param, own: _Parts) -> dict[str, Any]:
    kind = value_kind(param.source)
    unit = f" {param.unit}" if param.unit else ""
    row = rows.row("params", param.name, f"{humanise(param.default, kind)}{unit}", param.why)
    row["value"], row["unit"] = _plain(param.default), param.unit or {"duration": "s", "bytes": "B"}.get(kind)
    # The default may be another layer's than the param as a whole, of which a site perhaps changed a row alone.
    row["parts"] = [rows.part(part, mark) for part, mark in own[("params", param.name)] if part == "default"]
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
