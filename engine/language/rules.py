"""The sections that decide: rules, `decide`, exemptions, routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast

from sweeprules.engine.errors import Problem
from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Choice, Condition, Exemption, Raise, Route, Rule
from sweeprules.engine.language.conditions import condition
from sweeprules.engine.language.consequences import consequences, say
from sweeprules.engine.language.holds import hold
from sweeprules.engine.language.layers import Effective, Item
from sweeprules.engine.language.literals import literal
from sweeprules.engine.language.node import Node, text_of
from sweeprules.engine.language.paths import resolve
from sweeprules.engine.language.scope import STEP, Names, Scope
from sweeprules.engine.language.sections import known_template
from sweeprules.engine.language.shape import listed, quote

DECIDED_FROM = frozenset({"enum", "text"})
"""Types of fields that a `decide` list can give a value."""
_UNREACHED = "what stands below otherwise is never reached"
ALWAYS_DECIDED = ("bucket", "flavour")
"""Fields of a job that only `decide` fills."""


def look_ahead(names: Names, effective: Effective) -> None:
    """Notes which rules there are, what they raise and signal: rules refer to each other in any order.

    A rule that is disabled or replaced counts too: who builds on it is not wrong, and is warned elsewhere.
    """
    names.decided.update(effective.sections["decide"])
    for item in effective.of("rules"):
        on = names.catalogue.kind_of(text_of(item.node.get("on")))
        if on is not None:
            names.rule_kinds[item.name] = on
        layer: Item | None = item
        while layer is not None:
            _note(names, layer.node)
            layer = layer.earlier


def _note(names: Names, rule: Node) -> None:
    on, then = names.catalogue.kind_of(text_of(rule.get("on"))), rule.get("then")
    if on is None or then is None:
        return
    for one in then.items if then.kind == "list" else (then,):
        for key, table in (("flag", names.raised), ("signal", names.signalled)):
            name = text_of(one.get(key))
            if name:
                table.setdefault(name, set()).add(on)


def scope_of(names: Names, problems: list[Problem], kind: str) -> Scope:
    """The scope of conditions on subjects of one kind."""
    return Scope(names, problems, names.view(kind))


def _whole(scope: Scope, node: Node | None) -> Condition | None:
    return condition(scope, node) if node is not None else None


# ---------------------------------------------------------------- rules


def rule(names: Names, problems: list[Problem], item: Item) -> Rule | None:
    """One rule; None after reporting what is wrong."""
    kind = names.rule_kinds.get(item.name)
    if kind is None:
        return None
    scope = scope_of(names, problems, kind)
    when = _whole(scope, item.node.get("when"))
    unless = _whole(scope, item.node.get("unless"))
    then = consequences(scope, item.node.get("then"))
    _check_keys(scope, item.node, any(isinstance(one, Raise) for one in then))
    if when is None or (unless is None and item.node.get("unless") is not None):
        return None
    return Rule(
        id=item.name,
        on=kind,
        when=when,
        then=then,
        mark=item.written,
        needs=_needs(scope, item.node.get("needs")),
        unless=unless,
        if_unknown=cast(Literal["hold", "fire"], text_of(item.node.get("if_unknown")) or "hold"),
        explains=_flags(scope, item.node.get("explains")),
        replaces=_flags(scope, item.node.get("replaces")),
        stage=cast(Literal["", "suspect"], text_of(item.node.get("stage"))),
        why=text_of(item.node.get("why")),
        judge=cast(Literal["new", "latest", "any"], text_of(item.node.get("judge")) or "new"),
        hold=hold(scope, item.node),
    )


def _check_keys(scope: Scope, node: Node, raises: bool) -> None:
    if node.get("if_unknown") is not None and node.get("unless") is None:
        scope.report(node.key_mark("if_unknown"), "if_unknown is about `unless`, and this rule has none")
    if node.get("stage") is not None and scope.view.kind != "job":
        scope.report(node.key_mark("stage"), f"only a job can be a suspect, and this rule is about a {scope.view.kind}")
    if node.get("judge") is not None and scope.view.kind != STEP:
        message = f"judge chooses steps, and this rule is about a {scope.view.kind}"
        scope.report(node.key_mark("judge"), message, "leave it out")
    for key in ("explains", "replaces"):
        then = node.get("then")
        if node.get(key) is not None and not raises and (then is None or not _mentions(then, "flag")):
            scope.report(
                node.key_mark(key), f"{key} is about a flag, and this rule raises none", "add then: {flag: NAME}"
            )


def _mentions(then: Node, key: str) -> bool:
    return any(one.get(key) is not None for one in (then.items if then.kind == "list" else (then,)))


def _needs(scope: Scope, node: Node | None) -> tuple[str, ...]:
    items = node.items if node is not None else ()
    return tuple(one.text for one in items if one.kind == "text" and resolve(scope, one.text, one.mark) is not None)


def _flags(scope: Scope, node: Node | None) -> tuple[str, ...]:
    found = []
    for one in node.items if node is not None else ():
        if one.text in scope.names.flags:
            found.append(one.text)
        elif one.kind == "text":
            scope.unknown(one.mark, "flag", one.text, scope.names.flags)
    return tuple(found)


# ---------------------------------------------------------------- decide


def decided(names: Names, problems: list[Problem], item: Item) -> tuple[Choice, ...]:
    """The choices of one decided field of a job."""
    scope = scope_of(names, problems, "job")
    kind = names.catalogue.kinds["job"]
    can = [n for n, f in kind.fields.items() if f.type in DECIDED_FROM and (f.settable or n in ALWAYS_DECIDED)]
    if item.name not in can:
        scope.unknown(item.mark, "field", item.name, can, of=f" to decide; expected {listed(can)}")
        return ()
    found: list[Choice] = []
    last = item.node.items[-1] if item.node.items else None
    for one in item.node.items:
        choice = _choice(scope, item.name, one)
        if choice is not None:
            found.append(choice)
        if one.get("otherwise") is not None and one is not last:
            scope.report(
                one.key_mark("otherwise"), "what stands below otherwise is never reached", "move it to the end"
            )
    return tuple(found)


def _choice(scope: Scope, name: str, node: Node) -> Choice | None:
    otherwise, when = node.get("otherwise"), node.get("when")
    word = otherwise if otherwise is not None else node.get("is")
    value = literal(scope, word, scope.view.fields[name]) if word is not None else None
    chosen = _whole(scope, when)
    if value is None or (when is not None and chosen is None):
        return None
    return Choice(chosen, str(value.value), node.mark)


# ---------------------------------------------------------------- exemptions


def exemption(names: Names, problems: list[Problem], item: Item) -> Exemption | None:
    """One exemption; None after reporting what is wrong."""
    node = item.node
    kind = names.catalogue.kind_of(text_of(node.get("on")) or "job")
    if kind is None:
        return None
    scope = scope_of(names, problems, kind)
    flags = _flags(scope, node.get("flags"))
    named = node.get("flags")
    for one in named.items if named is not None else ():
        _check_exemptible(scope, one)
    as_flag = _as_flag(scope, node.get("as"))
    expires = node.get("expires")
    moment = quantities.time(expires.text) if expires is not None else None
    if expires is not None and moment is None and expires.kind != "bad":
        scope.report(expires.mark, f"expected {quantities.TIME_FORM}, got {quote(expires.text)}")
    when = _whole(scope, node.get("when"))
    text = say(scope, node.get("say"))
    if when is None:
        return None
    owner, why = text_of(node.get("owner")), text_of(node.get("why"))
    return Exemption(item.name, kind, when, flags, as_flag, text, owner, moment, why, item.mark)


def _check_exemptible(scope: Scope, node: Node) -> None:
    flag = scope.names.flags.get(node.text)
    if flag is None:
        return
    if not flag.exemptible:
        scope.report(node.mark, f"the flag {quote(node.text)} can not be exempted", "the catalogue says so")
    elif scope.view.kind not in flag.subjects:
        scope.report(
            node.mark, f"the flag {quote(node.text)} is about {listed(flag.subjects)}, not a {scope.view.kind}"
        )


def _as_flag(scope: Scope, node: Node | None) -> str | None:
    if node is None or node.kind != "text":
        return None
    names = scope.names
    if node.text not in names.flags:
        scope.unknown(node.mark, "flag", node.text, names.flags)
    elif node.text in names.catalogue.flags and node.text not in names.catalogue.exempt:
        allowed = listed(sorted(names.catalogue.exempt))
        scope.report(
            node.mark, f"{quote(node.text)} does not stand for other flags", f"expected {allowed}, or a new flag"
        )
    return node.text


# ---------------------------------------------------------------- routes


def routes(names: Names, problems: list[Problem], item: Item, kinds: Iterable[str]) -> tuple[Route, ...]:
    """The routes of one action, whose subjects are of these kinds."""
    scopes = [scope_of(names, problems, kind) for kind in sorted(kinds)]
    scope = scopes[0]
    if item.name not in names.actions:
        scope.unknown(item.mark, "action", item.name, names.actions)
        return ()
    found: list[Route] = []
    for one in item.node.items:
        conditions = [_whole(each, one.get("when")) for each in scopes]
        template = _template(scope, item.name, one)
        if one.get("otherwise") is not None and one is not item.node.items[-1]:
            scope.report(
                one.key_mark("otherwise"), "what stands below otherwise is never reached", "move it to the end"
            )
        if one.get("when") is None or conditions[0] is not None:
            found.append(Route(conditions[0], template, say(scope, one.get("say")), one.mark))
    return tuple(found)


def _template(scope: Scope, action: str, node: Node) -> str | None:
    """The template of a route; None where it is blocked."""
    otherwise, template = node.get("otherwise"), node.get("template")
    named = template if template is not None else otherwise
    if named is None or named.kind != "text" or (template is None and named.text == "blocked"):
        return None
    definition = scope.names.actions[action]
    if template is None and definition.destructive:
        message = f"{quote(action)} destroys something, so otherwise can not choose a template"
        scope.report(named.mark, message, "write otherwise: blocked, with say")
    elif known_template(scope, named) and definition.templates:
        ours = named.text in definition.templates or named.text not in scope.names.catalogue.templates
        if not ours:
            expected = listed(definition.templates)
            scope.report(named.mark, f"{quote(named.text)} is no template of {quote(action)}", f"expected {expected}")
    return named.text
