"""Reads off the merged layers where every value of the policy comes from."""

from __future__ import annotations

from collections.abc import Iterator

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Value
from sweeprules.engine.language.layers import Effective, Item
from sweeprules.engine.language.literals import inferred
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.origins import Origin, Overlay

_WHOLE = ("patterns", "features", "decide", "rules", "exemptions", "routes", "flags", "signals", "actions")


def origins(effective: Effective) -> tuple[Origin, ...]:
    """The origin of every named thing, and of every part of what can be changed in part, by section and name."""
    found: list[Origin] = []
    for item in effective.of("params"):
        found.extend(_of_param(item))
    for item in effective.of("lists"):
        found.extend(_of_list(item))
    for item in effective.of("metrics"):
        found.extend(_of_metric(item))
    for section in _WHOLE:
        found.extend(Origin(section, item.name, item.mark, over=item.over) for item in effective.of(section))
    return tuple(found)


def overlays(effective: Effective) -> tuple[Overlay, ...]:
    """The rules and exemptions of earlier layers that no longer stand."""
    return tuple(
        Overlay(section, item.name, item.mark, over, item.disabled, item.because, *_said(before.node))
        for section in ("rules", "exemptions")
        for item in effective.of(section)
        if (before := item.earlier) is not None and (over := item.over) is not None
    )


def _said(rule: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags and signals of a rule as it is written."""
    then = rule.get("then")
    ones = () if then is None else then.items if then.kind == "list" else (then,)
    flags, signals = ([node.text for one in ones if (node := one.get(key)) is not None] for key in ("flag", "signal"))
    return tuple(flags), tuple(signals)


def _of_param(item: Item) -> Iterator[Origin]:
    default = item.node.get("default")
    yield Origin("params", item.name, item.mark, _value(default), item.over)
    before = item.earlier.node if item.earlier is not None else None
    if default is not None:
        yield Origin("params", item.name, default.mark, _value(default), _changed(default, before), "default")
    rows = item.node.get("for")
    old = {_match(row): row for row in _rows(before)}
    for row in rows.items if rows is not None else ():
        earlier = old.get(_match(row))
        over = earlier.mark if earlier is not None and earlier.mark != row.mark else None
        yield Origin("params", item.name, row.mark, _value(row.get("value")), over, f"for {_match(row)}")


def _changed(default: Node, before: Node | None) -> Mark | None:
    earlier = before.get("default") if before is not None else None
    return earlier.mark if earlier is not None and earlier.mark != default.mark else None


def _rows(param: Node | None) -> tuple[Node, ...]:
    rows = param.get("for") if param is not None else None
    return rows.items if rows is not None else ()


def _match(row: Node) -> str:
    return " ".join(sorted(f"{entry.key}={entry.value.text}" for entry in row.entries if entry.key != "value"))


def _of_list(item: Item) -> Iterator[Origin]:
    yield Origin("lists", item.name, item.mark, over=item.over)
    for member in item.node.items:
        yield Origin("lists", item.name, member.mark, member.value, None, member.text)


def _of_metric(item: Item) -> Iterator[Origin]:
    """A metric and each key under which it is printed, from whichever layer the key is."""
    yield Origin("metrics", item.name, item.mark, over=item.over)
    for section in ("aliases", "add"):
        keys = item.node.get(section)
        for key in keys.items if keys is not None else ():
            yield Origin("metrics", item.name, key.mark, key.value, None, key.text)


def _value(node: Node | None) -> Value | None:
    """A default as the policy has it: a duration in seconds, a size in bytes."""
    found = inferred(node) if node is not None else None
    return found[0] if found is not None else None
