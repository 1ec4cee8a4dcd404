"""The second stage over real directories: found, counted, kept, and read on; what is not known stays unknown."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.trials.counts import NAMES, Terms
from sweeprules.collectors.trials.evaluation import Times
from sweeprules.collectors.trials.facts import INFRA, SUITE_FACTS, Made, kept_facts, made
from sweeprules.collectors.trials.places import Wanted
from sweeprules.collectors.trials.second import Results, read_results
from sweeprules.collectors.trials.steps import run
from sweeprules.engine.facts import ABSENT, Absent, Reason, Unknown
from tests.collectors.trials.shell import CLOCK, NONCE, Login
from tests.golden.harness import trials

MARKS = ("\x1e", "\x1f")
UTC = ZoneInfo("UTC")
NAME = "eval_m_tb2"


def job(root: Path, **more: Any) -> Wanted:
    return replace(Wanted("7", "trials", "eval", (NAME,), workdir=str(root), alone=True), **more)


def look(wanted: Sequence[Wanted], kept: Mapping[str, Any], login: Login) -> Results:
    found, _ = run(login.ask, {"all": read_results(wanted, kept, NONCE, MARKS)})
    return found["all"]


def sweep(wanted: Wanted, memo: Mapping[str, Any] | None = None, login: Login | None = None, **times: Any) -> Made:
    """One sweep of one job; the memo goes through JSON, as the store has it."""
    kept = json.loads(json.dumps(memo or {}))
    if kept.get("directory"):
        wanted = replace(wanted, kept=kept["directory"])
    results = look([wanted], {wanted.job_id: kept}, login or Login())
    when = Times(CLOCK, **{"started": CLOCK - 9000, "last": None, **times})
    return made(wanted.job_id, results, Terms(planned=267), when, kept, None, UTC)


def read(login: Login) -> list[str]:
    """The results of trials that were asked for."""
    items = [item for batch in login.calls for command in batch for item in command.items]
    return [item for item in items if "__" in item and item.endswith("/result.json")]


def test_trials_are_found_counted_and_the_next_sweep_reads_only_new_ones(tmp_path: Path) -> None:
    trials.write(tmp_path, NAME, {"done": 40, "running": 5, "reward": "1x10 0x30"}, CLOCK)
    first, second, third = Login(), Login(), Login()
    found = sweep(job(tmp_path), None, first)
    assert (found.facts["trials_done"], found.facts["trials_started"], found.facts["pass_rate"]) == (40, 45, 0.25)
    assert len(first.calls) <= 4 and len(read(first)) == 45
    assert found.memo is not None and found.memo["directory"] == str(tmp_path / "trace_jobs" / NAME)
    again = sweep(job(tmp_path), found.memo, second)
    assert again.facts["trials_done"] == 40 and len(set(read(second))) == 5
    trials.write(tmp_path, NAME, {"done": 43, "running": 2, "reward": 1}, CLOCK)
    last = sweep(job(tmp_path), again.memo, third)
    assert last.facts["trials_done"] == 43 and len(set(read(third))) == 5
    listed = [command.argv[-1] for batch in third.calls for command in batch if command.argv[:2] == ("ls", "-1AU")]
    assert listed == [f"{tmp_path}/trace_jobs/{NAME}/"]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=5))
def test_over_many_sweeps_each_result_is_taken_once(steps: list[tuple[int, int, int]]) -> None:
    """However trials end, begin and are caught half written, the sums are those of a first look at all of them."""
    with TemporaryDirectory() as folder:
        root, done, whole = Path(folder), 0, set[str]()
        memo: dict[str, Any] = {}
        for more, running, half in steps:
            done += more
            words = {"done": done, "running": running, "half": half, "reward": "0.5", "aggregate": False}
            trials.write(root, NAME, words, CLOCK)
            (root / "trace_jobs" / NAME / "config.json").write_text("{}")
            login = Login()
            found = sweep(job(root), memo, login)
            names = {item.rpartition("/result.json")[0].rpartition("/")[2] for item in read(login)}
            assert not names & whole
            memo = dict(found.memo or {})
            ended = [path for path in root.glob("trace_jobs/*/*/result.json") if is_whole(path)]
            whole = {path.parent.name for path in ended}
            open_ones = any(not is_whole(path) for path in root.glob("trace_jobs/*/*/result.json"))
            assert memo_done(memo) == len(whole)
            assert isinstance(found.facts["trials_done"], Unknown) if open_ones else found.facts["trials_done"] == done
        fresh = sweep(job(root))
        assert {name: found.facts[name] for name in COUNTS} == {name: fresh.facts[name] for name in COUNTS}


def is_whole(path: Path) -> bool:
    return path.read_bytes().endswith(b"}")


COUNTS = ("trials_started", "trials_done", "trials_valid", "mean_valid", "pass_rate", "reward_zero_share")


def memo_done(memo: Mapping[str, Any]) -> int:
    return sum(one["sums"]["done"] for one in memo.get("trials", {}).values())


def test_many_jobs_share_four_calls(tmp_path: Path) -> None:
    wanted = []
    for at in range(6):
        trials.write(tmp_path / str(at), NAME, {"done": 3, "half": at % 2}, CLOCK)
        wanted.append(job(tmp_path / str(at), job_id=str(at)))
    trials.write_suite(tmp_path / "s", {"MATH500": 0.4})
    wanted.append(Wanted("9", "suite", "eval", ("delphi-eval-x",), workdir=str(tmp_path / "s"), alone=True))
    login = Login()
    results = look(wanted, {}, login)
    assert len(login.calls) <= 4
    assert {one.started for one in results.readings.values() if isinstance(one.started, int)} == {3, 4}
    assert set(results.beside) == {str(at) for at in range(6)}


@pytest.mark.parametrize("form", ["new", "old"])
def test_a_result_that_is_being_written_leaves_counts_unknown(tmp_path: Path, form: str) -> None:
    trials.write(tmp_path, NAME, {"done": 3, "half": 1, "aggregate": False, "format": form}, CLOCK)
    found = sweep(job(tmp_path))
    assert found.facts["trials_started"] == 4
    unread = found.facts["trials_done"]
    assert isinstance(unread, Unknown) and unread.reason == Reason.MALFORMED
    assert found.memo is not None and found.memo["whole"] is False
    trials.write(tmp_path, NAME, {"done": 4, "aggregate": False, "format": form}, CLOCK)
    assert sweep(job(tmp_path), found.memo).facts["trials_done"] == 4


def test_no_directory_is_no_zero(tmp_path: Path) -> None:
    found = sweep(job(tmp_path))
    for name in (*NAMES, *INFRA):
        value = found.facts[name]
        assert isinstance(value, Unknown) and value.reason == Reason.NOT_READ, name
    assert all(isinstance(found.facts[name], Absent) for name in SUITE_FACTS)


def test_an_empty_directory_counts_only_where_it_is_surely_the_jobs(tmp_path: Path) -> None:
    (tmp_path / "exp" / NAME).mkdir(parents=True)
    guess = sweep(job(tmp_path / "none", experiments=(str(tmp_path / "exp"),)))
    assert isinstance(guess.facts["trials_done"], Unknown)
    (tmp_path / "exp" / NAME / "trace_jobs").mkdir()
    sure = sweep(job(tmp_path / "none", experiments=(str(tmp_path / "exp"),)))
    assert (sure.facts["trials_done"], sure.facts["trials_started"]) == (0, 0)
    assert sure.facts["newest_result_age"] is ABSENT


def test_a_directory_with_several_jobs_is_not_added_up(tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        trials.write(tmp_path, NAME, {"dir": f"trace_jobs/{name}", "done": 2}, CLOCK)
    found = sweep(job(tmp_path)).facts["trials_done"]
    assert isinstance(found, Unknown) and found.reason == Reason.CONFLICT


def test_one_job_inside_the_traces_of_a_run_is_its_own(tmp_path: Path) -> None:
    trials.write(tmp_path, NAME, {"dir": "trace_jobs/run-1", "done": 2}, CLOCK)
    assert sweep(job(tmp_path)).facts["trials_done"] == 2


def test_a_directory_that_can_not_be_read_is_unknown_and_forgets_nothing(tmp_path: Path) -> None:
    trials.write(tmp_path, NAME, {"done": 4}, CLOCK)
    memo = sweep(job(tmp_path)).memo
    lost = sweep(job(tmp_path), memo, Login(fail=frozenset({1})))
    failed = lost.facts["trials_done"]
    assert isinstance(failed, Unknown) and failed.reason == Reason.READ_FAILED
    assert lost.memo is not None and lost.memo["directory"] == memo["directory"] if memo else False
    login = Login()
    assert sweep(job(tmp_path), lost.memo, login).facts["trials_done"] == 4
    assert read(login) == []


@pytest.mark.parametrize("readable", [True, False])
def test_a_guess_that_can_not_be_read_hides_nothing_that_was_found(tmp_path: Path, *, readable: bool) -> None:
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / NAME).symlink_to(NAME)
    if readable:
        trials.write(tmp_path, NAME, {"done": 4}, CLOCK)
    found = sweep(job(tmp_path, experiments=(str(tmp_path / "exp"),))).facts["trials_done"]
    assert found == 4 if readable else isinstance(found, Unknown) and found.reason == Reason.READ_FAILED


def test_a_directory_that_moved_is_looked_for_again(tmp_path: Path) -> None:
    trials.write(tmp_path, NAME, {"done": 4}, CLOCK)
    memo = sweep(job(tmp_path)).memo
    (tmp_path / "jobs").mkdir()
    shutil.move(tmp_path / "trace_jobs" / NAME, tmp_path / "jobs" / NAME)
    gone = sweep(job(tmp_path), memo)
    assert isinstance(gone.facts["trials_done"], Unknown)
    assert sweep(job(tmp_path), gone.memo).facts["trials_done"] == 4


def test_what_is_kept_tells_the_same_of_a_job_that_ended(tmp_path: Path) -> None:
    given = {"done": 12, "reward": "1x4 0x8", "exceptions": {"DaytonaError": 2}, "turns": 3, "planned": 12}
    trials.write(tmp_path, NAME, given, CLOCK)
    found = sweep(job(tmp_path))
    assert found.memo is not None
    kept = kept_facts(json.loads(json.dumps(found.memo)), Terms(planned=267))
    differ = {name for name in kept if kept[name] != found.facts[name]}
    assert differ == {"newest_result_age"}
    assert kept_facts({}, Terms()) == {}
    half = kept_facts({**found.memo, "whole": False}, Terms())
    assert all(isinstance(value, Unknown) for value in half.values())


def test_rl_takes_the_pass_rate_alone(tmp_path: Path) -> None:
    trials.write(tmp_path, "r1", {"dir": "r1/r1/trace_jobs", "done": 120, "reward": "0x90 1x30"}, CLOCK)
    wanted = Wanted("7", "trials", "rl", ("r1",), experiments=(str(tmp_path),))
    found = sweep(wanted)
    assert dict(found.facts) == {"trial_pass_rate": 0.3}
    few = Wanted("8", "trials", "rl", ("r2",), experiments=(str(tmp_path),))
    trials.write(tmp_path, "r2", {"dir": "r2/r2/trace_jobs", "done": 20}, CLOCK)
    rate = sweep(few).facts["trial_pass_rate"]
    assert isinstance(rate, Unknown) and rate.reason == Reason.WARMING_UP


def test_the_suite_of_a_standard_evaluation(tmp_path: Path) -> None:
    wanted = Wanted("7", "suite", "eval", ("delphi-eval-x",), workdir=str(tmp_path), alone=True)
    none = sweep(wanted).facts["scores"]
    assert isinstance(none, Unknown)
    trials.write_suite(tmp_path, {"MATH500": 0.4, "AIME24": "0.2x5 0.4x5", "gsm8k": 0.7})
    found = sweep(wanted)
    assert (found.facts["stage"], found.facts["seeds_found"], found.facts["results_nonempty"]) == ("complete", 10, True)
    assert all(found.facts[name] is ABSENT for name in (*NAMES, *INFRA))


def test_logs_beside_tell_of_the_engine_and_the_upload(tmp_path: Path) -> None:
    trials.write(
        tmp_path, NAME, {"done": 4, "running": 1, "agent": "openhands", "api_base": "http://10.0.0.4/v1"}, CLOCK
    )
    logs = tmp_path / "logs"
    logs.mkdir()
    post = '"POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    rates = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.5 tokens/s"
    engine = f"Engine 000: {rates}, Running: 3 reqs, Waiting: 1 reqs, GPU KV cache usage: 1.0%\n"
    (logs / "vllm.log").write_text(post * 3 + engine)
    (logs / "x_pinggy.log").write_text("A tunnel with the same token (abc) is already active\n")
    (tmp_path / "upload.log").write_text("Literal yield: 3/4\nUpload complete (4 rows)\n")
    for path in logs.iterdir():
        os.utime(path, (CLOCK - 5, CLOCK - 5))
    found = sweep(job(tmp_path), started=0.0)
    assert (found.facts["infra.pinggy"], found.facts["infra.api_base"], found.facts["infra.vllm"]) == (
        "bad",
        "bad",
        "ok",
    )
    assert found.facts["engine_running"] == 3
    first = found.facts["posts_200"]
    assert isinstance(first, Unknown) and first.reason == Reason.FIRST_SIGHT
    began = sweep(job(tmp_path), started=CLOCK - 60, last=CLOCK - 120)
    assert (began.facts["posts_200"], began.facts["posts_rate"]) == (3, 3.0)
    assert (found.facts["literal_yield"], found.facts["uploaded"], found.facts["uploaded_rows"]) == (3, True, 4)
    with (logs / "vllm.log").open("a") as stream:
        stream.write(post * 2)
    later = sweep(job(tmp_path), found.memo, started=0.0, last=CLOCK - 60)
    assert (later.facts["posts_200"], later.facts["posts_rate"]) == (2, 2.0)
    stale = sweep(job(tmp_path), found.memo, started=4e9)
    assert isinstance(stale.facts["infra.pinggy"], Unknown)
    assert "uploaded" not in stale.facts
