"""Conditions by a seed, with every test, right side, quorum and quantifier of the language."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from sweeprules.engine.facts import Reason
from sweeprules.engine.language import ast
from sweeprules.engine.truth import Truth
from tests.engine import strategies as gen
from tests.engine.strategies import MARK
from tests.engine.whole.worlds import FIELDS

HOPS: dict[str, list[tuple[tuple[str, ...], str]]] = {
    "job": [(("cluster",), "cluster"), (("run",), "run"), (("next_link",), "job"), (("previous",), "job")],
    "step": [(("job",), "job"), (("job", "cluster"), "cluster")],
    "run": [(("row",), "job")],
    "cluster": [],
}
SET = {"phase": ["bringup", "steady", "teardown"], "tags": ["a3", "b", "debug"]}
DECIDED = {"bucket": gen.BUCKETS, "flavour": ["agentic", "standard"]}
TEXTS = {
    "prefix": ["rl__", "RL", ""],
    "glob": ["*a2*", "rl__*", "?"],
    "regex": ["a[0-9]", "^rl"],
    "contains": ["a2", "hf"],
    "matches": ["eight"],
}
COMPARED = ("duration", "time", "number", "integer", "text")
ORDERED = ["lt", "le", "gt", "ge", "between"]
CADENCE = ast.FieldRef(ast.Path((), "cadence", "job", "duration"))
AGE = ast.FieldRef(ast.Path((), "log_age", "job", "duration"))
NODES = ast.FieldRef(ast.Path((), "nodes", "job", "integer"))
SWEEP_NOW = ast.FieldRef(ast.Path(("sweep",), "now", "sweep", "time"))
STARTED = ast.FieldRef(ast.Path((), "started", "job", "time"))
FLOOR = ast.ParamRef("stale_floor")
DURATIONS = [
    ast.Calc(ast.Arith("*", (ast.Const(3), CADENCE)), "3 * .cadence"),
    ast.Calc(ast.Arith("max", (FLOOR, ast.Arith("*", (ast.Const(2), CADENCE)))), "max($stale_floor, 2 * .cadence)"),
    ast.Calc(ast.Arith("min", (FLOOR, CADENCE)), "min($stale_floor, .cadence)"),
    ast.Calc(ast.Arith("abs", (ast.Arith("-", (CADENCE, AGE)),)), "abs(.cadence - .log_age)"),
    ast.Calc(ast.Arith("-", (SWEEP_NOW, STARTED)), ".sweep.now - .started"),
    ast.Calc(ast.Arith("neg", (CADENCE,)), "-.cadence"),
]
NUMBERS = [
    ast.Calc(
        ast.Arith("round_half_up", (ast.Arith("/", (CADENCE, ast.ParamRef("grace"))),)), "round(.cadence / $grace)"
    ),
    ast.Calc(ast.Arith("/", (ast.Const(2), ast.FieldRef(ast.Path((), "nodes", "job", "integer")))), "2 / .nodes"),
    ast.Calc(ast.Arith("+", (ast.ParamRef("n"), ast.Const(1))), "$n + 1"),
]
TIMES = [ast.Calc(ast.Arith("-", (SWEEP_NOW, ast.ParamRef("grace"))), ".sweep.now - $grace"), SWEEP_NOW]


class ConditionMaker:
    """Makes conditions about a kind out of what the policy has so far.

    `early` rules read no field that rules set or decide, and no param with overrides by one.
    """

    def __init__(self, rng: random.Random, monotone: bool) -> None:
        self.rng = rng
        self.monotone = monotone
        self.early = True
        self.features: list[str] = []
        self.flags: list[str] = []
        self._ids: dict[str, list[str]] = {}
        self._signals: dict[str, list[str]] = {}

    def complete(self, complete: Sequence[ast.Rule], rules: Sequence[ast.Rule]) -> None:
        """What may be read: flags and signals of `complete` rules, truths of `rules`."""
        self.flags = sorted({e.flag for r in complete for e in r.then if isinstance(e, ast.Raise)})
        self._ids = {kind: [r.id for r in rules if r.on == kind] for kind in FIELDS}
        self._signals = {
            kind: sorted({e.name for r in complete if r.on == kind for e in r.then if isinstance(e, ast.Signal)})
            for kind in FIELDS
        }

    # ------------------------------------------------------------ trees

    def condition(self, kind: str, depth: int = 0) -> ast.Condition:
        """A condition about a kind."""
        chance = self.rng.random()
        if depth < 3 and chance < 0.4:
            return self._group(kind, depth, chance)
        choose: list[tuple[bool, Callable[[], ast.Condition]]] = [
            (bool(self.flags), lambda: ast.Flagged(self.rng.choice(self.flags), MARK)),
            (bool(self._ids.get(kind)) and not self.monotone, lambda: self._rule_is(kind)),
            (bool(self._signals.get(kind)), lambda: self._at_least(kind)),
            (depth < 3, lambda: self._quantified(kind, depth)),
        ]
        open_ = [make for there, make in choose if there]
        return self.rng.choice(open_)() if open_ and chance < 0.72 else self.test(kind)

    def _group(self, kind: str, depth: int, chance: float) -> ast.Condition:
        if chance < 0.1:
            return ast.Not(self.condition(kind, depth + 1), MARK)
        items = tuple(self.condition(kind, depth + 1) for _ in range(self.rng.randint(1, 3)))
        return ast.All(items, MARK) if chance < 0.25 else ast.Any(items, MARK)

    def _rule_is(self, kind: str) -> ast.RuleIs:
        return ast.RuleIs(self.rng.choice(self._ids[kind]), self.rng.choice(list(Truth)), MARK)

    def _at_least(self, kind: str) -> ast.AtLeast:
        rng, names = self.rng, self._signals[kind]
        of: list[ast.Condition | ast.Signalled] = [
            ast.Signalled(name, MARK) for name in rng.sample(names, rng.randint(1, min(3, len(names))))
        ]
        of += [self.test(kind) for _ in range(rng.randrange(3))]
        n = rng.choice([ast.Const(rng.randint(0, 3)), ast.ParamRef("two" if self.early else "n")])
        if self.monotone or rng.random() < 0.5:
            return ast.AtLeast(tuple(of), n, None, (), MARK)
        few = ast.Compare(rng.choice(["lt", "ge", "eq"]), (ast.Const(rng.randrange(3)),))
        ignoring = rng.choice([(), (Reason.WARMING_UP,), (Reason.CUT, Reason.NAN)])
        return ast.AtLeast(tuple(of), rng.choice([None, n]), few, ignoring, MARK)

    # ------------------------------------------------------------ quantifiers

    def _quantified(self, kind: str, depth: int) -> ast.Condition:
        rng = self.rng
        which: Any = rng.choice(["every", "some", "count", "sum"])
        of, member, number = self._members(kind)
        if number is None and which == "sum":
            which = "count"
        where = self._inner(kind, member, depth) if rng.random() < 0.6 else None
        counts = which in ("count", "sum")
        compare = None
        if counts:
            possible = not self.monotone and rng.random() < 0.2
            op: Any = rng.choice(["ge", "eq", "lt", "ne"])
            compare = ast.Compare(
                op, (rng.choice([ast.Const(rng.randrange(4)), ast.ParamRef("two")]),), possible=possible
            )
        holds = None if counts else self._inner(kind, member, depth)
        empty = rng.choice(list(Truth))
        summed = number if which == "sum" else None
        return ast.Quantified(which, of, member, where, holds, compare, summed, empty, MARK, f"{which} of {of.text}")

    def _members(self, kind: str) -> tuple[ast.Path, str, ast.Path | None]:
        nodes = ast.Path((), "nodes", "job", "integer")
        options: dict[str, list[tuple[ast.Path, str, ast.Path | None]]] = {
            "job": [
                (ast.Path((), "siblings", "job", "relation"), "job", nodes),
                (ast.Path(("cluster",), "jobs", "cluster", "relation"), "job", nodes),
                (ast.Path((), "steps", "job", "relation"), "step", ast.Path((), "step", "step", "integer")),
                (ast.Path((), "metric_families", "job", "list"), "value", None),
                (ast.Path((), "fault_lines", "job", "map"), "key", ast.Path((), "value", "member", "integer")),
            ],
            "cluster": [(ast.Path((), "jobs", "cluster", "relation"), "job", nodes)],
            "run": [(ast.Path((), "links", "run", "relation"), "job", nodes)],
            "step": [(ast.Path(("job",), "siblings", "job", "relation"), "job", nodes)],
        }
        return self.rng.choice(options[kind])

    def _inner(self, kind: str, member: str, depth: int) -> ast.Condition:
        rng = self.rng
        if member in ("value", "key"):
            path = ast.Path((), member, "member", "text")
            text = rng.choice(["a", "RL", "loss", "nccl"])
            return ast.Test(path, ast.Compare("eq", (ast.Const(text),), rng.random() < 0.3), MARK, f"{member}: {text}")
        if member == kind == "job" and rng.random() < 0.25:
            outer = ast.FieldRef(ast.Path((), "nodes", "job", "integer", "outer"))
            return ast.Test(
                ast.Path((), "nodes", "job", "integer"), ast.Compare("eq", (outer,)), MARK, "nodes: ..nodes"
            )
        return self.condition(member, depth + 2) if rng.random() < 0.4 else self.test(member)

    # ------------------------------------------------------------ tests

    def plain(self, kind: str) -> ast.Condition:
        """A condition of tests alone."""
        items = tuple(self.test(kind) for _ in range(self.rng.randint(1, 2)))
        return ast.Any(items, MARK)

    def test(self, kind: str) -> ast.Test:
        """`FIELD: TEST` of a field of the kind, or of what its relations reach."""
        rng = self.rng
        path, values = self._path(kind)
        if not self.monotone and rng.random() < 0.12:
            op: Any = rng.choice(["known", "unknown", "absent"])
            return ast.Test(path, ast.Compare(op, wanted=rng.random() < 0.5), MARK, f"{path.text}: {op}")
        compare = self._compare(kind, path, values)
        return ast.Test(path, compare, MARK, f"{path.text}: {compare.op}")

    def _path(self, kind: str) -> tuple[ast.Path, list[Any]]:
        rng = self.rng
        relations: tuple[str, ...] = ()
        if HOPS[kind] and rng.random() < 0.3:
            relations, kind = rng.choice(HOPS[kind])
        if kind == "step" and self.features and rng.random() < 0.5:
            return ast.Path(relations, rng.choice(self.features), "step", "number"), [0, 0.5, 1, 2, 60]
        fields = {name: entry for name, entry in FIELDS[kind].items() if name not in SET or not self.early}
        if kind == "job" and not self.early:
            fields.update({name: ("enum", values) for name, values in DECIDED.items()})
        # What is compared in most ways is asked about most.
        name = rng.choice([*fields, *(n for n, (form, _) in fields.items() if form in COMPARED)])
        return ast.Path(relations, name, kind, fields[name][0]), fields[name][1]

    def _compare(self, kind: str, path: ast.Path, values: list[Any]) -> ast.Compare:
        rng = self.rng
        default = None
        if path.type in ("list", "map"):
            return self._of_list(path)
        plain = [v for v in values if isinstance(v, bool | int | float | str) and v == v and abs(_size(v)) < 1e300]
        if path.type in ("integer", "enum") and not self.monotone and rng.random() < 0.15:
            default = ast.Const(rng.choice(plain))
        possible = path.type == "interval" and not self.monotone and rng.random() < 0.4
        op = self._operator(path)
        fold = path.type == "text" and op != "matches" and rng.random() < 0.3
        because = "generated" if default else ""
        return ast.Compare(op, self._rights(kind, path, op, plain), fold, True, possible, default, because)

    def _of_list(self, path: ast.Path) -> ast.Compare:
        word = self.rng.choice(["a", "loss", "rl", "nccl", *SET["tags"]])
        if self.rng.random() < 0.4:
            return ast.Compare("contains_any", (ast.Const((word, "policy/z_clip")),), self.rng.random() < 0.3)
        return ast.Compare("contains", (ast.Const(word),), self.rng.random() < 0.3)

    def _operator(self, path: ast.Path) -> Any:
        ops = ["eq", "ne", "in", "not_in"]
        if path.type in ("integer", "number", "duration", "time", "interval"):
            ops = [*ops, *ORDERED, *ORDERED]
        elif path.type == "text":
            ops += [*TEXTS, "contains_any"]
        return self.rng.choice(ops)

    def _rights(self, kind: str, path: ast.Path, op: str, plain: list[Any]) -> tuple[ast.Right, ...]:
        rng = self.rng
        values = plain or [1, 2]
        if op == "between":
            return tuple(map(ast.Const, sorted(rng.choices(values, k=2))))
        if op in ("in", "not_in"):
            return (ast.Const(tuple(rng.sample(values, min(len(values), rng.randint(1, 3))))),)
        if op == "contains_any":
            return (ast.Const(("a2", "hf")),)
        if op in TEXTS:
            return (ast.Const(rng.choice(TEXTS[op])),)
        more = self._computed(kind, path)
        return (rng.choice(more) if more and rng.random() < 0.75 else ast.Const(rng.choice(values)),)

    def _computed(self, kind: str, path: ast.Path) -> list[ast.Right]:
        """Right sides that are no literal, of the type of a path."""
        limits: list[ast.Right] = []
        if path.type == "duration":
            limits = [ast.ParamRef("grace"), *([] if self.early else [FLOOR])]
        elif path.type in ("integer", "number", "interval"):
            limits = [ast.ParamRef("two"), *([] if self.early else [ast.ParamRef("n"), ast.ParamRef("level")])]
        if kind != "job" or self.early:
            return limits
        if path.type == "duration":
            return [*limits, CADENCE, *DURATIONS, *DURATIONS]
        if path.type == "time":
            return [*limits, *TIMES]
        if path.type in ("integer", "number"):
            pick = ast.Pick(
                self.rng.choice(["least", "most"]),
                ast.Path((), "siblings", "job", "relation"),
                ast.Path((), "nodes", "job", "integer"),
            )
            other = ast.FieldRef(ast.Path((), self.rng.choice(["nodes", "grad_norm"]), "job", "number"))
            return [*limits, *NUMBERS, pick, other]
        return [ast.FieldRef(ast.Path((), "name", "job", "text"))] if path.type in ("text", "enum") else limits


def _size(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0
