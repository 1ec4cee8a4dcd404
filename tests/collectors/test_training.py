"""What is asked more of training runs, and a log of which only the end was read, then what stands before it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs.facts import FIRST_SIGHT, FoundLog, Tail, log_facts, window
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.older import older_commands, older_read, was_looked_through
from sweeprules.collectors.metrics.sought import is_all, literals
from sweeprules.collectors.numbers import Printed, Told, told, with_memos
from sweeprules.collectors.prior import JobMemo, LogMemo, Prior
from sweeprules.collectors.rundirs import Place
from sweeprules.collectors.training import Training, wanted
from sweeprules.collectors.transport.allow import check
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.engine.facts import FactValue, Ref, Subject
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import ClusterRecord, Reach
from tests.collectors.metrics import rl_logs
from tests.collectors.slurm.fake import observation

UTC = ZoneInfo("UTC")
RECORD = ClusterRecord("c", "cluster.yaml", "0", "slurm", "alice", "UTC", Reach("openssh", ("login01",)))
ALIASES = {"reward": ("reward/avg_raw_reward",), "grad_norm": ("policy/raw_grad_norm",)}
SFT = {"loss": ("loss",)}
REACH = 11
NOISE = "(worker pid=8) a trajectory was finished, its reward is not told here\n"


def here(batch: Sequence[Command]) -> tuple[Observation, ...]:
    """The commands on this machine, each allowed."""
    for command in batch:
        check(command.argv)
    answers = LocalTransport().call("here", batch, time.monotonic() + 60).answers
    return tuple(
        observation(command.argv, one.stdout, code=one.exit, cut=one.cut, failure=one.failure)
        for command, one in zip(batch, answers, strict=True)
    )


def rl_log(first: int, last: int, noise: int) -> str:
    lines = ["Total training steps: 300\n", "  policy.model.path: m/x\n"]
    for step in range(first, last + 1):
        metrics = json.dumps({"policy/raw_grad_norm": step / 100, "reward/avg_raw_reward": 0.5})
        lines.append(f"\x1b[36m(skyrl pid=9)\x1b[0m x - WANDB_MIRROR kind=train step={step} metrics={metrics}\x1b[0m\n")
        lines.append(NOISE * (noise // len(NOISE)))
    return "".join(lines)


def sft_log(first: int, last: int, noise: int) -> str:
    lines = ["[INFO|trainer.py:9] >>   Total optimization steps = 900\n"]
    for step in range(first, last + 1):
        lines.append(f"\r {step}/900\r{{'loss': '{step / 100}', 'global_step': '{step}', 'epoch': '0.1'}}\n")
        lines.append(NOISE * (noise // len(NOISE)))
    return "".join(lines)


def console_log(first: int, last: int, noise: int) -> str:
    made = rl_logs.Log(total=300)
    made.say("Total training steps: 300")
    lines = made.lines
    for step in range(first, last + 1):
        made.console(
            step, {"policy/raw_grad_norm": step / 100, "reward/avg_raw_reward": 0.5, "trainer/global_step": step}
        )
        lines.append(NOISE * (noise // len(NOISE)))
    return "\n" + "".join(lines)


def row_log(first: int, last: int, noise: int) -> str:
    lines = ["Total training steps: 300\n\n"]
    for step in range(first, last + 1):
        lines.append(f"{{'loss': '0.1', 'reward/avg_raw_reward': '0.5', 'reward': '0.5', 'global_step': '{step}'}}\n")
        lines.append(NOISE * (noise // len(NOISE)))
    return "".join(lines)


class Log:
    """A log that grows, swept as a cluster's is: its end, then perhaps what stands before it."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self.bucket = kind.partition("-")[0]
        self.memo: LogMemo | None = None

    def grow(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(text)

    def printed(self) -> Printed:
        data = self.path.read_bytes()
        stat = FileStat(1, 2, len(data), 1.0)
        where = FoundLog(str(self.path), "scheduler", stat, 2.0, observation(("stat",)))
        start, _ = window(stat, self.memo, None)
        tail = Tail(start, observation(("tail",), data[start:]))
        reading = log_facts(where, tail, (), UTC, self.memo, None)
        assert reading.memo is not None
        return Printed(where, tail, self.memo, reading.memo, None, UTC, now=10.0)

    def asked(self, printed: Printed, reach: int = REACH) -> Training:
        found = self.told(printed)
        return wanted(RECORD, [(job(self.bucket), self.bucket)], {"c:1": printed}, {"c:1": found}, reach)

    def told(self, printed: Printed) -> Told:
        found = told(printed, self.bucket, ALIASES if self.bucket == "rl" else SFT)
        assert found is not None
        return found

    def sweep(self, *, second: bool = True, reach: int = REACH) -> tuple[Told, int]:
        """What the log tells after a sweep, and how many commands the second stage sent."""
        printed = self.printed()
        asked = self.asked(printed, reach) if second else Training()
        taken, commands = older_commands(asked.lacks)
        if commands:
            older = older_read(taken, here(commands))["1"]
            after = replace(printed.after, searched=was_looked_through(older))
            printed = replace(printed, older=older, after=after)
        found = self.told(printed)
        memo = with_memos({"j": printed.after}, {"j": found})["j"]
        # As the store has it.
        left = JobMemo("c", "1", log=memo)
        self.memo = Prior.from_data(json.loads(json.dumps(Prior({"c:1": left}).to_data()))).jobs["c:1"].log
        return found, len(commands)


def job(bucket: str = "rl", **facts: FactValue) -> Subject:
    plain: dict[str, FactValue] = {"cluster": "c", "job_id": "1", "state": "RUNNING", "command": "x", "workdir": "/w/h"}
    return Subject(Ref("job", "c:1"), {**plain, "name": f"{bucket}__a", "name_cut": False, **facts})


def steps(found: Told) -> list[int]:
    assert found.series is not None
    return [point.step for point in found.series.points]


def points(found: Told) -> list[tuple[int, int, dict[str, FactValue]]]:
    assert found.series is not None
    return [(point.step, point.attempt, dict(point.values)) for point in found.series.points]


LOGS = {"rl": rl_log, "rl-console": console_log, "rl-row": row_log, "sft": sft_log}


def more(kind: str, first: int, last: int, noise: int) -> str:
    """What a log prints later, without its beginning."""
    return LOGS[kind](first, last, noise).split("\n", 1 if kind == "sft" else 2)[-1]


@pytest.mark.parametrize("bucket", LOGS)
def test_a_window_is_full_at_first_sight(tmp_path: Path, bucket: str) -> None:
    log = Log(tmp_path / "x.out", bucket)
    log.grow(LOGS[bucket](1, 12, 200_000))
    found, asked = log.sweep()
    assert steps(found) == list(range(1, 13)) and asked == 1
    assert found.facts["max_step"] == (900 if bucket == "sft" else 300)
    # Of other forms not all that may hold a step was looked for, since the end shows none: more may be there.
    assert found.series is not None and found.series.whole is (bucket in ("rl", "sft"))
    log.grow(more(bucket, 13, 13, 0))
    later, again = log.sweep()
    assert steps(later) == list(range(1, 14)) and again == 0
    assert later.series is not None and later.series.whole is found.series.whole


@pytest.mark.parametrize("bucket", LOGS)
def test_a_log_that_waited_for_its_turn_is_read_from_further_back_in_the_next_sweep(
    tmp_path: Path, bucket: str
) -> None:
    log = Log(tmp_path / "x.out", bucket)
    log.grow(LOGS[bucket](1, 12, 40_000))
    first, _ = log.sweep(second=False)
    assert 0 < len(steps(first)) < 4
    log.grow(more(bucket, 13, 13, 0))
    second, asked = log.sweep()
    assert steps(second) == list(range(1, 14)) and asked == 1
    assert second.facts["step"] == 13


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(sorted(LOGS)),
    st.lists(st.tuples(st.integers(1, 6), st.sampled_from([0, 3_000, 40_000, 90_000]), st.booleans()), max_size=5),
)
def test_however_a_log_grows_the_same_steps_are_known_as_by_reading_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, bucket: str, growth: list[tuple[int, int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log, last = Log(folder / "x.out", bucket), 0
    log.grow(LOGS[bucket](1, 0, 0))
    for grown, noise, second in [*growth, (1, 0, True)]:
        log.grow(more(bucket, last + 1, last + grown, noise))
        last += grown
        found, _ = log.sweep(second=second, reach=64)
    whole = Log(folder / "x.out", bucket)
    all_of_it = replace(whole.printed(), tail=Tail(0, observation(("tail",), (folder / "x.out").read_bytes())))
    assert points(found) == points(whole.told(replace(all_of_it, after=replace(all_of_it.after, from_start=True))))


def test_a_log_is_looked_through_when_its_end_shows_nothing_at_all(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.out", "rl")
    log.grow(rl_log(1, 12, 0) + NOISE * (2 * FIRST_SIGHT // len(NOISE)))
    found, asked = log.sweep()
    assert steps(found) == list(range(1, 13)) and asked == 1


@pytest.mark.parametrize("text", [rl_log(1, 12, 100), rl_log(1, 3, 100)])
def test_a_log_that_was_read_whole_is_not_asked_for_again(tmp_path: Path, text: str) -> None:
    log = Log(tmp_path / "x.out", "rl")
    log.grow(text)
    assert log.sweep()[1] == 0


def test_a_search_that_failed_is_tried_again_and_one_whose_time_was_up_is_not(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.out", "rl")
    log.grow(rl_log(1, 12, 40_000))
    printed = log.printed()
    taken, commands = older_commands(log.asked(printed).lacks)
    for failure, looked in ((Failure.CONNECT, False), (Failure.TIMEOUT, True)):
        lost = observation(commands[0].argv, failure=failure)
        older = older_read(taken, [lost])["1"]
        assert was_looked_through(older) is looked
        found = log.told(replace(printed, older=older))
        assert steps(found) == steps(log.told(printed)) and found.series is not None and not found.series.whole


def test_what_is_looked_for_is_how_the_run_prints_its_steps() -> None:
    def memo(source: str) -> dict[str, Any]:
        return {"rl": {"state": {"source": source}}}

    assert "WANDB_MIRROR" in literals("rl", memo("mirror")) and "': " not in literals("rl", memo("mirror"))
    assert "': " in literals("rl", memo("console"))
    assert "step=" in literals("rl", memo("row")) and "step=" not in literals("rl", {})
    assert is_all("mirror", literals("rl", {})) and not is_all("", literals("rl", {}))
    assert [is_all(source, literals("rl", {})) for source in ("console", "row")] == [False, False]
    assert all(is_all(source, literals("rl", memo(source))) for source in ("mirror", "console", "row"))
    assert "'loss':" in literals("sft", {})
    assert literals("datagen", {}) == ()


def test_directories_are_looked_into_while_rl_runs_and_once_sft_has_ended() -> None:
    def files(bucket: str, **facts: FactValue) -> Any:
        return wanted(RECORD, [(job(bucket, **facts), bucket)], {}, {}, REACH).files

    named = {"command": "x --run_dir /w/a/b", "started": 5}
    assert files("rl", **named)[0].places == (Place("/w/a/b", True),)
    assert files("sft", **named) == ()
    assert files("sft", **named, state="COMPLETED")[0].started == 5.0
    assert files("rl") == ()
    assert files("rl", **named, state="PENDING") == () == files("eval", **named) == files("rl", cluster="other")
