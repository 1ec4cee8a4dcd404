"""Small worlds by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any as Anything

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.facts import Completeness, Ref, Relation, Subject, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.truth import Truth

JOB = Ref("job", "leo:1")
CLUSTER = Ref("cluster", "leo")
SWEEP = Ref("sweep", "s1")


def subject(ref: Ref, facts: Mapping[str, Anything], judged: bool = True, **relations: Relation | Ref) -> Subject:
    """A subject; a relation given as a Ref has that one member."""
    joined = {n: r if isinstance(r, Relation) else Relation((r,)) for n, r in relations.items()}
    return Subject(ref, facts, {}, joined, judged)


def job(facts: Mapping[str, Anything], key: str = "leo:1", judged: bool = True, **relations: Relation | Ref) -> Subject:
    """A job with its identity."""
    cluster, _, number = key.partition(":")
    return subject(Ref("job", key), {"key": key, "cluster": cluster, "job_id": number, **facts}, judged, **relations)


def world(*subjects: Subject, now: float = 1000.0) -> World:
    """A world with its sweep."""
    return World({SWEEP: subject(SWEEP, {"now": now}), **{s.ref: s for s in subjects}})


def partial(*members: Ref) -> Relation:
    """A relation of which not all was read."""
    return Relation(members, Completeness.PARTIAL, "cut")


def unread(reason: str = "read-failed") -> Relation:
    """A relation that could not be read."""
    return Relation((), Completeness.UNKNOWN, reason)


def truth(policy: Policy, of: World, rule: str, ref: Ref = JOB) -> Truth:
    """A rule's truth by the column evaluator, after the proof was seen to agree."""
    truths: Truths = evaluate(policy, of)
    found = truths[ref][rule]
    assert Prover(policy, of, truths).rule(rule, ref).truth is found
    return found
