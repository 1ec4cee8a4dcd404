"""What a rule test expects of a verdict, and how it differs from what came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sweeprules.engine.catalogue import Catalogue, KindDef
from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.evaluate.compare import same
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Absent, FactValue, Unknown
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import quote
from sweeprules.engine.testargs import Args, read_args
from sweeprules.engine.testgiven import is_group, parse, pattern_field
from sweeprules.engine.testraised import Raised, read_raised, unlike
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import Action, Verdict

_TRUTHS = {"true": TRUE, "false": FALSE, "unknown": UNKNOWN}
_MAPS = ("truth", "templates", "args", "raised")
_NOTHING: Mapping[str, FactValue] = {}
_LISTS = ("flags", "not_flags", "actions", "not_actions", "exempt", "blocked")
HEALTH = ("flagged", "unknown", "exempt", "starting", "waiting", "ended", "healthy")


@dataclass(frozen=True, slots=True)
class Expect:
    """What must come out. None: not written; an empty list says that there is none.

    An action that an exemption takes away is listed in the report and asked for by nobody: it is none of `actions`.
    """

    flags: tuple[str, ...] | None = None
    not_flags: tuple[str, ...] = ()
    actions: tuple[str, ...] | None = None
    not_actions: tuple[str, ...] = ()
    exempt: tuple[str, ...] | None = None
    blocked: tuple[str, ...] | None = None
    templates: Mapping[str, str | None] = field(default_factory=dict)
    """By action; None says that its routes choose none."""
    args: Args = field(default_factory=dict)
    raised: Mapping[str, Raised] = field(default_factory=dict)
    truth: Mapping[str, Truth] = field(default_factory=dict)
    decided: Mapping[str, FactValue] = field(default_factory=dict)
    """Fields that the policy decides, and facts that a log or a recorded sweep tells."""
    health: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as expected, in a line, and what tells why.

    `rules` are those behind it; with `wanted` one of them had to be true. `key` and `name` say where the expectation
    stands; `entry` which one of a list of entries was to be chosen; `notes` what is known without any proof.
    """

    text: str
    rules: tuple[str, ...] = ()
    key: str = ""
    name: str = ""
    wanted: bool = False
    entry: str = ""
    notes: tuple[str, ...] = ()


def read_expect(node: Node, policy: Policy, catalogue: Catalogue, kind: str) -> tuple[Expect, list[Problem]]:
    """What an `expect` asks of a subject of a kind, and every name in it that does not exist or contradicts another."""
    problems: list[Problem] = []
    if not node.entries:
        return Expect(), [Problem(node.mark, "the test expects nothing", "write flags, actions, truth or a field")]
    lists = {name: _names(node.get(name), name, policy, problems) for name in _LISTS}
    decided: dict[str, FactValue] = {}
    for entry in node.entries:
        if entry.key not in (*_LISTS, *_MAPS, "health"):
            decided.update(_facts(entry.key, entry.value, entry.mark, catalogue.kinds[kind], problems))
    problems += _contradictions(node, lists)
    health = node.get("health")
    if health is not None and health.text not in HEALTH:
        problems.append(Problem(health.mark, f"{quote(health.text)} is no health", nearest(health.text, HEALTH)))
    found = Expect(
        flags=lists["flags"],
        not_flags=lists["not_flags"] or (),
        actions=lists["actions"],
        not_actions=lists["not_actions"] or (),
        exempt=lists["exempt"],
        blocked=lists["blocked"],
        templates=_templates(node.get("templates"), policy, problems),
        args=read_args(node.get("args"), policy, problems),
        raised=read_raised(node.get("raised"), policy, problems),
        truth=_truths(node.get("truth"), policy, problems),
        decided=decided,
        health="" if health is None else health.text,
    )
    return found, problems


def _names(node: Node | None, key: str, policy: Policy, problems: list[Problem]) -> tuple[str, ...] | None:
    if node is None:
        return None
    word, known = ("action", policy.actions) if "actions" in key or key == "blocked" else ("flag", policy.flags)
    items = node.items if node.kind == "list" else (node,)
    if not items and key.startswith("not_"):
        one = "an action" if word == "action" else "a flag"
        hint = f"name {one}; that there is none is {key.removeprefix('not_')}: []"
        problems.append(Problem(node.mark, f"{key} names nothing", hint))
    for item in items:
        if item.text not in known:
            problems.append(Problem(item.mark, f"{quote(item.text)} is no {word}", nearest(item.text, known)))
    names = tuple(item.text for item in items)
    for i, item in enumerate(items):
        if item.text in names[:i]:
            problems.append(Problem(item.mark, f"{item.text} stands twice in {key}", "leave one out"))
    return names


def _truths(node: Node | None, policy: Policy, problems: list[Problem]) -> dict[str, Truth]:
    found: dict[str, Truth] = {}
    for entry in node.entries if node is not None else ():
        word = entry.value.text
        if entry.key not in policy.rules:
            problems.append(Problem(entry.mark, f"{quote(entry.key)} is no rule", nearest(entry.key, policy.rules)))
        elif word not in _TRUTHS:
            problems.append(Problem(entry.value.mark, f"expected true, false or unknown, got {quote(word)}"))
        else:
            found[entry.key] = _TRUTHS[word]
    if node is not None and not node.entries:
        problems.append(Problem(node.mark, "truth names nothing", "name a rule: true, false or unknown"))
    return found


def _pages(action: str, policy: Policy) -> list[str]:
    """The templates to which an action can lead: those of its routes, else the only one that it has."""
    if action in policy.routes:
        return sorted({route.template for route in policy.routes[action] if route.template is not None})
    own = policy.actions[action].templates if action in policy.actions else ()
    return list(own) if len(own) == 1 else []


def _templates(node: Node | None, policy: Policy, problems: list[Problem]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for entry in node.entries if node is not None else ():
        name, page = entry.key, entry.value.text
        pages = _pages(name, policy)
        if name not in policy.actions:
            problems.append(Problem(entry.mark, f"{quote(name)} is no action", nearest(name, policy.actions)))
        elif entry.value.get("absent") is not None:
            found[name] = None
        elif page not in pages:
            hint = nearest(page, pages) or f"its routes lead to {', '.join(pages) or 'none'}"
            problems.append(Problem(entry.value.mark, f"no route leads {name} to {quote(page)}", hint))
        else:
            found[name] = page
    if node is not None and not node.entries:
        problems.append(Problem(node.mark, "templates names nothing", "name an action and its template"))
    return found


def _facts(
    name: str, node: Node, mark: Mark, kind: KindDef, problems: list[Problem]
) -> Iterator[tuple[str, FactValue]]:
    definition = kind.fields.get(name) or pattern_field(kind, name)
    if definition is None and node.kind == "map" and is_group(kind, name):
        for entry in node.entries:
            yield from _facts(f"{name}.{entry.key}", entry.value, entry.mark, kind, problems)
    elif definition is None:
        known = [*_LISTS, *_MAPS, "health", *kind.fields]
        problems.append(Problem(mark, f"{quote(name)} can not be expected of a {kind.name}", nearest(name, known)))
    elif node.get("unknown") is not None:
        yield name, Unknown(node.entries[0].value.text)
    elif node.get("absent") is not None:
        yield name, Absent()
    else:
        value = parse(definition, node)
        if value is None:
            problems.append(Problem(node.mark, f"{quote(node.text)} is no value of {name}"))
        else:
            yield name, value


def _contradictions(node: Node, lists: Mapping[str, tuple[str, ...] | None]) -> Iterator[Problem]:
    for yes, no in (("flags", "not_flags"), ("actions", "not_actions"), ("blocked", "not_actions")):
        for name in sorted(set(lists[yes] or ()) & set(lists[no] or ())):
            yield Problem(node.key_mark(no), f"{name} is expected and not expected", f"leave it out of {yes} or {no}")


# ---------------------------------------------------------------- comparison


def differences(
    expect: Expect,
    verdict: Verdict,
    truths: Mapping[str, Truth],
    policy: Policy,
    told: Mapping[str, FactValue] = _NOTHING,
) -> list[Difference]:
    """All that is not as expected.

    `truths` are those of the rules that `truth` names, each on its own subject; `told` the facts that a log or a
    recorded sweep gave, and the test did not.
    """
    flags = {flag.name: flag for flag in verdict.flags}
    actions = {action.name: action for action in verdict.actions}
    raisers, askers = _raisers(policy), _askers(policy)
    found = list(_listed("flags", expect.flags, expect.not_flags, flags, raisers))
    asked = [name for name, action in actions.items() if action.status != "exempt"]
    found += _listed("actions", expect.actions, expect.not_actions, asked, askers)
    found += _exempt(expect, verdict, raisers)
    for name, raised in expect.raised.items():
        behind = raisers.get(name, ())
        lines = unlike(name, raised, flags.get(name))
        found += [Difference(text, behind, "raised", name, wanted=name not in flags) for text in lines]
    found += _handed_over(expect, actions, askers)
    for rule, wanted in expect.truth.items():
        if truths[rule] is not wanted:
            text = f"truth {rule}: expected {wanted.word}, is {truths[rule].word}"
            found.append(Difference(text, (rule,), "truth", rule, wanted=wanted is TRUE))
    for name, value in expect.decided.items():
        actual = verdict.decided.get(name, told.get(name))
        if actual is None or not alike(value, actual):
            shown = "neither decided nor read" if actual is None else _shown(actual)
            entry = value if isinstance(value, str) else ""
            found.append(Difference(f"{name}: expected {_shown(value)}, is {shown}", key=name, entry=entry))
    if expect.health and expect.health != verdict.health:
        text = f"health: expected {expect.health}, is {verdict.health or 'none'}"
        found.append(Difference(text, key="health", notes=_why_health(verdict)))
    return found


def _exempt(expect: Expect, verdict: Verdict, raisers: Mapping[str, tuple[str, ...]]) -> Iterator[Difference]:
    there = {flag.name for flag in verdict.flags}
    exempt = {name for flag in verdict.flags if flag.exempt for name in (flag.name, *flag.covers)}
    for name in sorted(exempt) if expect.exempt == () else ():
        yield Difference(f"exempt: {name} is, and none was expected", raisers.get(name, ()), "exempt")
    for name in expect.exempt or ():
        if name not in exempt:
            state = "raised and counts" if name in there else "not raised"
            text = f"exempt: expected {name}, it is {state}"
            yield Difference(text, raisers.get(name, ()), "exempt", name, wanted=name not in there)


def _why_health(verdict: Verdict) -> tuple[str, ...]:
    counting = [flag for flag in verdict.flags if not (flag.exempt or flag.resolved)]
    grave = [f"{flag.name} is {flag.severity}" for flag in counting if flag.severity in ("warning", "critical")]
    if verdict.health == "flagged":
        return tuple(grave)
    if verdict.health == "unknown":
        return ("state, liveness or progress is not known, or progress is false and no flag says so",)
    return ()


def _handed_over(
    expect: Expect, actions: Mapping[str, Action], askers: Mapping[str, tuple[str, ...]]
) -> Iterator[Difference]:
    held_back = sorted(name for name, action in actions.items() if action.status == "blocked")
    for name in held_back if expect.blocked == () else ():
        text = f"blocked: {name} is, and none was expected"
        yield Difference(text, askers.get(name, ()), "blocked", notes=actions[name].blocked_by)
    for name in expect.blocked or ():
        action = actions.get(name)
        if action is None or action.status != "blocked":
            text = f"blocked: expected {name}, it is {action.status if action else 'not asked for'}"
            rules = askers.get(name, ()) if action is None else ()
            yield Difference(text, rules, "blocked", name, wanted=action is None, entry="blocked")
    for name, template in expect.templates.items():
        action = actions.get(name)
        if action is None or action.template != template:
            state = "not asked for" if action is None else action.template or action.status
            text = f"templates: expected {template or 'none'} for {name}, it is {state}"
            rules = askers.get(name, ()) if action is None else ()
            notes = action.blocked_by if action is not None else ()
            entry = template or "blocked"
            yield Difference(text, rules, "templates", name, wanted=True, entry=entry, notes=notes)
    for (name, arg), wanted in expect.args.items():
        action = actions.get(name)
        behind = askers.get(name, ())
        if action is None:
            text = f"args: expected {arg} of {name}, which is not asked for"
            yield Difference(text, behind, "args", name, wanted=True)
        elif not any(alike(value, action.args[arg]) for value in wanted.values):
            shown = [_shown(value, wanted.kind) for value in (wanted.values[-1], action.args[arg])]
            text = f"args: expected {shown[0]} for {arg} of {name}, it is {shown[1]}"
            yield Difference(text, action.rules, "args", name)


def _listed(
    word: str,
    wanted: tuple[str, ...] | None,
    unwanted: tuple[str, ...],
    there: Iterable[str],
    behind: Mapping[str, tuple[str, ...]],
) -> Iterator[Difference]:
    names = set(there)
    also = f" (there: {', '.join(sorted(names))})" if names else " (there are none)"
    for name in wanted or ():
        if name not in names:
            yield Difference(f"{word}: expected {name}{also}", behind.get(name, ()), word, name, wanted=True)
    for name in unwanted:
        if name in names:
            yield Difference(f"{word}: {name} is there, and must not be", behind.get(name, ()), f"not_{word}", name)
    if wanted == ():
        for name in sorted(names):
            yield Difference(f"{word}: {name} is there, and none was expected", behind.get(name, ()), word)


def _shown(value: FactValue, kind: str = "") -> str:
    return "absent" if isinstance(value, Absent) else humanise(value, kind)


def alike(wanted: FactValue, actual: FactValue) -> bool:
    """Is a value as it is expected? Of an unknown one the reason counts only where it was written."""
    if isinstance(wanted, Unknown):
        return isinstance(actual, Unknown) and wanted.reason in ("", actual.reason)
    if isinstance(wanted, Absent):
        return isinstance(actual, Absent)
    return not isinstance(actual, Unknown | Absent) and same(wanted, actual)


def _raisers(policy: Policy) -> dict[str, tuple[str, ...]]:
    return _behind((getattr(e, "flag", None), rule.id) for rule in policy.rules.values() for e in rule.then)


def _askers(policy: Policy) -> dict[str, tuple[str, ...]]:
    return _behind((getattr(e, "action", None), rule.id) for rule in policy.rules.values() for e in rule.then)


def _behind(pairs: Iterable[tuple[str | None, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, rule in pairs:
        if name is not None:
            found[name] = (*found.get(name, ()), rule)
    return found
