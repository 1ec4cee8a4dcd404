"""What rules do to fields and flags, from their truths; both evaluators read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sweeprules.engine.evaluate import settle
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.plan import CARRIED
from sweeprules.engine.evaluate.resolve import Lens, Scope, Thing
from sweeprules.engine.facts import Absent, FactValue, Ref, Subject, Unknown
from sweeprules.engine.holds import HoldState, enough
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, UNKNOWN, Truth

NOW = ast.Path(("sweep",), "now", "sweep", "time")


class RuleTruths(Protocol):
    """Truths of rules by id and subject; unknown on a subject that is not judged."""

    def truth(self, rule: str, ref: Ref) -> Truth:
        """The truth of a rule on a subject."""


def field_value(
    lens: Lens, subject: Subject, name: str, rules: Sequence[ast.Rule], truths: Mapping[str, Truth]
) -> FactValue:
    """The value of a field that `rules` set or add to, given their truths on the subject."""
    scope = Scope(subject)
    sets: list[settle.Claim] = []
    adds: list[settle.Claim] = []
    adding = False
    for rule in rules:
        for effect in rule.then:
            if not isinstance(effect, ast.Set | ast.Add) or effect.field != name:
                continue
            adding = adding or isinstance(effect, ast.Add)
            if truths[rule.id] is not FALSE:
                claims = sets if isinstance(effect, ast.Set) else adds
                claims.append((truths[rule.id], lens.right(effect.right, scope)))
    value = settle.settle_set(subject.get(name), sets)
    if not adding:
        return value
    return settle.settle_add(value, bool(sets) or name in subject.facts, adds)


def carried(lens: Lens, truths: RuleTruths, rule: ast.Rule, thing: Thing, looks: Looks) -> Truth:
    """A rule's truth over the steps of a job that it looks at, or over its run: the greatest.

    It is unknown at least where some were not read.
    """
    back = ast.Path((), CARRIED[rule.on][2], CARRIED[rule.on][1], "relation")
    members = lens.members(back, thing)
    if isinstance(members, Unknown):
        return UNKNOWN
    if isinstance(members, Absent):
        return FALSE
    judged = [m for m in members.things if isinstance(m, Subject) and m.judged and looks.at(rule, m)]
    found = [truths.truth(rule.id, member.ref) for member in judged]
    return max(found, default=FALSE) if members.whole else max((UNKNOWN, *found))


def needed_path(name: str, kind: str) -> ast.Path:
    """The path of a field that a rule `needs`: its subject's, or of the job that it belongs to (`job.bucket`)."""
    head, _, tail = name.partition(".")
    return ast.Path(("job",), tail, "job", "any") if head == "job" and tail else ast.Path((), name, kind, "any")


def holding(lens: Lens, hold: ast.Hold, scope: Scope, state: HoldState | None) -> Truth:
    """Whether a rule that is true of a subject now has been so for long enough, given its state before."""
    sweeps, seconds = (None if side is None else lens.right(side, scope) for side in (hold.sweeps, hold.seconds))
    return enough(sweeps, seconds, state, lens.value(NOW, scope))
