"""Policies by a seed in which every construct of the language stands; rules build on what stands before them.

The first rules set and add to fields and read none that is set. Flags and signals belong to pairs of rules, so that one
may come from two; a rule reads those of earlier pairs. The last two rules build on each other.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from sweeprules.engine.language import ast
from tests.engine import strategies as gen
from tests.engine.evaluate import stepped
from tests.engine.strategies import MARK, NOW
from tests.engine.whole.conditions import ConditionMaker

SETTERS = 3
ROWS = (
    ast.Override({"bucket": "rl"}, 2, MARK),
    ast.Override({"cluster": "leo"}, 3, MARK),
    ast.Override({"tag": "a3"}, 1, MARK),
    ast.Override({"job": "0"}, 0, MARK),
)
PARAMS = {
    **gen.PARAMS,
    **stepped.PARAMS,
    "n": ast.Param("n", 1, "", "", ROWS, MARK),
    "level": stepped.param("level", 0.5, rl=1.0),
}
PATTERNS = {"eight": ast.Pattern("eight", "benign", "8", "8[Bb]", {}, None, "", MARK)}
ACTIONS = {
    "note": ast.ActionDef("note", "free", False, (), ("note",), ("ids",)),
    "wipe": ast.ActionDef("wipe", "destructive", True, (), ("one", "two"), ("ids",)),
}


class PolicyMaker(ConditionMaker):
    """Makes one policy. `monotone` leaves out every way out of unknown."""

    def __init__(self, rng: random.Random, rules: int, monotone: bool = False) -> None:
        super().__init__(rng, monotone)
        self._count = rules
        self._rules: list[ast.Rule] = []

    def policy(self) -> ast.Policy:
        """The policy."""
        rng = self.rng
        self.features = [f"feature-{i}" for i in range(2)]
        features = {name: self._feature(name) for name in self.features}
        for i in range(rng.randint(4, max(4, self._count))):
            kind = "job" if i < SETTERS else rng.choice(["job"] * 4 + ["step"] * 3 + ["run", "cluster"])
            self._rules.append(self._rule(i, kind))
        self._rules += self._ring()
        decide = {} if self.monotone or rng.random() < 0.3 else self._decide()
        flags = sorted({e.flag for r in self._rules for e in r.then if isinstance(e, ast.Raise)})
        made = gen.make_policy(
            self._rules,
            decide,
            params=PARAMS,
            patterns=PATTERNS,
            exemptions=tuple(self._exemption(k, flags) for k in range(2)),
            routes=self._routes(),
            actions=ACTIONS,
        )
        known = {name: replace(d, subjects=rng.choice([("job",), ("job", "step")])) for name, d in made.flags.items()}
        known["excused"] = gen.flag_def("excused", "info")
        return replace(made, features=features, flags=known)

    # ------------------------------------------------------------ rules

    def _rule(self, i: int, kind: str) -> ast.Rule:
        rng, pair = self.rng, i // 2
        self.early = i < SETTERS
        self.complete([rule for rule in self._rules if int(rule.id[1:]) // 2 < pair], self._rules)
        when = self.condition(kind)
        unless = self.condition(kind, 2) if rng.random() < 0.25 else None
        if_unknown: Any = "hold" if self.monotone else rng.choice(["hold", "fire"])
        judge: Any = rng.choice(["new", "latest", "any"])
        hold = self._hold() if kind not in ("step", "sweep") and rng.random() < 0.2 else None
        needs = self._needs(kind) if rng.random() < 0.35 else ()
        then = tuple(self._consequences(i, pair))
        flags = sorted(self.flags)
        raises = any(isinstance(effect, ast.Raise) for effect in then)
        other = (rng.choice(flags),) if flags and rng.random() < 0.2 else ()
        replaces = (rng.choice(flags),) if flags and raises and rng.random() < 0.1 else ()
        return ast.Rule(
            f"r{i}", kind, when, then, MARK, needs, unless, if_unknown, other, replaces, judge=judge, hold=hold, why="w"
        )

    def _needs(self, kind: str) -> tuple[str, ...]:
        one = {"job": "grad_norm", "step": "entropy", "run": "same_signature", "cluster": "queue"}[kind]
        return self.rng.choice([(one,), ("job.nodes", one)]) if kind == "step" else (one,)

    def _consequences(self, i: int, pair: int) -> list[ast.Consequence]:
        rng = self.rng
        then: list[ast.Consequence] = []
        if rng.random() < 0.65:
            say = rng.choice(["", "at {nodes}"])
            severity = rng.choice(gen.SEVERITIES)
            then.append(ast.Raise(f"f{pair}", severity, rng.random() < 0.1, say, MARK))
        if rng.random() < 0.55:
            then.append(ast.Signal(f"s{pair}", MARK))
        if self.early:
            right: ast.Right = ast.Const(rng.choice(["bringup", "steady"]))
            if rng.random() < 0.2:
                right = ast.FieldRef(ast.Path((), "state", "job", "enum"))
            add = ast.Add("tags", ast.Const(rng.choice(["a3", "b"])), MARK)
            then += rng.choice([[], [ast.Set("phase", right, MARK)], [add]])
        if rng.random() < 0.2:
            then.append(ast.Act(rng.choice(["note", "wipe"]), {"ids": self._arg()}, MARK))
        return then

    def _arg(self) -> Any:
        job_id = ast.Path((), "job_id", "job", "text")
        siblings = ast.Path((), "siblings", "job", "relation")
        where = self.test("job") if self.rng.random() < 0.5 else None
        own = ast.FieldRef(job_id)
        return self.rng.choice([own, (own,), ast.Collect(job_id, siblings, "job", where)])

    def _hold(self) -> ast.Hold:
        return self.rng.choice(stepped.HOLDS)

    def _ring(self) -> list[ast.Rule]:
        """Two rules that build on each other's flags."""
        one, other = self.test("job"), self.test("job")
        way_in = ast.Any((one, ast.Flagged("ring-b", MARK)), MARK)
        way_on = ast.All((other, ast.Flagged("ring-a", MARK)), MARK)
        return [
            ast.Rule("x0", "job", way_in, (ast.Raise("ring-a", "info", False, "", MARK),), MARK),
            ast.Rule("x1", "job", way_on, (ast.Raise("ring-b", "info", False, "", MARK),), MARK),
        ]

    # ------------------------------------------------------------ the rest of a policy

    def _feature(self, name: str) -> ast.Feature:
        rng = self.rng
        kind = rng.choice(stepped.KINDS)
        windowed = kind not in ("consecutive", "since_change")
        where = None
        if kind in ("consecutive", "share"):
            where = ast.Compare(rng.choice(["gt", "le"]), (rng.choice([ast.ParamRef("limit"), ast.Const(0.2)]),))
        floors = [None, ast.Const(0.001), ast.ParamRef("limit")]
        return ast.Feature(
            name,
            rng.choice(["grad_norm", "link"]) if kind == "since_change" else rng.choice(["grad_norm", "entropy"]),
            kind,
            ast.ParamRef(rng.choice(["two", "window"])) if windowed else None,
            rng.choice([None, ast.ParamRef("few")]) if windowed else None,
            rng.choice(floors) if kind.endswith(("mean", "trend")) else None,
            where,
            MARK,
        )

    def _decide(self) -> dict[str, tuple[ast.Choice, ...]]:
        self.early = True
        self.complete([], [])
        decided = {}
        for name, values in (("bucket", gen.BUCKETS), ("flavour", ["agentic", "standard"])):
            choices = [ast.Choice(self.plain("job"), self.rng.choice(values), MARK) for _ in range(2)]
            if self.rng.random() < 0.5:
                choices.append(ast.Choice(None, values[-1], MARK))
            decided[name] = tuple(choices)
        return decided

    def _exemption(self, k: int, flags: list[str]) -> ast.Exemption:
        rng = self.rng
        expires = rng.choice([None, NOW + 1.0, NOW - 1.0])
        chosen = tuple(rng.sample(flags, min(2, len(flags))))
        as_flag = rng.choice([None, "excused"])
        return ast.Exemption(f"e{k}", "job", self.condition("job", 1), chosen, as_flag, "", "", expires, "", MARK)

    def _routes(self) -> dict[str, tuple[ast.Route, ...]]:
        first, second = self.test("job"), self.test("job")
        return {"wipe": (ast.Route(first, "one", "", MARK), ast.Route(second, "two", "", MARK))}
