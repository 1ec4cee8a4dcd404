"""Since when each flag stands, carried from the sweep before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sweeprules.engine.evaluate.flags import EXPIRED
from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import Policy, Raise
from sweeprules.engine.truth import UNKNOWN
from sweeprules.engine.verdicts import Verdict
from sweeprules.store.history import Raised, Since, carry


def dated(
    verdicts: Mapping[Ref, Verdict], before: Since, policy: Policy, swept: frozenset[str], sweep_id: str
) -> tuple[dict[Ref, Verdict], dict[Raised, str]]:
    """The verdicts with `since` on every flag, and the history for the next sweep.

    A flag that a sweep could not see (its rule unknown, or its cluster not swept) keeps its first sweep for later.
    """
    raised = {Raised(ref, flag.name) for ref, verdict in verdicts.items() for flag in verdict.flags}
    unsure = {item for item in before if item not in raised and _unsure(item, verdicts, policy, swept)}
    after = carry(before, raised, unsure, sweep_id)
    made = {
        ref: replace(v, flags=tuple(replace(f, since=after[Raised(ref, f.name)]) for f in v.flags))
        for ref, v in verdicts.items()
    }
    return made, after


def _unsure(item: Raised, verdicts: Mapping[Ref, Verdict], policy: Policy, swept: frozenset[str]) -> bool:
    verdict = verdicts.get(item.ref)
    if verdict is None:
        cluster = item.ref.key if item.ref.kind == "cluster" else item.ref.key.partition(":")[0]
        return cluster not in swept
    return any(verdict.truths.get(rule) is UNKNOWN for rule in raisers(policy, item.flag))


def raisers(policy: Policy, flag: str) -> Iterator[str]:
    """The ids of the rules that raise a flag, one that an exemption renames to it, or one that counts again."""
    covered = {
        name
        for e in policy.exemptions
        if e.as_flag == flag or (flag == EXPIRED and e.expires is not None)
        for name in e.flags
    }
    for rule in policy.rules.values():
        if any(isinstance(c, Raise) and (c.flag == flag or c.flag in covered) for c in rule.then):
            yield rule.id
