"""Each way to change one thing of a rule that is none of its conditions: what it brings about, and how it is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any as Anything

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.compare import is_number
from sweeprules.engine.language.ast import Act, Consequence, Const, FlagDef, Hold, Raise, Rule, Set, Signal
from sweeprules.engine.mutate_conditions import numbers, put, shorter

_JUDGE = {"new": "any", "latest": "any", "any": "latest"}


def effects(rule: Rule, flags: Mapping[str, FlagDef]) -> Iterator[tuple[str, str, Mark, Rule]]:
    """The kind of each change, what was changed in words, where that is written, and the rule then."""
    for i, effect in enumerate(rule.then):
        rest = (*rule.then[:i], *rule.then[i + 1 :])
        yield "consequence", f"{_said(effect)} left out", effect.mark, replace(rule, then=rest)
        if isinstance(effect, Raise):
            for text, other in _raised(effect, flags):
                yield "consequence", text, effect.mark, replace(rule, then=put(rule.then, i, other))
    for part in ("explains", "replaces"):
        for name, others in shorter(getattr(rule, part)):
            changed: dict[str, Anything] = {part: others}
            yield "consequence", f"`{part}` {name} left out", rule.mark, replace(rule, **changed)
    for text, changed_rule in _settings(rule):
        yield "setting", text, rule.mark, changed_rule


def _said(effect: Consequence) -> str:
    if isinstance(effect, Raise):
        return f"flag {effect.flag}"
    if isinstance(effect, Act):
        return f"action {effect.action}"
    if isinstance(effect, Signal):
        return f"signal {effect.name}"
    return f"{'set' if isinstance(effect, Set) else 'add'} {effect.field}"


def _raised(effect: Raise, flags: Mapping[str, FlagDef]) -> Iterator[tuple[str, Raise]]:
    if effect.resolved:
        yield f"flag {effect.flag} not resolved", replace(effect, resolved=False)
    own = flags[effect.flag]
    if effect.severity != own.severity and not effect.resolved:
        text = f"flag {effect.flag}: {effect.severity} made {own.severity}"
        yield text, replace(effect, severity=own.severity)


def _settings(rule: Rule) -> Iterator[tuple[str, Rule]]:
    # Which steps a rule looks at matters to what it raises and asks for; signals are read at every step.
    if rule.on == "step" and any(isinstance(effect, Raise | Act) for effect in rule.then):
        other: Anything = _JUDGE[rule.judge]
        yield f"judge {rule.judge} made {other}", replace(rule, judge=other)
    if rule.unless is not None:
        turned: Anything = "hold" if rule.if_unknown == "fire" else "fire"
        yield f"if_unknown {rule.if_unknown} made {turned}", replace(rule, if_unknown=turned)
    for name, others in shorter(rule.needs):
        yield f"`needs` {name} left out", replace(rule, needs=others)
    if rule.hold is not None:
        yield "`for` left out", replace(rule, hold=None)
        for text, hold in _held(rule.hold):
            yield text, replace(rule, hold=hold)


def _held(hold: Hold) -> Iterator[tuple[str, Hold]]:
    for part in ("sweeps", "seconds"):
        right = getattr(hold, part)
        if isinstance(right, Const) and is_number(right.value):
            for value in numbers(right.value):
                # A hold of one sweep is none.
                if part == "seconds" or value > 1:
                    changed: dict[str, Anything] = {part: Const(value)}
                    yield f"`for` {right.value} {part} made {value}", replace(hold, **changed)
