"""The workload for durable-rules as one would write it by hand: its own host, a state for every 20 jobs.

Only what it takes to get through is guarded: no timer threads, joins on a field of our own that end with a comparison
that always holds. This is the row that the product's checked mode has to keep up with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from durable import engine

from bench.workload import SQUEUE_OK, Flat, Job

JOBS_A_STATE = 20
_OPS = {"ne": "$neq", "lt": "$lt", "le": "$lte", "gt": "$gt", "ge": "$gte"}
_GUARD = {"one": {"x": "one"}}
Action = Callable[[Any], None]


class QuietHost(engine.Host):  # type: ignore[misc]
    """A host without its two chains of timer threads."""

    def _run(self) -> None:
        return


def run(rules: Sequence[Flat], jobs: Sequence[Job]) -> Mapping[str, int]:
    """Register the rules, assert the jobs state by state; how often each rule fired."""
    hits: Counter[str] = Counter()
    host = QuietHost()
    host.register_rulesets({"bench": {rule.id: _definition(rule, hits) for rule in rules}})
    clusters = [{"t": "cluster", "name": name, "squeue_ok": works, "one": 1} for name, works in SQUEUE_OK.items()]
    facts = [{**job, "t": "job", "id": job["key"], "one": 1} for job in jobs]
    for start in range(0, len(facts), JOBS_A_STATE):
        sid = f"s{start}"
        for cluster in clusters:
            _assert(host, {**cluster, "sid": sid})
        host.assert_facts("bench", [{**fact, "sid": sid} for fact in facts[start : start + JOBS_A_STATE]])
        if "exception" in host.get_state("bench", sid):
            raise RuntimeError(host.get_state("bench", sid)["exception"])
        host.delete_state("bench", sid)
    return dict(hits)


def _assert(host: Any, fact: Mapping[str, Any]) -> None:
    try:
        host.assert_fact("bench", fact)
    except engine.MessageNotHandledException:
        # No rule asks for this cluster.
        return


def _definition(rule: Flat, hits: Counter[str]) -> dict[str, Any]:
    own = [{"t": "job"}, *(_test(*test) for test in rule.tests)]
    if rule.quorum is not None:
        later = {"$and": [{"t": "signal"}, {"key": {"x": "key"}}, {"$gt": {"kind": {"x": "kind"}}}, _GUARD]}
        return {"all": [{"x": {"t": "signal"}}, {"y": later}], "run": _collapse(rule.id, hits)}
    if rule.flagged:
        joined = {"$and": [*own, {"key": {"x": "key"}}, _GUARD]}
        return {"all": [{"x": {"t": "collapse"}}, {"y": joined}], "run": _count(rule.id, hits)}
    if rule.cluster:
        first = {"$and": [{"t": "cluster"}, *({name: value} for name, value in rule.cluster)]}
        joined = {"$and": [*own, {"cluster": {"x": "name"}}, _GUARD]}
        return {"all": [{"x": first}, {"y": joined}], "run": _count(rule.id, hits)}
    action = _count(rule.id, hits) if rule.signal is None else _signal(rule.id, rule.signal, hits)
    return {"all": [{"m": {"$and": own}}], "run": action}


def _test(field: str, op: str, value: Any) -> dict[str, Any]:
    return {field: value} if op == "eq" else {_OPS[op]: {field: value}}


def _count(rule: str, hits: Counter[str]) -> Action:
    def act(c: Any) -> None:
        hits[rule] += 1

    return act


def _signal(rule: str, kind: int, hits: Counter[str]) -> Action:
    def act(c: Any) -> None:
        hits[rule] += 1
        c.assert_fact({"t": "signal", "id": f"{kind}:{c.m.key}", "key": c.m.key, "kind": kind, "one": 1})

    return act


def _collapse(rule: str, hits: Counter[str]) -> Action:
    def act(c: Any) -> None:
        try:
            c.assert_fact({"t": "collapse", "id": f"c:{c.x.key}", "key": c.x.key, "one": 1})
        except engine.MessageObservedException:
            return
        hits[rule] += 1

    return act
