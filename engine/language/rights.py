"""Right sides: literal, `$param`, `.field`, `{calc: ...}`, `{least | most: ...}`."""

from __future__ import annotations

from typing import NamedTuple

from sweeprules.engine.language.ast import Const, FieldRef, ParamRef, Pick, Right
from sweeprules.engine.language.calc import calc
from sweeprules.engine.language.literals import PARAM_HINT, is_threshold, literal
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.paths import resolve, resolve_members
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import QUANTITIES, Type, clash, worded


class Typed(NamedTuple):
    """A right side and its type."""

    right: Right
    type: Type


def right(scope: Scope, node: Node, expected: Type, *, limit: bool = False) -> Typed | None:
    """The right side of the expected type; None after reporting why there is none.

    `limit` is True in an ordering test of a rule, where a bare number or duration has to be a param.
    """
    if node.kind == "map":
        found = _computed(scope, node)
    elif node.kind == "text" and str(node.value).startswith(("$", ".")) and node.value not in {".", "$"}:
        found = _reference(scope, node)
    else:
        return _literal(scope, node, expected, limit)
    if found is None:
        return None
    if isinstance(found.right, ParamRef) and not _word_fits(scope, node, found.right, expected):
        return None
    why = clash(expected, found.type)
    if why:
        what = quote(node.text) if node.kind == "text" else "what is computed here"
        scope.report(node.mark, f"{what}: {why}", _declared(scope, found.right))
        return None
    return found


def _declared(scope: Scope, found: Right) -> str:
    """Where the param was declared, which may be another file than the one that uses it."""
    return f"declared at {scope.names.params[found.name].mark}" if isinstance(found, ParamRef) else ""


def _literal(scope: Scope, node: Node, expected: Type, limit: bool) -> Typed | None:
    found = literal(scope, node, expected)
    if found is None:
        return None
    if limit and is_threshold(node):
        scope.report(node.mark, f"thresholds are params: {quote(node.text)} has no name", PARAM_HINT)
        return None
    return Typed(found, expected)


def _word_fits(scope: Scope, node: Node, ref: ParamRef, expected: Type) -> bool:
    """Reports a param whose text is no word of the enum that it is compared with."""
    param = scope.names.params[ref.name]
    if not expected.words or not isinstance(param.default, str) or param.default in expected.words:
        return True
    scope.unknown(node.mark, "word", param.default, expected.words, of=f" (the default of {node.text})")
    return False


def _reference(scope: Scope, node: Node) -> Typed | None:
    text = str(node.value)
    if text.startswith("$"):
        return _param(scope, node, text[1:])
    found = resolve(scope, text if text.startswith("..") else text[1:], node.mark)
    return Typed(FieldRef(found.path), found.type) if found else None


def _param(scope: Scope, node: Node, name: str) -> Typed | None:
    names = scope.names
    if name in names.params:
        return Typed(ParamRef(name), names.param_types[name])
    if name in names.lists:
        scope.report(node.mark, f"{quote(node.text)} is a list", "it stands behind in, not_in and contains_any alone")
    else:
        scope.unknown(node.mark, "param", name, names.params)
    return None


def _computed(scope: Scope, node: Node) -> Typed | None:
    """`{calc: TEXT}`, `{least: {of, field}}` or `{most: ...}`; any other shape was reported with the schema."""
    if len(node.entries) != 1:
        return None
    entry = node.entries[0]
    if entry.key == "calc" and entry.value.kind == "text":
        found = calc(scope, entry.value)
        return Typed(*found) if found else None
    if entry.key in {"least", "most"}:
        return _pick(scope, entry.key, entry.value)
    return None


def _pick(scope: Scope, which: str, node: Node) -> Typed | None:
    of, field = node.get("of"), node.get("field")
    if of is None or of.kind != "text":
        return None
    members = resolve_members(scope, str(of.value), of.mark)
    if members is None or members.members is None:
        return None
    name, mark = ("value", node.mark) if field is None else (field.text, field.mark)
    found = resolve(scope.inside(members.members), name, mark)
    if found is None:
        return None
    if found.type.base not in QUANTITIES:
        scope.report(mark, f"{quote(name)} is {worded(found.type)}; {which} needs a number, duration, size or time")
        return None
    return Typed(Pick("least" if which == "least" else "most", members.path, found.path), found.type)


def constant(found: Typed | None) -> Const | None:
    """The right side when it is a constant."""
    return found.right if found and isinstance(found.right, Const) else None
