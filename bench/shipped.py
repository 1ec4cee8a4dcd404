"""Jobs for the shipped rules: as many as asked for, one in five an RL run with a window of steps, from a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from sweeprules.cli.loading import load_catalogue
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Relation, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.language.load import load_policy
from sweeprules.store.builtin import CATALOGUE, RULES, TEMPLATES, schema

SEED = 11
NOW = 1_782_000_000
STEPS = 12
"""Steps of each RL job: its window of features, and two that are judged."""
CLUSTERS = ("leonardo", "vista", "tacc")
KINDS = ("rl__a2-8B", "sft_b", "datagen_c", "eval-d", "hf_upload_e")
STATES = ("RUNNING", "RUNNING", "RUNNING", "PENDING", "COMPLETED", "FAILED", "TIMEOUT")


def policy() -> ast.Policy:
    """The shipped policy, without a site."""
    files = {
        f"rules/{path.name}": path.read_bytes()
        for path in sorted(RULES.glob("*.yaml"))
        if path.name != CATALOGUE and not path.name.endswith(".test.yaml")
    }
    handoffs = frozenset(path.name.removesuffix(".md.j2") for path in (TEMPLATES / "handoffs").glob("[!_]*.md.j2"))
    return load_policy([files], load_catalogue(), schema=schema("rules"), templates=handoffs)


def world(count: int) -> World:
    """So many jobs with their runs, their steps, three clusters and the sweep; always the same ones."""
    rng = random.Random(SEED)
    sweep = Relation((Ref("sweep", "bench"),))
    clusters = {name: Relation((Ref("cluster", name),)) for name in CLUSTERS}
    made: dict[Ref, Subject] = {Ref("sweep", "bench"): Subject(Ref("sweep", "bench"), {"id": "bench", "now": NOW})}
    jobs: dict[str, list[Ref]] = {name: [] for name in CLUSTERS}
    for i in range(count):
        for subject in _job(rng, i, sweep, clusters):
            made[subject.ref] = subject
            if subject.ref.kind == "job":
                jobs[CLUSTERS[i % len(CLUSTERS)]].append(subject.ref)
    for name in CLUSTERS:
        facts: dict[str, FactValue] = {"name": name, "status": "swept", "enabled": True, "queue": "jobs"}
        relations = {"sweep": sweep, "jobs": Relation(tuple(jobs[name]))}
        made[Ref("cluster", name)] = Subject(Ref("cluster", name), facts, {}, relations)
    return World(made)


def _job(rng: random.Random, i: int, sweep: Relation, clusters: dict[str, Relation]) -> Iterator[Subject]:
    cluster = CLUSTERS[i % len(CLUSTERS)]
    kind, state = KINDS[i % len(KINDS)], rng.choice(STATES)
    key = f"{cluster}:{10_000_000 + i}"
    job, run = Ref("job", key), Ref("run", key)
    steps = tuple(Ref("step", f"{key}#{number}") for number in range(STEPS)) if kind.startswith("rl") else ()
    common = {"sweep": sweep, "cluster": clusters[cluster], "run": Relation((run,)), "previous": Relation()}
    yield Subject(job, _facts(rng, i, cluster, kind, state), {}, {**common, "steps": Relation(steps)})
    for number, ref in enumerate(steps):
        yield Subject(ref, _step(rng, number), {}, {"sweep": sweep, "job": Relation((job,))})
    facts: dict[str, FactValue] = {"complete": state == "COMPLETED", "checkpoint": ABSENT, "step_advanced": True}
    yield Subject(run, facts, {}, {"sweep": sweep, "links": Relation((job,)), "row": Relation((job,))})


def _facts(rng: random.Random, i: int, cluster: str, kind: str, state: str) -> dict[str, FactValue]:
    running = state == "RUNNING"
    facts: dict[str, Any] = {
        "key": f"{cluster}:{10_000_000 + i}", "job_id": str(10_000_000 + i), "cluster": cluster, "user": "mira",
        "name": f"{kind}-{i}", "workdir": f"/scratch/w{i % 97}", "run_dir": f"/scratch/w{i % 97}/run",
        "state": state, "state_source": "squeue" if state in ("RUNNING", "PENDING") else "sacct",
        "state_reason": ABSENT, "suspended": False, "elapsed": rng.randrange(90_000) if state != "PENDING" else ABSENT,
        "exit": "0:53" if state == "FAILED" and rng.random() < 0.2 else "1:0" if state == "FAILED" else "0:0",
        "nodes": rng.choice((1, 2, 4, 8)), "tags": (), "flavour": rng.choice(("agentic", "standard")),
        "log.exists": True if state != "PENDING" else ABSENT, "log_age": rng.randrange(20_000) if running else ABSENT,
        "cadence": rng.choice((300, 600, 1200)), "phase": "steady" if running else ABSENT,
        "step": STEPS - 1, "max_step": 500, "trial_pass_rate": round(rng.random(), 3), "metric_families": (),
        "fault_lines": 0, "benign_lines": 0, "heartbeats_only": False, "restarts": 0,
    }  # fmt: skip
    return facts


def _step(rng: random.Random, number: int) -> dict[str, FactValue]:
    return {
        "step": number,
        "grad_norm": round(0.3 + rng.random() * (1.0 if rng.random() < 0.03 else 0.1), 4),
        "entropy": round(0.5 - (rng.random() * 0.4 if rng.random() < 0.03 else rng.random() * 0.05), 4),
        "log_ratio_mean": round(1e-4 + rng.random() * 1e-5, 7),
        "log_ratio_max": round(rng.random() * 0.4, 3),
    }
