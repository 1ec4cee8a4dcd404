"""What follows from a rule: `set`, `add`, `signal`, `flag`, `action`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import Act, ActionDef, Add, Collect, Consequence, Const, Raise, Right, Set, Signal
from sweeprules.engine.language.conditions import condition
from sweeprules.engine.language.literals import free
from sweeprules.engine.language.node import Entry, Node
from sweeprules.engine.language.paths import resolve, resolve_members
from sweeprules.engine.language.rights import right
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.types import ANY, Type, item_of, worded

CARRIED = ("step", "run")
"""Kinds whose rules may raise a policy's own flag about a job: it lands on the job that they belong to."""
_HOLE = re.compile(r"\{([^{}]*)\}")
_Arg = Right | Collect | tuple[Right, ...]


def consequences(scope: Scope, node: Node | None) -> tuple[Consequence, ...]:
    """Those of a `then`, one or a list; what is wrong is reported and left out."""
    if node is None:
        return ()
    found: list[Consequence] = []
    for item in node.items if node.kind == "list" else (node,):
        for entry in item.entries:
            if entry.key in _HANDLERS:
                follows = _HANDLERS[entry.key](scope, entry, item)
                found.extend(follows)
                if not follows and not scope.problems:
                    scope.report(entry.mark, f"this {entry.key} could not be read")
    return tuple(found)


def say(scope: Scope, node: Node | None) -> str:
    """A `say` text, each `{field}` in it checked."""
    if node is None or node.kind != "text":
        return ""
    text = str(node.value)
    for hole in _HOLE.finditer(text):
        resolve(scope, hole.group(1).strip(), _place(node, text, hole.start(1)))
    rest = _HOLE.sub("", text)
    if "{" in rest or "}" in rest:
        scope.report(node.mark, "a brace in say has no partner", "write {field}")
    return text


def _place(node: Node, text: str, offset: int) -> Mark:
    if node.source != text or "\n" in text:
        return node.mark
    return Mark(node.mark.file, node.mark.line, node.mark.column + (1 if node.quoted else 0) + offset)


# ---------------------------------------------------------------- set and add


def _set(scope: Scope, entry: Entry, _: Node) -> list[Consequence]:
    found: list[Consequence] = []
    for inner in entry.value.entries:
        kind = _settable(scope, inner)
        if kind is None:
            continue
        if kind.base == "list":
            scope.report(inner.mark, f"{quote(inner.key)} is a list", "write add: {" + inner.key + ": VALUE}")
            continue
        value = right(scope, inner.value, kind)
        if value:
            found.append(Set(inner.key, value.right, inner.mark))
    return found


def _add(scope: Scope, entry: Entry, _: Node) -> list[Consequence]:
    found: list[Consequence] = []
    for inner in entry.value.entries:
        kind = _settable(scope, inner)
        if kind is None:
            continue
        if kind.base != "list":
            hint = "write set: {" + inner.key + ": VALUE}"
            scope.report(inner.mark, f"{quote(inner.key)} is no list; it is {worded(kind)}", hint)
            continue
        value = right(scope, inner.value, item_of(kind))
        if value:
            found.append(Add(inner.key, value.right, inner.mark))
    return found


def _settable(scope: Scope, inner: Entry) -> Type | None:
    kind = scope.names.catalogue.kinds[scope.view.kind]
    allowed = [name for name, spec in kind.fields.items() if spec.settable]
    if inner.key in allowed:
        if inner.key in scope.names.decided:
            scope.report(inner.mark, f"{quote(inner.key)} is decided", "a field is decided or set, not both")
            return None
        return scope.view.fields[inner.key]
    if inner.key in scope.view.fields:
        expected = f"expected {listed(allowed)}" if allowed else f"no field of {kind.name} can be set"
        scope.report(inner.mark, f"{quote(inner.key)} is read from the world, no rule can set it", expected)
    else:
        scope.unknown(inner.mark, "field", inner.key, allowed or scope.view.fields, of=f" of {kind.name}")
    return None


# ---------------------------------------------------------------- signal, flag, action


def _signal(scope: Scope, entry: Entry, _: Node) -> list[Consequence]:
    if entry.value.kind != "text":
        return []
    if entry.value.text not in scope.names.signals:
        scope.unknown(entry.value.mark, "signal", entry.value.text, scope.names.signals)
        return []
    return [Signal(entry.value.text, entry.mark)]


def _flag(scope: Scope, entry: Entry, item: Node) -> list[Consequence]:
    text = say(scope, item.get("say"))
    if entry.value.kind != "text":
        return []
    name, names = entry.value.text, scope.names
    if name not in names.flags:
        scope.unknown(entry.value.mark, "flag", name, names.flags)
        return []
    why = _unraisable(scope, name)
    if why:
        scope.report(entry.value.mark, why)
        return []
    resolved = _resolved(scope, name, item.get("resolved"))
    severity = _severity(scope, name, item.get("severity"), resolved)
    return [Raise(name, severity, resolved, text, entry.mark)] if severity else []


def _unraisable(scope: Scope, name: str) -> str:
    catalogue, flag = scope.names.catalogue, scope.names.flags[name]
    carried = CARRIED if name not in catalogue.flags and "job" in flag.subjects else catalogue.through.get(name, ())
    kinds = (*flag.subjects, *carried)
    if name in catalogue.builtin:
        return f"the flag {quote(name)} is raised by the tool alone"
    if name in catalogue.exempt:
        return f"the flag {quote(name)} stands only behind `as` of an exemption"
    if scope.view.kind not in kinds:
        return f"the flag {quote(name)} is about {listed(kinds)}, not about a {scope.view.kind}"
    return ""


def _resolved(scope: Scope, name: str, node: Node | None) -> bool:
    if node is None or node.value is not True:
        return False
    if name not in scope.names.catalogue.resolvable:
        allowed = listed(sorted(scope.names.catalogue.resolvable))
        scope.report(node.mark, f"the flag {quote(name)} is never raised as resolved", f"only {allowed} are")
    return True


def _severity(scope: Scope, name: str, node: Node | None, resolved: bool) -> str:
    flag = scope.names.flags[name]
    if node is None or node.kind != "text":
        return "info" if resolved else flag.severity
    if node.text not in flag.severities and node.text in scope.names.catalogue.enums["severity"]:
        scope.report(node.mark, f"{quote(name)} is never {node.text}", f"expected {listed(flag.severities)}")
        return ""
    return node.text


def _action(scope: Scope, entry: Entry, item: Node) -> list[Consequence]:
    if entry.value.kind != "text":
        return []
    name, actions = entry.value.text, scope.names.actions
    given = item.get("args")
    args = {inner.key: _arg(scope, inner.value) for inner in given.entries} if given is not None else {}
    for inner in given.entries if given is not None else ():
        _check_holes(scope, inner.value, name in actions and actions[name].destructive)
    if name not in actions:
        scope.unknown(entry.value.mark, "action", name, actions)
        return []
    why = _not_about(scope, actions[name])
    if why:
        scope.report(entry.value.mark, why, "write a rule about that kind, or ask for another action")
        return []
    wanted = actions[name].args
    missing = [arg for arg in wanted if arg not in args]
    if missing:
        mark = given.mark if given is not None else entry.mark
        scope.report(mark, f"missing here: {listed(missing)} of the action {quote(name)}", _args_hint(wanted))
    for inner in given.entries if given is not None else ():
        if inner.key not in wanted:
            scope.unknown(inner.mark, "argument", inner.key, wanted, of=f" of the action {quote(name)}")
    whole: Mapping[str, _Arg] = {arg: value for arg, value in args.items() if value is not None}
    return [Act(name, whole, entry.mark)] if set(whole) == set(wanted) == set(args) else []


def _not_about(scope: Scope, action: ActionDef) -> str:
    """Why an action can not be asked for here: none of its templates is about such a subject."""
    catalogue = scope.names.catalogue
    about = action_kinds(catalogue, action)
    kind = scope.view.kind
    if not about or kind in about or (kind in CARRIED and "job" in about):
        return ""
    words = [catalogue.kinds[one].subject for one in about]
    return f"{quote(action.name)} is about a {listed(words)}, and the rule is about a {catalogue.kinds[kind].subject}"


def action_kinds(catalogue: Catalogue, action: ActionDef) -> tuple[str, ...]:
    """The kinds of subject that an action is about: those of its shipped templates; none where any kind will do."""
    return tuple(sorted({kind for name in action.templates for kind in catalogue.templates.get(name, ())}))


def _args_hint(wanted: tuple[str, ...]) -> str:
    return "its args are " + listed(wanted).replace(" or ", " and ")


def _arg(scope: Scope, node: Node) -> _Arg | None:
    if node.kind == "list":
        found = [_value(scope, item) for item in node.items]
        return tuple(one for one in found if one is not None) if None not in found else None
    if node.kind == "map" and node.get("collect") is not None:
        return _collect(scope, node)
    return _value(scope, node)


def _value(scope: Scope, node: Node) -> Right | None:
    found = right(scope, node, ANY)
    if found is None or not isinstance(found.right, Const):
        return found.right if found else None
    return free(node)


def _check_holes(scope: Scope, node: Node, destructive: bool) -> None:
    """Each `{field}` in a text argument is filled like one in `say`; never in what says what is destroyed."""
    for item in node.items if node.kind == "list" else (node,):
        if item.kind != "text" or not re.search(r"[{}]", item.text):
            continue
        if destructive:
            scope.report(
                item.mark, "an argument of a destructive action is not filled in", "write .field for the value"
            )
        else:
            say(scope, item)


def _collect(scope: Scope, node: Node) -> Collect | None:
    field, of, where = node.get("collect"), node.get("of"), node.get("where")
    if field is None or of is None:
        return None
    found = resolve_members(scope, of.text, of.mark)
    if found is None or found.members is None:
        return None
    inner = scope.inside(found.members)
    what = resolve(inner, field.text, field.mark)
    selected = condition(inner, where) if where is not None else None
    if what is None or (where is not None and selected is None):
        return None
    return Collect(what.path, found.path, found.members.kind, selected)


_HANDLERS: dict[str, Callable[[Scope, Entry, Node], list[Consequence]]] = {
    "set": _set,
    "add": _add,
    "signal": _signal,
    "flag": _flag,
    "action": _action,
}
