"""`run`, `report`, `replay` and `explain` on the recorded site: a black box, and no cluster is reached."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sweeprules.store.lock import Lock, take_lock

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
SCHEMA = json.loads((ROOT / "schemas" / "report.schema.json").read_text())
COMMAND = Path(sys.executable).parent / "sweeprules"
HOLD = """policy: 1
title: Held
params: {twice: {default: 2, unit: sweeps, why: "one look may be wrong"}}
flags: {waits: {subject: job, severity: info, exemptible: true, why: "pending for two sweeps"}}
rules:
  - {id: our.waits, on: job, when: {state: PENDING}, for: $twice, then: {flag: waits, say: "still pending"}}
"""


def call(*args: str, code: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(COMMAND), *args], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(env or {})},
    )  # fmt: skip
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    return done


def swept(
    state: Path, *more: str, code: int = 3, env: dict[str, str] | None = None, site: Path = DEMO
) -> dict[str, Any]:
    done = call("run", "--site", str(site), "--state", str(state), "--output", "json", *more, code=code, env=env)
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def flags(document: dict[str, Any]) -> list[tuple[str, str, str, str | None]]:
    found = [(c["name"], "", f["name"], f["message"]) for c in document["clusters"] for f in c["flags"]]
    return sorted(
        found + [(j["cluster"], j["job_id"], f["name"], f["message"]) for j in document["jobs"] for f in j["flags"]]
    )


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of one sweep of the recorded site."""
    path = tmp_path_factory.mktemp("state")
    swept(path)
    return path


def test_the_same_answers_give_the_same_flags_and_the_first_sweep_that_raised_them(tmp_path: Path) -> None:
    first, second = swept(tmp_path), swept(tmp_path)
    assert flags(first) == flags(second) != []
    assert first["sweep"]["id"] != second["sweep"]["id"]
    for job in second["jobs"]:
        assert all(flag["since"] == first["sweep"]["id"] for flag in job["flags"])


def test_a_kept_report_and_a_replay_are_the_report_byte_for_byte(state: Path, tmp_path: Path) -> None:
    kept, tape, again = tmp_path / "kept.json", tmp_path / "sweep.cassette", tmp_path / "again.json"
    call("report", "--state", str(state), "--output", "json", "--out", str(kept))
    call("report", "--state", str(state), "--cassette", str(tape))
    call("replay", str(tape), "--output", "json", "--out", str(again), code=3)
    assert again.read_bytes() == kept.read_bytes()
    native = call("replay", str(tape), "--engine", "native", "--output", "json", code=3)
    assert flags(json.loads(native.stdout)) == flags(json.loads(kept.read_text()))


def test_a_rule_with_for_fires_at_the_second_look_and_replays_so(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(DEMO, site)
    (site / "rules").mkdir(exist_ok=True)
    (site / "rules" / "held.yaml").write_text(HOLD)
    looks = [{f[2] for f in flags(swept(tmp_path / "state", site=site))} for _ in range(2)]
    assert ["waits" in look for look in looks] == [False, True]
    tape = tmp_path / "sweep.cassette"
    call("report", "--state", str(tmp_path / "state"), "--cassette", str(tape))
    assert "waits" in call("replay", str(tape), code=3).stdout
    shown = call("explain", "48195", "--state", str(tmp_path / "state"), "--rule", "our.waits").stdout
    assert "our.waits [true]" in shown


def test_fail_on_counts_only_a_complete_sweep(tmp_path: Path) -> None:
    swept(tmp_path, "--fail-on", "critical", code=3)
    swept(tmp_path, "--cluster", "borealis", "--fail-on", "critical", code=1)
    swept(tmp_path, "--cluster", "borealis", code=0)
    document = swept(tmp_path, "--cluster", "tun*", "--fail-on", "info", code=1)
    assert [c["name"] for c in document["clusters"]] == ["tundra"]


def test_a_glob_without_a_cluster_is_a_usage_error_with_the_nearest(tmp_path: Path) -> None:
    done = call("run", "--site", str(DEMO), "--state", str(tmp_path), "--cluster", "boreals", code=2)
    assert "did you mean borealis?" in done.stderr


@pytest.mark.parametrize("fault", ["wrong", "crash"])
def test_an_evaluator_that_fails_changes_no_verdict_and_is_told(fault: str, state: Path, tmp_path: Path) -> None:
    document = swept(tmp_path, code=4, env={"SWEEPRULES_ENGINE_FAULT": fault})
    assert [f["name"] for f in document["sweep"]["flags"]] == ["engine-divergence"]
    kept = json.loads(call("report", "--state", str(state), "--output", "json").stdout)
    assert flags(document) == flags(kept)
    assert len(list((tmp_path / "divergence").glob("*.json"))) == 1


def test_a_slow_evaluator_is_ended_and_told(tmp_path: Path) -> None:
    document = swept(tmp_path, "--deadline", "8s", code=4, env={"SWEEPRULES_ENGINE_FAULT": "slow"})
    assert "timeout" in document["sweep"]["flags"][0]["message"]


def test_a_second_sweep_at_once_does_nothing_and_says_so(tmp_path: Path) -> None:
    lock = take_lock(tmp_path, 0.0)
    assert isinstance(lock, Lock)
    with lock:
        done = call("run", "--site", str(DEMO), "--state", str(tmp_path))
    assert f"process {os.getpid()}" in done.stderr
    assert done.stdout == ""


def test_quiet_is_silent_when_nothing_changed_and_nothing_is_wrong(tmp_path: Path) -> None:
    arguments = ("run", "--site", str(DEMO), "--state", str(tmp_path), "--quiet", "--cluster", "tundra")
    assert "tundra" in call(*arguments).stdout
    assert call(*arguments).stdout == ""


def test_explain_by_id_by_link_and_of_nobody(state: Path) -> None:
    assert "suspected-wedge" in call("explain", "48102", "--state", str(state)).stdout
    assert "Other links of the run: 48151" in call("explain", "borealis:48040", "--state", str(state)).stdout
    done = call("explain", "48101", "--state", str(state), code=2)
    assert "near: 481" in done.stderr
    assert (
        "no rule about jobs" in call("explain", "48102", "--rule", "live.stale", "--state", str(state), code=2).stderr
    )


def test_what_was_never_swept_can_not_be_explained(tmp_path: Path) -> None:
    assert "no sweep is kept" in call("explain", "1", "--state", str(tmp_path / "none"), code=2).stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", [b"", b"not gzip", b"\x1f\x8b\x08\x00broken"])
def test_a_damaged_cassette_is_named(damage: bytes, tmp_path: Path) -> None:
    tape = tmp_path / "x.cassette"
    tape.write_bytes(damage)
    assert str(tape) in call("replay", str(tape), code=2).stderr


def test_steps_are_read_where_a_bucket_has_them_and_do_not_apply_where_it_has_none(state: Path) -> None:
    jobs = json.loads(call("report", "--state", str(state), "--output", "json").stdout)["jobs"]
    trained = [job for job in jobs if job["bucket"] in ("rl", "sft")]
    assert {job["step"] for job in trained if job["job_id"] in ("48102", "48151")} == {41, 204}
    assert all(job["step"] is not None or job["unknown"]["step"] != "not-applicable" for job in trained)
    others = [job for job in jobs if job["bucket"] not in ("rl", "sft")]
    assert {(job["step"], job["unknown"]["step"]) for job in others} == {(None, "not-applicable")}
