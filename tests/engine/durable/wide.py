"""Policies and worlds by a seed, wider than the generated ones: steps, runs and clusters, fields that rules set,
exemptions, quorums whose number is a limit, flags inside quantifiers. No rule builds on a later one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
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
from sweeprules.engine.truth import Truth
from tests.engine import strategies as gen
from tests.engine.durable import make
from tests.engine.durable.make import MARK

SETTABLE = {"flavour": ("enum", ["x", "y", "none"]), "tags": ("list", [(), ("a",), ("a", "b")])}
FIELDS: Mapping[str, Mapping[str, tuple[str, list[Any]]]] = {
    "job": {
        "state": ("enum", gen.STATES),
        "nodes": ("integer", [0, 1, 2, 3]),
        "grad_norm": ("number", [0.5, 1, 1.0, 2.5]),
        "suspended": ("boolean", [True, False]),
        "name": ("text", gen.TEXTS),
        "log_age": ("duration", [10, 1800, 6000]),
        "cadence": ("duration", [10, 1800.0, 6000]),
        "bucket": ("enum", gen.BUCKETS),
        **SETTABLE,
    },
    "step": {"entropy": ("number", [0.1, 0.5, 1, 2]), "step": ("integer", [1, 2, 3])},
    "run": {"complete": ("boolean", [True, False]), "same_signature": ("integer", [0, 1, 2])},
    "cluster": {
        "rl_running": ("interval", [Interval(0, 2), 2, Interval(1, None)]),
        "queue": ("enum", ["ok", "empty"]),
    },
}
HOPS: Mapping[str, list[tuple[str, str]]] = {
    "job": [("cluster", "cluster"), ("run", "run"), ("next_link", "job")],
    "step": [("job", "job")],
    "run": [("row", "job")],
    "cluster": [],
}
ORDERED = ["lt", "le", "gt", "ge", "between"]
SETTERS = 3
"""The first rules may set fields, and so read none that is set."""
CADENCE = ast.FieldRef(make.path("cadence"))


class Maker:
    """Makes one policy and one world."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.rules: list[ast.Rule] = []
        self.flags: list[str] = []
        self.signals: dict[str, list[str]] = {}

    # ------------------------------------------------------------ policies

    def policy(self) -> ast.Policy:
        """A policy of a few rules."""
        rng = self.rng
        for i in range(rng.randrange(4, 14)):
            self._rule(i, "job" if i < SETTERS else rng.choice(["job"] * 6 + ["step", "run", "cluster"]))
        rows = (ast.Override({"bucket": "rl"}, 2, MARK), ast.Override({"cluster": "leo"}, 3, MARK))
        params = {**gen.PARAMS, "n": ast.Param("n", 1, "", "", rows, MARK)}
        exemptions = tuple(self._exemption(k) for k in range(2)) if self.flags else ()
        return make.policy(*self.rules, params=params, exemptions=exemptions)

    def _rule(self, i: int, kind: str) -> None:
        rng = self.rng
        then: list[ast.Consequence] = []
        if rng.random() < 0.6:
            then.append(make.flag(f"f{i}"))
        if rng.random() < 0.5:
            then.append(make.signal(f"s{i}"))
        if i < SETTERS and rng.random() < 0.4:
            value = ast.Const(rng.choice(["x", "y"]))
            then.append(rng.choice([ast.Set("flavour", value, MARK), ast.Add("tags", ast.Const("b"), MARK)]))
        when = self.condition(kind)
        unless = self.condition(kind, 2) if rng.random() < 0.25 else None
        needs = (rng.choice([n for n in FIELDS[kind] if n not in SETTABLE]),) if rng.random() < 0.3 else ()
        unknown = rng.choice(["hold", "fire"])
        more = {"needs": needs, "unless": unless, "if_unknown": unknown, "judge": "any"}
        self.rules.append(make.rule(f"r{i}", when, *then, on=kind, **more))
        self.flags += [t.flag for t in then if isinstance(t, ast.Raise)]
        self.signals.setdefault(kind, []).extend(t.name for t in then if isinstance(t, ast.Signal))

    def _exemption(self, k: int) -> ast.Exemption:
        flags = tuple(self.rng.sample(self.flags, min(2, len(self.flags))))
        expires = self.rng.choice([None, gen.NOW + 1.0, gen.NOW - 1.0])
        return ast.Exemption(f"e{k}", "job", self.condition("job", 1), flags, None, "", "", expires, "", MARK)

    def condition(self, kind: str, depth: int = 0) -> ast.Condition:
        """A condition about a kind, built only on rules that are there."""
        rng, chance = self.rng, self.rng.random()
        if depth < 3 and chance < 0.45:
            if chance < 0.1:
                return make.no(self.condition(kind, depth + 1))
            items = tuple(self.condition(kind, depth + 1) for _ in range(rng.randrange(1, 4)))
            return ast.All(items, MARK) if chance < 0.3 else ast.Any(items, MARK)
        same = [rule.id for rule in self.rules if rule.on == kind]
        if chance < 0.6 and self.flags:
            return make.flagged(rng.choice(self.flags))
        if chance < 0.68 and same:
            return make.rule_is(rng.choice(same), rng.choice(list(Truth)))
        if chance < 0.78 and self.signals.get(kind):
            return self._at_least(kind)
        return self._quantified(depth) if chance < 0.86 and kind == "job" and depth < 4 else self.test(kind)

    def _at_least(self, kind: str) -> ast.AtLeast:
        rng, names = self.rng, self.signals[kind]
        chosen = rng.sample(names, min(len(names), rng.randrange(1, 5)))
        of: list[ast.Condition | ast.Signalled] = [ast.Signalled(name, MARK) for name in chosen]
        if rng.random() < 0.3:
            of.append(self.test(kind))
        if rng.random() < 0.7:
            n = rng.choice([ast.Const(rng.randrange(4)), ast.ParamRef("n")])
            return ast.AtLeast(tuple(of), n, None, (), MARK)
        few = ast.Compare(rng.choice(["lt", "ge", "eq"]), (ast.Const(rng.randrange(3)),))
        return ast.AtLeast(tuple(of), None, few, rng.choice([(), ("cut",)]), MARK)

    def _quantified(self, depth: int) -> ast.Quantified:
        rng = self.rng
        which = rng.choice(["every", "some", "count"])
        holds = self.condition("job", depth + 2) if rng.random() < 0.5 else self.test("job")
        compare = ast.Compare(rng.choice(["ge", "lt", "eq"]), (ast.Const(rng.randrange(3)),))
        counts = which == "count"
        where = self.test("job") if rng.random() < 0.6 else None
        empty = rng.choice(list(Truth))
        of = ast.Path((), "siblings", "job", "relation")
        holds_, compare_ = (None, compare) if counts else (holds, None)
        return ast.Quantified(which, of, "job", where, holds_, compare_, None, empty, MARK, which)

    def test(self, kind: str) -> ast.Test:
        """A test of a field of the kind, or of what one of its relations reaches."""
        rng = self.rng
        path, values = self._path(kind)
        if rng.random() < 0.12:
            op = rng.choice(["known", "unknown", "absent"])
            return ast.Test(path, ast.Compare(op, wanted=rng.random() < 0.5), MARK, op)
        compare = self._compare(kind, path, [v for v in values if not isinstance(v, Interval | tuple)])
        return ast.Test(path, compare, MARK, compare.op)

    def _path(self, kind: str) -> tuple[ast.Path, list[Any]]:
        relations: tuple[str, ...] = ()
        if HOPS[kind] and self.rng.random() < 0.4:
            relation, kind = self.rng.choice(HOPS[kind])
            relations = (relation,)
        early = len(self.rules) < SETTERS
        name = self.rng.choice([n for n in FIELDS[kind] if not early or n not in SETTABLE])
        return ast.Path(relations, name, kind, FIELDS[kind][name][0]), FIELDS[kind][name][1]

    def _compare(self, kind: str, path: ast.Path, plain: list[Any]) -> ast.Compare:
        rng = self.rng
        if path.type == "list":
            return ast.Compare("contains", (ast.Const(rng.choice("abc")),))
        if path.type == "interval":
            op: Any = rng.choice([*ORDERED[:4], "eq", "ne"])
            return ast.Compare(op, (ast.Const(rng.randrange(4)),), possible=rng.random() < 0.3)
        ordered = ORDERED * 2 if path.type in ("integer", "number", "duration") else []
        texts = ["prefix", "contains", "glob"] if path.type == "text" else []
        op = rng.choice(["eq", "ne", "in", "not_in", *ordered, *texts])
        default = ast.Const(rng.choice(plain)) if rng.random() < 0.1 else None
        if op in ("in", "not_in"):
            members = tuple(rng.sample(plain, min(len(plain), rng.randrange(1, 4))))
            return ast.Compare(op, (ast.Const(members),), default=default)
        if op == "between":
            low, high = sorted(rng.choices(plain, k=2))
            return ast.Compare(op, (ast.Const(low), ast.Const(high)))
        fold = path.type == "text" and rng.random() < 0.3
        return ast.Compare(op, (self._right(kind, path, op, plain),), fold, default=default)

    def _right(self, kind: str, path: ast.Path, op: str, plain: list[Any]) -> ast.Right:
        rng = self.rng
        options: list[ast.Right] = [ast.Const(rng.choice(plain))] * 2
        if path.type == "duration":
            options += [ast.ParamRef("stale_floor"), ast.ParamRef("grace")]
        if kind == "job" and path.type == "duration":
            options += [CADENCE, ast.Calc(ast.Arith("*", (ast.Const(2), CADENCE)), "2 * .cadence")]
        if kind == "job" and path.type in ("integer", "number"):
            options.append(ast.FieldRef(make.path(rng.choice(["nodes", "grad_norm"]))))
        if kind == "job" and path.type in ("text", "enum") and op in ("eq", "ne"):
            options.append(ast.FieldRef(make.path("name")))
        return rng.choice(options)

    # ------------------------------------------------------------ worlds

    def world(self) -> World:
        """Up to thirty jobs, with clusters, runs and steps that may be partly read."""
        count = self.rng.randrange(1, 30)
        clusters = [Ref("cluster", name) for name in ("leo", "tacc")]
        jobs = [Ref("job", f"leo:{i}") for i in range(count)]
        runs = [Ref("run", str(i)) for i in range(count // 2 + 1)]
        steps = [Ref("step", str(i)) for i in range(count)]
        found = {Ref("sweep", "s"): Subject(Ref("sweep", "s"), {"now": gen.NOW})}
        found.update({ref: Subject(ref, self._facts("cluster")) for ref in clusters})
        found.update({ref: Subject(ref, self._facts("run"), {}, {"row": self._some(jobs, 1)}) for ref in runs})
        found.update({ref: Subject(ref, self._facts("step"), {}, {"job": self._some(jobs, 1)}) for ref in steps})
        for ref in jobs:
            many = {"siblings": (jobs, 3), "steps": (steps, 3)}
            single = {"cluster": (clusters, 1), "run": (runs, 1), "next_link": (jobs, 1)}
            relations = {name: self._some(*given) for name, given in {**many, **single}.items()}
            kept = {name: relation for name, relation in relations.items() if self.rng.random() < 0.85}
            facts = {**self._facts("job"), "cluster": self.rng.choice(["leo", "tacc", NOT_READ])}
            found[ref] = Subject(ref, facts, {}, kept, self.rng.random() < 0.9)
        return World(found)

    def _facts(self, kind: str) -> dict[str, FactValue]:
        return {n: self._fact(values) for n, (_, values) in FIELDS[kind].items() if self.rng.random() < 0.9}

    def _fact(self, values: list[Any]) -> FactValue:
        chance = self.rng.random()
        if chance < 0.16:
            return NOT_READ if chance < 0.12 else Unknown(Reason.CUT)
        return ABSENT if chance < 0.26 else self.rng.choice(values)

    def _some(self, refs: list[Ref], most: int) -> Relation:
        members = tuple(self.rng.sample(refs, min(len(refs), self.rng.randrange(most + 1))))
        completeness = self.rng.choice([Completeness.WHOLE] * 3 + [Completeness.PARTIAL, Completeness.UNKNOWN])
        return Relation(members, completeness)
