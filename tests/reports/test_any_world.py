"""Whatever the facts are, a report renders: within its width, with nothing that a terminal obeys, ids whole."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Interval,
    Ref,
    Relation,
    Subject,
    Unknown,
)
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from sweeprules.engine.verdicts import Flag, Verdict
from sweeprules.reports.boxes import cells, cut, key_lines, wrap
from sweeprules.reports.document import build
from sweeprules.reports.text import render
from tests.reports.fleet import job, on_step, verdict, world_of

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report.schema.json").read_text())
FACTS = json.loads((Path(__file__).parents[2] / "schemas" / "facts.schema.json").read_text())["$defs"]
BUCKETS = ("rl", "sft", "datagen", "eval", "catch-all", "")
STATES = ("RUNNING", "PENDING", "COMPLETED", "FAILED", "TIMEOUT", "GONE")
RELATED = frozenset({"cluster", "job_id", "name", "state", "bucket", "flavour", "tags", "links", "key", "bucket_sure"})

text = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="ab-_ [].日\u0301\u202e\x1b\n\r\t|*✓", max_size=120),
    st.sampled_from(["ok", "bad", "n/a", "mesh", "bring-up", "x" * 300]),
)
finite = st.one_of(st.integers(-10, 10**6), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
unread = st.one_of(
    st.sampled_from([ABSENT, NOT_APPLICABLE, *(Unknown(r) for r in ("nan", "cut", "not-read", "vanished", "\x1b[2J"))]),
)
maps = st.dictionaries(text, st.one_of(finite, unread), max_size=3)
values: st.SearchStrategy[FactValue] = st.one_of(
    finite, unread, text, st.booleans(), maps, st.builds(Interval, st.integers(0, 9), st.none() | st.integers(9, 99)),
    st.lists(maps | text, max_size=3).map(tuple),
)  # fmt: skip


def facts_of(kind: str) -> st.SearchStrategy[dict[str, FactValue]]:
    """Facts of a kind by their real names with any values, of the right type or not."""
    names = sorted(set(FACTS[kind]["properties"]) - RELATED - {"step", "max_step", "log_age"})
    return st.dictionaries(st.sampled_from(names), values, max_size=len(names) // 2)


def numbers_of(kind: str) -> st.SearchStrategy[dict[str, FactValue]]:
    """The numeric facts of a kind, as a reader gives them."""
    types = {name: one.get("x-type") for name, one in FACTS[kind]["properties"].items() if name not in RELATED}
    whole = {name: st.one_of(st.integers(), unread) for name, one in types.items() if one == "integer"}
    other = {n: st.one_of(finite, unread) for n, one in types.items() if one in ("number", "ratio", "duration", "time")}
    return st.fixed_dictionaries({}, optional={**whole, **other})


Made = tuple[list[Subject], list[Verdict]]


@st.composite
def a_job(draw: st.DrawFn, number: int) -> Made:
    key = f"leo:{number}{draw(st.sampled_from(['', '_3', '+1', '-' + 'k' * 90]))}"
    name = draw(st.one_of(text, st.sampled_from(["datagen__x_chunk1", "datagen__x_chunk2", "delphi-1e22-9.7B-sft"])))
    made = job(key, name, state=draw(st.sampled_from(STATES) | unread))
    made = Subject(made.ref, {**made.facts, **draw(numbers_of("job")), **draw(facts_of("job"))})
    steps = [
        Subject(Ref("step", f"{key}/{n}"), {"step": n, "attempt": draw(st.integers(1, 2)), **draw(numbers_of("step"))})
        for n in draw(st.lists(st.integers(0, 99), max_size=3, unique=True))
    ]
    run = Subject(
        Ref("run", key), draw(facts_of("run")), {}, {"links": Relation((made.ref,)), "row": Relation((made.ref,))}
    )
    before = Subject(Ref("job", f"{key}@x"), draw(numbers_of("job")), judged=False)
    row = Subject(Ref("tracker_row", key), draw(facts_of("tracker_row")), judged=False)
    relations = {"run": Relation((run.ref,)), "previous": Relation((before.ref,)), "tracker_row": Relation((row.ref,))}
    if draw(st.booleans()):
        whole = draw(st.sampled_from(list(Completeness)))
        relations["steps"] = Relation(
            tuple(step.ref for step in steps), whole, "" if whole is Completeness.WHOLE else "cut"
        )
    made = Subject(made.ref, made.facts, {}, relations)
    flags = [Flag(draw(st.sampled_from(["stale-log", "bringup"])), draw(st.sampled_from(["critical", "info"])), "r",
                  draw(text)) for _ in range(draw(st.integers(0, 2)))]  # fmt: skip
    truths = [on_step(step, *draw(st.tuples(*[st.sampled_from([TRUE, FALSE, UNKNOWN])] * 4))) for step in steps]
    flavour = draw(st.sampled_from(["agentic", "standard", "chunked", "unknown"]))
    decided = verdict(made, draw(st.sampled_from(BUCKETS)) or "UNKNOWN", *flags, flavour=flavour)
    return [made, run, before, row, *steps], [decided, *truths]


@st.composite
def any_world(draw: st.DrawFn) -> Made:
    subjects: list[Subject] = []
    verdicts: list[Verdict] = []
    for number in range(draw(st.integers(1, 4))):
        more, decided = draw(a_job(number))
        subjects += more
        verdicts += decided
    return subjects, verdicts


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_world(), st.sampled_from([60, 61, 79, 100, 133, 200]))
def test_any_world_renders_within_its_width(world: Made, width: int) -> None:
    document = build(world_of(*world))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    shown = render(document, width=width, colour=False)
    for line in shown.splitlines():
        assert cells(line) <= width
        kinds = {unicodedata.category(char) for char in line}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert "Cn" in kinds or _columns(line) <= width
    squeezed = re.sub(r"[│\s]", "", shown)
    for table in document["tables"]:
        assert all(len(row) == len(table["columns"]) and all(row) for row in table["rows"])
        for row in table["rows"]:
            assert re.sub(r"\s", "", row[0].rpartition(" ")[2])[-12:] in squeezed


def _columns(line: str) -> int:
    """A second opinion on the width, for assigned characters: wide ones count two, marks that combine none."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


@given(text, st.integers(4, 40), st.integers(1, 5))
def test_wrapping_loses_nothing_but_what_it_says_it_cut(value: str, width: int, most: int) -> None:
    whole, some = wrap(value, width), wrap(value, width, most)
    assert "".join(whole).replace(" ", "") == value.replace(" ", "")
    assert len(some) <= most and all(cells(line) <= width for line in (*whole, *some))
    assert (some == whole) or some[-1].endswith("…")
    assert cells(cut(value, width)) <= width and (cut(value, width) == value or cut(value, width).endswith("…"))


@given(text, st.from_regex(r"[0-9]{1,8}", fullmatch=True), st.integers(12, 40))
def test_a_key_keeps_its_id(name: str, job_id: str, width: int) -> None:
    lines = key_lines(f"leo {name} [{job_id}]", width)
    assert f"[{job_id}]" in lines[-1]
    assert len(lines) <= 5
