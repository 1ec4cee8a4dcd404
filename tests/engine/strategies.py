"""Hypothesis strategies for policies and worlds over a small vocabulary of real fields.

`policies()` gives policies that keep every promise of the loader: names resolve, literals have the type of their field,
rule i builds only on what is complete before it, so that `order` (one stratum an item) is a valid stratification.
`worlds()` gives jobs with a cluster, links and siblings, with unknown and absent facts and partial relations.
"""

from __future__ import annotations

from functools import cache
from typing import Any as Anything

from hypothesis import strategies as st

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
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

MARK = Mark("rules/generated.yaml", 1, 1)
NOW = 1_782_000_000

# kind -> field -> (catalogue type, some values)
TEXTS = ["rl__a2-8B", "consolidate_x", "hf_upload", "RL__A2-8b", "", "a|b\nc", "é"]
STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED", "TIMEOUT"]
INTEGERS = [0, 1, 2, 3, 8, 2**53, 2**53 + 1, -1]
NUMBERS = [0.0, 0.5, 1.0, 1, 2.5, 1e-05, float(2**53), -1.0]
SECONDS = [0, 30, 90.5, 1800, 5400, 5401, 86400]
BUCKETS = ["rl", "sft", "eval", "catch-all"]
TAGS = ["a3", "debug", "131k"]
FIELDS: dict[str, dict[str, tuple[str, list[Anything]]]] = {
    "job": {
        "name": ("text", TEXTS),
        "state": ("enum", STATES),
        "suspended": ("boolean", [True, False]),
        "nodes": ("integer", INTEGERS),
        "grad_norm": ("number", NUMBERS),
        "log_age": ("duration", SECONDS),
        "cadence": ("duration", SECONDS),
        "metric_families": ("list", [(), ("policy/z_clip",), ("loss", "RL"), ("a", "b", "a")]),
    },
    "cluster": {
        "queue": ("enum", ["ok", "empty"]),
        "reachable": ("boolean", [True, False]),
        "empty_answers": ("integer", INTEGERS),
        "rl_running": ("interval", [Interval(0, 2), Interval(2, None), Interval(3, 3), 2, 5]),
    },
}
DECIDED = ("bucket", "enum", BUCKETS)
REASONS = [Reason.NOT_READ, Reason.CUT, Reason.WARMING_UP, Reason.NAN]
unknowns = st.sampled_from([Unknown(r) for r in REASONS])
absents = st.sampled_from([ABSENT, NOT_APPLICABLE])


def fact_values(values: list[Anything]) -> st.SearchStrategy[Anything]:
    """A known value of the field mostly, at times unknown or absent."""
    known = st.sampled_from(values)
    return st.one_of(known, known, known, unknowns, absents)


@cache
def subject_facts(kind: str) -> st.SearchStrategy[dict[str, Anything]]:
    """Facts of one subject; a field may be missing, which reads as not-read."""
    return st.fixed_dictionaries({}, optional={n: fact_values(vs) for n, (_, vs) in FIELDS[kind].items()})


def _relation(refs: list[Ref], many: bool) -> st.SearchStrategy[Relation]:
    whole = st.lists(st.sampled_from(refs), unique=True, max_size=len(refs) if many else 1)
    return st.one_of(
        whole.map(lambda m: Relation(tuple(m))),
        whole.map(lambda m: Relation(tuple(m), Completeness.PARTIAL, Reason.CUT)),
        st.just(Relation((), Completeness.UNKNOWN, Reason.READ_FAILED)),
    )


@st.composite
def worlds(draw: st.DrawFn, max_jobs: int = 5) -> World:
    """One or two clusters, a few jobs, and the sweep."""
    clusters = [Ref("cluster", n) for n in ("leo", "tacc")[: draw(st.integers(1, 2))]]
    jobs = [Ref("job", f"leo:{i}") for i in range(draw(st.integers(1, max_jobs)))]
    sweep = Ref("sweep", "s1")
    subjects = {sweep: Subject(sweep, {"now": NOW})}
    for ref in clusters:
        subjects[ref] = Subject(ref, {"name": ref.key, **draw(subject_facts("cluster"))})
    for ref in jobs:
        others = [j for j in jobs if j != ref] or jobs
        optional = {
            "next_link": _relation(others, many=False),
            "siblings": _relation(others, many=True),
            "cluster": _relation(clusters, many=False),
        }
        relations = draw(st.fixed_dictionaries({}, optional=optional))
        judged = draw(st.sampled_from([True, True, True, False]))
        facts = {"cluster": "leo", **draw(subject_facts("job"))}
        subjects[ref] = Subject(ref, facts, {}, relations, judged)
    return World(subjects)


# ---------------------------------------------------------------- conditions

ORDERED = ("lt", "le", "gt", "ge")
TEXT_OPS = ("prefix", "glob", "regex", "contains")
PATTERN_TEXTS = {"prefix": ["rl__", "RL", ""], "glob": ["*a2*", "rl__*", "?"], "regex": ["a[0-9]", "^rl"]}


@cache
def _path(kind: str) -> st.SearchStrategy[tuple[ast.Path, list[Anything]]]:
    own = [(ast.Path((), n, kind, t), vs) for n, (t, vs) in FIELDS[kind].items()]
    if kind == "job":
        own.append((ast.Path((), DECIDED[0], "job", DECIDED[1]), DECIDED[2]))
        hops = {"cluster": "cluster", "next_link": "job"}
        for relation, target in hops.items():
            own += [(ast.Path((relation,), n, target, t), vs) for n, (t, vs) in FIELDS[target].items()]
    return st.sampled_from(own)


def _rights(kind: str, path: ast.Path, values: list[Anything]) -> st.SearchStrategy[ast.Right]:
    literal = st.sampled_from([v for v in values if not isinstance(v, Interval)]).map(ast.Const)
    if path.type not in ("duration", "number", "integer"):
        return literal
    options: list[st.SearchStrategy[ast.Right]] = [literal]
    if path.type == "duration":
        options.append(st.sampled_from([ast.ParamRef("stale_floor"), ast.ParamRef("grace")]))
    if path.type == "duration" and kind == "job":
        options.append(st.sampled_from(_CALCS))
    return st.one_of(*options)


_CADENCE = ast.FieldRef(ast.Path((), "cadence", "job", "duration"))
_CALCS = [
    ast.Calc(ast.Arith("*", (ast.Const(3), _CADENCE)), "3 * .cadence"),
    ast.Calc(ast.Arith("max", (ast.ParamRef("stale_floor"), _CADENCE)), "max($stale_floor, .cadence)"),
    ast.Calc(ast.Arith("/", (ast.Const(90), _CADENCE)), "90 / .cadence"),
]


@cache
@st.composite
def tests(draw: st.DrawFn, kind: str, monotone: bool = False) -> ast.Test:
    """`FIELD: TEST` on a subject of a kind; `monotone` leaves out known, unknown, absent and default."""
    path, values = draw(_path(kind))
    compare = draw(compares(kind, path, values, monotone))
    return ast.Test(path, compare, MARK, f"{path.text}: {compare.op}")


@st.composite
def compares(draw: st.DrawFn, kind: str, path: ast.Path, values: list[Anything], monotone: bool) -> ast.Compare:
    """A test that fits the type of a path."""
    ops = ["eq", "ne", "in", "not_in"]
    if path.type in ("integer", "number", "duration", "interval"):
        ops += [*ORDERED, "between"]
    elif path.type == "text":
        ops += [*TEXT_OPS, "contains_any"]
    elif path.type == "list":
        ops = ["contains", "contains_any"]
    op: Anything = draw(st.sampled_from(ops + ([] if monotone else ["known", "unknown", "absent"])))
    fold = op not in ("known", "unknown", "absent") and path.type in ("text", "list") and draw(st.booleans())
    default = None
    if not monotone and path.type in ("integer", "enum") and draw(st.integers(0, 5)) == 0:
        default = ast.Const(draw(st.sampled_from(values)))
    possible = path.type == "interval" and not monotone and draw(st.booleans())
    rights = draw(_operands(kind, path, values, op))
    return ast.Compare(op, rights, fold, draw(st.booleans()), possible, default, "generated" if default else "")


@st.composite
def _operands(draw: st.DrawFn, kind: str, path: ast.Path, values: list[Anything], op: str) -> tuple[ast.Right, ...]:
    plain = [v for v in values if not isinstance(v, Interval)]
    if op in ("known", "unknown", "absent"):
        return ()
    if op == "between":
        low, high = sorted((draw(st.sampled_from(plain)), draw(st.sampled_from(plain))))
        return (ast.Const(low), ast.Const(high))
    if op in ("in", "not_in"):
        return (ast.Const(tuple(draw(st.lists(st.sampled_from(plain), min_size=1, max_size=3)))),)
    if path.type == "list" and op == "contains":
        return (ast.Const(draw(st.sampled_from(["a", "loss", "rl", "policy/z_clip"]))),)
    if op == "contains_any":
        return (ast.Const(draw(st.sampled_from([("a2", "hf"), ("b", "RL"), ("policy/z_clip",)]))),)
    if op in TEXT_OPS:
        return (ast.Const(draw(st.sampled_from(PATTERN_TEXTS.get(op, ["a2", "hf", "RL"])))),)
    return (draw(_rights(kind, path, values)),)


@cache
def conditions(
    kind: str, bases: st.SearchStrategy[ast.Condition] | None = None, monotone: bool = False, quantifiers: bool = True
) -> st.SearchStrategy[ast.Condition]:
    """Trees of all, any, not over tests, what `bases` gives (flagged, rule is, at_least), and quantifiers."""
    leaves: st.SearchStrategy[ast.Condition] = tests(kind, monotone)
    if bases is not None:
        leaves = st.one_of(leaves, leaves, bases)
    if quantifiers and kind == "job":
        leaves = st.one_of(leaves, leaves, leaves, quantified(monotone))

    def grow(inner: st.SearchStrategy[ast.Condition]) -> st.SearchStrategy[ast.Condition]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            several.map(lambda i: ast.All(i, MARK)),
            several.map(lambda i: ast.Any(i, MARK)),
            inner.map(lambda i: ast.Not(i, MARK)),
        )

    return st.recursive(leaves, grow, max_leaves=5)


@cache
@st.composite
def quantified(draw: st.DrawFn, monotone: bool = False) -> ast.Quantified:
    """`every some count sum` over a job's siblings, or over its list of metric families."""
    which: Anything = draw(st.sampled_from(["every", "some", "count"]))
    if draw(st.booleans()):
        of, member = ast.Path((), "siblings", "job", "relation"), "job"
        inner: st.SearchStrategy[ast.Condition] = tests("job", monotone)
        outer = ast.FieldRef(ast.Path((), "nodes", "job", "integer", "outer"))
        same = ast.Test(ast.Path((), "nodes", "job", "integer"), ast.Compare("eq", (outer,)), MARK, "nodes: ..nodes")
        inner = st.one_of(inner, inner, st.just(same))
    else:
        of, member = ast.Path((), "metric_families", "job", "list"), "member"
        value = ast.Path((), "value", "member", "text")
        inner = st.sampled_from(["a", "RL", "loss"]).map(
            lambda t: ast.Test(value, ast.Compare("eq", (ast.Const(t),)), MARK, f"value: {t}")
        )
    compare = ast.Compare(draw(st.sampled_from(["ge", "eq", "lt"])), (ast.Const(draw(st.integers(0, 3))),))
    return ast.Quantified(
        which,
        of,
        member,
        draw(st.none() | inner),
        None if which == "count" else draw(inner),
        compare if which == "count" else None,
        None,
        draw(st.sampled_from([Truth.UNKNOWN] if monotone else list(Truth))),
        MARK,
        f"{which} of {of.text}",
    )


# ---------------------------------------------------------------- policies


def _bases(done: list[ast.Rule], monotone: bool) -> st.SearchStrategy[ast.Condition]:
    flags = sorted({t.flag for r in done for t in r.then if isinstance(t, ast.Raise)})
    signals = sorted({t.name for r in done for t in r.then if isinstance(t, ast.Signal)})
    ids = () if monotone else tuple(rule.id for rule in done)
    return _on(tuple(flags), tuple(signals), ids, monotone)


# Strategies are costly to build and equal ones are many: each is built once.
@cache
def _on(
    flags: tuple[str, ...], signals: tuple[str, ...], ids: tuple[str, ...], monotone: bool
) -> st.SearchStrategy[ast.Condition]:
    options: list[st.SearchStrategy[ast.Condition]] = [st.sampled_from(flags).map(lambda f: ast.Flagged(f, MARK))]
    if ids:
        options.append(st.builds(ast.RuleIs, st.sampled_from(ids), st.sampled_from(list(Truth)), st.just(MARK)))
    if signals:
        options.append(_at_least(signals, monotone))
    return st.one_of(*options)


@st.composite
def _at_least(draw: st.DrawFn, signals: tuple[str, ...], monotone: bool) -> ast.Condition:
    of: list[ast.Condition | ast.Signalled] = [ast.Signalled(s, MARK) for s in signals]
    of += draw(st.lists(tests("job", monotone), max_size=2))
    if monotone or draw(st.booleans()):
        return ast.AtLeast(tuple(of), ast.Const(draw(st.integers(1, 3))), None, (), MARK)
    few = ast.Compare("lt", (ast.Const(draw(st.integers(1, 3))),))
    return ast.AtLeast(tuple(of), None, few, draw(st.sampled_from([(), (Reason.WARMING_UP,)])), MARK)


@st.composite
def _rule(draw: st.DrawFn, index: int, done: list[ast.Rule], monotone: bool) -> ast.Rule:
    # Flags and signals belong to a pair of rules; a rule reads only those of complete pairs.
    complete = [r for r in done if int(r.id[1:]) // 2 < index // 2]
    bases = _bases(complete, monotone) if complete else None
    when = draw(conditions("job", bases, monotone))
    pair = index // 2
    then: list[ast.Consequence] = [ast.Raise(f"flag-{pair}", draw(st.sampled_from(SEVERITIES)), False, "", MARK)]
    needs: tuple[str, ...] = ()
    if draw(st.booleans()):
        then.append(ast.Signal(f"signal-{pair}", MARK))
        needs = draw(st.sampled_from([(), ("grad_norm",), ("nodes", "grad_norm")]))
    unless = draw(st.none() | conditions("job", None, monotone, quantifiers=False))
    hold: Anything = "hold" if monotone else draw(st.sampled_from(["hold", "fire"]))
    return ast.Rule(f"r{index}", "job", when, tuple(then), MARK, needs, unless, hold)


SEVERITIES = ["info", "warning", "critical"]


@st.composite
def policies(draw: st.DrawFn, max_rules: int = 6, monotone: bool = False, decide: bool = True) -> ast.Policy:
    """A policy of a few job rules; `monotone` leaves out every way out of unknown (and `decide`)."""
    rules: list[ast.Rule] = []
    for index in range(draw(st.integers(1, max_rules))):
        rules.append(draw(_rule(index, rules, monotone)))
    decided: dict[str, tuple[ast.Choice, ...]] = {}
    if decide and not monotone:
        name = ast.Path((), "name", "job", "text")
        rl = ast.Test(name, ast.Compare("prefix", (ast.Const("rl__"),)), MARK, "name: {prefix: rl__}")
        running = ast.Test(
            ast.Path((), "state", "job", "enum"), ast.Compare("eq", (ast.Const("FAILED"),)), MARK, "state: FAILED"
        )
        choices = [ast.Choice(rl, "rl", MARK), ast.Choice(running, "sft", MARK)]
        if draw(st.booleans()):
            choices.append(ast.Choice(None, "catch-all", MARK))
        decided["bucket"] = tuple(choices)
    return make_policy(rules, decided)


def make_policy(
    rules: list[ast.Rule],
    decide: dict[str, tuple[ast.Choice, ...]] | None = None,
    order: tuple[tuple[str, ...], ...] | None = None,
    **more: Anything,
) -> ast.Policy:
    """A policy from rules in an order in which each stands after what it builds on; flags and params are filled in."""
    decide = decide or {}
    flags = {t.flag: t for r in rules for t in r.then if isinstance(t, ast.Raise)}
    values: dict[str, Anything] = {
        "params": PARAMS,
        "lists": {},
        "patterns": {},
        "exemptions": (),
        "routes": {},
        "actions": {},
        "flags": {n: flag_def(n, t.severity) for n, t in flags.items()},
        **more,
    }
    strata = order or (*((f"decide:{d}",) for d in decide), *((r.id,) for r in rules))
    return ast.Policy(decide=decide, rules={r.id: r for r in rules}, order=strata, sha256="0" * 64, **values)


def flag_def(
    name: str, severity: str = "warning", explains: tuple[str, ...] = (), exemptible: bool = True
) -> ast.FlagDef:
    """A flag on a job."""
    return ast.FlagDef(name, ("job",), severity, (severity,), exemptible, explains, "")


PARAMS = {
    "grace": ast.Param("grace", 900, "s", "time to come up", (), MARK, "15m"),
    "stale_floor": ast.Param(
        "stale_floor",
        1800,
        "s",
        "shortest silence",
        (
            ast.Override({"cluster": "leo", "bucket": "rl"}, 5400, MARK),
            ast.Override({"bucket": "sft"}, 30, MARK),
        ),
        MARK,
        "30m",
    ),
}
