"""The test of a `FIELD: TEST`: operators, what each may stand on, and its right sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import re2

from sweeprules.engine.language.ast import Compare, Const, Operator, Right
from sweeprules.engine.language.literals import literal, values
from sweeprules.engine.language.node import Entry, Node
from sweeprules.engine.language.rights import right
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.types import COLLECTIONS, QUANTITIES, TEXT, TEXTS, Type, item_of, worded

ORDERING = ("lt", "le", "gt", "ge", "between")
TEXT_ONLY = ("prefix", "glob", "regex", "matches")
STATUS = ("known", "unknown", "absent")
MEMBERSHIP = ("in", "not_in")
HOLDING = ("contains", "contains_any")
OPERATORS = ("eq", "ne", *ORDERING, *MEMBERSHIP, *TEXT_ONLY, *HOLDING, *STATUS)
FOLDABLE = frozenset({"eq", "ne", *MEMBERSHIP, *TEXT_ONLY, *HOLDING})
MAX_REGEX = 1000
_Rights = tuple[Right, ...]


class _Place(NamedTuple):
    """Where a test stands: its scope, the type of its left side, and whether bare limits are allowed."""

    scope: Scope
    left: Type
    bare: bool


def compare(scope: Scope, node: Node, left: Type, *, bare: bool = False) -> Compare | None:
    """The test; None after reporting what is wrong (or where its shape was already reported).

    `bare` allows limits without a name: in `at_least`, whose counts are no thresholds.
    """
    place = _Place(scope, left, bare)
    if node.kind != "map":
        return None if node.kind == "list" else _operated(place, Entry("eq", node.mark, node), "eq")
    if node.get("possible") is not None:
        return _possible(place, node)
    operators = [entry for entry in node.entries if entry.key in OPERATORS]
    if len(operators) > 1:
        names = " and ".join(entry.key for entry in operators)
        scope.report(operators[1].mark, f"one test has one operator, got {names}", "write between, or two under all")
        return None
    if not operators:
        return _no_operator(place, node)
    found = _operated(place, operators[0], operators[0].key)
    return _dressed(place, node, operators[0], found) if found else None


def _no_operator(place: _Place, node: Node) -> Compare | None:
    """`{calc: ...}`, `{least: ...}` as an equality, or nothing to test with."""
    if any(entry.key in {"calc", "least", "most"} for entry in node.entries):
        return _operated(place, Entry("eq", node.mark, node), "eq")
    if all(entry.key in {"default", "because", "fold"} for entry in node.entries):
        place.scope.report(node.mark, "this test has no operator", f"expected {listed(OPERATORS)}")
    return None


def _possible(place: _Place, node: Node) -> Compare | None:
    inner = node.get("possible")
    if place.left.base not in {"interval", "any"}:
        place.scope.report(node.key_mark("possible"), f"possible asks of an interval, and this is {worded(place.left)}")
        return None
    found = compare(place.scope, inner, place.left, bare=place.bare) if inner else None
    if found is None:
        return None
    return Compare(found.op, found.rights, found.fold, found.wanted, True, found.default, found.because)


def _dressed(place: _Place, node: Node, operator: Entry, found: Compare) -> Compare | None:
    """The test with `fold`, `default` and `because`."""
    scope = place.scope
    fold, default, because = node.get("fold"), node.get("default"), node.get("because")
    if fold is not None and operator.key not in FOLDABLE:
        scope.report(node.key_mark("fold"), f"fold has no meaning for {operator.key}", "it is about letter case")
        return None
    if default is not None and operator.key in STATUS:
        scope.report(node.key_mark("default"), f"default hides what {operator.key} asks for", "leave one of them out")
        return None
    if (default is None) != (because is None):
        key = "default" if because is None else "because"
        scope.report(node.key_mark(key), "default and because stand together", "say why this value is safe")
        return None
    value = literal(scope, default, place.left) if default is not None else None
    if default is not None and value is None:
        return None
    reason = because.text if because is not None else ""
    return Compare(found.op, found.rights, fold is not None and fold.value is True, found.wanted, False, value, reason)


def _operated(place: _Place, entry: Entry, name: str) -> Compare | None:
    if name in STATUS:
        boolean = literal(place.scope, entry.value, Type("boolean"))
        return Compare(cast(Operator, name), wanted=bool(boolean.value)) if boolean else None
    why = _misfit(place.left, name)
    if why[0]:
        place.scope.report(entry.mark, *why)
        return None
    rights = _READERS.get(name, _single)(place, entry)
    return Compare(cast(Operator, name), rights) if rights else None


def operators_for(left: Type) -> tuple[str, ...]:
    """The operators that may stand on a value of this type, in their order."""
    found = tuple(name for name in OPERATORS if name in STATUS or not _misfit(left, name)[0])
    return (*found, "possible") if left.base == "interval" else found


def _misfit(left: Type, name: str) -> tuple[str, str]:
    """Why an operator can not stand on a value of this type, and what can."""
    base = left.base
    if base == "any":
        return "", ""
    if base in COLLECTIONS:
        if base == "list" and name in HOLDING:
            return "", ""
        can = listed((*HOLDING, *STATUS) if base == "list" else STATUS)
        return f"{name} can not test {worded(left)}", f"expected {can}, or some: {{of: ...}}"
    if name in ORDERING and base not in QUANTITIES:
        return f"{name} orders numbers, durations, sizes and times; this is {worded(left)}", ""
    if name in {*TEXT_ONLY, *HOLDING} and base not in TEXTS:
        return f"{name} tests a text; this is {worded(left)}", ""
    return "", ""


# ---------------------------------------------------------------- right sides by operator


def _single(place: _Place, entry: Entry) -> _Rights:
    limit = entry.key in ORDERING and not place.bare
    found = right(place.scope, entry.value, place.left, limit=limit)
    return (found.right,) if found else ()


def _between(place: _Place, entry: Entry) -> _Rights:
    if entry.value.kind != "list" or len(entry.value.items) != 2:
        return ()
    found = [right(place.scope, item, place.left, limit=not place.bare) for item in entry.value.items]
    return tuple(one.right for one in found if one) if all(found) else ()


def _membership(place: _Place, entry: Entry) -> _Rights:
    node = entry.value
    if node.kind == "text" and str(node.value).startswith("."):
        found = right(place.scope, node, Type("any"))
        if found and found.type.base not in {"list", "any"}:
            place.scope.report(node.mark, f"{quote(node.text)} is {worded(found.type)}; {entry.key} needs a list")
            return ()
        return (found.right,) if found else ()
    many = values(place.scope, node, place.left)
    return (many,) if many else ()


def _contained(place: _Place, entry: Entry) -> _Rights:
    one = item_of(place.left) if place.left.base == "list" else TEXT
    found = right(place.scope, entry.value, one)
    return (found.right,) if found and not _empty(place, entry.value, found.right) else ()


def _contained_any(place: _Place, entry: Entry) -> _Rights:
    one = item_of(place.left) if place.left.base == "list" else TEXT
    many = values(place.scope, entry.value, one)
    return (many,) if many else ()


def _prefix(place: _Place, entry: Entry) -> _Rights:
    found = right(place.scope, entry.value, TEXT)
    return (found.right,) if found and not _empty(place, entry.value, found.right) else ()


def _empty(place: _Place, node: Node, found: Right) -> bool:
    """Reports an empty text, which every text begins with and contains."""
    if not (isinstance(found, Const) and found.value == ""):
        return False
    place.scope.report(node.mark, "an empty text is contained in every text", "write what has to be there")
    return True


def _glob(place: _Place, entry: Entry) -> _Rights:
    found = literal(place.scope, entry.value, TEXT)
    return (found,) if found else ()


def _regex(place: _Place, entry: Entry) -> _Rights:
    found = literal(place.scope, entry.value, TEXT)
    if found is None:
        return ()
    why = regex_mistake(str(found.value))
    if why:
        place.scope.report(entry.value.mark, why, "regexes are those of re2: no lookaround, no backreference")
        return ()
    return (found,)


def _pattern(place: _Place, entry: Entry) -> _Rights:
    name, known = entry.value.text, place.scope.names.patterns
    if entry.value.kind != "text" or name in known:
        return (Const(name),) if entry.value.kind == "text" else ()
    place.scope.unknown(entry.value.mark, "pattern", name, known)
    return ()


_READERS: dict[str, Callable[[_Place, Entry], _Rights]] = {
    "between": _between,
    "in": _membership,
    "not_in": _membership,
    "contains": _contained,
    "contains_any": _contained_any,
    "prefix": _prefix,
    "glob": _glob,
    "regex": _regex,
    "matches": _pattern,
}


def regex_mistake(text: str) -> str:
    """What keeps re2 from compiling a regex; empty when it compiles."""
    if len(text) > MAX_REGEX:
        return f"a regex of {len(text)} characters; at most {MAX_REGEX} are read"
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options=options)
    except re2.error as error:
        detail = error.args[0] if error.args else ""
        return f"the regex does not compile: {detail.decode(errors='replace') if isinstance(detail, bytes) else detail}"
    return ""
