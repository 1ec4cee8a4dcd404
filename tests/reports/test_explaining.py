"""Why a flag fired or did not: one screen, with the numbers, their sources, and what is unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
from syrupy.assertion import SnapshotAssertion

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Ref, Source, Subject, Unknown
from sweeprules.engine.language.ast import Exemption, Not, RuleIs
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from sweeprules.engine.verdicts import Action, ConditionProof, FactUse, Flag, RuleProof, Verdict
from sweeprules.reports.explaining import Explained, build, decisive, render
from tests.reports.worlds import NOW

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "explain.schema.json").read_text())
REF = Ref("job", "aurora:7")
JOB = Subject(
    REF,
    {"cluster": "aurora", "job_id": "7", "name": "rl__x\x1b[2J", "state": "RUNNING", "log_age": 23_400.0,
     "progress": Unknown("not-read", "nobody follows it"), "step": Unknown("cut")},
    {"log_age": Source("aurora/3.1", "env LC_ALL=C xargs -0 stat -L --printf=%s --", "login01", "/w/a.out", NOW)},
)  # fmt: skip
AGE = ConditionProof(
    "log_age: {gt: $limit}", TRUE, "log_age = 6h30m", "> 90m ($limit)", 12, (FactUse(REF, "log_age", 23_400.0),)
)
STATE = ConditionProof("state: RUNNING", TRUE, "state = RUNNING", "= RUNNING", 11)
UNREAD = ConditionProof("progress: false", UNKNOWN, "progress = ? (not-read)", "= false", 20)
NO = ConditionProof("state: TIMEOUT", FALSE, "state = RUNNING", "= TIMEOUT", 21)


def proof(rule: str, *parts: ConditionProof, consequence: str = "flag stale-log (warning)") -> RuleProof:
    truth = min(p.truth for p in parts)
    whole = ConditionProof("all", truth, "", "", 10, (), parts)
    return RuleProof(rule, REF, truth, "rules/live.yaml", 10, (whole,), (consequence,), "silence is not progress")


def explained() -> Explained:
    mark = Mark("rules/exemptions.yaml", 3, 1)
    exemption = Exemption(
        "spike",
        "job",
        Not(RuleIs("live.stale", TRUE, mark), mark),
        ("stale-log",),
        None,
        "on purpose",
        "ops",
        None,
        "",
        mark,
    )
    diagnose = Action(
        "diagnose",
        "free",
        False,
        {},
        "failure-diagnosis",
        "blocked",
        ("stale-log",),
        ("live.stale",),
        ("x is unknown",),
    )
    return Explained(
        sweep="20260528T202640Z-abcdef", now=NOW, complete=False, job=JOB, run="aurora:5",
        verdict=Verdict(
            REF, {}, {"bucket": "rl", "bucket_sure": False},
            (Flag("stale-log", "warning", "live.stale", "silent 6h30m", explained_by=("suspected-wedge",)),),
            (diagnose,),
            "unknown", {"spike": UNKNOWN},
        ),
        proofs=(proof("live.stale", STATE, AGE), proof("live.wedge", AGE, UNREAD), proof("chain.ended", NO, STATE)),
        exemptions=((exemption, UNKNOWN, UNREAD),), links=(("5", "TIMEOUT", ("chain-restart-ok",)),),
        why_not={"live.wedge": [("progress = ?: unknown (not-read)",), ("a", "b")]},
        types={("job", "log_age"): "duration"},
    )  # fmt: skip


def test_the_document_fits_its_schema() -> None:
    document = build(explained())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    by_name = {fact["name"]: fact for fact in document["facts"]}
    assert by_name["progress"]["unknown"] == "not-read"
    assert by_name["log_age"]["source"]["line"] == "/w/a.out"
    truths = {rule["id"]: rule["truth"] for rule in document["rules"]}
    assert truths == {"live.stale": "true", "live.wedge": "unknown", "chain.ended": "false"}
    lacks = {rule["id"]: rule["why_not"] for rule in document["rules"]}
    assert lacks["live.wedge"] == [{"needs": ["progress = ?: unknown (not-read)"]}, {"needs": ["a", "b"]}]
    assert lacks["live.stale"] == []
    assert lacks["chain.ended"] == [{"needs": ["state: TIMEOUT: state = RUNNING, needs = TIMEOUT [false]"]}]


def test_one_screen(snapshot: SnapshotAssertion) -> None:
    text = render(explained(), width=100)
    assert len(text.splitlines()) <= 40
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "\x1b" not in text
    assert text == snapshot


def test_full_and_one_rule(snapshot: SnapshotAssertion) -> None:
    assert render(explained(), full=True, width=160) == snapshot
    assert render(explained(), rule="live.wedge", width=100) == snapshot


def test_what_decides_a_truth_is_what_has_it() -> None:
    whole = ConditionProof("all", FALSE, "", "", 1, (), (STATE, NO, UNREAD))
    assert decisive(whole) == [NO]
    either = ConditionProof("any", TRUE, "", "", 1, (), (NO, AGE))
    assert decisive(either) == [AGE]


def test_the_numbers_of_a_run_are_drawn_in_ascii_where_need_be() -> None:
    steps = [
        Subject(Ref("step", f"aurora:7/{at}"), {"step": at, "reward": 0.1 * at, "entropy": Unknown("nan")})
        for at in range(1, 5)
    ]
    drawn = replace(explained(), steps=steps)
    text = render(drawn)
    assert "\nSteps\n  reward     ▁▃▆█  0.1 to 0.4, last 0.4; steps 1 to 4\n  entropy    ××××  steps 1 to 4" in text
    plain = render(drawn, plain=True)
    assert "  entropy    xxxx  steps 1 to 4" in plain and "▁" not in plain
    assert "Steps" not in render(explained())
    jsonschema.Draft202012Validator(SCHEMA).validate(build(drawn))
