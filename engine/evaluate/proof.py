"""The same semantics as `native`, read one rule and one subject at a time, with what was there and what was needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any as Anything

from sweeprules.engine.evaluate import reasons, wording
from sweeprules.engine.evaluate.calc import calculate
from sweeprules.engine.evaluate.compare import compare
from sweeprules.engine.evaluate.effects import NOW, RuleTruths, carried, holding, needed_path
from sweeprules.engine.evaluate.features import Features
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.plan import FEATURE_KIND, Index, carries, index
from sweeprules.engine.evaluate.resolve import Lens, Members, Scope
from sweeprules.engine.evaluate.series import Runs
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Absent, FactValue, Interval, Ref, Subject, Unknown, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth, every, negate, of, some
from sweeprules.engine.verdicts import ConditionProof, FactUse, RuleProof

_MEMBERS_SHOWN = 50


class Prover:
    """Proves rules, exemptions and conditions on the subjects of one evaluated world."""

    def __init__(
        self,
        policy: ast.Policy,
        world: World,
        truths: Truths,
        idx: Index | None = None,
        held: Held = NOTHING_HELD,
    ) -> None:
        self.policy = policy
        self._world = world
        self._truths: RuleTruths = truths
        self.index = idx or index(policy)
        self.lens = Lens(policy, world, truths)
        runs = Runs(self.lens)
        self.looks = Looks(self.lens, runs)
        self._features = Features(self.lens, runs)
        self._held = held or (truths.held if isinstance(truths, Truths) else NOTHING_HELD)
        self._open: set[tuple[str, Ref]] = set()
        self._by_type: dict[type, Callable[..., ConditionProof]] = {
            ast.All: self._group,
            ast.Any: self._group,
            ast.Not: self._not,
            ast.Test: self._test,
            ast.Flagged: self._flagged,
            ast.RuleIs: self._rule_is,
            ast.AtLeast: self._at_least,
            ast.Quantified: self._quantified,
        }

    def rule(self, rule_id: str, ref: Ref) -> RuleProof:
        """Why a rule has its truth on a subject: `needs`, `when`, `unless` and `for`, in that order."""
        rule = self.policy.rules[rule_id]
        scope = Scope(self._world.subjects[ref])
        needs = [self._need(rule, name, scope) for name in rule.needs]
        when = self.condition(rule.when, scope)
        truth = every([when.truth, *(n.truth for n in needs)])
        conditions = [*needs, when]
        if rule.unless is not None:
            unless = self._unless(rule, scope)
            conditions.append(unless)
            truth = min(truth, unless.truth)
        if rule.hold is not None:
            held = self._hold(rule, rule.hold, scope, truth)
            conditions.append(held)
            truth = min(truth, held.truth)
        consequences = tuple(wording.consequence(effect) for effect in rule.then)
        mark = rule.mark
        return RuleProof(rule.id, ref, truth, mark.file, mark.line, tuple(conditions), consequences, rule.why)

    def exemption(self, exemption: ast.Exemption, ref: Ref) -> ConditionProof:
        """Why an exemption does or does not hold of a subject; its expiry is part of it."""
        scope = Scope(self._world.subjects[ref])
        when = self.condition(exemption.when, scope)
        if exemption.expires is None:
            return when
        now = self.lens.value(ast.Path(("sweep",), "now", "sweep", "time"), scope)
        test = ast.Compare("lt", (ast.Const(exemption.expires),))
        truth = compare(test, now, (exemption.expires,))
        said = wording.said(test, [exemption.expires], "time")
        line = exemption.mark.line
        expiry = ConditionProof("expires", truth, wording.actual("sweep.now", now, "time"), said, line)
        return ConditionProof("exemption", every((when.truth, truth)), "", "", line, (), (when, expiry))

    def condition(self, condition: ast.Condition, scope: Scope) -> ConditionProof:
        """The proof of one condition."""
        return self._by_type[type(condition)](condition, scope)

    # ------------------------------------------------------------ parts of a rule

    def _need(self, rule: ast.Rule, name: str, scope: Scope) -> ConditionProof:
        value = self.lens.value(needed_path(name, rule.on), scope)
        truth = UNKNOWN if isinstance(value, Unknown) else of(not isinstance(value, Absent))
        facts = self._use(scope, name, value)
        return ConditionProof(f"needs {name}", truth, wording.actual(name, value), "known", rule.mark.line, facts)

    def _unless(self, rule: ast.Rule, scope: Scope) -> ConditionProof:
        assert rule.unless is not None
        inner = self.condition(rule.unless, scope)
        held = inner.truth
        if rule.if_unknown == "fire" and held is UNKNOWN:
            held = FALSE
        actual = f"unless is {inner.truth.word}"
        needed = "not true" if rule.if_unknown == "fire" else "false"
        return ConditionProof("unless", negate(held), actual, needed, rule.mark.line, (), (inner,))

    def _hold(self, rule: ast.Rule, hold: ast.Hold, scope: Scope, bare: Truth) -> ConditionProof:
        subject = scope.own
        state = self._held.get((rule.id, subject.ref)) if isinstance(subject, Subject) else None
        truth = holding(self.lens, hold, scope, state)
        side = hold.sweeps or hold.seconds
        assert side is not None
        wanted, now = self.lens.right(side, scope), self.lens.value(NOW, scope)
        actual, needed = wording.held(hold, side, wanted, state, now, bare)
        facts = self._use(scope, wording.right(side) or "for", wanted) if isinstance(wanted, Unknown) else ()
        return ConditionProof(f"for {needed}", truth, actual, needed, hold.mark.line, facts)

    # ------------------------------------------------------------ connectives

    def _group(self, condition: ast.All | ast.Any, scope: Scope) -> ConditionProof:
        parts = tuple(self.condition(item, scope) for item in condition.items)
        conjunction = isinstance(condition, ast.All)
        truth = (every if conjunction else some)(p.truth for p in parts)
        held = sum(p.truth is TRUE for p in parts)
        actual = f"{held} of {len(parts)} true"
        needed = "all true" if conjunction else "one true"
        return ConditionProof("all" if conjunction else "any", truth, actual, needed, condition.mark.line, (), parts)

    def _not(self, condition: ast.Not, scope: Scope) -> ConditionProof:
        part = self.condition(condition.item, scope)
        return ConditionProof("not", negate(part.truth), part.truth.word, "false", condition.mark.line, (), (part,))

    # ------------------------------------------------------------ leaves

    def _test(self, condition: ast.Test, scope: Scope) -> ConditionProof:
        path, test = condition.path, condition.compare
        value = self.lens.value(path, scope)
        rights = [self.lens.right(right, scope) for right in test.rights]
        truth = compare(test, value, rights, self.policy.patterns)
        facts = list(self._path_use(path, scope, value))
        for right, worth in zip(test.rights, rights, strict=True):
            facts += self._right_uses(right, scope, worth)
        actual = wording.actual(path.text, value, path.type) + self._series(path, scope)
        needed = wording.said(test, rights, path.type)
        return ConditionProof(condition.text, truth, actual, needed, condition.mark.line, tuple(facts))

    def _series(self, path: ast.Path, scope: Scope) -> str:
        """What a feature was made of, in words."""
        feature = self.policy.features.get(path.field) if path.kind == FEATURE_KIND else None
        if feature is None:
            return ""
        start = scope.outer if path.scope == "outer" and scope.outer is not None else scope
        holder = self.lens.holder(path.relations, start.own)
        found = self._features.explained(feature, holder) if isinstance(holder, Subject) else None
        return "" if found is None else wording.series(feature, found.current, found.window)

    def _use(self, scope: Scope, name: str, value: FactValue) -> tuple[FactUse, ...]:
        subject = scope.subject
        return () if subject is None else (FactUse(subject.ref, name, value),)

    def _path_use(self, path: ast.Path, scope: Scope, value: FactValue) -> tuple[FactUse, ...]:
        start = scope.outer if path.scope == "outer" and scope.outer is not None else scope
        holder = self.lens.holder(path.relations, start.own)
        if isinstance(holder, Subject):
            return (FactUse(holder.ref, path.field, value),)
        return self._use(start, path.text, value)

    def _right_uses(self, right: ast.Right | ast.Arith, scope: Scope, worth: FactValue) -> Iterable[FactUse]:
        if isinstance(right, ast.FieldRef):
            yield from self._path_use(right.path, scope, self.lens.value(right.path, scope))
        elif isinstance(right, ast.Calc):
            yield from self._right_uses(right.root, scope, worth)
        elif isinstance(right, ast.Arith):
            for arg in right.args:
                yield from self._right_uses(arg, scope, self.lens.right(arg, scope))
        if isinstance(worth, Unknown) and not isinstance(right, ast.FieldRef | ast.Arith):
            yield from self._use(scope, wording.right(right), worth)

    def _flagged(self, condition: ast.Flagged, scope: Scope) -> ConditionProof:
        found = [
            (rule, self._raised(rule, condition.flag, scope)) for rule in self.index.raisers.get(condition.flag, ())
        ]
        truths = [(rule, truth) for rule, truth in found if truth is not None]
        truth = max((t for _, t in truths), default=FALSE)
        actual = ", ".join(f"{rule.id} is {t.word}" for rule, t in truths)
        parts = tuple(self._because(rule, scope) for rule, t in truths if t is truth is UNKNOWN)
        return ConditionProof(f"flagged: {condition.flag}", truth, actual, "raised", condition.mark.line, (), parts)

    def _raised(self, rule: ast.Rule, flag: str, scope: Scope) -> Truth | None:
        kind = scope.own.ref.kind if isinstance(scope.own, Subject) else ""
        if rule.on == kind and isinstance(scope.own, Subject):
            return self._truths.truth(rule.id, scope.own.ref)
        if carries(self.policy, rule, flag, kind):
            return carried(self.lens, self._truths, rule, scope.own, self.looks)
        return None

    def _because(self, rule: ast.Rule, scope: Scope) -> ConditionProof:
        """What keeps a rule that another one reads from being known."""
        own = scope.own
        if isinstance(own, Subject) and own.judged and rule.on == own.ref.kind:
            return self._inner(rule, own.ref)
        return ConditionProof(rule.id, UNKNOWN, f"{rule.on} not read", "", rule.mark.line)

    def _inner(self, rule: ast.Rule, ref: Ref) -> ConditionProof:
        """The proof of a rule inside another proof; where rules build on each other in a circle it stops."""
        key = (rule.id, ref)
        if key in self._open:
            return ConditionProof(rule.id, self._truths.truth(rule.id, ref), "proved above", "", rule.mark.line)
        self._open.add(key)
        proof = self.rule(rule.id, ref)
        self._open.discard(key)
        return ConditionProof(rule.id, proof.truth, "", "", rule.mark.line, (), proof.conditions)

    def _rule_is(self, condition: ast.RuleIs, scope: Scope) -> ConditionProof:
        own = scope.own
        truth = self._truths.truth(condition.id, own.ref) if isinstance(own, Subject) else UNKNOWN
        text = f"rule {condition.id} is {condition.wanted.word}"
        line = condition.mark.line
        return ConditionProof(text, of(truth is condition.wanted), truth.word, condition.wanted.word, line)

    # ------------------------------------------------------------ at_least

    def blocked(self, condition: ast.AtLeast, scope: Scope) -> bool:
        """Is some operand not evaluable for a reason that is not ignored?"""
        return reasons.blocked([self._operand(item, scope)[0] for item in condition.of], condition.ignoring)

    def _at_least(self, condition: ast.AtLeast, scope: Scope) -> ConditionProof:
        pairs = [self._operand(item, scope) for item in condition.of]
        operands = [operand for operand, _ in pairs]
        truths = [TRUE]
        needed: list[str] = []
        if condition.n is not None:
            wanted = self.lens.right(condition.n, scope)
            truths.append(reasons.quorum(operands, wanted))
            needed.append(f"at least {wording.worth(condition.n, wanted)} true")
        if condition.evaluable is not None:
            rights = [self.lens.right(right, scope) for right in condition.evaluable.rights]
            truths.append(compare(condition.evaluable, reasons.evaluable(operands), rights))
            needed.append(f"evaluable {wording.said(condition.evaluable, rights)}")
        if condition.ignoring:
            truths.append(of(reasons.blocked(operands, condition.ignoring)))
            needed.append(f"one not evaluable for another reason than {', '.join(condition.ignoring)}")
        true = sum(o.truth is TRUE for o in operands)
        actual = f"{true} true, {reasons.evaluable(operands)} evaluable of {len(operands)}"
        parts = tuple(proof for _, proof in pairs)
        return ConditionProof("at_least", every(truths), actual, ", ".join(needed), condition.mark.line, (), parts)

    def _operand(self, item: ast.Condition | ast.Signalled, scope: Scope) -> tuple[reasons.Operand, ConditionProof]:
        if isinstance(item, ast.Signalled):
            return self._signal(item, scope)
        proof = self.condition(item, scope)
        return reasons.Operand(proof.truth, reasons.of_proof(proof)), proof

    def _signal(self, item: ast.Signalled, scope: Scope) -> tuple[reasons.Operand, ConditionProof]:
        own = scope.own
        if not isinstance(own, Subject) or not own.judged:
            proof = ConditionProof(item.name, UNKNOWN, "not judged", "true", item.mark.line)
            return reasons.Operand(UNKNOWN, reasons.of_proof(proof)), proof
        truths: list[Truth] = []
        gone: set[str] = set()
        parts: list[ConditionProof] = []
        for rule in self.index.signallers.get((own.ref.kind, item.name), ()):
            needs = [self.lens.value(needed_path(name, rule.on), scope) for name in rule.needs]
            absent = [need.reason or "absent" for need in needs if isinstance(need, Absent)]
            gone.update(absent)
            if absent:
                continue
            inner = self._inner(rule, own.ref)
            in_doubt = any(isinstance(need, Unknown) for need in needs)
            truths.append(UNKNOWN if in_doubt else inner.truth)
            parts.append(replace(inner, truth=truths[-1]))
        line = item.mark.line
        if not truths:
            proof_of_absence = ConditionProof(f"signal {item.name}", FALSE, "absent", "true", line)
            return reasons.Operand(None, frozenset(gone or {"absent"})), proof_of_absence
        signal = max(truths)
        found = ConditionProof(f"signal {item.name}", signal, signal.word, "true", line, (), tuple(parts))
        return reasons.Operand(signal, reasons.of_proof(found)), found

    # ------------------------------------------------------------ quantifiers

    def _quantified(self, condition: ast.Quantified, scope: Scope) -> ConditionProof:
        members = self.lens.members(condition.of, scope.own)
        needed = "" if condition.compare is None else self._needed(condition.compare, scope)
        line = condition.mark.line
        if isinstance(members, Unknown | Absent):
            truth = UNKNOWN if isinstance(members, Unknown) else FALSE
            actual = wording.actual(condition.of.text, members)
            facts = self._use(scope, condition.of.text, members)
            return ConditionProof(condition.text, truth, actual, needed, line, facts)
        rows = [
            (self._member(condition.where, m), self._member(condition.holds, m), m) for m in _inside(members, scope)
        ]
        if condition.which in ("every", "some"):
            truth, actual = _existential(condition, members, [(w.truth, h.truth) for w, h, _ in rows])
        else:
            total = self._total(condition, members, [(w.truth, m) for w, _, m in rows])
            rights = [] if condition.compare is None else [self.lens.right(r, scope) for r in condition.compare.rights]
            truth = (
                UNKNOWN
                if condition.compare is None
                else compare(condition.compare, total, rights, self.policy.patterns)
            )
            actual = wording.actual(f"{condition.which} of {condition.of.text}", total)
        facts = self._members_used(condition.of, members, scope)
        parts = tuple(p for w, h, _ in rows[:_MEMBERS_SHOWN] if w.truth is not FALSE for p in (w, h) if p.text)
        return ConditionProof(condition.text, truth, actual, needed, line, facts, parts)

    def _members_used(self, of: ast.Path, members: Members, scope: Scope) -> tuple[FactUse, ...]:
        """The list, map or relation behind a quantifier: a fact with a source, or a relation that is not whole."""
        if not members.whole:
            return self._use(scope, of.text, Unknown(members.reason))
        return () if of.type == "relation" else self._use(scope, of.text, self.lens.value(of, scope))

    def _needed(self, test: ast.Compare, scope: Scope) -> str:
        return wording.said(test, [self.lens.right(right, scope) for right in test.rights])

    def _member(self, condition: ast.Condition | None, scope: Scope) -> ConditionProof:
        return _ALWAYS if condition is None else self.condition(condition, scope)

    def _total(self, condition: ast.Quantified, members: Members, rows: list[tuple[Truth, Scope]]) -> FactValue:
        sure = sum(truth is TRUE for truth, _ in rows)
        possible = sum(truth is not FALSE for truth, _ in rows)
        if condition.which == "count":
            if members.whole and sure == possible:
                return sure
            return Interval(sure, possible if members.whole else None)
        if not members.whole:
            return Unknown("cut", "not all members were read")
        if sure != possible or condition.summed is None:
            return Unknown("not-read", "it is unknown whether a member counts")
        values = [self.lens.value(condition.summed, scope) for truth, scope in rows if truth is TRUE]
        return calculate("sum", [v for v in values if not isinstance(v, Absent)])


_ALWAYS = ConditionProof("", TRUE, "", "", 0)


def _inside(members: Members, scope: Scope) -> Iterable[Scope]:
    return (Scope(thing, scope) for thing in members.things)


def _existential(condition: ast.Quantified, members: Members, rows: list[tuple[Truth, Truth]]) -> tuple[Truth, str]:
    """`every` and `some` over (chosen, holds) of each member; more members may be there when it is not whole."""
    chosen = [where for where, _ in rows if where is not FALSE]
    universal = condition.which == "every"
    truths = [max(negate(where), holds) if universal else min(where, holds) for where, holds in rows]
    actual = f"{sum(h is TRUE and w is TRUE for w, h in rows)} of {len(chosen)} hold"
    if not members.whole:
        edge: Anything = min if universal else max
        return edge([UNKNOWN, *truths]), f"{actual}, perhaps more"
    if not chosen:
        return condition.if_empty, "no member"
    truth = every(truths) if universal else some(truths)
    if TRUE not in chosen and truth is not condition.if_empty:
        truth = UNKNOWN
    return truth, actual
