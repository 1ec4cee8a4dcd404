"""From true rules to flags: where each is raised, what it says, what exempts it, what explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.looking import Looks
from sweeprules.engine.evaluate.message import fill, joined
from sweeprules.engine.evaluate.plan import CARRIED
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Lens
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Ref, Subject
from sweeprules.engine.language import ast
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import ConditionProof, Flag

SEVERITIES = ("info", "warning", "critical")
EXPIRED = "exemption-expired"
"""Raised by no rule: that an exemption ran out is the policy's own word, so its `rule` is the exemption's id."""


class Sourced(Protocol):
    """What a rule asks for, and the subject on which it was true."""

    @property
    def rule(self) -> ast.Rule:
        """The rule."""

    @property
    def source(self) -> Ref:
        """The subject."""


R = TypeVar("R", bound=Sourced)


class Raised(NamedTuple):
    """A rule that raised a flag, how, and the subject on which it was true (a step, where the flag is its job's)."""

    rule: ast.Rule
    effect: ast.Raise
    source: Ref


Board = dict[Ref, dict[str, list[Raised]]]
"""Subject -> flag -> who raised it."""


def home(lens: Lens, rule: ast.Rule, ref: Ref, subjects: Sequence[str] = ()) -> Ref | None:
    """Where the flags and actions of a rule land: on its subject, those of a step or run on their job.

    None where that job is not judged in this sweep; the subject itself where nobody knows which job it is.
    """
    if rule.on in subjects or rule.on not in CARRIED:
        return ref
    relation, _, _ = CARRIED[rule.on]
    job = lens.hop(lens.world.subjects[ref], relation)
    if not isinstance(job, Subject):
        return ref
    return job.ref if job.judged else None


def seen(lens: Lens, truths: Truths, rule: ast.Rule, looks: Looks) -> list[Ref]:
    """The subjects on which a rule is true and that it looks at."""
    true = truths.true(rule.id, rule.on)
    return true if rule.on != "step" else [ref for ref in true if looks.at(rule, lens.world.subjects[ref])]


def newest(lens: Lens, found: Iterable[R], effect: Callable[[R], object]) -> list[R]:
    """Of the steps on which one effect of a rule came true only the newest; what is not from a step stays as it is."""
    kept: dict[object, R] = {}
    for one in found:
        number = step_number(lens, one.source)
        key = (one.rule.id, repr(effect(one)), one.source if number is None else "")
        other = kept.get(key)
        if other is None or (step_number(lens, other.source) or 0, other.source) < (number or 0, one.source):
            kept[key] = one
    return list(kept.values())


def step_number(lens: Lens, source: Ref) -> int | None:
    """The number of a step; None for another subject, and for a step that does not say."""
    if source.kind != "step":
        return None
    number = lens.world.subjects[source].get("step")
    return number if isinstance(number, int) else None


def raised(policy: ast.Policy, lens: Lens, truths: Truths, looks: Looks) -> tuple[Board, dict[Ref, set[str]]]:
    """All flags of true rules without those that another one replaces; and subject -> the flags so replaced.

    A rule about steps raises its flags from the steps that it looks at.
    """
    board: Board = {}
    replaced: list[tuple[Ref, str]] = []
    for _, rule in sorted(policy.rules.items()):
        effects = [effect for effect in rule.then if isinstance(effect, ast.Raise)]
        for ref in seen(lens, truths, rule, looks) if effects else ():
            for effect in effects:
                place = home(lens, rule, ref, policy.flags[effect.flag].subjects)
                if place is not None:
                    board.setdefault(place, {}).setdefault(effect.flag, []).append(Raised(rule, effect, ref))
                    replaced += [(place, name) for name in rule.replaces]
    gone: dict[Ref, set[str]] = {}
    for place, name in replaced:
        if board[place].pop(name, None) is not None:
            gone.setdefault(place, set()).add(name)
    return board, gone


@dataclass(frozen=True, slots=True)
class Exempted:
    """The exemptions that could cover a subject's flags: their truths, and flag -> exemption, sure or doubtful.

    `expired` holds, for the flags that none of these covers, the one that would if it had not run out.
    """

    truths: Mapping[str, Truth]
    sure: Mapping[str, ast.Exemption]
    doubtful: Mapping[str, ast.Exemption]
    expired: Mapping[str, ast.Exemption] = field(default_factory=dict)


def exempted(policy: ast.Policy, prover: Prover, ref: Ref, flags: Iterable[str]) -> Exempted:
    """Ask each exemption that names one of the flags; the first by id counts where several hold."""
    names = {name for name in flags if policy.flags[name].exemptible}
    truths: dict[str, Truth] = {}
    sure: dict[str, ast.Exemption] = {}
    doubtful: dict[str, ast.Exemption] = {}
    expired: dict[str, ast.Exemption] = {}
    for exemption in sorted(policy.exemptions, key=lambda e: e.id):
        covered = names.intersection(exemption.flags)
        if exemption.on != ref.kind or not covered:
            continue
        proof = prover.exemption(exemption, ref)
        truth = truths[exemption.id] = proof.truth
        if truth is not FALSE or _ran_out(proof):
            found = sure if truth is TRUE else doubtful if truth is UNKNOWN else expired
            found.update({name: exemption for name in covered if name not in found})
    return Exempted(
        truths,
        sure,
        {n: e for n, e in doubtful.items() if n not in sure},
        {n: e for n, e in expired.items() if n not in sure},
    )


def _ran_out(proof: ConditionProof) -> bool:
    """Whether nothing but its expiry keeps an exemption from holding."""
    return len(proof.parts) == 2 and proof.text == "exemption" and proof.parts[0].truth is TRUE


class FlagWriter:
    """Builds the flags of one sweep."""

    def __init__(self, policy: ast.Policy, lens: Lens, catalogue: Catalogue | None) -> None:
        self._policy = policy
        self._lens = lens
        self._catalogue = catalogue

    def write(self, ref: Ref, flags: Mapping[str, list[Raised]], exempt: Exempted) -> tuple[Flag, ...]:
        """The flags of one subject, the most severe first; those that an exemption covers are one, under its `as`."""
        found = {name: self._flag(name, who) for name, who in flags.items()}
        plain = [flag for name, flag in found.items() if name not in exempt.sure]
        covered: dict[str, list[tuple[Flag, ast.Exemption]]] = {}
        for name, exemption in exempt.sure.items():
            covered.setdefault(exemption.as_flag or name, []).append((found[name], exemption))
        plain += [self._exempt(ref, name, group) for name, group in covered.items()]
        plain += self._expired(ref, exempt.expired) if EXPIRED not in found else []
        explained = _explained(plain, {flag.name: self.explains(flags.get(flag.name, ()), flag.name) for flag in plain})
        return tuple(sorted(explained, key=lambda f: (-SEVERITIES.index(f.severity), f.name)))

    def _expired(self, ref: Ref, expired: Mapping[str, ast.Exemption]) -> list[Flag]:
        """That exemptions ran out which would have covered flags of this subject."""
        definition = self._policy.flags.get(EXPIRED)
        if not expired or definition is None or ref.kind not in definition.subjects:
            return []
        gone: dict[str, list[str]] = {}
        for name, exemption in sorted(expired.items()):
            gone.setdefault(exemption.id, []).append(name)
        terms = {exemption.id: exemption for exemption in expired.values()}
        says = [_said(terms[name], flags) for name, flags in sorted(gone.items())]
        return [Flag(EXPIRED, definition.severity, min(gone), joined(says))]

    def explains(self, who: Iterable[Raised], name: str) -> set[str]:
        """The flags that a flag is the cause of, by the catalogue and by the rules that raised it."""
        return {*self._policy.flags[name].explains, *(other for r in who for other in r.rule.explains)}

    def _flag(self, name: str, who: list[Raised]) -> Flag:
        who = sorted(newest(self._lens, who, lambda r: r.effect), key=lambda r: (r.rule.id, r.source))
        severity = max((r.effect.severity for r in who), key=SEVERITIES.index)
        steps = [s for s in (step_number(self._lens, r.source) for r in who) if s is not None]
        return Flag(
            name,
            severity,
            who[0].rule.id,
            joined([self._says(r, name) for r in who]),
            step=max(steps, default=None),
            resolved=all(r.effect.resolved for r in who),
        )

    def _says(self, raised_by: Raised, name: str) -> str:
        subject = self._lens.world.subjects[raised_by.source]
        say = raised_by.effect.say
        if say:
            return fill(say, self._lens, subject, self._catalogue)
        return raised_by.rule.why or self._policy.flags[name].why or name

    def _exempt(self, ref: Ref, name: str, group: list[tuple[Flag, ast.Exemption]]) -> Flag:
        group = sorted(group, key=lambda pair: pair[0].name)
        first, exemption = group[0]
        subject = self._lens.world.subjects[ref]
        says = [fill(e.say, self._lens, subject, self._catalogue) for _, e in group]
        return replace(
            first,
            name=name,
            severity=self._policy.flags[name].severity,
            message=joined([*says, *(flag.message for flag, _ in group)]),
            exempt=True,
            covers=tuple(flag.name for flag, _ in group),
            exemption=exemption.id,
            resolved=False,
        )


def _said(exemption: ast.Exemption, flags: Sequence[str]) -> str:
    owner = f" of {exemption.owner}" if exemption.owner else ""
    counts = "counts" if len(flags) == 1 else "count"
    when = "" if exemption.expires is None else f" on {humanise(exemption.expires, 'time')}"
    return f"the exemption {exemption.id}{owner} ended{when}; {', '.join(flags)} {counts} again"


def _explained(flags: list[Flag], causes: Mapping[str, set[str]]) -> list[Flag]:
    names = {flag.name for flag in flags}
    return [
        replace(
            flag,
            explains=tuple(sorted(causes[flag.name] & names - {flag.name})),
            explained_by=tuple(sorted(n for n in names - {flag.name} if flag.name in causes[n])),
        )
        for flag in flags
    ]
