"""From true rules to actions: their causes, arguments, route, and what blocks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.compare import same
from sweeprules.engine.evaluate.flags import Exempted, home, newest, seen
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.message import fill, filled
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Lens, Members, Scope
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Absent, FactValue, Reason, Ref, Subject, Unknown, Value
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from sweeprules.engine.verdicts import Action


class Wanted(NamedTuple):
    """A rule that asks for an action, and the subject on which it was true."""

    rule: ast.Rule
    act: ast.Act
    source: Ref


Wishes = dict[Ref, dict[str, list[Wanted]]]
"""Subject -> action -> who asks for it."""


def wanted(policy: ast.Policy, lens: Lens, truths: Truths, looks: Looks) -> Wishes:
    """All actions that true rules ask for; those of a step or run are asked of their job.

    A rule about steps asks for them at the newest of the steps that it looks at and is true of.
    """
    wishes: Wishes = {}
    for _, rule in sorted(policy.rules.items()):
        acts = [effect for effect in rule.then if isinstance(effect, ast.Act)]
        for ref in seen(lens, truths, rule, looks) if acts else ():
            place = home(lens, rule, ref)
            for act in acts if place is not None else ():
                if place is not None:
                    wishes.setdefault(place, {}).setdefault(act.action, []).append(Wanted(rule, act, ref))
    return {
        place: {name: newest(lens, who, lambda w: w.act) for name, who in asked.items()}
        for place, asked in wishes.items()
    }


class ActionWriter:
    """Builds the actions of one sweep."""

    def __init__(self, policy: ast.Policy, prover: Prover, catalogue: Catalogue | None) -> None:
        self._policy = policy
        self._prover = prover
        self._lens = prover.lens
        self._catalogue = catalogue

    def write(
        self, ref: Ref, wishes: dict[str, list[Wanted]], flags: Set[str], gone: Set[str], exempt: Exempted
    ) -> tuple[Action, ...]:
        """The actions of one subject in order of their names; `gone` are flags that another one of `flags` replaced."""
        live = {name: _causes_of(self._policy.rules, who, flags, gone) for name, who in sorted(wishes.items())}
        return tuple(self._action(ref, name, causes, exempt) for name, causes in live.items() if causes)

    def _action(self, ref: Ref, name: str, live: list[tuple[Wanted, frozenset[str]]], exempt: Exempted) -> Action:
        rules = self._policy.rules
        free = [(w, names) for w, names in live if not _covered(rules, w.rule, names, exempt.sure.keys())]
        kept = free or live
        definition = self._policy.actions[name]
        args, blocked = self._args(definition, [w for w, _ in kept])
        template: str | None = None
        causes = sorted({n for _, names in kept for n in names if not free or n not in exempt.sure})
        if free:
            template, reasons = self._route(definition, ref)
            blocked += reasons
            blocked += self._doubts(definition, ref, causes, exempt)
        status = ("blocked" if blocked else "open") if free else "exempt"
        askers = tuple(sorted({w.rule.id for w, _ in kept}))
        by = tuple(dict.fromkeys(blocked)) if free else ()
        return Action(name, definition.klass, definition.destructive, args, template, status, tuple(causes), askers, by)

    def _doubts(self, action: ast.ActionDef, ref: Ref, causes: Iterable[str], exempt: Exempted) -> list[str]:
        """What keeps a destructive action back although its rule is true."""
        if not action.destructive:
            return []
        doubts = [f"exemption {exempt.doubtful[n].id} of {n} is unknown" for n in causes if n in exempt.doubtful]
        if self._lens.fact(self._lens.world.subjects[ref], "bucket_sure") is False:
            doubts.append("bucket is not sure: an earlier entry of its list is unknown")
        return doubts

    # ------------------------------------------------------------ arguments

    def _args(self, action: ast.ActionDef, who: Sequence[Wanted]) -> tuple[dict[str, FactValue], list[str]]:
        names = dict.fromkeys([*action.args, *(name for w in who for name in w.act.args)])
        args: dict[str, FactValue] = {}
        blocked: list[str] = []
        for name in names:
            values = [
                self._arg(w.act.args[name], Scope(self._lens.world.subjects[w.source]))
                for w in who
                if name in w.act.args
            ]
            value = args[name] = _merged(values, action) if values else Absent("not-given")
            if isinstance(value, Unknown):
                detail = f", {value.detail}" if value.detail else ""
                blocked.append(f"{name} is unknown ({value.reason}{detail})")
            elif action.destructive and name == "ids" and (value == () or isinstance(value, Absent)):
                blocked.append("there is no id to act on")
        return args, blocked

    def _arg(self, arg: ast.Right | ast.Collect | tuple[ast.Right, ...], scope: Scope) -> FactValue:
        if isinstance(arg, ast.Collect):
            return self._collected(arg, scope)
        if isinstance(arg, tuple):
            return _listed(self._right(right, scope) for right in arg)
        return self._right(arg, scope)

    def _right(self, arg: ast.Right, scope: Scope) -> FactValue:
        value = self._lens.right(arg, scope)
        if isinstance(arg, ast.Const) and isinstance(value, str) and isinstance(scope.own, Subject):
            return filled(value, self._lens, scope.own, self._catalogue)
        return value

    def _collected(self, collect: ast.Collect, scope: Scope) -> FactValue:
        members = self._lens.members(collect.of, scope.own)
        if not isinstance(members, Members):
            return members
        if not members.whole:
            return Unknown(members.reason, f"not all of {collect.of.text} were read")
        return _listed(self._chosen(collect, members, scope))

    def _chosen(self, collect: ast.Collect, members: Members, scope: Scope) -> Iterator[FactValue]:
        for thing in members.things:
            inner = Scope(thing, scope)
            truth = TRUE if collect.where is None else self._prover.condition(collect.where, inner).truth
            if truth is UNKNOWN:
                yield Unknown(Reason.NOT_READ, f"whether a member of {collect.of.text} counts")
            elif truth is not FALSE:
                yield self._lens.value(collect.field, inner)

    # ------------------------------------------------------------ routes

    def _route(self, action: ast.ActionDef, ref: Ref) -> tuple[str | None, list[str]]:
        """The template of the first route that holds, and what blocks it.

        An unknown route is passed over. A destructive action is then blocked, for an unknown stood on its path.
        """
        routes = self._policy.routes.get(action.name, ())
        if not routes:
            several = len(action.templates) > 1
            template = action.templates[0] if len(action.templates) == 1 else None
            return template, [f"nothing chooses between {', '.join(action.templates)}"] if several else []
        subject = self._lens.world.subjects[ref]
        passed: list[str] = []
        for route in routes:
            truth = TRUE if route.when is None else self._prover.condition(route.when, Scope(subject)).truth
            if truth is UNKNOWN:
                passed.append(route.template or "blocked")
            elif truth is TRUE:
                if route.template is None:
                    say = fill(route.say, self._lens, subject, self._catalogue)
                    return None, [say or "its routes block it"]
                doubt = [f"the route to {t} is unknown" for t in passed if t != route.template]
                return route.template, doubt if action.destructive else []
        return None, ["none of its routes holds"]


_Rules = Mapping[str, ast.Rule]


def _causes_of(
    rules: _Rules, who: Iterable[Wanted], flags: Set[str], gone: Set[str]
) -> list[tuple[Wanted, frozenset[str]]]:
    """Who asks, each with the raised flags behind it; a wish whose flags were all replaced went with them."""
    asked = [(w, causes(rules, w.rule)) for w in who]
    return [(w, names & flags) for w, names in asked if names & flags or not names & gone]


def causes(rules: Mapping[str, ast.Rule], rule: ast.Rule) -> frozenset[str]:
    """The flags that a rule raises, and those that its `when` asks for (not those it denies)."""
    return frozenset(_raises(rule) | set(_asked(rules, rule.when)))


def _raises(rule: ast.Rule) -> set[str]:
    return {effect.flag for effect in rule.then if isinstance(effect, ast.Raise)}


def _covered(rules: _Rules, rule: ast.Rule, causes: frozenset[str], exempt: Set[str]) -> bool:
    """Does an exemption take a wish away: it covers all flags behind it, or one without which it would not be."""
    return bool(_required(rules, rule.when) & exempt) or (bool(causes) and causes <= exempt)


def _required(rules: _Rules, condition: ast.Condition) -> frozenset[str]:
    if isinstance(condition, ast.Flagged):
        return frozenset({condition.flag})
    if isinstance(condition, ast.RuleIs):
        # One that raises a second flag is asked for by that one too.
        found = _of_rule(rules, condition)
        return frozenset(found if len(found) == 1 else ())
    if isinstance(condition, ast.All):
        return frozenset().union(*(_required(rules, item) for item in condition.items))
    return frozenset()


def _asked(rules: _Rules, condition: ast.Condition | ast.Signalled) -> Iterator[str]:
    if isinstance(condition, ast.Flagged):
        yield condition.flag
    elif isinstance(condition, ast.RuleIs):
        yield from _of_rule(rules, condition)
    elif isinstance(condition, ast.All | ast.Any):
        for item in condition.items:
            yield from _asked(rules, item)
    elif isinstance(condition, ast.AtLeast):
        for operand in condition.of:
            yield from _asked(rules, operand)


def _of_rule(rules: _Rules, condition: ast.RuleIs) -> set[str]:
    """The flags of a rule that is asked to be true: who asks for the rule asks for what it raises."""
    return _raises(rules[condition.id]) if condition.wanted is TRUE and condition.id in rules else set()


def _listed(values: Iterable[FactValue]) -> FactValue:
    """A list of what is there; unknown as soon as one member is, and absent ones are left out."""
    members: list[Value] = []
    for value in values:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Absent):
            continue
        for member in value if isinstance(value, tuple) else (value,):
            if not any(same(member, other) for other in members):
                members.append(member)
    return tuple(members)


def _merged(values: Sequence[FactValue], action: ast.ActionDef) -> FactValue:
    """One argument that several rules give: lists are joined, unlike values are unknown `conflict`."""
    for value in values:
        if isinstance(value, Unknown):
            return value
    there = [value for value in values if not isinstance(value, Absent | Unknown)]
    if not there:
        return values[0]
    if all(isinstance(value, tuple) for value in there):
        return _listed(there)
    if all(same(there[0], value) for value in there[1:]):
        return there[0]
    texts = [value for value in there if isinstance(value, str)]
    if len(texts) == len(there) and not action.destructive:
        return ", ".join(dict.fromkeys(texts))
    return Unknown(Reason.CONFLICT, "its rules give unlike values")
