"""Literals, params and lists: values as a policy writes them, checked against the type that a place needs."""

from __future__ import annotations

from sweeprules.engine.facts import Value
from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Const
from sweeprules.engine.language.node import KIND_WORDS, Node
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.types import ANY, BOOLEAN, COUNT, NUMBER, NUMBERS, TEXT, Type, worded

UNKNOWN_WORDS = frozenset({"unknown", "UNKNOWN"})
FREE_NUMBERS = frozenset({0, 1, -1})
"""Numbers that may stand in an ordering test without a name: none, one, and the sign."""
PARAM_HINT = "declare it: params: {NAME: {default: VALUE, why: ...}}, and write $NAME"

Typed = tuple[Value, Type]


def inferred(node: Node) -> Typed | None:
    """The value and type of a scalar that stands by itself (a param's default); None when it is no scalar."""
    if node.kind == "boolean":
        return bool(node.value), BOOLEAN
    if node.kind in {"integer", "number"} and isinstance(node.value, int | float):
        return node.value, COUNT if node.kind == "integer" else NUMBER
    if node.kind != "text":
        return None
    text = str(node.value)
    seconds, size = quantities.duration(text), quantities.size(text)
    if seconds is not None:
        return seconds, Type("duration")
    return (size, Type("bytes")) if size is not None else (text, TEXT)


def literal(scope: Scope, node: Node, expected: Type) -> Const | None:
    """The literal as a value of the expected type; None after reporting why it is none.

    What is no scalar was reported with the schema.
    """
    if node.kind in {"bad", "map", "list", "null"}:
        return None
    if expected.base == "any":
        found = inferred(node)
        return Const(str(node.value) if node.kind == "text" else found[0]) if found else None
    if expected.base in NUMBERS:
        return _number(scope, node, expected)
    if expected.base == "boolean":
        return _boolean(scope, node)
    return _written(scope, node, expected)


def free(node: Node) -> Const | None:
    """A literal where any type may stand, durations and sizes taken as such (an argument); None when it is none."""
    found = inferred(node)
    return Const(found[0], node.text if node.kind == "text" and found[1] != TEXT else "") if found else None


def _number(scope: Scope, node: Node, expected: Type) -> Const | None:
    if isinstance(node.value, int | float) and node.kind != "boolean":
        return Const(node.value)
    hint = "remove the quotes" if node.quoted and node.source.replace(".", "", 1).isdigit() else ""
    scope.report(node.mark, f"expected {worded(expected)}, got {_got(node)}", hint)
    return None


def _boolean(scope: Scope, node: Node) -> Const | None:
    if node.kind == "boolean":
        return Const(bool(node.value))
    hint = "write {unknown: true} to ask for it" if node.text in UNKNOWN_WORDS else ""
    scope.report(node.mark, f"expected true or false, got {_got(node)}", hint)
    return None


def _written(scope: Scope, node: Node, expected: Type) -> Const | None:
    """A value that YAML holds as a text: words, texts, durations, sizes, times."""
    if node.kind != "text":
        if expected.base in {"duration", "bytes"} and node.value == 0 and node.kind == "integer":
            return Const(0)
        scope.report(node.mark, f"expected {_form(expected)}, got {_got(node)}", _hint(node, expected))
        return None
    text = str(node.value)
    if text in UNKNOWN_WORDS:
        scope.report(node.mark, f"`{text}` is no value", "write {unknown: true} to ask for it")
        return None
    if expected.base in {"text", "enum"}:
        return _word(scope, node, text, expected)
    value = _PARSERS[expected.base](text) if expected.base in _PARSERS else None
    if value is None:
        scope.report(node.mark, f"expected {_form(expected)}, got {quote(text)}")
        return None
    return Const(value, text)


def _word(scope: Scope, node: Node, text: str, expected: Type) -> Const | None:
    if expected.words and text not in expected.words:
        scope.unknown(node.mark, "word", text, expected.words, of=f"; expected {listed(expected.words)}")
        return None
    return Const(text)


_PARSERS = {"duration": quantities.duration, "bytes": quantities.size, "time": quantities.time}
_FORMS = {"duration": quantities.DURATION_FORM, "bytes": quantities.SIZE_FORM, "time": quantities.TIME_FORM}


def _form(expected: Type) -> str:
    return _FORMS.get(expected.base, worded(expected))


def _hint(node: Node, expected: Type) -> str:
    if expected.base in {"text", "enum"}:
        return f'quote it: "{node.text}"'
    return f"write {node.text}s for seconds" if expected.base == "duration" and node.kind == "integer" else ""


def _got(node: Node) -> str:
    return f"{KIND_WORDS[node.kind]}: {quote(node.text)}" if node.kind != "boolean" else quote(node.text)


def values(scope: Scope, node: Node, item: Type) -> Const | None:
    """A list literal or `$list` whose members have the item's type, as one constant tuple."""
    source = ""
    if node.kind == "text" and str(node.value).startswith("$"):
        source = str(node.value)
        name = source[1:]
        if name not in scope.names.lists:
            if name in scope.names.params:
                scope.report(node.mark, f"{quote(source)} is a param, which is one value", "a list is needed here")
            else:
                scope.unknown(node.mark, "list", name, scope.names.lists)
            return None
        node = scope.names.lists[name]
    if node.kind != "list":
        if node.kind != "bad":
            scope.report(node.mark, f"expected a list, got {_got(node)}", "write [a, b] or $list")
        return None
    if not node.items:
        if not source:
            scope.report(node.mark, "this list is empty", "a test against no value never holds")
        return None
    members = [literal(scope, one, item) for one in node.items]
    return Const(tuple(one.value for one in members if one is not None), source) if all(members) else None


def is_threshold(node: Node) -> bool:
    """True for a literal that is a limit without a name: a number other than 0, 1, -1, a duration, a size."""
    found = inferred(node)
    if found is None or found[1] in {TEXT, BOOLEAN, ANY}:
        return False
    return not (isinstance(found[0], int | float) and found[0] in FREE_NUMBERS and node.kind != "text")
