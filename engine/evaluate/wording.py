"""How conditions and consequences are put into words."""

from __future__ import annotations

from collections.abc import Sequence

from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import FactValue, Unknown
from sweeprules.engine.holds import HoldState
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

_SIGNS = {"eq": "=", "ne": "not", "lt": "<", "le": "at most", "gt": ">", "ge": "at least", "not_in": "not in"}


def actual(name: str, value: FactValue, kind: str = "") -> str:
    """What was there: `log_age = 2h10m`."""
    because = f": {value.detail}" if isinstance(value, Unknown) and value.detail else ""
    return f"{name} = {humanise(value, kind)}{because}"


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


_WHATS = {
    "ratio_to_mean": "against the mean",
    "deviation_from_mean": "against the mean",
    "deviation_from_trend": "against the trend",
    "slope": "along the line",
    "share": "of the last",
    "consecutive": "in a row",
    "since_change": "unchanged",
}
_SHOWN = 10


def series(feature: ast.Feature, current: FactValue, window: Sequence[FactValue]) -> str:
    """What a feature was made of: ` (grad_norm 1.4 against the mean of 10 points: 0.3 0.3 …)`."""
    here = f"{feature.series} {humanise(current)}"
    if feature.window is None:
        return f" ({here}, {_WHATS[feature.is_]})"
    points = " ".join(humanise(value) for value in window[-_SHOWN:])
    more = "… " if len(window) > _SHOWN else ""
    return f" ({here} {_WHATS[feature.is_]} of {len(window)} points: {more}{points})"


def held(
    hold: ast.Hold, side: ast.Right, wanted: FactValue, state: HoldState | None, now: FactValue, bare: Truth
) -> tuple[str, str]:
    """How long a rule has held and how long it has to: `true for 1 of 2 sweeps`, `2 sweeps`."""
    looks = (0 if state is None else state.sweeps) + (bare is TRUE)
    suffix = "" if bare is not UNKNOWN else ", unknown in this sweep"
    if bare is FALSE:
        suffix, looks = ", false in this sweep", 0
    if hold.sweeps is not None:
        needed = f"{worth(side, wanted)} sweeps" if not _worded(side) else worth(side, wanted)
        return f"true for {looks} of {humanise(wanted)} sweeps{suffix}", needed
    needed, since = worth(side, wanted, "duration"), 0.0
    if state is not None and state.first_at is not None and isinstance(now, int | float) and bare is not FALSE:
        since = now - state.first_at
    return f"true for {humanise(since, 'duration')} of {humanise(wanted, 'duration')}{suffix}", needed


def _worded(side: ast.Right) -> bool:
    return isinstance(side, ast.Const) and "sweep" in side.source
