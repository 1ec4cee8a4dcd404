"""Directories of trials over several sweeps, read with the real tools: nothing twice, nothing guessed, few calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.collectors.trials import ask, memo
from sweeprules.collectors.trials.counts import BENIGN, Terms, trial_facts, trial_pass_rate
from sweeprules.collectors.trials.memo import TrialsMemo
from sweeprules.collectors.trials.rounds import Reading
from sweeprules.collectors.trials.rounds import trials as reader
from sweeprules.collectors.trials.steps import run
from sweeprules.engine.facts import ABSENT, Reason, Unknown
from tests.collectors.trials import harbor
from tests.collectors.trials.harbor import FakeTrial, dump, random_trials, reason, write_job, write_trial
from tests.collectors.trials.shell import CLOCK, NONCE, Login


def sweep(root: Path, kept: dict[str, TrialsMemo] | None = None, login: Login | None = None) -> Reading:
    """One sweep of a directory; `kept` is taken through JSON and left with the new memos, as the store does."""
    memos = {path: memo.decode(json.loads(json.dumps(memo.encode(one)))) for path, one in (kept or {}).items()}
    found, _ = run((login or Login()).ask, {"trials": reader([str(root)], memos, NONCE)})
    reading = found["trials"][str(root)]
    if kept is not None:
        kept.update(reading.memos)
    return reading


def facts(root: Path, **more: object) -> dict[str, object]:
    return dict(trial_facts(sweep(root), Terms(**more)))


def expected(trials: list[FakeTrial]) -> dict[str, object]:
    """What stands in a plain loop over the same trials."""
    valid = [one for one in trials if one.reward is not None]
    raised = [one.exception for one in trials if one.exception]
    return {
        "trials_started": len(trials),
        "trials_done": len(trials),
        "trials_valid": len(valid),
        "trials_errored": len(raised),
        "exceptions": {name: raised.count(name) for name in sorted(set(raised))},
        "nonbenign": sum(name not in BENIGN for name in raised),
        "pass_rate": sum((one.reward or 0) > 0 for one in valid) / len(valid),
        "mean_valid": pytest.approx(sum(one.reward or 0 for one in valid) / len(valid)),
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_job_is_counted_as_a_plain_loop_would(tmp_path, seed):
    trials = random_trials(seed, 60)
    write_job(tmp_path / "job", trials)
    found = facts(tmp_path / "job")
    assert {name: found[name] for name in expected(trials)} == expected(trials)
    assert found["trials_planned"] == 60
    assert found["agent"] == "terminus-2"
    assert found["newest_result_age"] == CLOCK - max(one.began + one.seconds for one in trials)


def test_it_takes_three_calls_and_the_next_sweep_reads_only_what_is_new(tmp_path):
    trials = random_trials(3, 40)
    root = write_job(tmp_path / "job", trials[:30])
    kept: dict[str, TrialsMemo] = {}
    first, second = Login(), Login()
    sweep(root, kept, first)
    assert len(first.calls) == 3
    for one in trials[30:]:
        write_trial(root, one)
    again = sweep(root, kept, second)
    read = [item for batch in second.calls for command in batch for item in command.items if "/result.json" in item]
    assert len(read) == 1 + 10
    assert again.new == 10
    found = trial_facts(again, Terms())
    assert {name: found[name] for name in expected(trials)} == expected(trials)


def test_a_sweep_without_news_asks_for_no_result(tmp_path):
    root = write_job(tmp_path / "job", random_trials(4, 20))
    kept: dict[str, TrialsMemo] = {}
    sweep(root, kept)
    login = Login()
    again = sweep(root, kept, login)
    assert again.new == 0
    assert again.sums.done == 20
    assert not [
        item for batch in login.calls for one in batch for item in one.items if "__" in item and "result" in item
    ]


def test_a_trial_that_was_taken_away_to_be_made_again_counts_once(tmp_path):
    trials = random_trials(5, 20)
    root = write_job(tmp_path / "job", trials)
    kept: dict[str, TrialsMemo] = {}
    sweep(root, kept)
    for path in sorted((root / trials[0].name).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (root / trials[0].name).rmdir()
    write_trial(root, again := FakeTrial(task=trials[0].task, id="newNew1", reward=1.0))
    found = trial_facts(sweep(root, kept), Terms())
    assert {name: found[name] for name in expected([*trials[1:], again])} == expected([*trials[1:], again])


def test_trials_that_run_are_started_and_not_done(tmp_path):
    root = tmp_path / "job"
    for at in range(130):
        write_trial(root, FakeTrial(id=f"run{at}"), done=False)
    write_trial(root, FakeTrial(id="done1"))
    found = facts(root, planned=267)
    assert (found["trials_started"], found["trials_done"]) == (131, 1)
    assert found["mean_all"] == pytest.approx(1 / 267)


def test_a_result_that_is_being_written_is_tried_again_and_then_unknown(tmp_path):
    root = tmp_path / "job"
    write_trial(root, FakeTrial())
    half = write_trial(root, FakeTrial(id="half123")) / "result.json"
    whole = half.read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    login = Login()
    reading = sweep(root, None, login)
    tries = sum(any("half123/result.json" in item for one in batch for item in one.items) for batch in login.calls)
    assert tries == 3
    found = trial_facts(reading, Terms(planned=2))
    for name in ("trials_done", "trials_valid", "trials_errored", "mean_valid", "mean_all", "pass_rate", "exceptions"):
        assert isinstance(found[name], Unknown) and found[name].reason == Reason.MALFORMED, name
    for name in ("top_exception", "exception_share", "nonbenign", "reward_zero_share", "instant_failed"):
        assert isinstance(found[name], Unknown), name
    assert found["trials_started"] == 2
    assert found["nonbenign_allowed"] == 0


def test_a_result_that_is_whole_at_the_second_try_counts(tmp_path):
    root = tmp_path / "job"
    half = write_trial(root, FakeTrial()) / "result.json"
    whole = half.read_bytes()
    half.write_bytes(b"")

    def finish(call: int) -> None:
        if call == 3:
            half.write_bytes(whole)

    assert sweep(root, None, Login(finish)).sums.done == 1


def test_the_aggregate_stands_in_for_results_that_can_not_be_read(tmp_path):
    trials = random_trials(9, 12)
    root = write_job(tmp_path / "job", trials)
    broken = root / trials[0].name / "result.json"
    broken.write_bytes(broken.read_bytes()[:-9])
    found = facts(root)
    assert {name: found[name] for name in expected(trials)} == expected(trials)
    assert isinstance(found["instant_failed"], Unknown)
    whole = json.loads((root / "result.json").read_bytes())
    whole["stats"]["evals"]["terminus-2__acme/small-1__acme-tasks"]["exception_stats"] = {"DaytonaError": 4}
    (root / "result.json").write_bytes(dump(whole))
    assert isinstance(facts(root)["trials_done"], Unknown)


def test_trials_inside_a_tree_of_traces(tmp_path):
    trials = random_trials(6, 10)
    write_job(tmp_path / "trace_jobs" / "run-1", trials)
    (tmp_path / "trace_jobs" / "notes").mkdir()
    login = Login()
    found = trial_facts(sweep(tmp_path / "trace_jobs", None, login), Terms())
    assert found["trials_done"] == 10
    assert found["trials_planned"] == 10
    assert len(login.calls) == 4


def test_a_directory_that_is_not_there_and_one_that_is_empty(tmp_path):
    (tmp_path / "job").mkdir()
    found = facts(tmp_path / "job")
    assert (found["trials_started"], found["trials_done"]) == (0, 0)
    assert found["mean_valid"] is ABSENT
    assert found["top_exception"] is ABSENT
    assert found["newest_result_age"] is ABSENT
    gone = facts(tmp_path / "nowhere")
    assert all(isinstance(gone[name], Unknown) for name in ("trials_started", "trials_done", "newest_result_age"))
    (tmp_path / "file").write_text("")
    assert isinstance(facts(tmp_path / "file")["trials_done"], Unknown)


@pytest.mark.parametrize("call", [1, 2])
def test_a_call_that_fails_makes_counts_unknown_and_forgets_nothing(tmp_path, call):
    trials = random_trials(7, 10)
    root = write_job(tmp_path / "job", trials[:8])
    kept: dict[str, TrialsMemo] = {}
    sweep(root, kept)
    for one in trials[8:]:
        write_trial(root, one)
    (root / "result.json").unlink()
    lost = sweep(root, kept, Login(fail=frozenset(range(call, 9))))
    assert isinstance(trial_facts(lost, Terms())["trials_done"], Unknown)
    assert trial_facts(sweep(root, kept), Terms())["trials_done"] == 10


def test_a_long_result_is_read_by_its_ends(tmp_path):
    rollout = {
        "agent_result": {"n_output_tokens": 9, "rollout_details": [list(range(40_000))], "metadata": {"n_episodes": 3}}
    }
    write_trial(tmp_path / "job", FakeTrial(reward=0.0, exception="AgentTimeoutError", extra=rollout))
    found = facts(tmp_path / "job")
    assert (found["trials_done"], found["trials_valid"], found["top_exception"]) == (1, 1, "AgentTimeoutError")
    assert found["instant_failed"] == 0
    compact = tmp_path / "job2" / "a__b1"
    compact.mkdir(parents=True)
    (compact / "result.json").write_bytes(dump(FakeTrial(extra=rollout).result(), compact=True))
    assert reason(facts(tmp_path / "job2")["trials_done"]) == Reason.CUT


def test_what_does_not_fit_waits_for_the_next_sweep(tmp_path, monkeypatch):
    trials = random_trials(8, 30)
    root = write_job(tmp_path / "job", trials)
    (root / "result.json").unlink()
    monkeypatch.setattr(ask, "PART", 20_000)
    monkeypatch.setattr(ask, "BUDGET", 60_000)
    monkeypatch.setattr(ask, "PER_COMMAND", 5)
    monkeypatch.setattr(ask, "AGAIN", 2)
    kept: dict[str, TrialsMemo] = {}
    seen = []
    for _ in range(12):
        reading = sweep(root, kept)
        seen.append(reading.sums.done)
        if reading.doubt is None:
            break
        assert isinstance(trial_facts(reading, Terms())["trials_done"], Unknown)
    assert seen[-1] == 30 and seen[0] < 30 and seen == sorted(seen)


def test_turns_are_counted_both_ways_and_an_agent_without_any_is_told(tmp_path):
    for at in range(4):
        write_trial(tmp_path / "job", FakeTrial(id=f"t{at}", episodes=None), turns=4 + at)
    found = facts(tmp_path / "job")
    assert found["avg_turns"] == 5.5
    assert found["avg_turns_agent"] == 3.5
    write_trial(tmp_path / "oracle", FakeTrial(agent="oracle", model=None, tokens=None, episodes=None), turns=None)
    told = facts(tmp_path / "oracle")
    assert told["avg_turns"] is ABSENT and told["avg_turns_agent"] is ABSENT
    assert told["instant_failed"] == 0
    failed = FakeTrial(exception="EnvironmentStartTimeoutError", reward=None, ran=False, episodes=None)
    write_trial(tmp_path / "env", failed, turns=None)
    assert isinstance(facts(tmp_path / "env")["avg_turns"], Unknown)


def test_a_long_trajectory_is_counted_by_its_last_step(tmp_path):
    folder = write_trial(tmp_path / "job", FakeTrial(episodes=None), turns=None)
    (folder / "agent" / "trajectory.json").write_bytes(dump(harbor.trajectory(30, padding=9_000)))
    found = facts(tmp_path / "job")
    assert found["avg_turns"] == 30
    assert isinstance(found["avg_turns_agent"], Unknown)


def test_refused_judges_are_counted(tmp_path):
    refused = "judge API error: 401 no key\nother 401\njudge API error: 500\njudge API error: status 401\n"
    write_trial(tmp_path / "job", FakeTrial(reward=0.0), output=refused)
    assert facts(tmp_path / "job")["judge_401"] == 2


def test_the_pass_rate_of_rl_needs_a_hundred_and_takes_the_newest(tmp_path):
    for at in range(99):
        write_trial(tmp_path / "job", FakeTrial(id=f"t{at}", reward=1.0, began=harbor.T0 + at))
    kept: dict[str, TrialsMemo] = {}
    assert reason(trial_pass_rate(sweep(tmp_path / "job", kept))) == Reason.WARMING_UP
    for at in range(21):
        write_trial(tmp_path / "job", FakeTrial(id=f"u{at}", reward=0.0, began=harbor.T0 + 500 + at))
    assert trial_pass_rate(sweep(tmp_path / "job", kept)) == 0.79


def test_thousands_are_remembered_in_little():
    names = [f"task-{at}__{at:07x}" for at in range(20_000)]
    kept = TrialsMemo(frozenset(map(memo.name_hash, names)), sums=memo.Tally(done=20_000), started=20_000)
    assert len(json.dumps(memo.encode(kept))) < 120_000


def test_two_names_with_one_hash_are_read_anew_each_time(tmp_path, monkeypatch):
    for target in ("sweeprules.collectors.trials.memo", "sweeprules.collectors.trials.rounds"):
        monkeypatch.setattr(f"{target}.name_hash", lambda name: len(name))
    write_trial(tmp_path / "job", FakeTrial(id="aaaa"))
    kept: dict[str, TrialsMemo] = {}
    assert sweep(tmp_path / "job", kept).sums.done == 1
    write_trial(tmp_path / "job", FakeTrial(id="bbbb", reward=0.0))
    for _ in range(2):
        assert (sweep(tmp_path / "job", kept).sums.done, sweep(tmp_path / "job", kept).sums.passed) == (2, 1)


@pytest.mark.parametrize("name", ["datagen__set__qwen3", "rl__cfg__data__m-8b", "eval__m__abcdef7", "run.v2", "run"])
def test_a_job_whose_name_looks_like_a_trials_is_a_job(tmp_path, name):
    made = random_trials(12, 9)
    write_job(tmp_path / "trace_jobs" / name, made)
    found = trial_facts(sweep(tmp_path / "trace_jobs"), Terms())
    assert {fact: found[fact] for fact in expected(made)} == expected(made)
    assert found["trials_planned"] == 9


@pytest.mark.parametrize("number", [1, 3, 8, 9, 40])
def test_trials_without_a_job_around_them(tmp_path, number):
    for one in random_trials(13, number):
        write_trial(tmp_path / "trace_jobs", one)
    assert trial_facts(sweep(tmp_path / "trace_jobs"), Terms())["trials_done"] == number


def test_two_jobs_in_one_tree_are_summed(tmp_path):
    made = random_trials(14, 30)
    write_job(tmp_path / "trace_jobs" / "a__x1", made[:20])
    write_job(tmp_path / "trace_jobs" / "b__x2", made[20:])
    found = trial_facts(sweep(tmp_path / "trace_jobs"), Terms(planned=30))
    assert {fact: found[fact] for fact in expected(made)} == expected(made)


def test_long_results_are_read_a_share_at_a_time_until_all_are(tmp_path, monkeypatch):
    monkeypatch.setattr(ask, "BUDGET", 400_000)
    monkeypatch.setattr(ask, "PART", 200_000)
    monkeypatch.setattr(ask, "ENDS", 4 * ask.END)
    rollout = {"agent_result": {"n_output_tokens": 9, "rollout_details": [[7] * 9_000], "metadata": {"n_episodes": 3}}}
    for at in range(9):
        write_trial(tmp_path / "job", FakeTrial(id=f"t{at}", reward=float(at % 2), extra=rollout))
    kept: dict[str, TrialsMemo] = {}
    seen = [sweep(tmp_path / "job", kept).sums.done for _ in range(6)]
    assert seen == sorted(seen) and seen[0] in range(1, 9) and seen[-1] == 9
    assert trial_facts(sweep(tmp_path / "job", kept), Terms())["mean_valid"] == pytest.approx(4 / 9)
