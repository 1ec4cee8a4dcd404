"""The check of the native evaluator by durable-rules: what both found, compared, and a reproducer where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sweeprules.engine.durable.compile import computed
from sweeprules.engine.durable.program import Program, program
from sweeprules.engine.durable.reproducer import reproducer
from sweeprules.engine.durable.run import DurableTruths, Session, run
from sweeprules.engine.durable.runner import Child, ChildLostError, DurableFailure, available
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import FALSE, TRUE, Truth
from sweeprules.engine.verdicts import Verdict

NativeTruths = Mapping[Ref, Mapping[str, Truth]]
EXEMPTION = "exemption:"
"""Before an exemption's id, where it stands among rule ids."""
DEADLINE = 120.0
"""Seconds that a whole check may take; a sweep of thousands of jobs takes a few."""


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One rule on one subject of which the two evaluators say different things, in words."""

    rule: str
    ref: Ref
    native: str
    durable: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """All differences of one check, and plain data to reproduce them from."""

    differences: tuple[Difference, ...]
    reproducer: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check ended. Only `equal` says that both evaluators agree; in no case does it change a verdict.

    `unavailable`: durable-rules can not be had here. `skipped` counts the subjects that native judged alone;
    `left_out` are the rules that it judged alone, with why.
    """

    status: Literal["equal", "differs", "failed", "unavailable"]
    divergence: Divergence | None = None
    failure: DurableFailure | None = None
    skipped: Mapping[Ref, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    firings: int = 0

    @property
    def diverged(self) -> bool:
        """Whether `engine-divergence` is to be flagged: the two differ, or durable-rules crashed or ran out of time."""
        return self.status in ("differs", "failed")


def run_durable(
    policy: Policy,
    world: World,
    given: NativeTruths | None = None,
    *,
    deadline: float = DEADLINE,
    fault: str = "",
    session: Session | None = None,
    compiled: Program | None = None,
    held: Held = NOTHING_HELD,
) -> DurableTruths | DurableFailure:
    """The true (and false) sets by durable-rules alone.

    `given` are truths for the subjects that can not be encoded. `fault` is the value of SWEEPRULES_ENGINE_FAULT. A
    `session` keeps one child over many runs and then sets the deadline itself. `held` is what rules with `for:` had
    been.
    """
    try:
        if session is not None:
            return run(compiled or program(policy), policy, world, session, given or {}, held)
        with Child(deadline, fault) as child:
            # The child starts while the policy is compiled.
            made = compiled or program(policy)
            child.greet()
            return run(made, policy, world, Session(child), given or {}, held)
    except ChildLostError as lost:
        return lost.failure
    except Exception as error:  # noqa: BLE001  whatever is wrong with the check must never end the sweep that it checks
        return DurableFailure("engine", f"{type(error).__name__}: {error}"[:300])


def check(
    policy: Policy,
    world: World,
    truths: NativeTruths,
    *,
    deadline: float = DEADLINE,
    fault: str = "",
    session: Session | None = None,
    compiled: Program | None = None,
    held: Held = NOTHING_HELD,
) -> CheckResult:
    """Compare durable-rules with the truths of the native evaluator (`exemption:ID` keys are compared where given).

    What rules with `for:` had been is `held`, or else what the native evaluator was given.
    """
    states = held or (truths.held if isinstance(truths, Truths) else NOTHING_HELD)
    found = run_durable(
        policy, world, truths, deadline=deadline, fault=fault, session=session, compiled=compiled, held=states
    )
    if isinstance(found, DurableFailure):
        return CheckResult("unavailable" if found.kind == "unavailable" else "failed", failure=found)
    differences = tuple(sorted(_differences(truths, found)))
    skipped, out = found.skipped, found.left_out
    if not differences:
        return CheckResult("equal", skipped=skipped, left_out=out, firings=found.firings)
    divergence = Divergence(differences, reproducer(policy, world, differences, truths, found))
    return CheckResult("differs", divergence, None, skipped, out, found.firings)


def with_exemptions(truths: NativeTruths, verdicts: Mapping[Ref, Verdict]) -> NativeTruths:
    """The truths of rules with those of the exemptions that verdicts name, so that these are compared too."""
    return {
        ref: {**row, **{EXEMPTION + name: truth for name, truth in verdicts[ref].exempted.items()}}
        if ref in verdicts and verdicts[ref].exempted
        else row
        for ref, row in truths.items()
    }


def _differences(truths: NativeTruths, found: DurableTruths) -> list[Difference]:
    native = _by_columns(truths, found) if isinstance(truths, Truths) else _by_rule(truths)
    differences = []
    for truth, sets in ((TRUE, found.true), (FALSE, found.false)):
        for rule, theirs in sets.items():
            ours = native[truth].get(rule, set()) - found.skipped.keys()
            for ref in ours ^ theirs:
                said = truths.get(ref, {}).get(rule)
                # Only the exemptions of flags that were raised are asked for by the native evaluator.
                if said is not None or not rule.startswith(EXEMPTION):
                    word = "nothing" if said is None else said.word
                    durable = truth.word if ref in theirs else f"not {truth.word}"
                    differences.append(Difference(rule, ref, word, durable))
    return differences


def _by_columns(truths: Truths, found: DurableTruths) -> dict[Truth, dict[str, set[Ref]]]:
    """The same as `_by_rule`, a rule at a time, as far as durable-rules looked for it."""
    kinds = {rule: kind for kind, table in truths.tables.items() for rule in table.columns}
    true = {rule: set(truths.true(rule, kinds[rule])) for rule in found.true if rule in kinds}
    false = {}
    for rule in found.false:
        table = truths.tables[kinds[rule]]
        not_false = set(truths.not_false(rule, kinds[rule]))
        false[rule] = {subject.ref for subject in table.subjects} - not_false
    return {TRUE: true, FALSE: false}


def _by_rule(truths: NativeTruths) -> dict[Truth, dict[str, set[Ref]]]:
    found: dict[Truth, dict[str, set[Ref]]] = {TRUE: {}, FALSE: {}}
    for ref, row in truths.items():
        for rule, truth in row.items():
            if truth in found:
                found[truth].setdefault(rule, set()).add(ref)
    return found


def leaf_report(policy: Policy) -> tuple[int, int]:
    """How many leaf conditions of the rules and exemptions durable-rules computes itself, and how many are lowered."""
    conditions = [c for rule in policy.rules.values() for c in (rule.when, rule.unless) if c is not None]
    conditions += [exemption.when for exemption in policy.exemptions]
    leaves = [own for condition in conditions for own in computed(policy, condition)]
    return sum(leaves), len(leaves) - sum(leaves)


__all__ = [
    "DEADLINE",
    "CheckResult",
    "Difference",
    "Divergence",
    "DurableFailure",
    "DurableTruths",
    "Session",
    "available",
    "check",
    "leaf_report",
    "run_durable",
    "with_exemptions",
]
