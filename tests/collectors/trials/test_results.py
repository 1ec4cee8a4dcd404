"""Result files of every version, whole, half written and broken: each field as it was written, or unknown."""

from __future__ import annotations

import json
from datetime import timedelta, timezone

import pytest

from sweeprules.collectors.trials.jsontext import number, parse
from sweeprules.collectors.trials.partial import last_step, read_trial_ends
from sweeprules.collectors.trials.results import Trial, read_config, read_job, read_trial
from sweeprules.collectors.trials.tally import LAST, MAX_TYPES, OTHERS, Tally, decode, encode, instant, plus, tally
from sweeprules.collectors.trials.trajectory import Turns, read_turns
from sweeprules.engine.facts import Reason, Unknown
from tests.collectors.trials.harbor import T0, FakeTrial, aggregate, dump, random_trials, trajectory


def read(trial: FakeTrial, **more: object) -> Trial:
    found = read_trial(dump({**trial.result(), **more}))
    assert isinstance(found, Trial), found
    return found


@pytest.mark.parametrize("version", [0, 1])
def test_a_trial_of_each_version(version):
    found = read(FakeTrial(reward=0.25, exception="AgentTimeoutError", version=version))
    assert (found.reward, found.valid, found.exception) == (0.25, True, "AgentTimeoutError")
    assert (found.output_tokens, found.episodes, found.agent_seconds) == (4_211, 6, 237.0)
    assert (found.finished, found.agent, found.has_model, found.whole) == (T0 + 240, "terminus-2", True, True)


@pytest.mark.parametrize(
    ("verified", "reward"),
    [
        ({"rewards": {"reward": 1}}, 1.0),
        ({"rewards": {"reward": 0, "style": 1}}, 0.0),
        ({"rewards": {"accuracy": 0.5}}, 0.5),
        ({"rewards": {"a": 0.5, "b": 1.0}}, None),
        ({"rewards": {"reward": None, "b": 1.0}}, None),
        ({"rewards": {"reward": "0.5"}}, 0.5),
        ({"rewards": {"reward": True}}, None),
        ({"rewards": {}}, None),
        ({"rewards": None}, None),
        ({"reward": 1.0}, 1.0),
        ({"rewards": {"reward": float("nan")}}, None),
        ({"rewards": {"reward": float("inf")}}, None),
        ({"rewards": {"reward": -1.5}}, -1.5),
        (None, None),
        ("odd", None),
    ],
)
def test_the_reward(verified, reward):
    found = read(FakeTrial(reward=1.0), verifier_result=verified)
    assert found.reward == reward
    assert found.valid == (reward is not None)


def test_a_reward_that_the_library_calls_invalid_does_not_count():
    assert not read(FakeTrial(reward=1.0), reward_valid=False).valid


def test_an_exception_of_a_step_is_the_trials():
    steps = [
        {"step_name": "one", "agent_result": {"n_output_tokens": 3}, "exception_info": None},
        {
            "step_name": "two",
            "agent_result": {"n_output_tokens": 4},
            "exception_info": {"exception_type": "DaytonaError"},
        },
    ]
    found = read(FakeTrial(steps=steps), agent_result=None)
    assert (found.exception, found.output_tokens, found.in_steps) == ("DaytonaError", 7, True)
    steps[1]["agent_result"] = {"n_output_tokens": None}
    assert read(FakeTrial(steps=steps), agent_result=None).output_tokens is None


def test_a_trial_that_has_not_ended():
    running = read(FakeTrial(reward=None), finished_at=None)
    assert not running.whole
    assert read(FakeTrial(reward=1.0), finished_at=None).whole


def test_times_without_an_offset_are_in_the_zone_that_is_given():
    found = read_trial(
        dump(FakeTrial().result() | {"finished_at": "2027-01-04T10:00:00"}), timezone(timedelta(hours=1))
    )
    assert isinstance(found, Trial) and found.finished == 1_799_053_200.0


@pytest.mark.parametrize(
    "data",
    [
        b"", b"   ", b"null", b"[]", b"7", b'"x"', b"{}", b"{\0}", b"\xff\xfe", b'{"trial_name": "a", ', b"[" * 99_999,
        b'{"a": ' * 99_999, b'{"trial_name": ' + b"9" * 9_999 + b"}", b"\x1b[31m{}", b"==> x <==\n",
    ],
)  # fmt: skip
def test_what_is_no_result_is_malformed(data):
    for reader in (read_trial, read_job, read_config):
        found = reader(data)
        assert isinstance(found, Unknown) and found.reason == Reason.MALFORMED


def test_every_cut_of_a_result_is_malformed():
    whole = dump(FakeTrial().result())
    for at in range(len(whole) - 1):
        found = read_trial(whole[:at])
        assert isinstance(found, Unknown) and found.reason == Reason.MALFORMED


def test_an_aggregate_is_no_trial_and_a_trial_no_aggregate():
    trials = random_trials(1, 5)
    assert isinstance(read_trial(dump(aggregate(trials, 5))), Unknown)
    assert isinstance(read_job(dump(trials[0].result())), Unknown)


def test_a_secret_that_was_struck_out_leaves_the_rest_readable():
    masked = dump(FakeTrial().result() | {"env": {"X_API_KEY": None}}).replace(
        b'"X_API_KEY": null', b'"X_API_KEY": ****'
    )
    assert isinstance(read_trial(masked), Trial)
    assert parse(b'{"a": "****", "b": [masked***]\n}') == {"a": "****", "b": None}


# ---------------------------------------------------------------- a job


@pytest.mark.parametrize("version", [0, 1])
def test_a_jobs_aggregate_of_each_version(version):
    trials = random_trials(2, 50)
    found = read_job(dump(aggregate(trials, 60, finished=False, version=version)))
    assert not isinstance(found, Unknown)
    valid = [one.reward for one in trials if one.reward is not None]
    assert (found.planned, found.completed, found.valid) == (60, 50, len(valid))
    assert found.mean == pytest.approx(sum(valid) / len(valid))
    assert sum(found.rewards.values()) == len(valid)
    assert found.errored == sum(found.exceptions.values()) == sum(bool(one.exception) for one in trials)
    assert found.agents == ("terminus-2",)
    assert found.finished is None and found.updated == T0 + 900


def test_stats_may_be_a_string_of_json():
    whole = aggregate(random_trials(3, 9), 9)
    as_text = {**whole, "stats": json.dumps(whole["stats"])}
    assert read_job(dump(as_text)) == read_job(dump(whole))
    assert isinstance(read_job(dump({**whole, "stats": "no json"})), Unknown)


def test_bare_numbers_of_exceptions_are_named_and_not_counted():
    stats = {"n_trials": 9, "evals": {"k": {"exception_stats": {"DaytonaError": 5, "BadRequestError": ["a", "b"]}}}}
    found = read_job(dump({"n_total_trials": 9, "stats": stats}))
    assert not isinstance(found, Unknown)
    assert (found.exceptions, found.unlisted) == ({"BadRequestError": 2}, {"DaytonaError"})
    assert found.valid is None and found.errored is None


def test_groups_are_weighted_by_their_size():
    evals = {"a__d": {"n_trials": 3, "metrics": [{"mean": 1.0}]}, "b__d": {"n_trials": 1, "metrics": [{"mean": 0.0}]}}
    found = read_job(dump({"stats": {"evals": evals}}))
    assert not isinstance(found, Unknown) and found.mean == 0.75
    evals["b__d"]["metrics"] = []
    none = read_job(dump({"stats": {"evals": evals}}))
    assert not isinstance(none, Unknown) and none.mean is None


# ---------------------------------------------------------------- configs


def test_a_jobs_config_counts_only_what_it_names():
    base = {"jobs_dir": "jobs", "n_attempts": 3, "agents": [{"name": "terminus-2", "model_name": "acme/m"}]}
    named = {**base, "datasets": [{"task_names": ["a", "b"]}], "tasks": [{"path": "c"}]}
    found = read_config(dump(named))
    assert not isinstance(found, Unknown)
    assert (found.planned, found.agents, found.models) == (9, ("terminus-2",), ("acme/m",))
    for datasets in ([{"path": "t"}], [{"task_names": ["a*"]}], [{"task_names": ["a"], "n_tasks": 4}], []):
        open_ended = read_config(dump({**base, "datasets": datasets}))
        assert not isinstance(open_ended, Unknown) and open_ended.planned is None


def test_the_addresses_of_a_trials_config():
    agent = {"name": "openhands", "kwargs": {"api_base": "http://10.1.2.3:8000/v1", "x": [{"OPENAI_BASE_URL": "u"}]}}
    found = read_config(dump({"trials_dir": "j", "agent": agent}))
    assert not isinstance(found, Unknown)
    assert found.addresses == ("http://10.1.2.3:8000/v1", "u")
    assert isinstance(read_config(dump({"agent_x": 1})), Unknown)


# ---------------------------------------------------------------- ends of long files, trajectories


def test_the_ends_of_a_long_result_say_what_the_whole_does():
    for seed in range(30):
        trial = random_trials(seed, 1)[0]
        padded = trial.result()
        padded["agent_result"]["rollout_details"] = ['"\n    "verifier_result": {"rewards": {"reward": 9}},' * 3_000]
        data = dump(padded)
        whole, ends = read_trial(data), read_trial_ends(data[:6_000], data[-6_000:])
        assert isinstance(whole, Trial) and isinstance(ends, Trial)
        for name in ("name", "reward", "valid", "exception", "finished", "whole"):
            assert getattr(ends, name) == getattr(whole, name), name


def test_ends_that_do_not_tell_are_cut():
    data = dump(FakeTrial().result())
    for head, tail in [
        (data[:60], data[-60:]),
        (data[:60], data[60:-1]),
        (dump(FakeTrial().result(), compact=True), data),
        (b"", b""),
    ]:
        assert read_trial_ends(head, tail) == Unknown(Reason.CUT, "the result file is longer than what is read of one")


def test_turns_of_a_trajectory():
    assert read_turns(dump(trajectory(7)), b"", whole=True) == Turns(steps=7, agent=5)
    long = dump(trajectory(7, padding=900))
    assert read_turns(long[:200], long[-2000:], whole=False) == Turns(steps=7, agent=None)
    assert isinstance(read_turns(long[:200], b"", whole=False), Unknown)
    assert isinstance(read_turns(b'{"steps": 3}', b"", whole=True), Unknown)
    assert isinstance(read_turns(long[:200], b"", whole=True), Unknown)
    assert last_step(b'"message": "\\"step_id\\": 99"') is None


# ---------------------------------------------------------------- sums


def test_sums_over_parts_are_the_sums_over_all():
    trials = [read(one) for one in random_trials(11, 400)]
    whole = tally(trials)
    for at in (0, 1, 150, 399):
        part = plus(tally(trials[:at]), tally(trials[at:]))
        assert part.total == pytest.approx(whole.total)
        assert {**encode(part), "total": 0} == {**encode(whole), "total": 0}
    assert decode(json.loads(json.dumps(encode(whole)))) == whole
    assert len(whole.last) == LAST


@pytest.mark.parametrize("broken", [{}, {"quick": []}, {"last": [[1]]}, {"done": -1}, {"total": "x"}])
def test_sums_of_another_shape_are_not_believed(broken):
    assert decode({**encode(Tally()), **broken} if broken else {}) is None


def test_failed_at_once():
    seconds = (7.0, 7.5, 2.0, 7.0)
    quick = [read(FakeTrial(tokens=None, reward=0.0, seconds=one)) for one in seconds]
    quick += [read(FakeTrial(tokens=None, reward=1.0, seconds=3)), read(FakeTrial(tokens=9, reward=0.0, seconds=3))]
    quick += [read(FakeTrial(tokens=None, reward=0.0, seconds=3, model=None))]
    quick += [read(FakeTrial(tokens=None, reward=None, exception="X", ran=False))]
    assert [instant(tally(quick), limit) for limit in (0, 3, 4, 5)] == [1, 1, 3, 4]


def test_more_exception_types_than_are_told_apart():
    trials = [read(FakeTrial(exception=f"Error{at}", reward=None)) for at in range(3 * MAX_TYPES)]
    found = tally(trials)
    assert len(found.exceptions) == MAX_TYPES
    assert sum(found.exceptions.values()) == found.errored == 3 * MAX_TYPES
    again = plus(found, found)
    assert again.exceptions[OTHERS] + sum(n for k, n in again.exceptions.items() if k != OTHERS) == 6 * MAX_TYPES


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e3", 1000.0),
        (" .5 ", 0.5),
        ("0x10", None),
        ("1_000", None),
        ("nan", None),
        ("٣", None),
        ("", None),
        (10**400, None),
    ],
)
def test_numbers(written, value):
    assert number(written) == value
