"""The workload for CLIPS: one template of jobs, a rule a rule, signals and the collapse as facts of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import clips

from bench.workload import SQUEUE_OK, Flat, Job

_OPS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def run(rules: Sequence[Flat], jobs: Sequence[Job]) -> Mapping[str, int]:
    """Build the rules, assert the jobs, fire; how often each rule fired."""
    hits: Counter[str] = Counter()
    environment = clips.Environment()
    environment.define_function(lambda name: hits.update((str(name),)) or True, name="hit")
    slots = " ".join(f"(slot {name})" for name in jobs[0])
    for construct in (
        f"(deftemplate job {slots})",
        "(deftemplate signal (slot key) (slot kind))",
        "(deftemplate collapse (slot key))",
        "(deftemplate cluster (slot name) (slot squeue_ok))",
    ):
        environment.build(construct)
    for rule in rules:
        environment.build(construct_of(rule))
    cluster = environment.find_template("cluster")
    for name, works in SQUEUE_OK.items():
        cluster.assert_fact(name=name, squeue_ok=_symbol(works))
    template = environment.find_template("job")
    for job in jobs:
        template.assert_fact(**{name: _symbol(v) if isinstance(v, bool) else v for name, v in job.items()})
    environment.run()
    return dict(hits)


def _symbol(value: bool) -> Any:
    return clips.Symbol("TRUE" if value else "FALSE")


def construct_of(rule: Flat) -> str:
    """One rule in the syntax of CLIPS."""
    own = " ".join(_slot(i, *test) for i, test in enumerate(rule.tests))
    hit = f"(hit {rule.id})"
    if rule.quorum is not None:
        # A pair of signals of ascending kind, once a job.
        pair = "(signal (key ?k) (kind ?a)) (signal (key ?k) (kind ?b&:(> ?b ?a)))"
        return f"(defrule {rule.id} {pair} (not (collapse (key ?k))) => {hit} (assert (collapse (key ?k))))"
    if rule.flagged:
        return f"(defrule {rule.id} (collapse (key ?k)) (job (key ?k) {own}) => {hit})"
    if rule.cluster:
        tests = " ".join(f"({name} {_constant(value)})" for name, value in rule.cluster)
        return f"(defrule {rule.id} (cluster (name ?c) {tests}) (job (cluster ?c) {own}) => {hit})"
    given = "" if rule.signal is None else f"(assert (signal (key ?k) (kind {rule.signal})))"
    return f"(defrule {rule.id} (job (key ?k) {own}) => {hit} {given})"


def _slot(number: int, field: str, op: str, value: Any) -> str:
    if op == "eq":
        return f"({field} {_constant(value)})"
    if op == "ne":
        return f"({field} ~{_constant(value)})"
    return f"({field} ?v{number}&:({_OPS[op]} ?v{number} {_constant(value)}))"


def _constant(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f'"{value}"' if isinstance(value, str) else repr(value)
