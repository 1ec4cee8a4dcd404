"""Made-up worlds of a policy: every kind and relation of the catalogue, with values that the policy asks about."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from sweeprules.engine.catalogue import Catalogue, FieldDef
from sweeprules.engine.durable.reads import needed, sources
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
from sweeprules.engine.language import ast

COUNTS = {"cluster": 2, "run": 60, "sweep": 1}
"""Subjects of a kind; steps are as many as their jobs have, of any other kind there are a few."""
JOBS, FEW, STEPS = 200, 6, 8
NOW = 1_800_000_000
CALM, WILD = (0.3, 0.3, 0.31), (0.3, 0.3, 0.3, 0.9, 3.0, -1.0)
"""Points of a series: one that hardly moves, and one that jumps, so that rules about steps come true."""


class Maker:
    """Makes worlds of one policy: values that its tests ask about, some near its thresholds, some unknown or absent."""

    def __init__(self, policy: ast.Policy, catalogue: Catalogue, seed: int) -> None:
        self.rng = random.Random(seed)
        self.catalogue = catalogue
        self.asked: dict[str, list[Any]] = {}
        conditions = [c for r in policy.rules.values() for c in (r.when, r.unless) if c is not None]
        conditions += [e.when for e in policy.exemptions]
        conditions += [c.when for choices in policy.decide.values() for c in choices if c.when is not None]
        for condition in conditions:
            self._constants(condition)
        self.numbers = [p.default for p in policy.params.values() if isinstance(p.default, int | float)]
        self.lines = [p.literal for p in policy.patterns.values()]
        self.read = {(s.kind, s.field) for c in conditions for s in sources(c) if isinstance(s, ast.Path)}
        for rule in policy.rules.values():
            paths = [needed(rule, name) for name in rule.needs]
            self.read |= {(path.kind, path.field) for path in paths}
        series = {name for kind, name in self.read if kind == "step" and name not in policy.features}
        self.series = sorted(series | {feature.series for feature in policy.features.values()})

    def _constants(self, node: Any) -> None:
        if isinstance(node, ast.Test):
            for right in node.compare.rights:
                if isinstance(right, ast.Const):
                    values = right.value if isinstance(right.value, tuple) else (right.value,)
                    self.asked.setdefault(node.path.field, []).extend(values)
        for name in ("items", "of"):
            for item in getattr(node, name, ()) if isinstance(getattr(node, name, ()), tuple) else ():
                self._constants(item)
        for name in ("item", "where", "holds"):
            if getattr(node, name, None) is not None:
                self._constants(getattr(node, name))

    def world(self) -> World:
        """One sweep."""
        refs = {kind: self._refs(kind) for kind in self.catalogue.kinds if kind not in ("step", "member")}
        subjects: dict[Ref, Subject] = {}
        for those in refs.values():
            for ref in those:
                subjects[ref] = self._subject(ref, refs)
        for job in refs["job"]:
            steps = self._steps(job)
            subjects.update({step.ref: step for step in steps})
            relations = {**subjects[job].relations, "steps": self._part(tuple(step.ref for step in steps))}
            subjects[job] = Subject(job, subjects[job].facts, {}, relations, subjects[job].judged)
        return World(subjects)

    def _refs(self, kind: str) -> list[Ref]:
        if kind == "cluster":
            return [Ref(kind, name) for name in ("leonardo", "tacc")]
        count = JOBS if kind == "job" else COUNTS.get(kind, FEW)
        return [Ref(kind, f"leonardo:{i}" if kind in ("job", "run") else f"{kind}-{i}") for i in range(count)]

    def _subject(self, ref: Ref, refs: dict[str, list[Ref]]) -> Subject:
        facts = {**self.facts(ref.kind), **({"now": NOW} if ref.kind == "sweep" else {})}
        if ref.kind in ("job", "cluster"):
            facts.update({"cluster": self.rng.choice(["leonardo", "tacc"]), "name": facts.get("name", ref.key)})
        relations: dict[str, Relation] = {}
        for name, relation in self.catalogue.kinds[ref.kind].relations.items():
            if relation.to in refs and name not in ("sweep", "previous") and self.rng.random() < 0.9:
                relations[name] = (self.many if relation.many else self.some)(refs[relation.to])
        return Subject(ref, facts, {}, relations, ref.kind == "sweep" or self.rng.random() < 0.95)

    def _steps(self, job: Ref) -> list[Subject]:
        count = self.rng.choice([0, 0, 1, STEPS, 2 * STEPS])
        points = self.rng.choice([CALM, WILD])
        found = []
        for i in range(count):
            facts = {name: self._point(name, points) for name in self.series}
            facts.update({"step": 10 + i, "time": NOW - 60 * (count - i)})
            found.append(Subject(Ref("step", f"{job.key}/{i}"), facts, {}, {"job": Relation((job,))}))
        return found

    def _point(self, name: str, points: Sequence[float]) -> FactValue:
        field = self.catalogue.kinds["step"].fields.get(name)
        return self.value(field) if field is not None and self.rng.random() < 0.2 else self.rng.choice(points)

    def _part(self, members: tuple[Ref, ...]) -> Relation:
        return Relation(members, self.rng.choice([Completeness.WHOLE, Completeness.WHOLE, Completeness.PARTIAL]))

    def facts(self, kind: str) -> dict[str, FactValue]:
        """Facts of one subject: those that rules read, and a few more."""
        found: dict[str, FactValue] = {}
        for name, field in self.catalogue.kinds[kind].fields.items():
            if (kind, name) in self.read and self.rng.random() < 0.9:
                found[name] = self.value(field)
        for name in sorted(name for of, name in self.read if of == kind and name.endswith(".count")):
            found[name] = self.rng.choice([0, 0, 0, 1, 2, Unknown(Reason.CUT)])
        return found

    def value(self, field: FieldDef) -> FactValue:
        """One value of a field."""
        chance = self.rng.random()
        if chance < 0.1:
            return Unknown(self.rng.choice([Reason.NOT_READ, Reason.CUT, Reason.READ_FAILED]))
        if chance < 0.2:
            return self.rng.choice([ABSENT, NOT_APPLICABLE])
        match field.type:
            case "boolean":
                return self.rng.random() < 0.5
            case "interval":
                low = self.rng.randrange(8)
                return self.rng.choice([low, Interval(low, low + 2), Interval(low, None)])
            case "list":
                return tuple(self.rng.sample([*map(str, self.asked.get(field.name, [])), "x", "y"], 2))
            case "map" | "record-list":
                return {} if field.type == "map" else ()
            case "text" | "enum":
                asked = [v for v in self.asked.get(field.name, []) if isinstance(v, str)]
                words = [*asked, *(getattr(field, "words", None) or ())] or ["word"]
                word = str(self.rng.choice(words))
                return word if field.type == "enum" else self.rng.choice([word, f"{word}-x", f"a {word}", "other"])
        near = float(self.rng.choice([*self.numbers, 0, 1, *self._known(field.name)]))
        number = self.rng.choice([near, near + 1, near - 1, near * 3 + 0.5])
        return int(number) if field.type == "integer" else number

    def _known(self, name: str) -> list[float]:
        return [v for v in self.asked.get(name, []) if isinstance(v, int | float)]

    def some(self, refs: list[Ref]) -> Relation:
        """A relation of at most one."""
        return Relation((self.rng.choice(refs),) if self.rng.random() < 0.6 else ())

    def many(self, refs: list[Ref]) -> Relation:
        """A relation of a few, at times not whole."""
        members = tuple(self.rng.sample(refs, self.rng.randrange(4)))
        return Relation(members, self.rng.choice([Completeness.WHOLE, Completeness.WHOLE, Completeness.PARTIAL]))
