"""From the bytes of a log to the truth of the shipped rules: a collapse, a healthy run, a link in the middle, NaN."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.points import merge, step_relation, step_subjects
from sweeprules.collectors.metrics.rl import read_rl, series_of
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import NOT_APPLICABLE, Ref, Relation, Subject, World
from sweeprules.engine.truth import Truth
from tests.collectors.metrics import rl_logs

UTC = ZoneInfo("UTC")
SIGNALS = {"grad": "rl.grad", "entropy": "rl.entropy", "log-ratio": "rl.log-ratio"}


def read(data: bytes) -> Numbers:
    return read_rl(Chunk(data, 0), rl_logs.aliases(), UTC, whole=True)


def judged(links: Mapping[str, bytes], name: str = "rl__a2-8B") -> tuple[Mapping[int, set[str]], set[int], Truth]:
    """Signals by step, the steps that the collapse rule holds of, and the truth of its action on the last link."""
    numbers = {job_id: read(data) for job_id, data in links.items()}
    series = {job_id: series_of(one.memo) for job_id, one in numbers.items()}
    run, sweep, cluster = Ref("run", "leo:1"), Ref("sweep", "s1"), Ref("cluster", "leo")
    world = {
        sweep: Subject(sweep, {"now": 1.8e9}),
        cluster: Subject(cluster, {"name": "leo"}),
        run: Subject(run, {"key": run.key}, {}, {"links": Relation(tuple(Ref("job", f"leo:{one}") for one in links))}),
    }
    merged = merge(series.items())
    steps: dict[Ref, int] = {}
    for job_id in links:
        job = Ref("job", f"leo:{job_id}")
        mine = step_subjects(job, series[job_id], rl_logs.aliases(), link=job_id, run=merged)
        facts = {**numbers[job_id].facts, "name": name, "bucket": "rl", "state": "RUNNING", "cluster": "leo"}
        facts |= {"key": job.key, "job_id": job_id, "trial_pass_rate": NOT_APPLICABLE}
        of_run = {"run": Relation((run,)), "sweep": Relation((sweep,))}
        relations = {"steps": step_relation(series[job_id], mine), **of_run}
        world[job] = Subject(job, facts, {}, {**relations, "cluster": Relation((cluster,))})
        for step in mine:
            world[step.ref] = replace(
                step, relations={**step.relations, "run": Relation((run,)), "sweep": Relation((sweep,))}
            )
            number = step.get("step")
            assert isinstance(number, int)
            steps[step.ref] = number
    truths = evaluate(rl_logs.shipped(), World(world))
    signals = {
        number: {word for word, rule in SIGNALS.items() if truths[ref][rule] is Truth.TRUE}
        for ref, number in steps.items()
    }
    fallen = {number for ref, number in steps.items() if truths[ref]["rl.collapse"] is Truth.TRUE}
    return signals, fallen, truths[job]["rl.collapse-of-a-live-run"]


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize(("mirror", "console"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("onset", [12, 13, 20])
def test_a_collapse_fires_from_its_onset(onset: int, mirror: bool, console: bool, colour: bool) -> None:
    steps = rl_logs.collapsing(last=onset + 4, onset=onset)
    signals, fallen, action = judged({"1": rl_logs.run(steps, colour=colour, mirror=mirror, console=console)})
    assert fallen == set(range(onset, onset + 5))
    assert signals[onset - 1] == set()
    assert signals[onset] == {"grad", "log-ratio"}
    assert signals[onset + 1] == {"grad", "log-ratio", "entropy"}
    assert action is Truth.TRUE


def test_a_log_ratio_out_of_its_bound_leaves_the_other_two() -> None:
    steps = rl_logs.collapsing(last=17, onset=13)
    for step in range(13, 18):
        steps[step]["policy/log_ratio_abs_max"] = 3.1
    signals, fallen, _ = judged({"1": rl_logs.run(steps)})
    assert fallen == {14, 15, 16, 17}
    assert signals[13] == {"grad"}


def test_a_run_that_learns_has_no_signal() -> None:
    signals, fallen, action = judged({"1": rl_logs.run(rl_logs.learning())})
    assert (set().union(*signals.values()), fallen) == (set(), set())
    assert action is not Truth.TRUE


def test_a_link_in_the_middle_has_no_signal_with_or_without_the_one_before_it() -> None:
    later = rl_logs.run(rl_logs.learning(21, 24))
    assert judged({"2": later})[1] == set()
    signals, fallen, _ = judged({"1": rl_logs.run(rl_logs.learning(1, 20)), "2": later})
    assert (signals[24], fallen) == (set(), set())


def test_the_window_reaches_into_the_link_before() -> None:
    steps = rl_logs.collapsing(last=17, onset=13)
    first = rl_logs.run({step: steps[step] for step in range(1, 12)})
    second = rl_logs.run({step: steps[step] for step in range(12, 18)})
    _, fallen, action = judged({"1": first, "2": second})
    assert {13, 14, 15} <= fallen
    assert action is Truth.TRUE


def test_numbers_that_are_none_are_no_collapse_and_a_fact_of_their_own() -> None:
    steps = rl_logs.learning(1, 14)
    for step in range(11, 15):
        steps[step] |= {"policy/raw_grad_norm": float("nan"), "policy/policy_entropy": float("nan")}
    data = rl_logs.run(steps)
    assert judged({"1": data})[1:] == (set(), Truth.UNKNOWN)
    assert read(data).facts["has_nan"] is True


def test_a_trainer_near_zero_by_design_is_no_collapse() -> None:
    rng = random.Random(3)
    steps = rl_logs.learning(1, 20)
    for metrics in steps.values():
        metrics["policy/raw_grad_norm"] = 1e-5 * (1 + 2 * rng.random())
        metrics["policy/log_ratio_abs_mean"] = 1e-5 * (1 + 2 * rng.random())
    assert judged({"1": rl_logs.run(steps)})[1] == set()


def test_families_show_a_study_of_spikes() -> None:
    steps = rl_logs.collapsing()
    for metrics in steps.values():
        metrics |= {"policy/z_clip/triggered": 1, "policy/z_clip/z_score": 3.1}
    families = read(rl_logs.run(steps)).facts["metric_families"]
    assert isinstance(families, tuple)
    assert "policy/z_clip" in families
    assert "policy/stale_clip" not in families
