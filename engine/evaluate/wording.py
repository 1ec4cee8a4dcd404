"""How conditions and consequences are put into words."""

from __future__ import annotations

from collections.abc import Sequence

from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import FactValue
from sweeprules.engine.language import ast

_SIGNS = {"eq": "=", "ne": "not", "lt": "<", "le": "at most", "gt": ">", "ge": "at least", "not_in": "not in"}


def actual(name: str, value: FactValue, kind: str = "") -> str:
    """What was there: `log_age = 2h10m`."""
    return f"{name} = {humanise(value, kind)}"


def said(test: ast.Compare, rights: Sequence[FactValue], kind: str = "") -> str:
    """What a test needs: `> 90m ($stale_floor)`."""
    if test.op in ("known", "unknown", "absent"):
        text = f"{test.op}: {str(test.wanted).lower()}"
    elif test.op == "between":
        text = f"between {worth(test.rights[0], rights[0], kind)} and {worth(test.rights[1], rights[1], kind)}"
    else:
        text = f"{_SIGNS.get(test.op, test.op)} {worth(test.rights[0], rights[0], kind)}"
    if test.fold:
        text += ", in any letter case"
    if test.possible:
        text = f"possibly {text}"
    return text if test.default is None else f"{text}, or {humanise(test.default.value, kind)} where not known"


def worth(right_side: ast.Right, value: FactValue, kind: str = "") -> str:
    """A right side's value and, where it differs, how it was written: `1h30m ($stale_floor)`."""
    if isinstance(right_side, ast.Const):
        return (
            right_side.source
            if right_side.source[:1] not in ("", "$")
            else _named(humanise(value, kind), right_side.source)
        )
    return _named(humanise(value, kind), right(right_side))


def _named(value: str, name: str) -> str:
    return f"{value} ({name})" if name else value


def right(side: ast.Right | ast.Arith) -> str:
    """A right side as it was written; empty for a plain literal."""
    if isinstance(side, ast.Const):
        return side.source
    if isinstance(side, ast.ParamRef):
        return f"${side.name}"
    if isinstance(side, ast.FieldRef):
        return f"{'..' if side.path.scope == 'outer' else '.'}{side.path.text}"
    if isinstance(side, ast.Calc):
        return side.source
    if isinstance(side, ast.Pick):
        return f"{side.which} {side.field.text} of {side.of.text}"
    return side.op


def consequence(effect: ast.Consequence) -> str:
    """What a rule does: `flag stale-log`, `action cancel-salvage`, `set phase`."""
    if isinstance(effect, ast.Raise):
        return f"flag {effect.flag}"
    if isinstance(effect, ast.Act):
        return f"action {effect.action}"
    if isinstance(effect, ast.Signal):
        return f"signal {effect.name}"
    verb = "set" if isinstance(effect, ast.Set) else "add to"
    return f"{verb} {effect.field}"
