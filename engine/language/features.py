"""What a policy adds to a step: metrics, which are printed, and features, which are made of a series of them."""

from __future__ import annotations

from typing import Literal, cast

from sweeprules.engine.facts import Value
from sweeprules.engine.language.ast import Compare, Const, Feature, FeatureKind, Metric, ParamRef, Right
from sweeprules.engine.language.compare import STATUS, compare
from sweeprules.engine.language.layers import Item
from sweeprules.engine.language.node import Entry, Node, text_of
from sweeprules.engine.language.paths import CONDITION_WORDS
from sweeprules.engine.language.rights import right
from sweeprules.engine.language.scope import STEP, Scope
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import COLLECTIONS, COUNT, COUNTED, DURATION, NUMBER, NUMBERS, Type, worded

POINTS = ("points", "steps")
"""Units of a window."""
_COMPARED = frozenset({"ratio_to_mean", "deviation_from_mean", "deviation_from_trend"})
_LEAST = {"deviation_from_trend": 2, "slope": 2}
"""Points that a line needs; everything else needs one."""
_SERIES = NUMBERS - {"interval"} | {"duration", "bytes"}
_OWN_UNIT: dict[str, Literal["duration", "bytes"]] = {"s": "duration", "B": "bytes"}


# ---------------------------------------------------------------- metrics


def metric(scope: Scope, item: Item) -> None:
    """Declares a metric: a new field of a step, or more keys for one that is there."""
    names, unit = scope.names, text_of(item.node.get("unit"))
    known, adds = names.catalogue.kinds[STEP].fields, item.node.get("add")
    if adds is not None and item.node.get("aliases") is None:
        if item.name not in known:
            scope.unknown(item.mark, "field", item.name, known, of=" of step to add keys to")
    elif item.name in known:
        hint = "write add: [...] for more keys of it"
        scope.report(item.mark, f"the metric {quote(item.name)} is a field of a step already", hint)
    else:
        _refuse_name(scope, item, "metric")
        _check_unit(scope, item, unit)
        base = _OWN_UNIT.get(unit, "number")
        names.add_step_field(item.name, Type(base, "" if unit in _OWN_UNIT else unit))
    keys = adds if adds is not None else item.node.get("aliases")
    aliases = tuple(_key(scope, item, one) for one in keys.items) if keys is not None else ()
    new = item.name not in known
    names.metrics[item.name] = Metric(item.name, aliases, unit, item.mark, new, _OWN_UNIT.get(unit, "number"))


def _key(scope: Scope, item: Item, node: Node) -> str:
    """One key of a metric, which means this metric alone."""
    for other in scope.names.metrics.values():
        if other.name != item.name and node.text in other.aliases:
            hint = f"declared at {other.mark}"
            scope.report(node.mark, f"the key {quote(node.text)} is one of the metric {quote(other.name)}", hint)
    return node.text


def _check_unit(scope: Scope, item: Item, unit: str) -> None:
    node, known = item.node.get("unit"), scope.names.catalogue.units | COUNTED
    if node is not None and unit and unit not in known:
        scope.unknown(node.mark, "unit", unit, known)


def _refuse_name(scope: Scope, item: Item, what: str) -> None:
    """Reports a name that a condition about a step would read as something else."""
    view = scope.names.view(STEP)
    if item.name in CONDITION_WORDS:
        scope.report(item.mark, f"{quote(item.name)} is a word of conditions", f"choose another name for this {what}")
    elif item.name in view.relations or item.name in view.fields:
        kind = "relation" if item.name in view.relations else "field"
        scope.report(
            item.mark, f"the {what} {quote(item.name)} has the name of a {kind} of step", "choose another name"
        )


# ---------------------------------------------------------------- features


def feature(scope: Scope, item: Item) -> None:
    """Declares a feature. A broken one still has its name, so that the rules that read it are not blamed too."""
    kind = text_of(item.node.get("is"))
    _refuse_name(scope, item, "feature")
    before = len(scope.problems)
    series = _series(scope, item, kind)
    if series is not None:
        found = _feature(Scope(scope.names, scope.problems, scope.names.view(STEP)), item, kind, series)
        # One with a part that could not be read is kept out, or it would be judged without that part.
        if len(scope.problems) == before:
            scope.names.features[item.name] = found
    scope.names.add_step_field(item.name, _type_of(kind))


def _type_of(kind: str) -> Type:
    if kind == "consecutive":
        return COUNT
    return DURATION if kind == "since_change" else NUMBER


def _feature(scope: Scope, item: Item, kind: str, series: Type) -> Feature:
    least = _LEAST.get(kind, 1)
    window = _points(scope, item.node, "window", least)
    min_points = _points(scope, item.node, "min_points", least)
    _refuse_wide(scope, item.node, window, min_points)
    return Feature(
        name=item.name,
        series=text_of(item.node.get("series")),
        is_=cast(FeatureKind, kind),
        window=window,
        min_points=min_points,
        floor=_floor(scope, item.node.get("floor"), series),
        where=_where(scope, item.node.get("where"), series),
        mark=item.mark,
        type=cast(Literal["number", "integer", "duration"], _type_of(kind).base),
    )


def _series(scope: Scope, item: Item, kind: str) -> Type | None:
    """The type of the series; None after reporting why there is none."""
    node = item.node.get("series")
    if node is None or node.kind != "text":
        return None
    names = scope.names
    known = {name: one for name, one in names.view(STEP).fields.items() if name not in names.feature_names}
    if node.text in names.feature_names:
        hint = "name a field of step or a metric"
        scope.report(node.mark, f"{quote(node.text)} is a feature, and a feature is made of a series alone", hint)
        return None
    if node.text not in known:
        scope.unknown(node.mark, "series", node.text, known)
        return None
    found = known[node.text]
    counted = kind in {"consecutive", "share", "since_change"} and found.base not in COLLECTIONS
    if found.base not in _SERIES and not counted:
        scope.report(node.mark, f"{quote(node.text)} is {worded(found)}; {kind} needs a series of numbers")
        return None
    return found


def _points(scope: Scope, node: Node, key: str, least: int) -> Right | None:
    """A window or a least number of points: a param that is a whole number of points or steps everywhere."""
    given = node.get(key)
    if given is None or given.kind not in {"text", "integer"}:
        return None
    found = right(scope, given, COUNT, limit=True)
    if found is None:
        return None
    if not isinstance(found.right, ParamRef):
        scope.report(given.mark, f"{key} is a param", f"declare it and write {key}: $NAME")
        return None
    if found.type.unit not in POINTS:
        param = scope.names.params[found.right.name]
        scope.report(given.mark, f"{key} is a number of points or steps", f"add unit: points at {param.mark}")
        return None
    _refuse_small(scope, given, found.right, key, least)
    return found.right


def _refuse_small(scope: Scope, node: Node, ref: ParamRef, key: str, least: int) -> None:
    for value in _values(scope, ref):
        if not isinstance(value, int) or value < least:
            param = scope.names.params[ref.name]
            message = f"{key} can not be {value}; expected a whole number, {least} or more"
            scope.report(node.mark, message, f"declared at {param.mark}")


def _refuse_wide(scope: Scope, node: Node, window: Right | None, min_points: Right | None) -> None:
    """Reports a feature that would always be warming up."""
    given = node.get("min_points")
    if given is None or not isinstance(window, ParamRef) or not isinstance(min_points, ParamRef):
        return
    least, most = scope.names.params[min_points.name].default, scope.names.params[window.name].default
    if isinstance(least, int) and isinstance(most, int) and least > most:
        scope.report(given.mark, f"{least} points never are in a window of {most}", "write a smaller min_points")


def _values(scope: Scope, ref: ParamRef) -> tuple[Value, ...]:
    param = scope.names.params[ref.name]
    return (param.default, *(row.value for row in param.overrides))


def _floor(scope: Scope, node: Node | None, series: Type) -> Right | None:
    if node is None:
        return None
    found = right(scope, node, series)
    if found is None:
        return None
    if not isinstance(found.right, Const | ParamRef):
        scope.report(node.mark, "floor is a value or a param", "write a number, or $NAME")
        return None
    values = (found.right.value,) if isinstance(found.right, Const) else _values(scope, found.right)
    if any(not isinstance(value, int | float) or value <= 0 for value in values):
        scope.report(node.mark, "floor has to be above 0: it keeps a mean of 0 from being divided by")
    return found.right


def _where(scope: Scope, node: Node | None, series: Type) -> Compare | None:
    found = compare(scope, node, series) if node is not None else None
    if node is None or found is None:
        return None
    entry = next(iter(node.entries), Entry("eq", node.mark, node))
    if found.op in STATUS or found.default is not None:
        word = found.op if found.op in STATUS else "default"
        hint = "a point that is not known makes the feature unknown"
        scope.report(node.key_mark(word), f"`where` of a feature can not ask for {word}", hint)
    elif not all(isinstance(one, Const | ParamRef) for one in found.rights):
        hint = "write a value, $param or $list"
        scope.report(entry.mark, "`where` of a feature compares a point with a value or a param alone", hint)
    return found
