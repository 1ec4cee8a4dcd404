"""The facts of a job from its trials: what each count means, what makes it unknown, and its nearest trap."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from sweeprules.collectors.trials.counts import (
    BENIGN,
    NAMES,
    Terms,
    chunk_facts,
    no_trials,
    round_half_up,
    together,
    trial_facts,
    trial_pass_rate,
)
from sweeprules.collectors.trials.memo import Sampled
from sweeprules.collectors.trials.results import JobResult, Trial, TrialConfig, read_job, read_trial
from sweeprules.collectors.trials.rounds import Reading
from sweeprules.collectors.trials.tally import tally
from sweeprules.engine.facts import ABSENT, NOT_READ, Reason, Unknown
from tests.collectors.trials.harbor import T0, FakeTrial, aggregate, dump, random_trials, reason


def reading(trials: list[FakeTrial], **more: Any) -> Reading:
    """What a sweep has of these trials, all of them read."""
    read = [read_trial(dump(one.result())) for one in trials]
    sums = tally(one for one in read if isinstance(one, Trial))
    return replace(Reading("/w/job", len(trials), sums, agent="terminus-2", clock=T0 + 9_000), **more)


def facts(trials: list[FakeTrial], terms: Terms | None = None, **more: Any) -> dict[str, object]:
    return dict(trial_facts(reading(trials, **more), terms or Terms()))


def test_every_fact_is_given_whatever_was_read():
    for one in (reading([FakeTrial()]), reading([]), Reading("/w", NOT_READ), reading([FakeTrial()], doubt=NOT_READ)):
        assert set(trial_facts(one, Terms())) == set(NAMES) == set(no_trials())
    assert set(no_trials(NOT_READ).values()) == {NOT_READ}


# ---------------------------------------------------------------- the gate


@pytest.mark.parametrize(("planned", "allowed"), [(25, 3), (267, 27), (300, 30), (5, 1), (4, 0), (0, 0), (15, 2)])
def test_half_a_trial_counts_as_one(planned, allowed):
    assert round_half_up(0.10, planned) == allowed
    assert facts([FakeTrial()], Terms(planned=planned))["nonbenign_allowed"] == allowed


@pytest.mark.parametrize("seed", range(50))
def test_only_the_seven_names_are_benign(seed):
    rng = random.Random(seed)
    names = [*BENIGN, "AgentTimeout", "agenttimeouterror", "DaytonaError", "VerifierTimeoutError", "SummarizationError"]
    raised = [rng.choice(names) for _ in range(rng.randrange(1, 60))]
    found = facts([FakeTrial(exception=one, id=f"i{at}") for at, one in enumerate(raised)])
    assert found["nonbenign"] == sum(one not in BENIGN for one in raised)
    assert found["trials_errored"] == len(raised)
    assert len(BENIGN) == 7


def test_the_benign_names_are_the_policys():
    assert facts([FakeTrial(exception="DaytonaError")], Terms(benign=frozenset({"DaytonaError"})))["nonbenign"] == 0


@pytest.mark.parametrize("seed", range(50))
def test_a_timeout_with_a_reward_is_valid_and_one_without_is_not(seed):
    rng = random.Random(seed)
    scored, lost, clean = (rng.randrange(1, 40) for _ in range(3))
    trials = [FakeTrial(reward=0.0, exception="AgentTimeoutError")] * scored
    trials += [FakeTrial(reward=None, exception="AgentTimeoutError")] * lost + [FakeTrial(reward=1.0)] * clean
    rng.shuffle(trials)
    found = facts(trials, Terms(planned=300))
    assert (found["trials_done"], found["trials_valid"]) == (scored + lost + clean, scored + clean)
    assert found["top_exception"] == "AgentTimeoutError" and found["nonbenign"] == 0
    assert found["mean_valid"] == pytest.approx(clean / (scored + clean))
    assert found["mean_all"] == pytest.approx(clean / 300)


def test_the_plan_is_the_sites_then_the_jobs_then_the_configs():
    job = JobResult(89, 1, 0, 1, 1.0)
    config = TrialConfig(30, ("a",), (), ())
    assert facts([], Terms(planned=267), job=job)["trials_planned"] == 267
    assert facts([], job=job, config=config)["trials_planned"] == 89
    assert facts([], config=config)["trials_planned"] == 30
    unknown = facts([FakeTrial()])
    assert all(isinstance(unknown[name], Unknown) for name in ("trials_planned", "mean_all", "nonbenign_allowed"))
    assert unknown["trials_done"] == 1


def test_more_trials_than_planned_do_not_make_a_mean_above_one():
    assert facts([FakeTrial()] * 4, Terms(planned=2))["mean_all"] == 1.0


def test_rewards_that_are_no_ratio_have_no_mean():
    found = facts([FakeTrial(reward=2.0), FakeTrial(reward=0.0)], Terms(planned=2))
    assert reason(found["mean_valid"]) == reason(found["mean_all"]) == Reason.CALC
    assert found["pass_rate"] == 0.5


# ---------------------------------------------------------------- what is unknown


def test_one_result_that_is_not_known_makes_every_count_unknown():
    why = Unknown(Reason.MALFORMED, "1 of 2 results")
    found = facts([FakeTrial(), FakeTrial()], Terms(planned=2), doubt=why)
    told = {"trials_planned", "trials_started", "nonbenign_allowed", "agent"}
    apart = {"avg_turns", "avg_turns_agent", "judge_401"}
    assert {name for name in NAMES if found[name] == why} == set(NAMES) - told - apart


@pytest.mark.parametrize("seed", range(20))
def test_an_aggregate_that_adds_up_tells_the_same_as_the_results(seed):
    trials = random_trials(seed, 40)
    job = read_job(dump(aggregate(trials, 50, version=seed % 2)))
    whole, told = facts(trials, job=job), facts([], job=job, doubt=Unknown(Reason.CUT), started=40)
    for name in (
        "trials_done",
        "trials_valid",
        "trials_errored",
        "exceptions",
        "top_exception",
        "nonbenign",
        "pass_rate",
    ):
        assert told[name] == whole[name], name
    for name in ("mean_valid", "mean_all", "exception_share", "reward_zero_share"):
        assert told[name] == pytest.approx(whole[name]), name


@pytest.mark.parametrize(
    "changes",
    [
        {"completed": None}, {"errored": 3}, {"valid": None}, {"valid": 1}, {"unlisted": frozenset({"X"})},
        {"completed": 999}, {"rewards": {}},
    ],
)  # fmt: skip
def test_an_aggregate_that_does_not_add_up_tells_nothing(changes):
    trials = [FakeTrial(id=f"i{at}") for at in range(5)]
    job = read_job(dump(aggregate(trials, 5)))
    assert isinstance(job, JobResult)
    why = Unknown(Reason.CUT)
    assert facts([], job=job, doubt=why, started=5)["trials_done"] == 5
    assert facts([], job=replace(job, **changes), doubt=why, started=5)["trials_done"] == why


def test_the_age_of_the_newest_result():
    trials = [FakeTrial(began=T0 + 60 * at) for at in range(5)]
    assert facts(trials)["newest_result_age"] == 9_000 - 240 - 240
    assert facts(trials, clock=T0)["newest_result_age"] == 0.0
    assert isinstance(facts(trials, clock=None)["newest_result_age"], Unknown)
    assert isinstance(facts([FakeTrial(extra={"finished_at": "soon"})])["newest_result_age"], Unknown)
    assert facts([])["newest_result_age"] is ABSENT


# ---------------------------------------------------------------- kinds of jobs that go wrong


@pytest.mark.parametrize("seed", range(50))
def test_failed_at_once_and_its_traps(seed):
    """Installed agents behind a dead tunnel, against quick passes, agents without a model and trials that never ran."""
    rng = random.Random(seed)
    dead = [
        FakeTrial(agent="openhands", tokens=None, reward=rng.choice([0.0, None]), seconds=3 + rng.uniform(0, 5))
        for _ in range(rng.randrange(11, 60))
    ]
    traps = [
        FakeTrial(agent="openhands", tokens=7, reward=0.0, seconds=3.5),
        FakeTrial(agent="openhands", tokens=None, reward=1.0, seconds=3.5),
        FakeTrial(agent="oracle", tokens=None, model=None, reward=0.0, seconds=3.5),
        FakeTrial(agent="openhands", tokens=None, reward=None, exception="EnvironmentStartTimeoutError", ran=False),
        FakeTrial(agent="openhands", tokens=None, reward=0.0, seconds=8.1),
    ]
    more = [rng.choice(traps) for _ in range(rng.randrange(40))]
    assert facts([*dead, *more])["instant_failed"] == len(dead)
    assert facts(more)["instant_failed"] == 0


@pytest.mark.parametrize("seed", range(50))
def test_a_dead_engine_and_a_living_one_by_turns(seed):
    rng = random.Random(seed)
    turns = [1] * rng.randrange(19, 60) + [2] * rng.randrange(2)
    dead = facts([FakeTrial()] * 20, sampled=Sampled(sum(turns), len(turns)))["avg_turns"]
    assert dead == pytest.approx(sum(turns) / len(turns)) and isinstance(dead, float) and dead <= 1.2
    own = facts([FakeTrial(episodes=at) for at in (3, 5, 10)])
    assert own["avg_turns_agent"] == 6.0 and isinstance(own["avg_turns"], Unknown)


def test_agents_that_write_no_trajectory():
    quiet = [FakeTrial(agent="oracle", episodes=None)]
    assert facts(quiet, agent="oracle")["avg_turns"] is ABSENT
    assert facts(quiet, sampled=Sampled(without=4))["avg_turns"] is ABSENT
    assert isinstance(facts(quiet)["avg_turns"], Unknown)
    assert facts(quiet, sampled=Sampled(steps=9, steps_of=3, without=4))["avg_turns"] == 3.0


def test_dead_rewards():
    found = facts([FakeTrial(reward=0.0)] * 24, sampled=Sampled(127, 24, verifiers=24, judge_401=24))
    assert (found["reward_zero_share"], found["mean_valid"], found["pass_rate"], found["judge_401"]) == (
        1.0,
        0.0,
        0.0,
        24,
    )
    assert found["avg_turns"] == pytest.approx(5.29, abs=0.01)
    assert isinstance(facts([FakeTrial()])["judge_401"], Unknown)


# ---------------------------------------------------------------- runs, chunks, RL


def test_chunks_together_are_what_one_job_would_be():
    trials = random_trials(31, 60)
    parts = [reading(trials[at : at + 20], job=read_job(dump(aggregate([], 20)))) for at in (0, 20, 40)]
    run = together(parts)
    assert run is not None and together([]) is None
    whole, joined = facts(trials, Terms(planned=60)), trial_facts(run, Terms())
    for name in NAMES:
        assert joined[name] == (pytest.approx(whole[name]) if isinstance(whole[name], float) else whole[name]), name


def test_a_chunk_that_is_not_known_leaves_the_run_unknown():
    known = reading(random_trials(32, 9), new=4)
    for odd in (Reading("/w/c", NOT_READ), reading([FakeTrial()], doubt=Unknown(Reason.MALFORMED))):
        for order in ([known, odd], [odd, known]):
            run = together(order)
            assert run is not None and run.new is None
            assert isinstance(trial_facts(run, Terms())["trials_done"], Unknown)


@pytest.mark.parametrize(
    ("states", "total", "counts"),
    [
        (("COMPLETED",) * 7 + ("RUNNING", "PENDING"), 9, (9, 7, 1, 0)),
        (("COMPLETED", "TIMEOUT", "FAILED", "COMPLETING"), 4, (4, 1, 1, 2)),
        ((), 0, (0, 0, 0, 0)),
    ],
)
def test_chunks_by_their_states(states, total, counts):
    found = chunk_facts({str(at): state for at, state in enumerate(states)}, total)
    assert tuple(found[f"chunks_{name}"] for name in ("total", "done", "running", "failed")) == counts


def test_chunks_that_are_not_all_known():
    lost = Unknown(Reason.VANISHED)
    assert chunk_facts({"a": "COMPLETED", "b": lost}, 2) == {
        "chunks_total": 2, "chunks_done": lost, "chunks_running": lost, "chunks_failed": lost,
    }  # fmt: skip
    for total in (None, 3):
        found = chunk_facts({"a": "COMPLETED", "b": "COMPLETED"}, total)
        assert isinstance(found["chunks_done"], Unknown)
        assert isinstance(found["chunks_total"], Unknown) is (total is None)


def test_the_pass_rate_of_the_last_hundred():
    trials = [FakeTrial(reward=float(at >= 150), began=T0 + at) for at in range(160)]
    random.Random(1).shuffle(trials)
    assert trial_pass_rate(reading(trials)) == 0.1
    assert reason(trial_pass_rate(reading(trials[:99]))) == Reason.WARMING_UP
    assert trial_pass_rate(reading(trials, doubt=NOT_READ)) == NOT_READ
    assert trial_pass_rate(Reading("/w", NOT_READ)) == NOT_READ
