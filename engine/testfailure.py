"""What is said of a rule test that failed: each expectation that was not met, the rule behind it, and what it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import re2

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.plan import DECIDE_KIND
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.resolve import Scope
from sweeprules.engine.evaluate.whynot import WhyNot, why_not
from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import Act, Choice, Condition, Pattern, Route
from sweeprules.engine.language.shape import quote
from sweeprules.engine.testexpect import Difference
from sweeprules.engine.testgiven import Given
from sweeprules.engine.testsources import GivenCassette, GivenLog
from sweeprules.engine.truth import TRUE
from sweeprules.engine.verdicts import ConditionProof, RuleProof

_OTHERS, _LINES = 3, 6
"""Rules that are named beside the nearest one, and conditions that are told of a rule."""
_READ = re.compile(r"\blines\.([A-Za-z0-9_-]+)\.|\bmatches (?:/.*/ )?\(?\$?([A-Za-z0-9_-]+)\)?")


@dataclass(frozen=True, slots=True)
class Miss:
    """One expectation that was not met: where it stands, what is otherwise, and why in a few lines."""

    text: str
    mark: Mark
    because: tuple[str, ...] = ()


class Account:
    """Tells why one test failed; what was said of a rule is not said again."""

    def __init__(self, prover: Prover, given: Given, source: GivenLog | GivenCassette | None) -> None:
        self._prover, self._given, self._source = prover, given, source
        self._said: set[str] = set()

    def miss(self, found: Difference, mark: Mark, ref: Ref, refs: Sequence[tuple[str, Ref]]) -> Miss:
        """One difference on a subject; `refs` are the rules behind it, each with the subject that it is asked of."""
        lines = list(found.notes)
        if found.key == "args" and not found.wanted:
            lines += self._given_by(found.name, refs)
        elif found.key == "exempt" and not found.wanted:
            lines += self._counting(found.name, ref)
        else:
            lines += self._missing(refs) if found.wanted else self._there(refs)
        lines += self._chosen(found, ref)
        fresh = [line for line in dict.fromkeys(lines) if line.startswith(" ") or line not in self._said]
        told = fresh if any(not line.startswith(" ") for line in fresh) or not lines else ["as above"]
        self._said.update(lines)
        return Miss(found.text, mark, (*told, *self._patterns(found.text, told)))

    # ------------------------------------------------------------ rules

    def _there(self, refs: Sequence[tuple[str, Ref]]) -> Iterator[str]:
        """Why rules have the truths that they have; of several only those that are true, if there are any."""
        proofs = [self._prover.rule(rule, ref) for rule, ref in refs]
        for proof in [proof for proof in proofs if proof.truth is TRUE] or proofs:
            yield from _short(why(proof))

    def _missing(self, refs: Sequence[tuple[str, Ref]]) -> Iterator[str]:
        """What the nearest of the rules would need."""
        found = sorted((why_not(self._prover, rule, ref) for rule, ref in refs), key=_far)
        for one in found[:1]:
            yield from _short(self._needs(one))
        rest = [one.rule for one in found[1:]]
        if rest:
            more = ", ..." if len(rest) > _OTHERS else ""
            yield f"the nearest of {len(found)} rules that could; the others: {', '.join(rest[:_OTHERS])}{more}"

    def _needs(self, one: WhyNot) -> list[str]:
        proof = self._prover.rule(one.rule, one.ref)
        if one.truth is TRUE or not one.sets:
            return why(proof)
        head = f"{one.rule} is {one.truth.word} ({proof.file}:{proof.line}); to be true it needs:"
        within = (f" of {need.rule}" if need.rule != one.rule else "" for need in one.sets[0])
        return [
            head,
            *(f"  line {need.line}{of}: {need.words}" for need, of in zip(one.sets[0], within, strict=True)),
        ]

    def _given_by(self, action: str, refs: Sequence[tuple[str, Ref]]) -> Iterator[str]:
        for name, _ in refs:
            for effect in self._prover.policy.rules[name].then:
                if isinstance(effect, Act) and effect.action == action:
                    yield f"rule {name} gives it, {effect.mark.file}:{effect.mark.line}"

    def _counting(self, flag: str, ref: Ref) -> Iterator[str]:
        """Why no exemption covers a flag that is there."""
        for one in self._prover.policy.exemptions:
            if flag in one.flags and one.on == ref.kind:
                proof = self._prover.exemption(one, ref)
                head = f"exemption {one.id} is {proof.truth.word} ({one.mark.file}:{one.mark.line})"
                yield from _short([head, *_leaves(proof)])

    # ------------------------------------------------------------ lists of which the first that holds counts

    def _chosen(self, found: Difference, ref: Ref) -> Iterator[str]:
        """Which entry of a `decide` list or of an action's routes was taken, and why not the one that was wanted."""
        policy = self._prover.policy
        entries: Sequence[Choice | Route] = ()
        if found.key in ("templates", "blocked") and not found.rules:
            entries = policy.routes.get(found.name, ())
        elif ref.kind == DECIDE_KIND:
            entries = policy.decide.get(found.key, ())
        taken = next((one for one in entries if self._holds(one, ref)), None)
        if taken is None:
            return
        yield f"{_leads(taken)} is chosen by {taken.mark.file}:{taken.mark.line}"
        yield from self._entry(taken, ref)
        missed = next((one for one in entries if _leads(one) == found.entry and one is not taken), None)
        if missed is not None and entries.index(missed) > entries.index(taken):
            yield f"{found.entry} stands after it, {missed.mark.file}:{missed.mark.line}"
        elif missed is not None:
            yield f"{found.entry} is not, {missed.mark.file}:{missed.mark.line}"
            yield from self._entry(missed, ref)

    def _holds(self, entry: Choice | Route, ref: Ref) -> bool:
        return entry.when is None or self._proved(entry.when, ref).truth is TRUE

    def _entry(self, entry: Choice | Route, ref: Ref) -> Iterator[str]:
        if entry.when is not None:
            yield from _leaves(self._proved(entry.when, ref))

    def _proved(self, condition: Condition, ref: Ref) -> ConditionProof:
        return self._prover.condition(condition, Scope(self._prover.lens.world.subjects[ref]))

    # ------------------------------------------------------------ logs

    def _patterns(self, text: str, lines: Sequence[str]) -> Iterator[str]:
        """For each pattern that is read there and found in no line: how far its line got."""
        if not isinstance(self._source, GivenLog):
            return
        known = self._source.patterns
        names = [name for line in (text, *lines) for pair in _READ.findall(line) for name in pair]
        for name in dict.fromkeys(name for name in names if name in known):
            yield from _unmatched(known[name], self._source.text)


def why(proof: RuleProof) -> list[str]:
    """The shortest account of a rule's truth: each condition that decided it, what was there and what it needs."""
    wanted = proof.truth
    lines = [f"{proof.rule} is {wanted.word} ({proof.file}:{proof.line})"]
    for condition in proof.conditions:
        if wanted is TRUE or condition.truth is not TRUE:
            lines += _leaves(condition)
    return lines


def _leaves(condition: ConditionProof) -> list[str]:
    return [f"  line {leaf.line}: {_leaf(leaf)}" for leaf in _deciding(condition)]


def _leaf(proof: ConditionProof) -> str:
    needs = f", needs {proof.needed}" if proof.needed else ""
    return f"{proof.actual or proof.text}: {proof.truth.word}{needs}"


def _deciding(proof: ConditionProof) -> Iterator[ConditionProof]:
    """The leaves without which the truth of a condition would be another."""
    if not proof.parts or proof.facts:
        yield proof
        return
    same = [part for part in proof.parts if part.truth is proof.truth]
    for part in same or proof.parts:
        yield from _deciding(part)


def _short(lines: list[str]) -> list[str]:
    rest = len(lines) - 1 - _LINES
    return lines if rest <= 1 else [*lines[: 1 + _LINES], f"  and {rest} more conditions"]


def _far(one: WhyNot) -> tuple[bool, int, str]:
    """Of two rules the nearer one is that of which less has to change."""
    return one.truth is not TRUE and not one.sets, len(one.sets[0]) if one.sets else 0, one.rule


def _leads(entry: Choice | Route) -> str:
    return entry.value if isinstance(entry, Choice) else entry.template or "blocked"


def _unmatched(pattern: Pattern, text: str) -> Iterator[str]:
    having = [number for number, line in enumerate(text.splitlines(), 1) if pattern.literal in line]
    place = f"{pattern.mark.file}:{pattern.mark.line}"
    if not having:
        yield f"pattern {pattern.name} ({place}): its literal {quote(pattern.literal)} is in no line of the log"
    elif pattern.regex and not any(re2.search(pattern.regex, text.splitlines()[number - 1]) for number in having):
        lines = ", ".join(str(number) for number in having[:3])
        yield f"pattern {pattern.name} ({place}): its literal is in line {lines} of the log, its regex matches none"
