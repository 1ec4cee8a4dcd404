"""Reads `for:`, which lets a rule be true only after it has held for some sweeps or some time."""

from __future__ import annotations

import re

from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Const, Hold, ParamRef
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.rights import right
from sweeprules.engine.language.scope import STEP, Scope
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import ANY, NUMBERS, Type, worded

_SWEEPS = re.compile(r"(\d{1,4}) sweeps?\Z")
_FORM = "`2 sweeps`, a duration such as 3h, or $param"
LEAST_SWEEPS = 2
"""A rule that holds in one sweep holds now; only from the second one on has it been held."""
_FLEETING = {STEP: "count steps with a feature: is: consecutive", "sweep": "write it about a cluster or a job"}


def hold(scope: Scope, rule: Node) -> Hold | None:
    """The hold of a rule; None where it has none, or after reporting what is wrong with it."""
    node = rule.get("for")
    if node is None or node.kind != "text":
        return None
    if scope.view.kind in _FLEETING:
        message = f"for: needs a subject that the next sweep sees again, and each {scope.view.kind} is seen once"
        scope.report(rule.key_mark("for"), message, _FLEETING[scope.view.kind])
        return None
    text = str(node.value)
    return _of_param(scope, node) if text.startswith("$") else _of_text(scope, node, text)


def _of_text(scope: Scope, node: Node, text: str) -> Hold | None:
    sweeps, seconds = _SWEEPS.match(text), quantities.duration(text)
    if sweeps is not None and int(sweeps.group(1)) >= LEAST_SWEEPS:
        return Hold(Const(int(sweeps.group(1)), text), None, node.mark)
    if seconds is not None and seconds > 0:
        return Hold(None, Const(seconds, text), node.mark)
    if sweeps is not None or seconds is not None:
        scope.report(node.mark, f"{quote(text)} holds nothing", "write 2 sweeps or more, or leave it out")
    else:
        scope.report(node.mark, f"expected {_FORM}, got {quote(text)}")
    return None


def _of_param(scope: Scope, node: Node) -> Hold | None:
    found = right(scope, node, ANY)
    if found is None or not isinstance(found.right, ParamRef):
        return None
    if not _fits(found.type):
        what = f"{quote(node.text)} is {worded(found.type)}"
        scope.report(node.mark, f"{what}; for: needs a duration, or a number of sweeps", _declared(scope, found.right))
        return None
    param = scope.names.params[found.right.name]
    least = 0 if found.type.base == "duration" else LEAST_SWEEPS - 1
    for value in (param.default, *(row.value for row in param.overrides)):
        if not isinstance(value, int | float) or value <= least or (least and not isinstance(value, int)):
            scope.report(
                node.mark, f"{quote(node.text)} can be {value}, which holds nothing", _declared(scope, found.right)
            )
    counted = found.type.base != "duration"
    return Hold(found.right if counted else None, None if counted else found.right, node.mark)


def _fits(kind: Type) -> bool:
    return kind.base == "duration" or (kind.base in NUMBERS and kind.unit == "sweeps")


def _declared(scope: Scope, ref: ParamRef) -> str:
    return f"declared at {scope.names.params[ref.name].mark}"
