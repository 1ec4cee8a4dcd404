"""A backtest saves itself most of the work of two replays, and says what they would have said."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.cli import held
from sweeprules.cli.main import cli
from sweeprules.cli.rule_sets import RuleSet
from sweeprules.cli.starting import replay_start, with_engine
from sweeprules.cli.sweep import Swept, sweep
from sweeprules.cli.trial import try_all
from sweeprules.engine.facts import Ref
from sweeprules.reports.comparing import Comparison, build, findings
from sweeprules.store.cassette import read_cassette
from sweeprules.store.worlds import Worlds

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
GATES = [(change, level) for change in ("lost", "gained", "moved") for level in ("info", "warning", "critical")]
Edit = dict[str, Any]


@pytest.fixture(scope="module")
def cassettes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three sweeps of the recorded site, the last two of which start from the one before."""
    path = tmp_path_factory.mktemp("state")
    for _ in range(3):
        arguments = ["run", "--site", str(DEMO), "--state", str(path), "--engine", "native"]
        assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 3
    return sorted((path / "cassettes").iterdir(), key=lambda one: one.stat().st_mtime_ns)


# ---------------------------------------------------------------- edits of a policy


def param(name: str, values: Sequence[str | float]) -> st.SearchStrategy[Edit]:
    return st.sampled_from(values).map(lambda value: {"params": {name: {"default": value, "why": "tried"}}})


def rule(*made: dict[str, Any]) -> st.SearchStrategy[Edit]:
    return st.sampled_from(made).map(lambda one: {"rules": [one]})


OFF = ("live.stale-log", "live.wedge-by-silence", "live.wedge-by-two-signs", "live.bringup")
SILENT = {"all": [{"state": "RUNNING"}, {"log_age": {"gt": "$tried_age"}}]}


def holding(when: dict[str, Any]) -> dict[str, Any]:
    return {"id": "our.held", "on": "job", "when": when, "for": "$tried_sweeps", "then": {"flag": "stale-log"}}


def fault(word: str) -> Edit:
    when = {"lines.our-line.count": {"gt": 0}}
    return {
        "patterns": {"our-line": {"literal": word, "regex": word, "kind": "fault"}},
        "rules": [{"id": "our.line", "on": "job", "when": when, "then": {"flag": "failure"}}],
    }


def bucketing(bucket: str) -> Edit:
    return {"decide": {"bucket": [{"when": {"name": {"contains": "8B"}}, "is": bucket}, {"otherwise": "catch-all"}]}}


EDITS = st.one_of(
    param("stale_floor", ["1m", "30h"]),
    param("grace", ["1s", "40h"]),
    st.sampled_from(OFF).map(lambda name: {"rules": [{"id": name, "disabled": True, "because": "tried"}]}),
    rule(
        {"id": "live.stale-log", "on": "job", "when": {"state": "RUNNING"}, "then": {"flag": "stale-log"}},
        {"id": "live.stale-log", "on": "job", "when": {"state": "PENDING"}, "then": {"flag": "stale-log"}},
    ),
    rule(holding({"state": "RUNNING"}), holding(SILENT)),
    rule({"id": "our.suspect", "on": "job", "stage": "suspect", "when": {"state": {"in": ["RUNNING", "FAILED"]}}}),
    rule({"id": "our.reader", "on": "sweep", "when": {"policy_sha256": {"prefix": "0"}}}),
    st.sampled_from(["Training", "step", "Error"]).map(fault),
    st.sampled_from(["rl", "sft", "catch-all"]).map(bucketing),
    st.sampled_from(["RUNNING", "PENDING"]).map(
        lambda state: {
            "exemptions": [
                {"id": "our-exemption", "when": {"state": state}, "flags": ["stale-log", "suspected-wedge"],
                 "as": "rl-collapse-ablation", "owner": "ops", "why": "tried", "say": "tried"}
            ]
        }
    ),
)  # fmt: skip
BASE: Edit = {
    "policy": 1,
    "title": "Tried",
    "params": {
        "tried_age": {"default": "1m", "why": "tried"},
        "tried_sweeps": {"default": 2, "unit": "sweeps", "why": "tried"},
    },
}


def merged(edits: Sequence[Edit]) -> Edit:
    """One file with all edits; of two of one name the later one counts."""
    whole: Edit = json.loads(json.dumps(BASE))
    for edit in edits:
        for part, value in edit.items():
            if isinstance(value, list):
                ids = {one["id"] for one in value}
                whole[part] = [one for one in whole.get(part, []) if one["id"] not in ids] + value
            else:
                whole[part] = {**whole.get(part, {}), **value}
    used = json.dumps(whole.get("rules", []))
    whole["params"] = {k: v for k, v in whole["params"].items() if not k.startswith("tried") or f"${k}" in used}
    return whole


# ---------------------------------------------------------------- the slow way


def replayed(rules: RuleSet, paths: Sequence[Path]) -> list[Swept]:
    """Every sweep done again as a whole, holds going on from sweep to sweep."""
    rules.check()
    done: list[Swept] = []
    last = ""
    for path in paths:
        tape = read_cassette(path)
        start = with_engine(replay_start(rules.loaded(tape), tape, time.monotonic() + 600), "native")
        before = start.before
        if rules.folder is not None and done and before.last is not None and before.last.id == last:
            before = replace(before, site={**before.site, held.HOLDS: held.to_data(done[-1].held)})
        done.append(sweep(replace(start, before=before)))
        last = start.id
    return done


def compared(old: list[Swept], new: list[Swept], paths: Sequence[Path]) -> Comparison:
    found = Comparison()
    for one, other, path in zip(old, new, paths, strict=True):
        found.add(read_cassette(path).sweep_id, one.verdicts, other.verdicts, {**names(one), **names(other)})
    return found


def names(swept: Swept) -> dict[Ref, str]:
    jobs = ((job.ref, job.get("name")) for job in swept.world.of_kind("job"))
    return {ref: name if isinstance(name, str) else "" for ref, name in jobs}


def side(folder: Path, edits: Sequence[Edit] | None) -> Path | None:
    """A rules folder with these edits; None is what was recorded."""
    if edits is None:
        return None
    folder.mkdir()
    for path in (DEMO / "rules").glob("*.yaml"):
        (folder / path.name).write_text(path.read_text())
    (folder / "tried.yaml").write_text(json.dumps(merged(edits)))
    return folder


def check(cassettes: Sequence[Path], old: Sequence[Edit] | None, new: Sequence[Edit]) -> None:
    with TemporaryDirectory() as place:
        root = Path(place)
        folders = side(root / "old", old), side(root / "new", new)
        before, after = (replayed(RuleSet(folder), cassettes) for folder in folders)
        wanted = compared(before, after, cassettes)
        kept = Worlds(root / "worlds")
        for worlds in (None, kept, kept):
            tried = try_all(RuleSet(folders[0]), RuleSet(folders[1]), cassettes, worlds)
            assert not tried.failed
            assert tried.comparison == wanted
            assert build(tried.comparison, []) == build(wanted, [])
            assert findings(tried.comparison, GATES) == findings(wanted, GATES)
        assert list((root / "worlds").glob("*.world"))


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(old=st.none() | st.lists(EDITS, max_size=2), new=st.lists(EDITS, min_size=1, max_size=3))
def test_a_backtest_says_what_two_full_replays_say(
    cassettes: list[Path], old: list[Edit] | None, new: list[Edit]
) -> None:
    check(cassettes, old, new)


@pytest.mark.deep
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(old=st.none() | st.lists(EDITS, max_size=3), new=st.lists(EDITS, min_size=1, max_size=5))
def test_a_backtest_says_what_two_full_replays_say_of_many_policies(
    cassettes: list[Path], old: list[Edit] | None, new: list[Edit]
) -> None:
    check(cassettes, old, new)


def test_rules_that_hold_go_on_from_what_each_side_held(cassettes: list[Path]) -> None:
    held_rule = holding({"state": "RUNNING"})
    longer = {"params": {"tried_sweeps": {"default": 3, "unit": "sweeps", "why": "tried"}}}
    check(cassettes, [{"rules": [held_rule]}], [{"rules": [held_rule]}, longer])
