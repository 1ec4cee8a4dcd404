"""The engines that are measured: each takes the rules and the jobs, and says how often every rule fired.

`prepare` makes what is not timed (values in the shape that the engine reads), `run` what is: building the rules and
judging all jobs. One engine runs in one process, started by `bench.one`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import workload
from bench.workload import Job
from sweeprules.engine.facts import World
from sweeprules.engine.language import ast

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Measured:
    """An engine: what is prepared before the clock starts, and what runs under it."""

    prepare: Callable[[ast.Policy, Sequence[Job]], Any]
    run: Callable[[ast.Policy, Any], Counts]


def _world(policy: ast.Policy, jobs: Sequence[Job]) -> World:
    return workload.world(jobs)


def native(policy: ast.Policy, world: World) -> Counts:
    """The reference evaluator's truths."""
    from sweeprules.engine.evaluate.native import evaluate

    truths = evaluate(policy, world)
    return {rule: len(truths.true(rule, "job")) for rule in policy.rules}


def verdicts(policy: ast.Policy, world: World) -> Counts:
    """Truths, and from them flags, actions and health of every job."""
    from sweeprules.engine.evaluate.native import evaluate
    from sweeprules.engine.evaluate.verdict import judge

    truths = evaluate(policy, world)
    judge(policy, world, None, truths)
    return {rule: len(truths.true(rule, "job")) for rule in policy.rules}


def durable(policy: ast.Policy, world: World) -> Counts:
    """durable-rules as this product runs it: safe subset, a child process, batches."""
    from sweeprules.engine.durable.checked import DurableFailure, run_durable

    found = run_durable(policy, world, deadline=3600.0)
    if isinstance(found, DurableFailure):
        raise RuntimeError(str(found))
    return {rule: len(refs) for rule, refs in found.true.items()}


def checked(policy: ast.Policy, world: World) -> Counts:
    """Both evaluators and the comparison, as a sweep does by default."""
    from sweeprules.engine.durable.checked import check
    from sweeprules.engine.evaluate.native import evaluate

    truths = evaluate(policy, world)
    result = check(policy, world, truths, deadline=3600.0)
    if result.status != "equal":
        raise RuntimeError(f"the check ended as {result.status}: {result.failure or result.divergence}")
    return {rule: len(truths.true(rule, "job")) for rule in policy.rules}


def _raw(policy: ast.Policy, jobs: Sequence[Job]) -> list[Job]:
    return [dict(job) for job in jobs]


def plain_durable(policy: ast.Policy, jobs: Sequence[Job]) -> Counts:
    """durable-rules by its own host in this process, a state for every 20 jobs: what one would write by hand."""
    from bench.plain_durable import run

    return run(workload.flat(policy), jobs)


def clips(policy: ast.Policy, jobs: Sequence[Job]) -> Counts:
    """The same rules for CLIPS, by clipspy."""
    from bench.clips_port import run

    return run(workload.flat(policy), jobs)


def _shipped(policy: ast.Policy, jobs: Sequence[Job]) -> tuple[ast.Policy, World]:
    """The shipped policy in place of the workload's, and as many jobs for it."""
    from bench import shipped

    return shipped.policy(), shipped.world(len(jobs))


def shipped_verdicts(policy: ast.Policy, asked: tuple[ast.Policy, World]) -> Counts:
    """Truths and verdicts by the shipped rules, series, features and signals of RL jobs included."""
    from sweeprules.engine.evaluate.native import evaluate
    from sweeprules.engine.evaluate.verdict import judge

    own, world = asked
    truths = evaluate(own, world)
    judge(own, world, None, truths)
    return {rule.id: len(truths.true(rule.id, rule.on)) for rule in own.rules.values()}


ENGINES: Mapping[str, Measured] = {
    "native": Measured(_world, native),
    "verdicts": Measured(_world, verdicts),
    "durable": Measured(_world, durable),
    "checked": Measured(_world, checked),
    "plain-durable": Measured(_raw, plain_durable),
    "clips": Measured(_raw, clips),
    "shipped": Measured(_shipped, shipped_verdicts),
}


def counted(hits: Counter[str]) -> Counts:
    """A counter as a plain mapping."""
    return dict(hits)
