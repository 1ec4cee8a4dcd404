"""The sections that rules refer to: params, lists, patterns and new words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Literal, cast

import re2

from sweeprules.engine.errors import nearest
from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import ActionDef, FlagDef, Override, Param, Pattern
from sweeprules.engine.language.compare import regex_mistake
from sweeprules.engine.language.features import feature, metric
from sweeprules.engine.language.layers import Effective, Item
from sweeprules.engine.language.literals import inferred
from sweeprules.engine.language.node import Node, text_of
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.types import COUNTED, NUMBERS, Type, worded

LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"job"}),
    frozenset({"tag"}),
    frozenset({"bucket", "cluster"}),
    frozenset({"cluster"}),
    frozenset({"bucket"}),
)
"""What the rows of `for:` may match, the strongest first."""


def declare(scope: Scope, effective: Effective) -> None:
    """Fills the names with the params, lists, patterns, features and new words of all layers."""
    _words(scope, effective)
    for item in effective.of("metrics"):
        metric(scope, item)
    for item in effective.of("params"):
        _param(scope, item, effective.sections["params"].keys())
    for item in effective.of("lists"):
        _list(scope, item)
    for item in effective.of("patterns"):
        _pattern(scope, item)
    scope.names.feature_names.update(effective.sections["features"])
    for item in effective.of("features"):
        feature(scope, item)


# ---------------------------------------------------------------- params and lists


def _param(scope: Scope, item: Item, known: Set[str]) -> None:
    default, unit = item.node.get("default"), text_of(item.node.get("unit"))
    if default is None and item.node.kind == "map" and item.node.entries:
        # Perhaps a param of an earlier layer was meant, which is changed in part by its name.
        others = known - {item.name}
        scope.report(item.node.mark, "missing here: the key `default`", nearest(item.name, others))
    found = inferred(default) if default is not None else None
    if default is None or found is None:
        return
    value, kind = found
    kind = _with_unit(scope, item, kind, unit)
    rows = item.node.get("for")
    overrides = tuple(
        override for row in (rows.items if rows else ()) if (override := _override(scope, row, kind)) is not None
    )
    _refuse_ties(scope, overrides)
    source = default.text if default.kind == "text" and kind.base != "text" else ""
    why = text_of(item.node.get("why"))
    scope.names.params[item.name] = Param(item.name, value, unit, why, overrides, item.mark, source)
    scope.names.param_types[item.name] = kind


def _with_unit(scope: Scope, item: Item, kind: Type, unit: str) -> Type:
    node = item.node.get("unit")
    if node is None or not unit:
        return kind
    known = (scope.names.catalogue.units | COUNTED) - {"s", "B"}
    if kind.base not in NUMBERS:
        scope.report(node.mark, f"{worded(kind)} takes no unit here", "30m and 64GB carry theirs")
    elif unit not in known:
        hint = {"s": "write 90s", "B": "write 64GB"}.get(unit[:1]) if unit in {"s", "B"} else ""
        scope.unknown(node.mark, "unit", unit, known, of=f" ({hint})" if hint else "")
    return Type(kind.base, unit) if kind.base in NUMBERS and unit in known else kind


def _override(scope: Scope, row: Node, kind: Type) -> Override | None:
    match = {entry.key: entry.value for entry in row.entries if entry.key != "value"}
    value = row.get("value")
    if value is None or not all(node.kind == "text" for node in match.values()):
        return None
    if frozenset(match) not in LEVELS:
        levels = listed(" + ".join(sorted(level)) for level in LEVELS)
        given = " + ".join(sorted(match)) or "nothing"
        scope.report(row.mark, f"an override can not match on {given}", f"expected {levels}")
        return None
    if not _known_words(scope, match):
        return None
    found = inferred(value)
    if found is None:
        return None
    if found[1].base != kind.base and not {found[1].base, kind.base} <= NUMBERS:
        scope.report(value.mark, f"expected {worded(kind)} as the default is, got {worded(found[1])}")
        return None
    return Override({key: node.text for key, node in match.items()}, found[0], row.mark)


def _known_words(scope: Scope, match: Mapping[str, Node]) -> bool:
    if "job" in match and ":" not in match["job"].text:
        scope.report(match["job"].mark, f"{quote(match['job'].text)} is no key of a job", "write cluster:id")
        return False
    enums = scope.names.catalogue.enums
    for key, known in (("bucket", enums["bucket"]), ("tag", scope.names.catalogue.tags)):
        if key in match and match[key].text not in known:
            scope.unknown(match[key].mark, key, match[key].text, known)
            return False
    return True


def _refuse_ties(scope: Scope, overrides: Iterable[Override]) -> None:
    """Two rows of one level that one job can match give it two values."""
    seen: dict[tuple[str, ...], Override] = {}
    for row in overrides:
        # A job has one id, cluster and bucket; it may have any number of tags.
        key = ("tag",) if "tag" in row.match else tuple(sorted(f"{k}={v}" for k, v in row.match.items()))
        first = seen.setdefault(key, row)
        if first is not row and (first.value != row.value or first.match == row.match):
            who = "a job with both tags" if "tag" in row.match else "one job"
            scope.report(row.mark, f"a tie: {who} would get two values", f"the other row is on line {first.mark.line}")


def _list(scope: Scope, item: Item) -> None:
    if item.name in scope.names.params:
        scope.report(item.mark, f"{quote(item.name)} is a param already", "`$name` means one thing")
    kinds = {found[1].base for node in item.node.items if (found := inferred(node))}
    if len(kinds - {"integer", "number"}) + bool(kinds & {"integer", "number"}) > 1:
        scope.report(item.mark, f"the list {quote(item.name)} mixes {listed(sorted(kinds))}", "one list, one type")
    if item.node.kind == "list":
        scope.names.lists[item.name] = item.node


# ---------------------------------------------------------------- patterns

PatternKind = Literal["fault", "benign", "progress", "metric", "rung", "marker"]
_FIELD_TYPES = ("integer", "number", "text", "time", "duration", "bytes")


def _pattern(scope: Scope, item: Item) -> None:
    node = item.node
    literal, regex, kind = node.get("literal"), node.get("regex"), text_of(node.get("kind"))
    groups = _groups(scope, regex)
    fields = _fields(scope, node, kind, groups)
    if literal is not None and literal.kind == "text" and not str(literal.value).strip():
        scope.report(literal.mark, "the literal is empty, so every line would have it", "write a part of the line")
    order = node.get("order")
    scope.names.patterns[item.name] = Pattern(
        name=item.name,
        kind=cast(PatternKind, kind),
        literal=text_of(literal),
        regex=text_of(regex),
        fields=fields,
        order=order.value if order is not None and isinstance(order.value, int) else None,
        never_means=text_of(node.get("never_means")),
        mark=item.mark,
    )


def _groups(scope: Scope, regex: Node | None) -> frozenset[str] | None:
    """The named groups of a regex; None when it does not compile (reported) or is left out."""
    if regex is None or regex.kind != "text":
        return None
    why = regex_mistake(str(regex.value))
    if why:
        scope.report(regex.mark, why, "regexes are those of re2: no lookaround, no backreference")
        return None
    return frozenset(re2.compile(str(regex.value)).groupindex)


def _fields(scope: Scope, node: Node, kind: str, groups: frozenset[str] | None) -> dict[str, str]:
    given = node.get("fields")
    found: dict[str, str] = {}
    for entry in given.entries if given is not None else ():
        word = entry.value.text if entry.value.kind == "text" else ("integer" if kind == "progress" else "")
        if entry.value.kind in {"text", "null"} and word not in _FIELD_TYPES:
            hint = f"write {entry.key}: TYPE, one of {listed(_FIELD_TYPES)}"
            scope.report(entry.value.mark, f"{quote(word or entry.key)} says no type of a field", hint)
        elif groups is not None and entry.key not in groups:
            scope.unknown(entry.mark, "group", entry.key, groups, of=" of this regex; a field reads (?P<name>...)")
        elif node.get("regex") is None:
            scope.report(
                entry.mark, f"the field {quote(entry.key)} has no regex to read it", "add regex: '(?P<name>...)'"
            )
        found[entry.key] = word or "text"
    return found


# ---------------------------------------------------------------- new words


def _words(scope: Scope, effective: Effective) -> None:
    names = scope.names
    names.flags.update(names.catalogue.flags)
    names.actions.update(names.catalogue.actions)
    names.signals.update(names.catalogue.signals)
    for item in effective.of("flags"):
        if _is_new(scope, item, names.catalogue.flags, "flag"):
            names.flags[item.name] = _flag(scope, item)
    for item in effective.of("signals"):
        if _is_new(scope, item, names.catalogue.signals, "signal"):
            names.signals.add(item.name)
    for item in effective.of("actions"):
        if _is_new(scope, item, names.catalogue.actions, "action"):
            names.actions[item.name] = _action(scope, item)


def _is_new(scope: Scope, item: Item, known: Iterable[str], what: str) -> bool:
    if item.name not in known:
        return True
    scope.report(item.mark, f"the {what} {quote(item.name)} is in the catalogue already", "choose another name")
    return False


def _flag(scope: Scope, item: Item) -> FlagDef:
    subject, severity = item.node.get("subject"), text_of(item.node.get("severity"))
    nodes = () if subject is None else subject.items if subject.kind == "list" else (subject,)
    exemptible = item.node.get("exemptible")
    return FlagDef(
        name=item.name,
        subjects=tuple(kind for node in nodes if (kind := scope.names.catalogue.kind_of(node.text)) is not None),
        severity=severity or "warning",
        severities=(severity or "warning",),
        exemptible=exemptible is not None and exemptible.value is True,
        explains=(),
        why=text_of(item.node.get("why")),
    )


def _action(scope: Scope, item: Item) -> ActionDef:
    template = item.node.get("template")
    if template is not None and template.kind == "text":
        known_template(scope, template)
    templates = (template.text,) if template is not None else ()
    return ActionDef(item.name, "free", False, (), templates, ())


def known_template(scope: Scope, node: Node) -> bool:
    """Whether a template exists; reports it otherwise."""
    if node.text in scope.names.templates:
        return True
    scope.unknown(node.mark, "template", node.text, scope.names.templates)
    return False


def plain_values(node: Node) -> tuple[Value, ...]:
    """The members of a list as they stand."""
    return tuple(item.value for item in node.items if item.value is not None)
