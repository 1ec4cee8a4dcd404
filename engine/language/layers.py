"""Puts the files of all layers together: the shipped ones first, then a site's, which override by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.language.node import Entry, Node
from sweeprules.engine.language.shape import listed, quote

NAMED = (
    "params",
    "lists",
    "patterns",
    "features",
    "decide",
    "routes",
    "flags",
    "signals",
    "metrics",
    "actions",
)
LISTED = ("rules", "exemptions")
NEW_WORDS = ("flags", "signals", "metrics", "actions")
ORDERED = ("decide", "routes")
"""Sections of lines of which the first that holds is taken."""


@dataclass(frozen=True, slots=True)
class Item:
    """One named thing of one file: where its name stands, what it is, and whether it came with the tool.

    A thing that a later layer changes in part (a param, a list, a decision) has the tree of the whole; each node of it
    still says where it was written. `earlier` is what it overrides. One that is `disabled` has the tree of what it
    switches off.
    """

    name: str
    mark: Mark
    node: Node
    layer: int
    over: Mark | None = None
    """The place of the item of an earlier layer that this one overrides."""
    earlier: Item | None = None
    disabled: bool = False
    because: str = ""

    @property
    def written(self) -> Mark:
        """Where what it says stands: of one that is disabled the place of what it switches off."""
        return self.earlier.written if self.disabled and self.earlier is not None else self.mark


@dataclass(slots=True)
class Effective:
    """Section -> name -> the item that counts."""

    sections: dict[str, dict[str, Item]] = field(default_factory=lambda: {name: {} for name in (*NAMED, *LISTED)})

    def of(self, section: str) -> list[Item]:
        """The items of a section in the order of their names."""
        return [self.sections[section][name] for name in sorted(self.sections[section])]


def merge(layers: Sequence[Sequence[Node]], problems: list[Problem]) -> Effective:
    """The items of all layers; a later layer overrides an earlier one, two in one layer are a mistake.

    New words (flags, signals, metrics, actions) are never overridden: a name that exists is a mistake in any layer.
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
    if earlier is not None and (earlier.layer == item.layer or (section in NEW_WORDS and not _adds_keys(item))):
        what = f"the {section.rstrip('s')} {quote(item.name)}"
        problems.append(Problem(item.mark, f"{what} is there already", f"the first one is at {earlier.mark}"))
        return
    found = _over(earlier, section, item, [*known], problems)
    if found is not None:
        known[item.name] = found


def _adds_keys(item: Item) -> bool:
    return item.node.get("add") is not None


def _over(earlier: Item | None, section: str, item: Item, known: list[str], problems: list[Problem]) -> Item | None:
    """The item that counts after a layer has said its part of it; None after reporting that it says nothing."""
    disabled = item.node.get("disabled")
    if section in LISTED and disabled is not None and disabled.value is True:
        return _disabled(earlier, section, item, known, problems)
    if section == "lists" and item.node.kind != "list":
        # What is neither a list nor a change of one was reported with the schema.
        return _changed_list(earlier, item, known, problems) if item.node.kind == "map" else earlier or item
    if section in ORDERED and item.node.kind == "map":
        return _put_before(earlier, section, item, known, problems)
    if earlier is None:
        return item
    node = item.node
    if section == "params" and node.kind == "map":
        node = _changed_param(earlier.node, node)
    elif section == "metrics":
        node = _more_keys(earlier.node, node)
    return dataclasses.replace(item, node=node, over=earlier.mark, earlier=earlier)


def _disabled(earlier: Item | None, section: str, item: Item, known: list[str], problems: list[Problem]) -> Item | None:
    what = section.rstrip("s")
    if earlier is None:
        hint = nearest(item.name, known) or "only what an earlier layer has can be switched off"
        problems.append(Problem(item.mark, f"there is no {what} {quote(item.name)} to disable", hint))
        return None
    if earlier.disabled:
        problems.append(Problem(item.mark, f"the {what} {quote(item.name)} is disabled already", f"at {earlier.mark}"))
        return None
    because = item.node.get("because")
    return dataclasses.replace(
        item,
        node=earlier.node,
        over=earlier.mark,
        earlier=earlier,
        disabled=True,
        because=because.text if because is not None else "",
    )


# ---------------------------------------------------------------- changes in part


def _changed_param(old: Node, new: Node) -> Node:
    """The param with the new entries instead of the old ones; a row of `for` replaces one that matches the same."""
    entries = {entry.key: entry for entry in old.entries}
    for entry in new.entries:
        before = entries.get(entry.key)
        if entry.key == "for" and before is not None and entry.value.kind == "list":
            entry = Entry(entry.key, entry.mark, _rows(before.value, entry.value))
        entries[entry.key] = entry
    return dataclasses.replace(new, entries=tuple(entries.values()))


def _rows(old: Node, new: Node) -> Node:
    said = [_matched(row) for row in new.items]
    kept = [row for row in old.items if _matched(row) not in said]
    return dataclasses.replace(new, items=(*kept, *new.items))


def _matched(row: Node) -> frozenset[tuple[str, object]]:
    return frozenset((entry.key, entry.value.value) for entry in row.entries if entry.key != "value")


def _more_keys(old: Node, new: Node) -> Node:
    """The metric with more keys: those of a new metric stand under `aliases`, those of an old field under `add`."""
    more = new.get("add")
    entries = []
    for entry in old.entries:
        if entry.key in {"aliases", "add"} and more is not None:
            entry = Entry(entry.key, entry.mark, dataclasses.replace(more, items=(*entry.value.items, *more.items)))
        entries.append(entry)
    return dataclasses.replace(new, entries=tuple(entries))


def _put_before(
    earlier: Item | None, section: str, item: Item, known: list[str], problems: list[Problem]
) -> Item | None:
    """The lines of `first` and behind them those of the earlier layer."""
    first = item.node.get("first")
    if earlier is None or earlier.node.kind != "list":
        hint = nearest(item.name, known) or "write the whole list: [...]"
        problems.append(Problem(item.mark, f"there is nothing under {section}: {item.name} to stand first in", hint))
        return None
    if first is None:
        # What is wrong with it was reported with the schema.
        return earlier
    node = Node("list", item.node.mark, items=(*first.items, *earlier.node.items))
    return dataclasses.replace(item, node=node, over=earlier.mark, earlier=earlier)


def _changed_list(earlier: Item | None, item: Item, known: list[str], problems: list[Problem]) -> Item | None:
    """The list with what is added and without what is removed."""
    added, removed = item.node.get("add"), item.node.get("remove")
    if not any(one.items for one in (added, removed) if one is not None):
        # Nothing is changed; what is wrong with it was reported with the schema.
        return earlier
    if earlier is None or earlier.node.kind != "list":
        hint = nearest(item.name, known) or "write the whole list: [a, b]"
        problems.append(Problem(item.mark, f"there is no list {quote(item.name)} to change", hint))
        return None
    members = list(earlier.node.items)
    for one in removed.items if removed is not None else ():
        if not any(_same(one, member) for member in members):
            names = [member.text for member in members]
            hint = nearest(one.text, names) or (f"it has {listed(names)}" if names else "")
            problems.append(Problem(one.mark, f"{quote(one.text)} is not in the list {quote(item.name)}", hint))
        members = [member for member in members if not _same(one, member)]
    for one in added.items if added is not None else ():
        # The shipped list may have caught up with the site's, which is no mistake of the site's.
        if not any(_same(one, member) for member in members):
            members.append(one)
    if not members:
        problems.append(Problem(item.mark, f"the list {quote(item.name)} would be empty", "disable what reads it"))
        return None
    node = Node("list", item.node.mark, items=tuple(members))
    return dataclasses.replace(item, node=node, over=earlier.mark, earlier=earlier)


def _same(one: Node, other: Node) -> bool:
    return (one.kind, one.value) == (other.kind, other.value)
