"""The arguments that a rule test expects of an action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.facts import Absent, FactValue, Unknown
from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import listed, quote

_UNITS: Mapping[str, Callable[[str], float | None]] = {
    "duration": quantities.duration,
    "time": quantities.time,
    "bytes": quantities.size,
}


class Wanted(NamedTuple):
    """Each value that the words may stand for (`15m` is a text and a duration), and the type to show it by."""

    values: tuple[FactValue, ...]
    kind: str = ""


Args = Mapping[tuple[str, str], Wanted]
"""What is expected by (action, argument)."""


def read_args(node: Node | None, policy: Policy, problems: list[Problem]) -> Args:
    """The arguments that are expected, by action; names that do not exist are added to the problems."""
    if node is None:
        return {}
    if not node.entries:
        problems.append(Problem(node.mark, "args names nothing", "name an action and its arguments"))
    found: dict[tuple[str, str], Wanted] = {}
    for entry in node.entries:
        if entry.key in policy.actions:
            found.update(_of_action(entry.key, entry.value, policy.actions[entry.key].args, problems))
        else:
            wrong = f"{quote(entry.key)} is no action"
            problems.append(Problem(entry.mark, wrong, nearest(entry.key, policy.actions)))
    return found


def _of_action(
    action: str, node: Node, known: tuple[str, ...], problems: list[Problem]
) -> Iterator[tuple[tuple[str, str], Wanted]]:
    if not node.entries:
        hint = f"its args are {listed(known)}" if known else f"{action} has none"
        problems.append(Problem(node.mark, f"args names nothing of {action}", hint))
    for entry in node.entries:
        wanted = _wanted(entry.value)
        if entry.key not in known:
            wrong = f"{quote(entry.key)} is no argument of {action}"
            problems.append(Problem(entry.mark, wrong, nearest(entry.key, known)))
        elif not wanted.values:
            problems.append(Problem(entry.value.mark, f"{entry.key} can not be compared with a map", "write a value"))
        else:
            yield (action, entry.key), wanted


def _wanted(node: Node) -> Wanted:
    """What is written, read in every way; without values where it is neither a value nor a list of values."""
    if (unread := node.get("unknown")) is not None:
        return Wanted((Unknown(unread.text),))
    if node.get("absent") is not None:
        return Wanted((Absent(),))
    if node.kind == "list":
        members = [_plain(item) for item in node.items]
        whole = tuple(member for member in members if member is not None)
        return Wanted((whole,) if len(whole) == len(members) else ())
    value = _plain(node)
    if not isinstance(value, str):
        return Wanted(() if value is None else (value,))
    read = {kind: parsed for kind, parse in _UNITS.items() if (parsed := parse(value)) is not None}
    return Wanted((value, *read.values()), next(iter(read), ""))


def _plain(node: Node) -> str | float | bool | None:
    return node.value if isinstance(node.value, str | int | float | bool) else None
