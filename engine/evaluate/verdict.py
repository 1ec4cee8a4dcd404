"""Truths to verdicts: flags, actions, decided fields and health of every judged subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.actions import ActionWriter, wanted
from sweeprules.engine.evaluate.flags import Exempted, FlagWriter, exempted, raised
from sweeprules.engine.evaluate.health import READ, health
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.quiet import collected_after
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import FactValue, Ref, Subject, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language import ast
from sweeprules.engine.verdicts import Flag, Verdict

_NOTHING_EXEMPT = Exempted({}, {}, {})
_INSIDE = frozenset({"job", "step", "run", "sweep", "evidence"})
"""Kinds whose flags never explain a job's from outside: their own stand on the job."""


@collected_after
def judge(
    policy: ast.Policy,
    world: World,
    catalogue: Catalogue | None = None,
    truths: Truths | None = None,
    held: Held = NOTHING_HELD,
) -> dict[Ref, Verdict]:
    """The verdict on each judged subject, in order of kind and key.

    `truths` are those of `evaluate(policy, world, held)` where they are there already. The catalogue gives messages
    their units. `since` of flags is left empty: it is the store's to know.
    """
    truths = evaluate(policy, world, held) if truths is None else truths
    prover = Prover(policy, world, truths)
    return _Judge(policy, prover, truths, catalogue).verdicts()


def suspects(policy: ast.Policy, truths: Truths) -> tuple[Ref, ...]:
    """The subjects for which a rule of `stage: suspect` is true or unknown: those that are looked at more closely."""
    found: set[Ref] = set()
    for rule in policy.rules.values():
        if rule.stage == "suspect":
            found.update(truths.not_false(rule.id, rule.on))
    return tuple(sorted(found))


class _Judge:
    def __init__(self, policy: ast.Policy, prover: Prover, truths: Truths, catalogue: Catalogue | None) -> None:
        self._policy = policy
        self._prover = prover
        self._truths = truths
        self._board, self._gone = raised(policy, prover.lens, truths, prover.looks)
        self._wishes = wanted(policy, prover.lens, truths, prover.looks)
        self._flags = FlagWriter(policy, prover.lens, catalogue)
        self._actions = ActionWriter(policy, prover, catalogue)

    def verdicts(self) -> dict[Ref, Verdict]:
        """One a judged subject."""
        found = {ref: self._verdict(ref) for ref in sorted(self._truths)}
        for ref in self._board:
            if ref.kind == "job" and ref in found and found[ref].flags:
                found[ref] = replace(found[ref], flags=self._explained(ref, found))
        return found

    def _verdict(self, ref: Ref) -> Verdict:
        subject, truths, decided = self._truths.row(ref)
        raised_here, wishes = self._board.get(ref), self._wishes.get(ref)
        flags: tuple[Flag, ...] = ()
        exempt = _NOTHING_EXEMPT
        if raised_here:
            exempt = exempted(self._policy, self._prover, ref, raised_here)
            flags = self._flags.write(ref, raised_here, exempt)
        names, gone = frozenset(raised_here or ()), self._gone.get(ref, set())
        actions = self._actions.write(ref, wishes, names, gone, exempt) if wishes else ()
        state = health(flags, _health_facts(subject, decided)) if ref.kind == "job" else ""
        return Verdict(ref, truths, decided, flags, actions, state, exempt.truths)

    def _explained(self, ref: Ref, found: dict[Ref, Verdict]) -> tuple[Flag, ...]:
        """A job's flags with what explains them on its cluster, filesystem and so on, as `name@kind:key`.

        A cause that is a flag of jobs too explains those jobs alone that have it: its rule about jobs tells which.
        """
        own = {flag.name for flag in found[ref].flags}
        causes = [
            (f"{flag.name}@{other}", self._flags.explains(self._board[other].get(flag.name, ()), flag.name))
            for other in self._around(ref)
            if other in found and other in self._board
            for flag in found[other].flags
            if not flag.resolved and (flag.name in own or "job" not in self._policy.flags[flag.name].subjects)
        ]
        return tuple(
            replace(flag, explained_by=(*flag.explained_by, *sorted(name for name, of in causes if flag.name in of)))
            for flag in found[ref].flags
        )

    def _around(self, ref: Ref) -> list[Ref]:
        subject: Subject = self._prover.lens.world.subjects[ref]
        members = {member for relation in subject.relations.values() for member in relation.members}
        return sorted(member for member in members if member.kind not in _INSIDE)


def _health_facts(subject: Subject, decided: Mapping[str, FactValue]) -> Mapping[str, FactValue]:
    if not decided:
        return subject.facts
    found = {name: subject.facts[name] for name in READ if name in subject.facts}
    return {**found, **decided}
