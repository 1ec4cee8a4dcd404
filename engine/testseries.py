"""Steps as a rule test writes them: one line a field, `"0.3x10 1.4"`, instead of one map a step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from sweeprules.engine.catalogue import KindDef
from sweeprules.engine.errors import Problem
from sweeprules.engine.facts import Reason
from sweeprules.engine.language.node import Entry, Node
from sweeprules.engine.language.shape import quote

STEP = "step"
GAP, NAN = "_", ("nan", "inf", "-inf")
MOST = 10_000
"""Steps in one test: more than any run that was seen, and read in a blink."""
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})\Z")
_REPEATED = re.compile(r"(.+?)x(\d{1,5})\Z")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
_WHOLE = re.compile(r"[+-]?\d+\Z")

Report = Callable[[Problem], None]


def is_compact(node: Node) -> bool:
    """Is this a map of series, and not the facts of one step?"""
    numbers = node.get(STEP) if node.kind == "map" else None
    return numbers is not None and (numbers.kind == "list" or _RANGE.match(numbers.text) is not None)


def expanded(node: Node, kind: KindDef, report: Report) -> Node:
    """The steps that a map of series stands for, as a list of one map a step.

    `step` is `30..41` or a list of numbers. Any other field is a text of values with blanks between (`_` a gap, `nan`,
    `inf`, `0.3x10` ten times), a list of as many values, or one value for all; a field of texts is a list, or one text
    for all. Series of unlike lengths are reported.
    """
    numbers = node.get(STEP)
    assert numbers is not None
    steps = _steps(numbers, report)
    found: list[list[Entry]] = [[Entry(STEP, numbers.mark, cell)] for cell in steps]
    for entry in node.entries if steps else ():
        if entry.key == STEP:
            continue
        definition = kind.fields.get(entry.key)
        one_text = definition is not None and definition.type in ("text", "enum")
        cells = _cells(entry.value, len(steps), one_text, report)
        if len(cells) != len(steps):
            message = f"{entry.key} has {len(cells)} values, and there are {len(steps)} steps"
            report(Problem(entry.value.mark, message, f"write one value a step, {GAP} for none"))
        for step, cell in zip(found, cells, strict=False):
            if cell is not None:
                step.append(Entry(entry.key, entry.mark, cell))
    return Node("list", node.mark, items=tuple(Node("map", node.mark, entries=tuple(step)) for step in found))


def _steps(node: Node, report: Report) -> list[Node]:
    if node.kind == "list":
        return list(node.items)
    span = _RANGE.match(node.text)
    assert span is not None
    first, last = int(span.group(1)), int(span.group(2))
    if not first <= last < first + MOST:
        report(Problem(node.mark, f"{quote(node.text)} is no range of steps", f"write 30..41, at most {MOST} steps"))
        return []
    return [_scalar(node, "integer", number) for number in range(first, last + 1)]


def _cells(node: Node, count: int, one_text: bool, report: Report) -> list[Node | None]:
    if node.kind == "list":
        return [None if item.text == GAP else item for item in node.items]
    if node.kind != "text" or one_text:
        return [node] * count
    return [cell for word in node.text.split() for cell in _word(word, node, report)]


def _word(word: str, node: Node, report: Report) -> list[Node | None]:
    repeated = _REPEATED.match(word)
    text, times = (repeated.group(1), int(repeated.group(2))) if repeated else (word, 1)
    if not 0 < times <= MOST:
        report(Problem(node.mark, f"{quote(word)} is no number of values", f"write {text}x1 to {text}x{MOST}"))
        return []
    return [_value(text, node)] * times


def _value(text: str, node: Node) -> Node | None:
    if text == GAP:
        return None
    if text.lower() in NAN:
        reason = _scalar(node, "text", str(Reason.NAN))
        return Node("map", node.mark, entries=(Entry("unknown", node.mark, reason),))
    if _WHOLE.match(text):
        return _scalar(node, "integer", int(text))
    if _NUMBER.match(text):
        return _scalar(node, "number", float(text))
    if text in ("true", "false"):
        return _scalar(node, "boolean", text == "true")
    return _scalar(node, "text", text)


def _scalar(node: Node, kind: str, value: bool | int | float | str) -> Node:
    return replace(node, kind=kind, value=value, source=str(value))  # type: ignore[arg-type]
