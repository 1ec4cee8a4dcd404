"""Conditions: `all any not`, `FIELD: TEST`, `flagged`, `rule`, `at_least`, and the quantifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, cast

from sweeprules.engine.facts import NEW_STATE, Reason
from sweeprules.engine.language.ast import (
    All,
    Any,
    AtLeast,
    Compare,
    Condition,
    Flagged,
    Not,
    Path,
    Quantified,
    Right,
    RuleIs,
    Signalled,
    Test,
)
from sweeprules.engine.language.compare import compare
from sweeprules.engine.language.node import Entry, Node
from sweeprules.engine.language.paths import CONDITION_WORDS, Found, resolve, resolve_members
from sweeprules.engine.language.rights import constant, right
from sweeprules.engine.language.scope import Scope, View
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import ANY, COUNT, INTERVAL, QUANTITIES, Type, worded
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

TRUTH_WORDS = {"true": TRUE, "false": FALSE, "unknown": UNKNOWN}
_WIDTH = 200


def condition(scope: Scope, node: Node) -> Condition | None:
    """The condition; None after reporting what is wrong (or where its shape was already reported)."""
    if node.kind != "map" or len(node.entries) != 1:
        return None
    entry = node.entries[0]
    return _HANDLERS.get(entry.key, _test)(scope, entry)


def written(node: Node) -> str:
    """A node on one line, as a person would write it."""
    return _flow(node)[:_WIDTH]


def _flow(node: Node) -> str:
    if node.kind == "map":
        return "{" + ", ".join(f"{entry.key}: {_flow(entry.value)}" for entry in node.entries) + "}"
    if node.kind == "list":
        return "[" + ", ".join(_flow(item) for item in node.items) + "]"
    return f'"{node.text}"' if node.quoted else node.text


def _all(scope: Scope, entry: Entry) -> Condition | None:
    items = _conditions(scope, entry.value.items)
    return All(items, entry.mark) if items else None


def _any(scope: Scope, entry: Entry) -> Condition | None:
    items = _conditions(scope, entry.value.items)
    return Any(items, entry.mark) if items else None


def _conditions(scope: Scope, nodes: Iterable[Node]) -> tuple[Condition, ...]:
    """All of them, or none when one is wrong; every one is looked at."""
    found = [condition(scope, node) for node in nodes]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _not(scope: Scope, entry: Entry) -> Condition | None:
    item = condition(scope, entry.value)
    return Not(item, entry.mark) if item is not None else None


def _test(scope: Scope, entry: Entry) -> Condition | None:
    found = resolve(scope, entry.key, entry.mark, also=CONDITION_WORDS)
    # The right side of an unknown field is still read, so that its own mistakes are told at once.
    test = compare(scope, entry.value, found.type if found else ANY)
    if found is None or test is None:
        return None
    return Test(found.path, test, entry.mark, f"{entry.key}: {written(entry.value)}")


# ---------------------------------------------------------------- flags, rules, signals


def _flagged(scope: Scope, entry: Entry) -> Condition | None:
    if entry.value.kind != "text":
        return None
    name, mark, names = entry.value.text, entry.value.mark, scope.names
    if name not in names.flags:
        scope.unknown(mark, "flag", name, names.flags)
        return None
    kinds = names.raised.get(name, set())
    if not kinds:
        scope.report(mark, f"no rule raises the flag {quote(name)}, so this is never true", "raise it, or test a fact")
        return None
    if not any(lands_on(scope, name, kind, scope.view.kind) for kind in kinds):
        hint = f"rules on {' and '.join(sorted(kinds))} raise it"
        scope.report(mark, f"the flag {quote(name)} is not raised on a {scope.view.kind}", hint)
        return None
    return Flagged(name, entry.mark)


def lands_on(scope: Scope, flag: str, raiser: str, kind: str) -> bool:
    """Whether a rule about one kind puts the flag on a subject of another: itself, or the job that it belongs to."""
    return raiser == kind or (
        kind in scope.names.flags[flag].subjects and raiser not in scope.names.flags[flag].subjects
    )


def _rule(scope: Scope, entry: Entry) -> Condition | None:
    identity, wanted = entry.value.get("id"), entry.value.get("is")
    if identity is None or wanted is None or identity.kind != "text" or wanted.text not in TRUTH_WORDS:
        return None
    name, kinds = identity.text, scope.names.rule_kinds
    if name not in kinds:
        scope.unknown(identity.mark, "rule", name, kinds)
        return None
    if kinds[name] != scope.view.kind:
        scope.report(identity.mark, f"the rule {quote(name)} is about a {kinds[name]}, not about a {scope.view.kind}")
        return None
    return RuleIs(name, TRUTH_WORDS[wanted.text], entry.mark)


def _at_least(scope: Scope, entry: Entry) -> Condition | None:
    of, number, evaluable = (entry.value.get(key) for key in ("of", "n", "evaluable"))
    ignoring = _reasons(scope, entry.value.get("ignoring"))
    operands = [_operand(scope, node) for node in of.items] if of is not None else []
    _refuse_repeats(scope, of)
    least = _quorum(scope, number, len(operands)) if number is not None else None
    test = compare(scope, evaluable, COUNT, bare=True) if evaluable is not None else None
    if (number is not None and least is None) or (evaluable is not None and test is None):
        return None
    if not operands or None in operands or ignoring is None or (number is None and evaluable is None):
        return None
    return AtLeast(tuple(one for one in operands if one is not None), least, test, ignoring, entry.mark)


def _operand(scope: Scope, node: Node) -> Condition | Signalled | None:
    if node.kind != "text":
        return condition(scope, node)
    name, names = node.text, scope.names
    if name not in names.signals:
        scope.unknown(node.mark, "signal", name, names.signals)
        return None
    if scope.view.kind not in names.signalled.get(name, set()):
        message = f"no rule on {scope.view.kind} gives the signal {quote(name)}"
        scope.report(node.mark, message, _signal_hint(scope, name))
        return None
    return Signalled(name, node.mark)


def _signal_hint(scope: Scope, name: str) -> str:
    """What to do; a rule that is called like the signal may be what was meant."""
    named = sorted(rule for rule in scope.names.rule_kinds if rule.rpartition(".")[2] == name)
    asked = f", or ask for the rule: {{rule: {{id: {named[0]}, is: true}}}}" if named else ""
    return f"give it with then: signal{asked}"


def _refuse_repeats(scope: Scope, of: Node | None) -> None:
    """Reports a signal that would count twice towards one quorum."""
    seen: set[str] = set()
    for node in of.items if of is not None else ():
        if node.kind == "text" and node.text in seen:
            scope.report(node.mark, f"the signal {quote(node.text)} would count twice")
        seen.add(node.text if node.kind == "text" else "")


def _quorum(scope: Scope, node: Node, operands: int) -> Right | None:
    found = right(scope, node, COUNT)
    known = constant(found)
    if known is not None and isinstance(known.value, int | float) and not 1 <= known.value <= operands:
        scope.report(node.mark, f"at least {known.value} of {operands} can not be", f"write 1 to {operands}")
        return None
    return found.right if found else None


def _reasons(scope: Scope, node: Node | None) -> tuple[str, ...] | None:
    if node is None:
        return ()
    known = {str(reason) for reason in Reason}
    wrong = [one for one in node.items if one.text not in known and not one.text.startswith(NEW_STATE)]
    for one in wrong:
        scope.unknown(one.mark, "reason", one.text, known)
    return None if wrong or node.kind != "list" else tuple(one.text for one in node.items)


# ---------------------------------------------------------------- quantifiers


def _quantified(scope: Scope, entry: Entry) -> Condition | None:
    of, where, holds, empty = (entry.value.get(key) for key in ("of", "where", "is", "if_empty"))
    if of is None or of.kind != "text":
        return None
    found = resolve_members(scope, of.text, of.mark)
    if found is None or found.members is None:
        return None
    inner = scope.inside(found.members)
    selected = condition(inner, where) if where is not None else None
    if where is not None and selected is None:
        return None
    which = cast(Literal["every", "some", "count", "sum"], entry.key)
    truth = TRUTH_WORDS.get(empty.text, UNKNOWN) if empty is not None else UNKNOWN
    if which in {"every", "some"}:
        return _of_members(inner, entry, found, selected, holds, truth)
    return _of_total(inner, entry, found, selected, holds)


def _of_members(
    scope: Scope, entry: Entry, found: Found, selected: Condition | None, holds: Node | None, empty: Truth
) -> Condition | None:
    held = condition(scope, holds) if holds is not None else None
    if holds is not None and held is None:
        return None
    if held is None and (entry.key == "every" or selected is None):
        scope.report(entry.mark, f"{entry.key} needs `is`: what its members have to satisfy")
        return None
    return _quantity(entry, found, selected, holds=held, empty=empty)


def _of_total(
    scope: Scope, entry: Entry, found: Found, selected: Condition | None, holds: Node | None
) -> Condition | None:
    summed: Path | None = None
    total: Type = INTERVAL
    if entry.key == "sum":
        member = _summed(scope, entry)
        if member is None:
            return None
        summed, total = member.path, member.type
    if entry.value.get("if_empty") is not None:
        scope.report(entry.value.key_mark("if_empty"), f"a {entry.key} over no member is 0, whatever if_empty says")
        return None
    test = compare(scope, holds, total) if holds is not None else None
    return _quantity(entry, found, selected, test=test, summed=summed) if test is not None else None


def _summed(scope: Scope, entry: Entry) -> Found | None:
    field = entry.value.get("field")
    name, mark = ("value", entry.mark) if field is None else (field.text, field.mark)
    if field is None and "value" not in scope.view.fields:
        scope.report(entry.mark, f"sum needs `field`: what is added up of each {scope.view.kind}")
        return None
    found = resolve(scope, name, mark)
    if found is not None and (found.type.base not in QUANTITIES or found.type.base == "time"):
        scope.report(mark, f"{quote(name)} is {worded(found.type)}; sum needs a number, duration or size")
        return None
    return found


def _quantity(
    entry: Entry,
    found: Found,
    selected: Condition | None,
    *,
    holds: Condition | None = None,
    test: Compare | None = None,
    summed: Path | None = None,
    empty: Truth = UNKNOWN,
) -> Quantified:
    members = cast(View, found.members)
    which = cast(Literal["every", "some", "count", "sum"], entry.key)
    text = f"{entry.key}: {written(entry.value)}"
    return Quantified(which, found.path, members.kind, selected, holds, test, summed, empty, entry.mark, text)


_HANDLERS: dict[str, Callable[[Scope, Entry], Condition | None]] = {
    "all": _all,
    "any": _any,
    "not": _not,
    "flagged": _flagged,
    "rule": _rule,
    "at_least": _at_least,
    "every": _quantified,
    "some": _quantified,
    "count": _quantified,
    "sum": _quantified,
}
