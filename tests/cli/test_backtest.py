"""`backtest`: the recorded site's sweeps under other rules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from sweeprules.cli import rule_sets, trial
from sweeprules.cli.main import cli
from sweeprules.store.cassette import Cassette, parse_cassette, read_cassette
from tests.cli.conftest import Sweeprules

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
SCHEMA = json.loads((ROOT / "schemas" / "backtest.schema.json").read_text())
LOUD = """policy: 1
title: A trial
params:
  stale_floor: {default: 30h, why: "tried"}
"""
HELD = """policy: 1
title: Held
flags: {waits: {subject: job, severity: info, exemptible: true, why: "pending for two sweeps"}}
params: {twice: {default: 2, unit: sweeps, why: "one look may be wrong"}}
rules:
  - {id: our.waits, on: job, when: {state: PENDING}, for: $twice, then: {flag: waits, say: "still pending"}}
"""
ONCE = HELD.replace(" for: $twice,", "").replace(
    'params: {twice: {default: 2, unit: sweeps, why: "one look may be wrong"}}\n', ""
)
BROKEN = HELD.replace("state: PENDING", "stat: PENDING")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of two sweeps of the recorded site."""
    path = tmp_path_factory.mktemp("state")
    for _ in range(2):
        arguments = ["run", "--site", str(DEMO), "--state", str(path), "--engine", "native"]
        assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 3
    return path


def rules(folder: Path, text: str) -> Path:
    """The recorded site's rules with one more file."""
    shutil.copytree(DEMO / "rules", folder)
    (folder / "tried.yaml").write_text(text)
    return folder


def changed(document: dict[str, Any], part: str = "flags") -> set[tuple[str, str, str]]:
    return {
        (subject["key"], one["change"], one["name"])
        for subject in document["subjects"]
        for one in subject[part]
        if one["counts"]
    }


def test_a_louder_threshold_loses_its_flags_and_a_gate_stops(
    state: Path, tmp_path: Path, sweeprules: Sweeprules
) -> None:
    new = rules(tmp_path / "new", LOUD)
    arguments = ("backtest", "--rules", "-", new, "--state", state, "--output", "json")
    done = sweeprules(*arguments, "--fail-on", "lost:critical")
    assert (done.exit, done.err) == (1, "")
    found = json.loads(done.out)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert changed(found) == {("borealis:48102", "lost", "stale-log"), ("borealis:48102", "lost", "suspected-wedge")}
    assert ("borealis:48102", "lost", "propose-kill") in changed(found, "actions")
    assert [(one["gate"], one["flag"]) for one in found["findings"]] == [("lost:critical", "suspected-wedge")]
    assert (found["window"]["cassettes"], found["window"]["judged"]) == (2, 2)
    stale = {row["rule"]: row for row in found["rules"]}["live.stale-log"]
    assert (stale["old"], stale["new"], stale["only_old"], stale["only_new"]) == (2, 0, 2, 0)
    assert sweeprules(*arguments, "--fail-on", "gained:info").exit == 0
    back = json.loads(sweeprules("backtest", "--rules", new, "-", "--state", state, "--output", "json").out)
    assert changed(back) == {(key, "gained", name) for key, _, name in changed(found)}


def test_the_same_rules_differ_in_nothing(state: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("backtest", "--rules", "-", DEMO, "--state", state, "--fail-on", "lost:info")
    assert done.exit == 0
    assert "flags: 0 gained, 0 lost, 0 moved" in done.out
    assert "Rules that differ" not in done.out


def test_a_lower_severity_is_moved_and_loses_the_critical_one(
    state: Path, tmp_path: Path, sweeprules: Sweeprules
) -> None:
    new = rules(tmp_path / "new", ONCE)
    text = (new / "tried.yaml").read_text()
    old = rules(tmp_path / "old", text.replace("severity: info", "severity: critical"))
    arguments = ("backtest", "--rules", old, new, "--state", state)
    assert sweeprules(*arguments, "--fail-on", "lost:critical").exit == 1
    assert sweeprules(*arguments, "--fail-on", "gained:info", "--fail-on", "lost:info").exit == 0
    found = json.loads(sweeprules(*arguments, "--output", "json").out)
    moved = [one for subject in found["subjects"] for one in subject["flags"]]
    assert {(one["change"], one["old"]["severity"], one["new"]["severity"]) for one in moved} == {
        ("moved", "critical", "info")
    }


def test_a_flag_that_comes_a_sweep_later_is_moved(state: Path, tmp_path: Path, sweeprules: Sweeprules) -> None:
    old, new = rules(tmp_path / "old", ONCE), rules(tmp_path / "new", HELD)
    found = json.loads(
        sweeprules("backtest", "--rules", old, new, "--state", state, "--output", "json", "--fail-on", "lost:info").out
    )
    assert found["findings"] == []
    (waits,) = [one for s in found["subjects"] if s["key"] == "borealis:48195" for one in s["flags"]]
    assert (waits["change"], waits["old"]["sweeps"], waits["new"]["sweeps"]) == ("moved", 2, 1)
    assert waits["new"]["first"] == waits["old"]["last"]


def test_precision_and_recall_where_people_gave_verdicts(state: Path, tmp_path: Path, sweeprules: Sweeprules) -> None:
    own = tmp_path / "own"
    shutil.copytree(state, own)
    for job, word in (("48102", "right"), ("48195", "wrong")):
        assert sweeprules("verdict", f"borealis:{job}", word, "--flag", "stale-log", "--state", own).exit == 0
    assert sweeprules("verdict", "borealis:48102", "wrong", "--flag", "suspected-wedge", "--state", own).exit == 0
    new = rules(tmp_path / "new", LOUD)
    found = json.loads(sweeprules("backtest", "--rules", "-", new, "--state", own, "--output", "json").out)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    by_flag = {row["flag"]: row for row in found["flags"]}
    assert by_flag["stale-log"]["old"] == {"precision": 1.0, "recall": 0.5}
    assert by_flag["stale-log"]["new"] == {"precision": None, "recall": 0.0}
    assert by_flag["suspected-wedge"]["old"] == {"precision": 0.0, "recall": None}
    assert "stale-log: 100%, 50% → —, 0%" in sweeprules("backtest", "--rules", "-", new, "--state", own).out


@pytest.mark.parametrize("as_site", [False, True])
def test_broken_rules_are_told_by_place_before_anything_is_judged(
    as_site: bool, state: Path, tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(*_: object) -> None:
        raise AssertionError("a cassette was judged")

    monkeypatch.setattr(trial, "evaluate_pair", judged)
    folder = tmp_path / "site"
    new = rules(folder / "rules", BROKEN)
    if as_site:
        (folder / "sweeprules.yaml").write_text("extends: builtin\n")
    done = sweeprules("backtest", "--rules", "-", folder if as_site else new, "--state", state)
    assert (done.exit, done.out) == (2, "")
    assert f"{new / 'tried.yaml'}:6:" in done.err


def test_each_cassette_is_read_once_and_each_policy_compiled_once(
    state: Path, tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    compiled: list[object] = []

    def reading(data: bytes, name: str) -> Cassette:
        read.append(name)
        return parse_cassette(data, name)

    def compiling(*arguments: Any) -> Any:
        compiled.append(arguments)
        return compile_load(*arguments)

    compile_load = rule_sets.compile_load
    monkeypatch.setattr(trial, "parse_cassette", reading)
    monkeypatch.setattr(rule_sets, "compile_load", compiling)
    own = tmp_path / "own"
    shutil.copytree(state, own, ignore=shutil.ignore_patterns("worlds"))
    new = rules(tmp_path / "new", LOUD)
    assert sweeprules("backtest", "--rules", "-", new, "--state", own).exit == 0
    assert len(read) == len(set(read)) == 2
    assert len(compiled) == 2
    assert sweeprules("backtest", "--rules", "-", new, "--state", own).exit == 0
    assert len(read) == 2, "what was read is kept for the next backtest"


def test_a_cassette_that_can_not_be_read_is_counted_and_said(
    state: Path, tmp_path: Path, sweeprules: Sweeprules
) -> None:
    bad = tmp_path / "bad.cassette"
    bad.write_bytes(b"\x1f\x8b\x08\x00broken")
    good = min((state / "cassettes").iterdir())
    new = rules(tmp_path / "new", LOUD)
    arguments = ("backtest", "--rules", "-", new, "--state", tmp_path / "none", "--cassette", bad)
    done = sweeprules(*arguments, "--cassette", good)
    assert done.exit == 0
    assert "1 of 2 cassettes judged" in done.out
    assert f"not judged: {bad}" in done.out
    alone = sweeprules(*arguments)
    assert alone.exit != 0
    assert str(bad) in alone.err


def test_a_prior_state_that_nobody_wrote_is_said(state: Path, tmp_path: Path, sweeprules: Sweeprules) -> None:
    tape = read_cassette(min((state / "cassettes").iterdir()))
    odd = tmp_path / "odd.cassette"
    Cassette(
        tape.sweep_id, tape.now, tape.nonce, tape.engine, tape.policy_sha256, tape.site,
        {**tape.prior, "subjects": 7}, tape.observations, tape.files,
    ).write(odd)  # fmt: skip
    done = sweeprules("backtest", "--rules", "-", DEMO, "--state", state, "--cassette", odd)
    assert done.exit != 0
    assert "prior state can not be read" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rules", "-", "-"), "two rule sets"),
        (("--rules", "-", "nowhere"), "is not a folder"),
        (("--rules", "-", str(DEMO), "--fail-on", "lost:all"), "write lost:critical"),
        (("--rules", "-", str(DEMO), "--since", "last-sweep"), "such as 30d"),
        (("--rules", "-", str(DEMO), "--since", "2999-01-01"), "no cassette is kept in that window"),
        ((), "--rules"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str, state: Path, sweeprules: Sweeprules) -> None:
    done = sweeprules("backtest", *arguments, "--state", state)
    assert done.exit == 2
    assert words in done.err
