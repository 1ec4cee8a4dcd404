"""Worlds by a seed in which every kind of fact stands: jobs with links, siblings, runs, earlier sweeps and steps."""

from __future__ import annotations

import random
from typing import Any

from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.holds import Held, HoldState
from tests.engine.strategies import NOW, STATES, TEXTS

Fields = dict[str, tuple[str, list[Any]]]
POINTS: list[Any] = [0.3, 0.3, 0.3, 1.4, 1, 0, -0.5, 1e-05, 0.1, 2.5]
ODD_POINTS: list[Any] = [
    float("nan"),
    float("inf"),
    float("-inf"),
    Unknown(Reason.NAN),
    Unknown(Reason.CUT),
    ABSENT,
    "x",
]
SECONDS: list[Any] = [0, 30, 90.5, 1800, 1801, 5400, 86400]
FIELDS: dict[str, Fields] = {
    "job": {
        "name": ("text", TEXTS),
        "state": ("enum", STATES),
        "suspended": ("boolean", [True, False]),
        "nodes": ("integer", [0, 1, 2, 3]),
        "grad_norm": ("number", [0.5, 1, 1.0, 2.5, -1.0]),
        "log_age": ("duration", SECONDS),
        "cadence": ("duration", SECONDS),
        "started": ("time", [NOW - 90_000, NOW - 5400, NOW - 60, NOW]),
        "metric_families": ("list", [(), ("policy/z_clip",), ("loss", "RL"), ("a", "b", "a")]),
        "fault_lines": ("map", [{}, {"nccl": 2}, {"nccl": 1, "nan": 3}]),
        "phase": ("enum", ["bringup", "steady", "teardown"]),
        "tags": ("list", [(), ("a3",), ("debug", "a3")]),
    },
    "run": {"complete": ("boolean", [True, False]), "same_signature": ("integer", [0, 1, 2])},
    "cluster": {
        "queue": ("enum", ["ok", "empty"]),
        "reachable": ("boolean", [True, False]),
        "rl_running": ("interval", [Interval(0, 2), Interval(2, None), Interval(3, 3), 2]),
    },
    "step": {
        "step": ("integer", [3, 4, 5, 6, 7]),
        "grad_norm": ("number", POINTS),
        "entropy": ("number", POINTS),
    },
}
UNKNOWNS = [Unknown(r) for r in (Reason.NOT_READ, Reason.CUT, Reason.WARMING_UP, Reason.NAN)]
NAMES = ("leo", "tacc")


class WorldMaker:
    """Makes a world and what rules with `for:` had been in it. `jobs` and `steps` bound its size."""

    def __init__(self, rng: random.Random, jobs: int, steps: int) -> None:
        self._rng = rng
        self._jobs = [Ref("job", f"leo:{i}") for i in range(rng.randint(1, jobs))]
        self._steps = steps
        self._subjects: dict[Ref, Subject] = {}

    def world(self) -> World:
        """The world."""
        rng = self._rng
        sweep = Ref("sweep", "s1")
        self._subjects[sweep] = Subject(sweep, {"now": NOW if rng.random() < 0.95 else UNKNOWNS[0]})
        clusters = [Ref("cluster", name) for name in NAMES]
        for ref in clusters:
            facts = {"name": ref.key, **self._facts("cluster")}
            self._put(ref, facts, {"jobs": self._some(self._jobs, 4)})
        runs = [Ref("run", f"leo:{i}") for i in range(2)]
        for i, ref in enumerate(runs):
            links = Relation(tuple(self._jobs[i::2]))
            self._put(ref, self._facts("run"), {"row": self._some(self._jobs, 1), "links": self._doubted(links)})
        for i, ref in enumerate(self._jobs):
            self._job(i, ref, clusters, runs)
        return World(self._subjects)

    def held(self, rules: list[str]) -> Held:
        """What rules had been on these subjects."""
        found: dict[tuple[str, Ref], HoldState] = {}
        for rule in rules:
            for ref in self._subjects:
                if self._rng.random() < 0.4:
                    sweeps, first = self._rng.randrange(4), NOW - self._rng.choice([0, 3599, 3600, 9999])
                    state = HoldState(
                        sweeps, "s0" if sweeps else "", first if sweeps else None, NOW, "1" * sweeps + "0"
                    )
                    found[rule, ref] = state
        return found

    # ------------------------------------------------------------ subjects

    def _job(self, i: int, ref: Ref, clusters: list[Ref], runs: list[Ref]) -> None:
        rng = self._rng
        others = [job for job in self._jobs if job != ref] or self._jobs
        relations = {
            "cluster": self._some(clusters, 1, least=1),
            "siblings": self._some(others, 3),
            "next_link": self._some(others, 1),
            "prior_link": self._some(others, 1),
            "steps": self._doubted(Relation(self._run_of_steps(ref))),
        }
        kept = {name: relation for name, relation in relations.items() if rng.random() < 0.9}
        if rng.random() < 0.8:
            kept["run"] = Relation((runs[i % 2],))
        kept.update(self._earlier(ref))
        facts = {"cluster": rng.choice(NAMES), "job_id": str(i), "key": ref.key, **self._facts("job")}
        self._put(ref, facts, kept)

    def _run_of_steps(self, job: Ref) -> tuple[Ref, ...]:
        rng = self._rng
        numbers = list(range(3, 3 + rng.randint(0, self._steps)))
        if rng.random() < 0.3:
            numbers = [n for n in numbers if rng.random() < 0.7]
        if numbers and rng.random() < 0.2:
            numbers.insert(rng.randrange(len(numbers)), rng.choice(numbers))
        found = []
        for i, number in enumerate(numbers):
            ref = Ref("step", f"{job.key}/{number}#{i}")
            facts: dict[str, FactValue] = {"step": number, "link": rng.choice("aab"), "time": NOW - 900 + 60 * number}
            facts.update({name: self._point() for name in ("grad_norm", "entropy") if rng.random() < 0.95})
            if rng.random() < 0.5:
                facts["attempt"] = rng.randint(1, 2)
            self._put(ref, facts, {"job": Relation((job,))})
            found.append(ref)
        return tuple(found)

    def _earlier(self, job: Ref) -> dict[str, Relation]:
        """The same job at sweeps before, the newest first."""
        relation: dict[str, Relation] = {}
        for i in range(self._rng.choice([0, 0, 1, 2])):
            ref = Ref("job", f"{job.key}@s-{i}")
            facts = {**self._facts("job"), "step": self._rng.choice([4, 6, 8, UNKNOWNS[1]])}
            self._subjects[ref] = Subject(ref, facts, {}, dict(relation), judged=False)
            relation = {"previous": Relation((ref,))}
        return relation

    def _put(self, ref: Ref, facts: dict[str, FactValue], relations: dict[str, Relation]) -> None:
        self._subjects[ref] = Subject(ref, facts, {}, relations, self._rng.random() < 0.93)

    # ------------------------------------------------------------ values

    def _point(self) -> FactValue:
        value: FactValue = self._rng.choice(ODD_POINTS if self._rng.random() < 0.08 else POINTS)
        return value

    def _facts(self, kind: str) -> dict[str, FactValue]:
        rng = self._rng
        return {name: self._fact(values) for name, (_, values) in FIELDS[kind].items() if rng.random() < 0.93}

    def _fact(self, values: list[Any]) -> FactValue:
        chance = self._rng.random()
        if chance < 0.15:
            return self._rng.choice(UNKNOWNS)
        if chance < 0.24:
            return self._rng.choice([ABSENT, NOT_APPLICABLE])
        value: FactValue = self._rng.choice(values)
        return value

    def _some(self, refs: list[Ref], most: int, least: int = 0) -> Relation:
        count = self._rng.randint(least, min(most, len(refs)))
        return self._doubted(Relation(tuple(self._rng.sample(refs, count))))

    def _doubted(self, relation: Relation) -> Relation:
        """A relation as it is mostly, at times one of which not all was read, or nothing."""
        chance = self._rng.random()
        if chance < 0.12:
            return Relation(relation.members, Completeness.PARTIAL, Reason.CUT)
        return Relation((), Completeness.UNKNOWN, Reason.READ_FAILED) if chance < 0.2 else relation


def learned(world: World, rng: random.Random) -> World:
    """The same world where some of what was unknown was read: facts, ends of counts, members of relations."""
    jobs = [ref for ref in world.subjects if ref.kind == "job" and "@" not in ref.key]
    subjects: dict[Ref, Subject] = {}
    for ref, subject in world.subjects.items():
        facts = dict(subject.facts)
        for name, (_, values) in FIELDS.get(ref.kind, {}).items():
            # Nobody reads tags: where a world has none, rules alone add to them.
            if (name != "step" or ref.kind != "step") and (name != "tags" or name in facts):
                facts[name] = _told(subject.get(name), values, rng)
        relations = {n: _joined(n, r, jobs, rng) for n, r in subject.relations.items()}
        subjects[ref] = Subject(ref, facts, {}, relations, subject.judged)
    return World(subjects)


def _told(value: FactValue, values: list[Any], rng: random.Random) -> FactValue:
    if isinstance(value, Unknown) and rng.random() < 0.7:
        told: FactValue = rng.choice([*values, ABSENT])
        return told
    if isinstance(value, Interval) and rng.random() < 0.7:
        return rng.randint(value.sure, value.sure + 9 if value.possible is None else value.possible)
    return value


def _joined(name: str, relation: Relation, jobs: list[Ref], rng: random.Random) -> Relation:
    """A relation of many jobs with more members; any other is what it was."""
    if name not in ("siblings", "jobs") or relation.completeness is Completeness.WHOLE or rng.random() < 0.5:
        return relation
    more = rng.sample(jobs, min(len(jobs), rng.randrange(3)))
    return Relation(tuple(dict.fromkeys((*relation.members, *more))))
