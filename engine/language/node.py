"""A YAML tree that remembers where each value and each key stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sweeprules.engine.errors import Mark

Kind = Literal["map", "list", "text", "integer", "number", "boolean", "null", "bad"]


class Entry(NamedTuple):
    """One `key: value` of a map, with the place of the key."""

    key: str
    mark: Mark
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a file. A scalar has `value`, a list `items`, a map `entries` (keys are unique, in file order).

    Kind `bad` is a scalar that was already reported as a mistake; later passes say nothing more about it. `source` is
    a scalar as it was written, `quoted` whether it stood in quotes or in a block.
    """

    kind: Kind
    mark: Mark
    value: bool | int | float | str | None = None
    items: tuple[Node, ...] = ()
    entries: tuple[Entry, ...] = ()
    source: str = ""
    quoted: bool = False

    def get(self, name: str) -> Node | None:
        """The value of a key; None when there is no such key or this is no map."""
        for entry in self.entries:
            if entry.key == name:
                return entry.value
        return None

    def keys(self) -> tuple[str, ...]:
        """The keys in file order."""
        return tuple(entry.key for entry in self.entries)

    def key_mark(self, name: str) -> Mark:
        """Where a key stands; the place of the node itself when there is no such key."""
        return next((entry.mark for entry in self.entries if entry.key == name), self.mark)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in file order."""
        yield self
        for item in self.items:
            yield from item.walk()
        for entry in self.entries:
            yield from entry.value.walk()

    @property
    def text(self) -> str:
        """A scalar as it was written, for messages."""
        return self.source if self.source or self.value is None else str(self.value)


KIND_WORDS: dict[Kind, str] = {
    "map": "a map",
    "list": "a list",
    "text": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
    "bad": "a broken value",
}


def text_of(node: Node | None) -> str:
    """A text, or nothing."""
    return str(node.value) if node is not None and node.kind == "text" else ""


def plain(node: Node) -> object:
    """The tree as plain dicts, lists and scalars; a bad scalar is the text that was written."""
    if node.kind == "map":
        return {entry.key: plain(entry.value) for entry in node.entries}
    if node.kind == "list":
        return [plain(item) for item in node.items]
    return node.source if node.kind == "bad" else node.value
