"""Small policies and worlds for these tests, shorter to write than the values of the loader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sweeprules.engine.facts import FactValue, Ref, Relation, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import Truth
from tests.engine import strategies as gen

MARK = gen.MARK
TYPES = {
    "name": "text",
    "state": "enum",
    "bucket": "enum",
    "suspended": "boolean",
    "nodes": "integer",
    "grad_norm": "number",
    "entropy": "number",
    "log_age": "duration",
    "cadence": "duration",
    "elapsed": "duration",
    "queue": "enum",
    "rl_running": "interval",
    "tags": "list",
    "metric_families": "list",
}


def path(text: str, kind: str = "job") -> ast.Path:
    """`cluster.queue` or `state`, as the loader would resolve it."""
    *relations, field = text.split(".")
    holder = {"cluster": "cluster", "sweep": "sweep", "step": "step"}.get(relations[-1], "job") if relations else kind
    return ast.Path(tuple(relations), field, holder, TYPES.get(field, "text"))


def right(value: Any) -> ast.Right:
    """A right side from a literal, or itself."""
    return value if isinstance(value, ast.ParamRef | ast.FieldRef | ast.Calc | ast.Pick) else ast.Const(value)


def test(field: str, op: Any, *rights: Any, kind: str = "job", **more: Any) -> ast.Test:
    """`FIELD: {OP: RIGHT}`."""
    return ast.Test(path(field, kind), ast.Compare(op, tuple(map(right, rights)), **more), MARK, f"{field}: {op}")


test.__test__ = False  # type: ignore[attr-defined]


def every(*items: ast.Condition) -> ast.All:
    """`all`."""
    return ast.All(items, MARK)


def either(*items: ast.Condition) -> ast.Any:
    """`any`."""
    return ast.Any(items, MARK)


def no(item: ast.Condition) -> ast.Not:
    """`not`."""
    return ast.Not(item, MARK)


def flagged(name: str) -> ast.Flagged:
    """`flagged`."""
    return ast.Flagged(name, MARK)


def rule_is(name: str, truth: Truth) -> ast.RuleIs:
    """`rule: {id, is}`."""
    return ast.RuleIs(name, truth, MARK)


def at_least(n: Any, *signals: str) -> ast.AtLeast:
    """`at_least: {n, of: [signals]}`."""
    return ast.AtLeast(tuple(ast.Signalled(name, MARK) for name in signals), right(n), None, (), MARK)


def rule(name: str, when: ast.Condition, *then: ast.Consequence, **more: Any) -> ast.Rule:
    """A rule about jobs unless `on` says otherwise."""
    return ast.Rule(name, more.pop("on", "job"), when, then, MARK, **more)


def flag(name: str) -> ast.Raise:
    """`flag: NAME`."""
    return ast.Raise(name, "warning", False, "", MARK)


def signal(name: str) -> ast.Signal:
    """`signal: NAME`."""
    return ast.Signal(name, MARK)


def policy(*rules: ast.Rule, **more: Any) -> ast.Policy:
    """A policy of these rules, with the params of the generated ones."""
    return gen.make_policy(list(rules), **more)


def job(key: str, relations: dict[str, Relation] | None = None, judged: bool = True, **facts: FactValue) -> Subject:
    """A job `leo:KEY`."""
    ref = Ref("job", f"leo:{key}")
    return Subject(ref, {"cluster": "leo", "name": key, **facts}, {}, relations or {}, judged)


def world(*subjects: Subject) -> World:
    """These subjects, and the sweep."""
    sweep = Subject(Ref("sweep", "s1"), {"now": gen.NOW})
    return World({s.ref: s for s in (sweep, *subjects)})


def refs(*keys: str) -> frozenset[Ref]:
    """The jobs of these keys."""
    return frozenset(Ref("job", f"leo:{key}") for key in keys)


def jobs_of(values: Iterable[FactValue], field: str = "nodes") -> list[Subject]:
    """One job a value of one field."""
    return [job(str(i), **{field: value}) for i, value in enumerate(values)]
