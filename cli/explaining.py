"""Explanations from the store: the job's own neighbourhood, the policy that judged it, the proofs made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sweeprules.cli.options import sentences
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.whynot import why_not
from sweeprules.engine.facts import FactValue, Ref, Subject, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import UNKNOWN, Truth
from sweeprules.engine.verdicts import Action, Verdict
from sweeprules.handoffs.identity import cause_of, identity, path_of
from sweeprules.reports.explaining import SCREEN_RULES, Explained, nearest_quiet
from sweeprules.reports.rows import steps_of
from sweeprules.store.db import Store
from sweeprules.store.kept import JobHit, Stored
from sweeprules.store.policies import read_policy

ALWAYS = frozenset(
    {"cluster", "run", "links", "prior_link", "next_link", "previous", "sweep", "log_filesystem", "credential", "steps"}
)


class KeptTruths:
    """What a sweep decided about the subjects around a job, as the prover reads it."""

    def __init__(self, stored: Mapping[Ref, Stored]) -> None:
        self._verdicts = {ref: item.verdict for ref, item in stored.items() if item.verdict is not None}

    def truth(self, rule: str, ref: Ref) -> Truth:
        """The kept truth of a rule; unknown on a subject that was not judged."""
        verdict = self._verdicts.get(ref)
        return UNKNOWN if verdict is None else verdict.truths.get(rule, UNKNOWN)

    def field(self, ref: Ref, name: str) -> FactValue | None:
        """The kept value of a decided field; None where none was decided."""
        verdict = self._verdicts.get(ref)
        return None if verdict is None else verdict.decided.get(name)


def documents(store: Store, state: Path, hits: Sequence[JobHit], rule: str | None, *, whole: bool) -> list[Explained]:
    """One explanation for each job that an id names; `whole` tells of every rule what it lacks."""
    return [_one(store, state, hit, rule, whole) for hit in hits]


def _one(store: Store, state: Path, hit: JobHit, rule: str | None, whole: bool) -> Explained:
    info = store.sweep(hit.sweep)
    assert info is not None
    kept = read_policy(state, info.policy_sha256)
    _check_rule(rule, kept.policy)
    ref = Ref("job", hit.key)
    stored = store.around(ref, hit.sweep, ALWAYS | kept.relations)
    item = stored[ref]
    world = World({**{r: s.subject for r, s in stored.items()}, **_sweep(info.id, info.now)})
    verdict = item.verdict or Verdict(ref, {}, {}, (), ())
    run = item.subject.relations.get("run")
    proofs = _proofs(kept.policy, world, stored, ref) if item.verdict is not None else []
    quiet = nearest_quiet(proofs)
    asked = [proof.rule for proof in (quiet if whole else quiet[:SCREEN_RULES])]
    lacking, more_ways = _why_not(Prover(kept.policy, world, _truths(stored)), asked, ref)
    return Explained(
        sweep=info.id,
        now=info.now,
        complete=info.complete,
        job=item.subject,
        run=run.members[0].key if run is not None and run.members else hit.key,
        verdict=verdict,
        proofs=proofs,
        exemptions=_exemptions(kept.policy, world, stored, verdict),
        around=world.subjects,
        handoffs=[*_handoffs(ref, verdict.actions)],
        why_not=lacking,
        more_ways=more_ways,
        links=_links(item.subject, stored),
        **_of_cluster(kept.policy, world, stored, item.subject),
        types=kept.types,
        steps=steps_of(_run_links(item.subject, stored), world),
    )


def _run_links(job: Subject, stored: Mapping[Ref, Stored]) -> list[Subject]:
    """The links of the job's run in order; the job alone where its run was not kept."""
    run = job.relations.get("run")
    item = stored.get(run.members[0]) if run is not None and run.members else None
    relation = item.subject.relations.get("links") if item is not None else None
    found = [stored[ref].subject for ref in relation.members if ref in stored] if relation is not None else []
    return found if job in found else [job]


def _links(job: Subject, stored: Mapping[Ref, Stored]) -> list[tuple[str, str, tuple[str, ...]]]:
    run = job.relations.get("run")
    item = stored.get(run.members[0]) if run is not None and run.members else None
    members = item.subject.relations["links"].members if item is not None else ()
    found = []
    for ref in members:
        link = stored.get(ref)
        if ref != job.ref and link is not None:
            state = link.subject.get("state")
            flags = tuple(flag.name for flag in link.verdict.flags) if link.verdict is not None else ()
            found.append((ref.key.partition(":")[2], state if isinstance(state, str) else "UNKNOWN", flags))
    return found


def _of_cluster(policy: Policy, world: World, stored: Mapping[Ref, Stored], job: Subject) -> dict[str, Any]:
    """The flags on the job's cluster that are more than information, and the proofs of their rules."""
    relation = job.relations.get("cluster")
    ref = relation.members[0] if relation is not None and relation.members else Ref("cluster", "")
    verdict = stored[ref].verdict if ref in stored else None
    flags = [flag for flag in verdict.flags if flag.severity != "info"] if verdict is not None else []
    prover = Prover(policy, world, _truths(stored))
    rules = [flag.rule for flag in flags if flag.rule in policy.rules and policy.rules[flag.rule].on == ref.kind]
    return {"cluster_flags": flags, "cluster_proofs": [prover.rule(rule, ref) for rule in rules]}


def _sweep(sweep_id: str, now: float) -> dict[Ref, Subject]:
    ref = Ref("sweep", sweep_id)
    return {ref: Subject(ref, {"id": sweep_id, "now": now})}


def _check_rule(rule: str | None, policy: Policy) -> None:
    if rule is None or (rule in policy.rules and policy.rules[rule].on == "job"):
        return
    from sweeprules.engine.errors import nearest

    ids = [r.id for r in policy.rules.values() if r.on == "job"]
    raise click.UsageError(sentences(f"no rule about jobs is called {rule!r}", nearest(rule, ids)))


def _proofs(policy: Policy, world: World, stored: Mapping[Ref, Stored], ref: Ref) -> list[Any]:
    prover = Prover(policy, world, _truths(stored))
    proofs = [prover.rule(rule.id, ref) for rule in policy.rules.values() if rule.on == "job"]
    verdict = stored[ref].verdict
    kept = verdict.truths if verdict is not None else {}
    # What had been held before that sweep is not kept with it: of a rule with `for:` the sweep's own word counts.
    return [replace(proof, truth=kept.get(proof.rule, proof.truth)) for proof in proofs]


def _why_not(prover: Prover, asked: Iterable[str], ref: Ref) -> tuple[dict[str, list[tuple[str, ...]]], frozenset[str]]:
    """What rules lack, by rule id, and those for which there may be more ways than are given."""
    found = {rule: why_not(prover, rule, ref) for rule in asked}
    sets = {rule: [tuple(need.words for need in needs) for needs in one.sets] for rule, one in found.items()}
    return sets, frozenset(rule for rule, one in found.items() if one.cut)


def _truths(stored: Mapping[Ref, Stored]) -> Any:
    return KeptTruths(stored)


def _exemptions(policy: Policy, world: World, stored: Mapping[Ref, Stored], verdict: Verdict) -> list[Any]:
    if not verdict.exempted:
        return []
    prover = Prover(policy, world, _truths(stored))
    return [
        (exemption, verdict.exempted[exemption.id], prover.exemption(exemption, verdict.ref))
        for exemption in policy.exemptions
        if exemption.id in verdict.exempted
    ]


def _handoffs(ref: Ref, actions: Iterable[Action]) -> Iterator[dict[str, Any]]:
    groups: dict[str, list[Action]] = {}
    for action in actions:
        if action.template is not None and action.status != "exempt":
            groups.setdefault(action.template, []).append(action)
    for template, group in groups.items():
        number = identity(ref, template, cause_of(group))
        blocked = list(dict.fromkeys(reason for action in group for reason in action.blocked_by))
        status = "blocked" if blocked else "open"
        yield {"id": number, "template": template, "status": status, "blocked_by": blocked, "path": path_of(number)}
