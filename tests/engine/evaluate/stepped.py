"""Runs of steps: worlds with links, attempts, gaps and holes, and policies with features, judge and holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any as Anything

from hypothesis import strategies as st

from sweeprules.engine.facts import ABSENT, Completeness, Reason, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.holds import HoldState
from sweeprules.engine.language import ast
from tests.engine import strategies as gen
from tests.engine.strategies import MARK, NOW

VALUES: list[Anything] = [0.3, 0.3, 0.3, 1.4, 1, 0, -0.5, 1e-05, 0.1, 2.5, 1e300]
NUMBER, LABEL = "grad_norm", "link"
_values = st.one_of(
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
    st.sampled_from([float("nan"), float("inf"), Unknown(Reason.NAN), Unknown(Reason.NOT_READ), ABSENT, True, "x"]),
)


@st.composite
def steps(draw: st.DrawFn, job: Ref, numbers: list[int]) -> dict[Ref, Subject]:
    """Steps of a job; a number twice is a step that was made again."""
    found: dict[Ref, Subject] = {}
    for i, number in enumerate(numbers):
        facts: dict[str, Anything] = {"step": number, NUMBER: draw(_values), LABEL: draw(st.sampled_from("aab"))}
        facts["time"] = draw(st.sampled_from([NOW + 60 * number, NOW + 60 * number, Unknown(Reason.NOT_READ), NOW]))
        if draw(st.booleans()):
            facts["attempt"] = draw(st.integers(1, 2))
        ref = Ref("step", f"{job.key}/{number}#{i}")
        judged = draw(st.sampled_from([True, True, True, False]))
        found[ref] = Subject(ref, facts, {}, {"job": Relation((job,))}, judged)
    return found


def _numbers() -> st.SearchStrategy[list[int]]:
    whole = st.integers(0, 9).map(lambda n: list(range(3, 3 + n)))
    holes = st.lists(st.integers(0, 12), max_size=8)
    return st.one_of(whole, whole, holes)


def _joined(refs: tuple[Ref, ...]) -> st.SearchStrategy[Relation]:
    whole = st.just(Relation(refs))
    return st.one_of(
        whole,
        whole,
        st.just(Relation(refs, Completeness.PARTIAL, Reason.CUT)),
        st.just(Relation((), Completeness.UNKNOWN, Reason.READ_FAILED)),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One or two links of a run, perhaps joined, with their steps and what they were at the sweeps before."""
    sweep = Ref("sweep", "s1")
    subjects: dict[Ref, Subject] = {sweep: Subject(sweep, {"now": NOW + 7200})}
    jobs = [Ref("job", f"leo:{i}") for i in range(draw(st.integers(1, 2)))]
    run = Ref("run", "leo:0")
    has_run = draw(st.booleans())
    if has_run:
        links = {"links": draw(_joined(tuple(jobs)))} if draw(st.booleans()) else {}
        subjects[run] = Subject(run, {"key": "leo:0"}, {}, links)
    for job in jobs:
        mine = draw(steps(job, draw(_numbers())))
        subjects.update(mine)
        relations = {"steps": draw(_joined(tuple(mine)))} if draw(st.integers(0, 5)) else {}
        if has_run and draw(st.integers(0, 5)):
            relations["run"] = Relation((run,))
        facts = {**draw(gen.subject_facts("job")), "cluster": "leo", "job_id": job.key[4:]}
        relations.update(_earlier(job, draw(st.lists(st.none() | st.integers(0, 12), max_size=3)), subjects))
        subjects[job] = Subject(job, facts, {}, relations, draw(st.sampled_from([True, True, True, False])))
    return World(subjects)


def _earlier(job: Ref, seen: list[int | None], subjects: dict[Ref, Subject]) -> dict[str, Relation]:
    """What a job was at earlier sweeps, the newest first: the step that was seen, None where none could be."""
    relation: dict[str, Relation] = {}
    for i, step in reversed(list(enumerate(seen))):
        ref = Ref("job", f"{job.key}@s-{i}")
        facts: dict[str, Anything] = {"step": Unknown(Reason.CUT) if step is None else step}
        subjects[ref] = Subject(ref, facts, {}, dict(relation), judged=False)
        relation = {"previous": Relation((ref,))}
    return relation


# ---------------------------------------------------------------- policies

KINDS: list[ast.FeatureKind] = [
    "ratio_to_mean",
    "deviation_from_mean",
    "deviation_from_trend",
    "slope",
    "share",
    "consecutive",
    "since_change",
]


def param(name: str, value: Anything, **overrides: Anything) -> ast.Param:
    """A param, with overrides by bucket."""
    rows = tuple(ast.Override({"bucket": bucket}, other, MARK) for bucket, other in overrides.items())
    return ast.Param(name, value, "", "", rows, MARK)


PARAMS = {
    "two": param("two", 2),
    "window": param("window", 4, rl=2),
    "few": param("few", 2),
    "ten": param("ten", 10),
    "limit": param("limit", 1, sft=0.2),
    "looks": param("looks", 2, rl=3),
}


@st.composite
def features(draw: st.DrawFn, name: str) -> ast.Feature:
    """A feature of any kind."""
    kind = draw(st.sampled_from(KINDS))
    counted = kind in ("consecutive", "share")
    windowed = kind not in ("consecutive", "since_change")
    wide = st.sampled_from([ast.ParamRef("two"), ast.ParamRef("window")])
    where = ast.Compare("gt", (draw(st.sampled_from([ast.ParamRef("limit"), ast.Const(0.2)])),)) if counted else None
    floor = draw(st.sampled_from([None, ast.Const(0.001), ast.ParamRef("limit")]))
    return ast.Feature(
        name,
        draw(st.sampled_from([NUMBER, LABEL])) if kind == "since_change" else NUMBER,
        kind,
        draw(wide) if windowed else None,
        draw(st.sampled_from([None, ast.ParamRef("few")])) if windowed else None,
        floor if kind.endswith(("mean", "trend")) else None,
        where,
        MARK,
    )


def reads(name: str, op: Anything, *rights: Anything) -> ast.Test:
    """A test of a field of a step."""
    path = ast.Path((), name, "step", "number")
    return ast.Test(path, ast.Compare(op, tuple(map(ast.Const, rights))), MARK, f"{name}: {op}")


@st.composite
def long_worlds(draw: st.DrawFn) -> World:
    """One job with many steps in a row, few of which are missing or can not be computed with."""
    job = Ref("job", "leo:0")
    good = st.lists(st.sampled_from(VALUES) | st.floats(-1e6, 1e6), min_size=1, max_size=40)
    values = draw(good)
    holes = draw(st.dictionaries(st.integers(0, 39), _values | st.none(), max_size=draw(st.sampled_from([0, 0, 1, 3]))))
    made: dict[Ref, Subject] = {}
    for i, value in enumerate(values):
        there = holes.get(i, value)
        if there is not None:
            ref = Ref("step", f"leo:0/{i}")
            facts = {"step": 7 + 10 * i, NUMBER: there, "time": NOW + 30 * i}
            made[ref] = Subject(ref, facts, {}, {"job": Relation((job,))})
    sweep = Ref("sweep", "s1")
    subject = Subject(
        job,
        {"cluster": "leo", "name": "rl__a", "bucket": draw(st.sampled_from(["rl", "sft"]))},
        {},
        {"steps": Relation(tuple(made))},
    )
    return World({sweep: Subject(sweep, {"now": NOW}), job: subject, **made})


def every_feature() -> ast.Policy:
    """A policy with each kind of feature, with and without a floor and a least number of points."""
    made: dict[str, ast.Feature] = {}
    for kind in KINDS:
        for i, (window, few, floor) in enumerate(_SETTINGS):
            windowed = kind not in ("consecutive", "since_change")
            where = ast.Compare("gt", (ast.Const(0.5),)) if kind in ("consecutive", "share") else None
            least, level = (few if windowed else None), (floor if kind.endswith(("mean", "trend")) else None)
            name = f"{kind}-{i}"
            wide = window if windowed else None
            made[name] = ast.Feature(name, NUMBER, kind, wide, least, level, where, MARK)
    return replace(gen.make_policy([]), params=PARAMS, features=made)


_SETTINGS = [
    (ast.ParamRef("window"), None, None),
    (ast.ParamRef("window"), ast.ParamRef("two"), ast.Const(0.001)),
    (ast.ParamRef("ten"), ast.ParamRef("few"), ast.ParamRef("limit")),
]


@st.composite
def policies(draw: st.DrawFn, monotone: bool = False) -> ast.Policy:
    """Features, rules about steps that read them and judge some steps, and rules about jobs that are held."""
    made = {name: draw(features(name)) for name in ("one", "other")}
    rules: list[ast.Rule] = []
    for i, judge in enumerate(("new", "latest", "any")):
        when: ast.Condition = reads(
            draw(st.sampled_from(["one", "other", NUMBER])), draw(st.sampled_from(["gt", "lt"])), 1
        )
        if not monotone and draw(st.booleans()):
            when = ast.Any((when, reads("one", "unknown")), MARK)
        then = (ast.Raise(f"step-{i}", "warning", False, "at {step}", MARK),)
        rules.append(ast.Rule(f"s{i}", "step", when, then, MARK, judge=judge))  # type: ignore[arg-type]
    hold = draw(st.sampled_from([None, *HOLDS]))
    seen = draw(st.sampled_from([f"step-{i}" for i in range(3)]))
    body = draw(st.sampled_from([ast.Flagged(seen, MARK), ast.Not(ast.Flagged(seen, MARK), MARK)]))
    rules.append(ast.Rule("j", "job", body, (ast.Raise("job", "info", False, "", MARK),), MARK, hold=hold))
    rules.append(
        ast.Rule("k", "job", draw(gen.conditions("job", None, monotone)), (), MARK, hold=draw(st.sampled_from(HOLDS)))
    )
    rules.append(
        ast.Rule("l", "job", ast.Any((ast.Flagged("job", MARK), ast.RuleIs("k", gen.Truth.TRUE, MARK)), MARK), (), MARK)
    )
    base = gen.make_policy(rules, {"bucket": _BUCKET} if draw(st.booleans()) and not monotone else {})
    return replace(base, params={**gen.PARAMS, **PARAMS}, features=made)


HOLDS = [
    ast.Hold(ast.Const(2, "2 sweeps"), None, MARK),
    ast.Hold(ast.ParamRef("looks"), None, MARK),
    ast.Hold(None, ast.Const(3600, "1h"), MARK),
]
_NAME = ast.Path((), "name", "job", "text")
_BUCKET = (
    ast.Choice(ast.Test(_NAME, ast.Compare("prefix", (ast.Const("rl__"),)), MARK, "name: rl__"), "rl", MARK),
    ast.Choice(None, "sft", MARK),
)


@st.composite
def held(draw: st.DrawFn) -> dict[tuple[str, Ref], HoldState]:
    """What the rules about jobs had been."""
    keys = st.tuples(st.sampled_from(["j", "k"]), st.sampled_from([Ref("job", "leo:0"), Ref("job", "leo:1")]))
    state = st.builds(_state, st.integers(0, 3), st.sampled_from([NOW, NOW + 3599, NOW + 3600, NOW + 9999]))
    return draw(st.dictionaries(keys, state, max_size=4))


def _state(sweeps: int, first: float) -> HoldState:
    return HoldState(sweeps, "s0" if sweeps else "", first if sweeps else None, NOW, "1" * sweeps + "0" * (not sweeps))
