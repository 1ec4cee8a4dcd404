"""Puts the files of all layers together: the shipped ones first, then a site's, which override by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import quote

NAMED = ("params", "lists", "patterns", "decide", "routes", "flags", "signals", "actions")
LISTED = ("rules", "exemptions")
NEW_WORDS = ("flags", "signals", "actions")


@dataclass(frozen=True, slots=True)
class Item:
    """One named thing of one file: where its name stands, what it is, and whether it came with the tool."""

    name: str
    mark: Mark
    node: Node
    layer: int
    over: Mark | None = None
    """The place of the item of an earlier layer that this one overrides."""


@dataclass(slots=True)
class Effective:
    """Section -> name -> the item that counts."""

    sections: dict[str, dict[str, Item]] = field(default_factory=lambda: {name: {} for name in (*NAMED, *LISTED)})

    def of(self, section: str) -> list[Item]:
        """The items of a section in the order of their names."""
        return [self.sections[section][name] for name in sorted(self.sections[section])]


def merge(layers: Sequence[Sequence[Node]], problems: list[Problem]) -> Effective:
    """The items of all layers; a later layer overrides an earlier one, two in one layer are a mistake.

    New words (flags, signals, actions) are never overridden: a name that exists is a mistake in any layer.
    """
    effective = Effective()
    for number, files in enumerate(layers):
        for section in (*NAMED, *LISTED):
            for item in _items(files, section, number):
                _add(effective.sections[section], section, item, problems)
    return effective


def _items(files: Iterable[Node], section: str, layer: int) -> Iterator[Item]:
    for file in files:
        node = file.get(section)
        if node is None:
            continue
        for entry in node.entries:
            yield Item(entry.key, entry.mark, entry.value, layer)
        for one in node.items if section in LISTED else ():
            identity = one.get("id")
            if identity is not None and identity.kind == "text":
                yield Item(identity.text, identity.mark, one, layer)


def _add(known: dict[str, Item], section: str, item: Item, problems: list[Problem]) -> None:
    earlier = known.get(item.name)
    if earlier is None:
        known[item.name] = item
    elif earlier.layer == item.layer or section in NEW_WORDS:
        what = f"the {section.rstrip('s')} {quote(item.name)}"
        problems.append(Problem(item.mark, f"{what} is there already", f"the first one is at {earlier.mark}"))
    else:
        known[item.name] = Item(item.name, item.mark, item.node, item.layer, earlier.mark)
