"""Jobs that live, hang or are slow, over several sweeps: from the bytes of their logs to what the rules flag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

import pytest

from sweeprules.cli.cadence import cadence_params
from sweeprules.collectors.learning import FAULTY, NONE_LEARNED, News, chain_memo, kept, learn_job
from sweeprules.collectors.logs.facts import FoundLog, Tail, log_facts, window
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.scan import Matcher, prepare
from sweeprules.collectors.prior import JobMemo, Prior
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.testdefaults import NOW, quiet_job
from tests.collectors.slurm.fake import observation
from tests.rules.shipped import catalogue, policy

HOUR, MINUTE = 3600.0, 60.0
START = float(NOW)
SHM = "INFO No available shared memory broadcast block found in 600 seconds"


@cache
def matchers() -> tuple[Matcher, ...]:
    return prepare(policy().patterns)


def stamp(at: float) -> str:
    return datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def step(at: float, number: int) -> tuple[float, str]:
    return at, f"{stamp(at)} INFO WANDB_MIRROR kind=train step={number} metrics={{}}"


@dataclass(frozen=True)
class Seen:
    """What one sweep told: the facts of the job, its flags with their words, its health."""

    facts: Mapping[str, FactValue]
    flags: Mapping[str, str]
    health: str


class Job:
    """One job whose log is given as (seconds since the start, line); its memo is kept as a store keeps it."""

    def __init__(self, name: str, bucket: str, lines: list[tuple[float, str]], *, begun: float = 0.0) -> None:
        self.name, self.bucket, self.begun = name, bucket, begun
        self.lines = sorted(lines)
        self.prior = Prior()

    def sweep(self, at: float, *, complete: bool = True) -> Seen:
        written = [(moment, line) for moment, line in self.lines if moment <= at]
        data = "".join(f"{line}\n" for _, line in written).encode()
        stat = FileStat(1, 1, len(data), START + (written[-1][0] if written else self.begun))
        memo = self.prior.jobs.get("test:1")
        log = memo.log if memo is not None else None
        first, size = window(stat, log, START + self.begun)
        tail = Tail(first, observation(("tail",), data[first : first + size]))
        found = FoundLog("/w/x.out", "scheduler", stat, START + at, tail.observation)
        reading = log_facts(found, tail, matchers(), ZoneInfo("UTC"), log, START + self.begun)
        quiet = quiet_job(policy())
        facts: dict[str, FactValue] = {
            **{name: value for name, value in quiet["job"].items() if name not in ("step", "trials_done")},
            **reading.facts,
            "name": self.name,
            "started": START + self.begun,
            "elapsed": at - self.begun,
            "phase": "steady" if reading.progressed or at - self.begun > HOUR else "bring-up",
            "liveness": Unknown("not-read"),
        }
        memo = memo or JobMemo("test", "1", name=self.name, run="r", started=START + self.begun)
        told, learned = learn_job(
            facts, News(reading.moved, reading.breaks, reading.gap), memo,
            chain_memo("r", "test:1", self.prior.jobs), self.prior.cadences, self.bucket,
            cadence_params(policy(), "test", self.bucket), START + at, complete=complete,
            patterns=[name for name, one in policy().patterns.items() if one.kind == "progress"],
        )  # fmt: skip
        progress, cadence = kept(memo, learned, ended=False)
        memo = replace(memo, log=reading.memo, progress=progress, cadence=cadence, last_seen=START + at)
        jobs = {**self.prior.jobs, "test:1": memo}
        self.prior = Prior.from_data(replace(self.prior, jobs=jobs).to_data())
        return self._judged({**facts, **told}, quiet["cluster"], at)

    def _judged(self, facts: Mapping[str, FactValue], cluster: Mapping[str, FactValue], at: float) -> Seen:
        job, head, where = Ref("job", "test:1"), Ref("sweep", "s"), Ref("cluster", "test")
        relations = {"cluster": Relation((where,)), "sweep": Relation((head,)), "previous": Relation(())}
        world = World({
            job: Subject(job, facts, {}, relations),
            head: Subject(head, {"now": START + at, "complete": True}),
            where: Subject(where, cluster, {}, {"sweep": Relation((head,)), "previous": Relation(())}),
        })  # fmt: skip
        verdict = judge(policy(), world, catalogue())[job]
        return Seen(facts, {flag.name: flag.message for flag in verdict.flags}, verdict.health)


def heartbeats(first: float, last: float, line: Callable[[float], str] = lambda _: SHM) -> list[tuple[float, str]]:
    return [(at * 10 * MINUTE, line(at)) for at in range(int(first / 600), int(last / 600))]


def steps(count: int, every: float, first: float = HOUR) -> list[tuple[float, str]]:
    return [step(first + every * number, number + 1) for number in range(count)]


# ---------------------------------------------------------------- a wedge that heartbeats hide


def test_nine_hours_of_heartbeats_behind_a_step_are_a_wedge():
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), *heartbeats(6 * HOUR, 15 * HOUR)])
    early = job.sweep(5.5 * HOUR)
    assert (early.facts["cadence_source"], early.facts["cadence_gaps"]) == ("learned", 13)
    assert early.flags == {} and early.health == "healthy"
    found = [job.sweep(hour * HOUR) for hour in (6, 7.5, 9, 12, 15)]
    assert [sorted(one.flags) for one in found] == [
        [],
        [],
        ["suspected-wedge"],
        ["suspected-wedge"],
        ["suspected-wedge"],
    ]
    last = found[-1]
    assert last.facts["log_age"] == 600.0 and last.facts["liveness"] == Unknown("not-read")
    assert last.facts["progress"] is False and last.facts["heartbeats_only"] is True
    assert last.facts["progress_age"] == 15 * HOUR - (HOUR + 14 * 20 * MINUTE)
    assert "no progress for 9h20m" in last.flags["suspected-wedge"]
    assert "cadence 20m (p99 of 14 gaps)" in last.flags["suspected-wedge"]


def test_at_first_sight_of_the_same_wedge_one_look_does_not_tell():
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), *heartbeats(6 * HOUR, 15 * HOUR)])
    assert job.sweep(12 * HOUR).flags == {}
    assert list(job.sweep(12.5 * HOUR).flags) == ["suspected-wedge"]


def test_a_sweep_that_was_not_whole_is_no_second_look():
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), *heartbeats(6 * HOUR, 15 * HOUR)])
    job.sweep(12 * HOUR)
    assert job.sweep(12.5 * HOUR, complete=False).flags == {}
    assert list(job.sweep(13 * HOUR).flags) == ["suspected-wedge"]


def test_two_steps_only_and_heartbeats_since_by_the_default():
    job = Job("rl__a2-8B", "rl", [*steps(2, 20 * MINUTE), *heartbeats(1.5 * HOUR, 9 * HOUR)])
    first, second, third = (job.sweep(hour * HOUR) for hour in (2, 3.5, 4.5))
    assert first.facts["cadence_source"] == "default"
    assert (first.flags, second.flags, list(third.flags)) == ({}, {}, ["suspected-wedge"])


def test_other_output_behind_the_last_step_leaves_one_sign_only():
    lines = [*steps(2, 20 * MINUTE), (1.4 * HOUR, "INFO weights synced"), *heartbeats(1.5 * HOUR, 9 * HOUR)]
    job = Job("rl__a2-8B", "rl", lines)
    found = [job.sweep(hour * HOUR) for hour in (2, 5, 8)]
    assert [one.flags for one in found] == [{}, {}, {}]
    assert found[-1].facts["progress"] is False


def test_a_wedge_that_ends_is_none_any_more():
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), *heartbeats(6 * HOUR, 12 * HOUR), step(12 * HOUR, 16)])
    assert list([job.sweep(hour * HOUR) for hour in (9, 11)][-1].flags) == ["suspected-wedge"]
    after = job.sweep(12.2 * HOUR)
    assert after.flags == {} and after.facts["progress"] is True
    assert after.facts["unchanged_sweeps"] == 1


def test_a_buffer_that_fills_between_steps_is_progress():
    lines = [*steps(2, 20 * MINUTE), *heartbeats(1.5 * HOUR, 9 * HOUR)]
    fills = [(1.5 * HOUR + n * HOUR, f"Generation Buffer Progress: {3 + n}/64 [01:00<02:00]") for n in range(8)]
    job = Job("rl__a2-8B", "rl", [*lines, *fills])
    assert [job.sweep(hour * HOUR).flags for hour in (3, 5, 7, 9)] == [{}] * 4


def test_behind_a_fault_one_look_does_not_tell_whether_the_work_goes_on():
    fault = (2 * HOUR, f"{stamp(2 * HOUR)} [rank3] Watchdog caught collective operation timeout: ran for 1800041 ms")
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), fault])
    first, second = job.sweep(2.1 * HOUR), job.sweep(3 * HOUR)
    assert first.facts["fault_lines"] == {"nccl-watchdog": 1} and first.health == "unknown"
    assert isinstance(first.facts["progress"], Unknown) and "holds a fault" in first.facts["progress"].detail
    assert second.facts["progress"] is True and second.health == "healthy"


@pytest.mark.parametrize(
    ("faults", "progress"),
    [
        ({}, True),
        ({"nccl-watchdog": 1}, FAULTY),
        (ABSENT, True),
        (Unknown(Reason.READ_FAILED, "Input/output error"), Unknown(Reason.READ_FAILED, "Input/output error")),
    ],
)
def test_only_a_log_that_was_read_is_said_to_hold_a_fault(faults: FactValue, progress: FactValue):
    """Results in files show work that goes on where there is no log, or none that could be read."""
    facts = {"trials_done": 5, "started": START, "elapsed": HOUR, "cluster": "test", "fault_lines": faults}
    told, _ = learn_job(
        facts, News(), None, None, {}, "eval", cadence_params(policy(), "test", "eval"), START + HOUR,
        complete=True, patterns=[],
    )  # fmt: skip
    assert told["progress"] == progress


# ---------------------------------------------------------------- slow, and healthy


def slow_run(walls: int) -> Job:
    """A run of 4.7 hours a step: its engines write all the time, its trainer once a step."""
    chatter = [(at * 10 * MINUTE, f"INFO engine throughput {at} tokens/s") for at in range(60 * 6)]
    job = Job("rl__big-80B", "rl", [*steps(40, 4.7 * HOUR, 3 * HOUR), *chatter])
    for hour in range(4, walls, 3):
        assert job.sweep(hour * HOUR).flags == {}, hour
    return job


def test_a_step_of_almost_five_hours_on_its_own_gaps():
    job = slow_run(70)
    job.lines = sorted([*job.lines, *heartbeats(60 * HOUR, 190 * HOUR)])
    for hour in range(70, 180, 3):
        seen = job.sweep(hour * HOUR)
        assert seen.flags == {}, (hour, seen.flags)
        assert seen.facts["progress"] is True and seen.health == "healthy"
    assert (seen.facts["cadence"], seen.facts["cadence_source"]) == (16_920.0, "learned")


def test_the_same_run_is_a_wedge_after_five_of_its_own_steps():
    job = slow_run(70)
    job.lines = [one for one in job.lines if one[0] < 64.2 * HOUR] + heartbeats(67 * HOUR, 120 * HOUR)
    assert job.sweep(80 * HOUR).flags == {}
    assert job.sweep(87 * HOUR).flags == {}
    assert list(job.sweep(88 * HOUR).flags) == ["suspected-wedge"]


def test_the_next_link_of_a_run_starts_with_what_the_last_one_learned():
    job = slow_run(70)
    before = job.prior.jobs["test:1"]
    progress, cadence = kept(before, None, ended=True)
    assert progress is None and cadence is not None and cadence.lasts == {}
    ended = replace(before, job_id="0", state="TIMEOUT", progress=progress, cadence=cadence)
    later = Job("rl__big-80B", "rl", [step((80 + 4.7 * n) * HOUR, 15 + n) for n in range(3)], begun=72 * HOUR)
    later.prior = Prior({"test:0": ended})
    seen = later.sweep(86 * HOUR)
    assert (seen.facts["cadence"], seen.facts["cadence_source"]) == (16_920.0, "learned")
    assert seen.flags == {}


# ---------------------------------------------------------------- a job that was put back and started again


def again(lines: list[tuple[float, str]]) -> Job:
    """A job that made 15 steps, was seen so, and was started again after eight hours, on the same log."""
    job = Job("rl__a2-8B", "rl", [*steps(15, 20 * MINUTE), *lines])
    assert job.sweep(6 * HOUR).facts["cadence_gaps"] == 14
    job.begun = 8 * HOUR
    return job


def test_lines_of_an_earlier_attempt_are_counted_once():
    seen = again([step(9 * HOUR, 16), step(9.5 * HOUR, 17)]).sweep(9.6 * HOUR)
    assert (seen.facts["cadence"], seen.facts["cadence_gaps"]) == (1800.0, 15)
    assert seen.facts["progress_age"] == pytest.approx(0.1 * HOUR)
    assert seen.flags == {}


def test_of_a_new_attempt_that_wrote_nothing_the_old_steps_are_no_progress():
    job = again([])
    seen = job.sweep(8.3 * HOUR)
    assert seen.facts["cadence_gaps"] == 14 and seen.facts["unchanged_sweeps"] == 1
    assert isinstance(seen.facts["progress_age"], Unknown)
    assert sorted(seen.flags) == ["bringup", "stale-attempt"]
    assert list(job.sweep(10.6 * HOUR).flags) == ["stale-attempt"]


# ---------------------------------------------------------------- the end of an evaluation


def trials(times: list[float], planned: int = 89) -> list[tuple[float, str]]:
    return [
        (at, f"  {n}/{planned} Mean: 0.211 ━━━ {int(at // 3600)}:{int(at % 3600 // 60):02d}:{int(at % 60):02d} 0:10:00")
        for n, at in enumerate(times, 1)
    ]


def test_a_tail_of_timeouts_is_no_wedge_and_not_stale():
    bulk = [20 * MINUTE + 2 * MINUTE * n for n in range(80)]
    tail = [bulk[-1] + 55 * MINUTE * n for n in range(1, 10)]
    late = [(at - 1, "WARNING trial ended by AgentTimeoutError") for at in tail]
    job = Job("eval-x_tb2", "eval", [*trials([*bulk, *tail]), *late])
    middle = job.sweep(2 * HOUR)
    assert (middle.facts["cadence"], middle.facts["cadence_source"]) == (120.0, "learned")
    for at in (3.5, 4.2, 5.5, 6.9, 8.4, 10, 11.2):
        seen = job.sweep(at * HOUR)
        assert seen.flags == {}, (at, seen.flags)
        assert seen.facts["progress"] is True
    assert seen.facts["cadence_source"] == "default"


def test_silence_in_the_middle_of_it_is_said_by_its_own_gaps():
    job = Job("eval-x_tb2", "eval", trials([20 * MINUTE + 4 * MINUTE * n for n in range(40)]))
    job.sweep(2 * HOUR)
    seen = job.sweep(20 * MINUTE + 39 * 4 * MINUTE + 47 * MINUTE)
    assert seen.flags == {"stale-log": "silent 47m, expected 4m or less (p99 of 39 gaps)"}
    assert seen.health == "flagged"


# ---------------------------------------------------------------- rows without a time


def test_rows_of_a_trainer_that_print_no_time_are_timed_by_their_bar():

    def row(n: int) -> str:
        clock = f"{(90 * n) // 60:02d}:{(90 * n) % 60:02d}"
        return f"\r  4%|# | {10 * n}/900 [{clock}<1:00:00, 9s/it]\r   \r{{'loss': 0.5, 'epoch': 0.1}}"

    job = Job("sft__x-8B", "sft", [(10 * MINUTE + 90.0 * n, row(n)) for n in range(30)])
    seen = job.sweep(HOUR)
    assert (seen.facts["cadence"], seen.facts["cadence_source"]) == (90.0, "learned")
    assert seen.flags == {} and seen.facts["progress_marker"] == "sft-train-row 30 lines"
    silent = job.sweep(4 * HOUR)
    assert sorted(silent.flags) == ["stale-log", "suspected-wedge"]
    assert "silent 3h6m" in silent.flags["stale-log"]


def test_nothing_is_learned_of_a_job_that_is_not_judged():
    told, learned = learn_job({}, News(), None, None, {}, "catch-all", cadence_params(policy(), "c", "catch-all"),
                              0.0, complete=True)  # fmt: skip
    assert learned is None and set(map(str, told.values())) == {str(told["cadence"])}
    assert NONE_LEARNED == {}
