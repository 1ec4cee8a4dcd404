"""The workload: a policy of 45 rules, jobs by a fixed seed, and both in a shape that other engines take.

A job is a plain mapping of fields; `world` gives the same jobs as the values that the evaluators of this product read.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.facts import Ref, Relation, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.language.load import load_policy
from sweeprules.engine.language.yamltext import read
from sweeprules.store.builtin import CATALOGUE, catalogue_text, schema

SEED = 7
CLUSTERS = ("leonardo", "vista", "iris")
SQUEUE_OK = {"leonardo": False, "vista": True}
"""What is known of the clusters; of the third, nothing."""
STATES = ("RUNNING", "COMPLETED", "FAILED", "TIMEOUT", "PENDING")
BUCKETS = ("rl", "sft", "datagen", "eval", "catch-all")
FLAG = "rl-collapse"

Job = dict[str, Any]


def policy() -> ast.Policy:
    """The rules, through the loader that a site's rules go through."""
    catalogue = Catalogue.load(schema("facts"), read(catalogue_text(), f"rules/{CATALOGUE}"))
    text = (Path(__file__).parent / "workload.yaml").read_bytes()
    return load_policy([{"bench/workload.yaml": text}], catalogue, schema=schema("rules"))


def jobs(count: int) -> list[Job]:
    """So many jobs, always the same ones."""
    rng = random.Random(SEED)
    return [_job(rng, i) for i in range(count)]


def _job(rng: random.Random, i: int) -> Job:
    cluster = CLUSTERS[i % len(CLUSTERS)]
    return {
        "key": f"{cluster}:{10_000_000 + i}",
        "cluster": cluster,
        "bucket": rng.choice(BUCKETS),
        "state": rng.choice(STATES),
        "step": rng.randrange(1200),
        "max_step": 1000,
        "pass_rate": round(rng.random(), 4),
        "grad_norm": round(rng.expovariate(0.2), 3),
        "loss": round(rng.random() * 2, 3),
        "epoch": round(rng.random() * 3, 3),
        "log_age": rng.randrange(400),
        "engine_running": rng.randrange(101),
        "nodes": rng.choice((1, 2, 4, 8, 14)),
        "exception_share": round(rng.random(), 3),
        "avg_turns": round(1 + rng.random() * 9, 2),
        "setting_seen": rng.random() < 0.1,
        "elapsed": rng.randrange(90_000),
    }


def world(made: Sequence[Job]) -> World:
    """Jobs, their clusters and the sweep as subjects."""
    subjects = {Ref("sweep", "bench"): Subject(Ref("sweep", "bench"), {"now": 1_782_000_000})}
    relations = {}
    for name in CLUSTERS:
        ref = Ref("cluster", name)
        subjects[ref] = Subject(ref, {"squeue_ok": SQUEUE_OK[name]} if name in SQUEUE_OK else {})
        relations[name] = {"cluster": Relation((ref,))}
    for job in made:
        ref = Ref("job", job["key"])
        facts = {name: value for name, value in job.items() if name != "key"}
        subjects[ref] = Subject(ref, facts, {}, relations[job["cluster"]])
    return World(subjects)


@dataclass(frozen=True, slots=True)
class Flat:
    """One rule as other engines take it: comparisons of the job's own fields, and what else it builds on."""

    id: str
    tests: tuple[tuple[str, str, Any], ...]
    signal: int | None = None
    quorum: int | None = None
    flagged: bool = False
    cluster: tuple[tuple[str, Any], ...] = ()


def flat(rules: ast.Policy) -> list[Flat]:
    """The workload's rules; ValueError for a construct that it does not use."""
    signals: dict[str, int] = {}
    return [_flat(rule, rules.params, signals) for rule in rules.rules.values()]


def _flat(rule: ast.Rule, params: Mapping[str, ast.Param], signals: dict[str, int]) -> Flat:
    tests: list[tuple[str, str, Any]] = []
    quorum, flagged, cluster = None, False, []
    for item in rule.when.items if isinstance(rule.when, ast.All) else (rule.when,):
        match item:
            case ast.Test(path=ast.Path(relations=("cluster",), field=field), compare=compare):
                cluster.append((field, _constant(compare, params)))
            case ast.Test(path=path, compare=compare):
                tests.append((path.field, compare.op, _constant(compare, params)))
            case ast.AtLeast(n=ast.Const(value=int(n))):
                quorum = n
            case ast.Flagged(flag="rl-collapse"):
                flagged = True
            case _:
                raise ValueError(f"{rule.id} uses a construct that the workload does not have")
    given = [then.name for then in rule.then if isinstance(then, ast.Signal)]
    signal = signals.setdefault(given[0], len(signals)) if given else None
    return Flat(rule.id, tuple(tests), signal, quorum, flagged, tuple(cluster))


def _constant(compare: ast.Compare, params: Mapping[str, ast.Param]) -> Any:
    match compare.rights:
        case (ast.Const(value=value),):
            return value
        case (ast.ParamRef(name=name),) if not params[name].overrides:
            return params[name].default
    raise ValueError("a right side that is no constant")


def digest(counts: Mapping[str, int]) -> str:
    """A short hash of how often each rule fired; rules that never did leave no trace in it."""
    fired = sorted((rule, count) for rule, count in counts.items() if count)
    return hashlib.sha256(json.dumps(fired).encode()).hexdigest()[:10]
