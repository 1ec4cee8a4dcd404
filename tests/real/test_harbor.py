"""A job of harbor's oracle that is run now, in folders of this machine: the facts are what the job's result holds."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.trials.counts import Terms, trial_facts
from sweeprules.collectors.trials.results import JobResult, Trial, read_job, read_trial
from sweeprules.collectors.trials.rounds import Reading, trials
from sweeprules.collectors.trials.steps import run
from sweeprules.collectors.trials.upload import read_console
from sweeprules.engine.facts import ABSENT, Unknown
from tests.collectors.trials.shell import NONCE, Login
from tests.real import venvs

pytestmark = pytest.mark.deep

ATTEMPTS = 3
SETTINGS = """schema_version = "1.4"
[verifier]
timeout_sec = 60.0
environment_mode = "shared"
[agent]
timeout_sec = {agent_s}
[environment]
network_mode = "public"
"""
CHECK = 'test "$(cat "$ROOM/app/word")" = blue && r=1 || r=0; echo $r > "$ROOM/logs/verifier/reward.txt"'
TASKS = {
    "right": ('echo blue > "$ROOM/app/word"', CHECK, 60.0),
    "wrong": ('echo red > "$ROOM/app/word"', CHECK, 60.0),
    "part": ("true", 'echo 0.25 > "$ROOM/logs/verifier/reward.txt"', 60.0),
    "silent": ("true", "true", 60.0),
    "slow": ("sleep 30", CHECK, 2.0),
}
"""Task -> what solves it, what checks it, and the seconds that the agent has."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The directory of a job, what it printed, and what its result held."""

    job: Path
    printed: bytes
    truth: dict[str, Any]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    room = venvs.room(tmp_path_factory, "harbor", ("harbor>=0.26,<0.27",), least=(3, 12))
    folder = tmp_path_factory.mktemp("harbor")
    for name, (solve, check, agent_s) in TASKS.items():
        task(folder / "tasks" / name, solve, check, agent_s)
    (folder / "jobs").mkdir()
    printed = room.run(
        ("python", venvs.PROGRAMS / "oracle.py", folder / "tasks", folder / "jobs", str(ATTEMPTS)), folder
    )
    truth = json.loads((folder / "jobs" / "truth.json").read_text())
    return Ran(folder / "jobs" / "oracle", printed, truth)


def task(folder: Path, solve: str, check: str, agent_s: float) -> None:
    files = {
        "task.toml": SETTINGS.format(agent_s=agent_s),
        "instruction.md": "Write the word.\n",
        "environment/Dockerfile": "FROM scratch\n",
        "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
        "tests/test.sh": f"#!/bin/bash\n{check}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def swept(job: Path, before: Reading | None = None) -> Reading:
    found, _ = run(Login().ask, {0: trials([str(job)], before.memos if before is not None else {}, NONCE)})
    return found[0][str(job)]


def rewards(truth: dict[str, Any]) -> list[float]:
    return [one["reward"] for one in truth["trials"].values() if one["reward"] is not None]


def test_the_facts_of_a_sweep_are_those_of_the_result(ran: Ran) -> None:
    facts = trial_facts(swept(ran.job), Terms())
    held = rewards(ran.truth)
    raised = Counter(one["exception"] for one in ran.truth["trials"].values() if one["exception"])
    assert len(ran.truth["trials"]) == len(TASKS) * ATTEMPTS
    assert facts["trials_planned"] == ran.truth["planned"]
    assert facts["trials_started"] == facts["trials_done"] == ran.truth["done"]
    assert facts["trials_errored"] == ran.truth["errored"]
    assert facts["trials_valid"] == len(held)
    assert facts["mean_valid"] == pytest.approx(math.fsum(held) / len(held))
    assert facts["mean_all"] == pytest.approx(math.fsum(held) / ran.truth["planned"])
    assert facts["pass_rate"] == pytest.approx(sum(one > 0 for one in held) / len(held))
    assert facts["reward_zero_share"] == pytest.approx(held.count(0) / ran.truth["done"])
    assert facts["exceptions"] == dict(raised)
    assert facts["nonbenign"] == raised["RewardFileNotFoundError"]
    assert (facts["agent"], facts["avg_turns"]) == ("oracle", ABSENT)


def test_each_trial_is_read_as_it_is_held(ran: Ran) -> None:
    for name, held in ran.truth["trials"].items():
        found = read_trial((ran.job / name / "result.json").read_bytes())
        assert isinstance(found, Trial)
        assert (found.name, found.reward, found.exception or None) == (name, held["reward"], held["exception"])
        assert (found.whole, found.has_model, found.agent) == (True, False, "oracle")
        assert found.finished == pytest.approx(held["finished"], abs=0.001)


def test_the_job_s_own_aggregate_says_the_same(ran: Ran) -> None:
    found = read_job((ran.job / "result.json").read_bytes())
    assert isinstance(found, JobResult)
    held = rewards(ran.truth)
    assert (found.planned, found.completed, found.errored) == (15, ran.truth["done"], ran.truth["errored"])
    assert dict(found.rewards) == dict(Counter(held))
    assert found.valid == len(held)


def test_a_result_that_is_cut_anywhere_is_no_result(ran: Ran) -> None:
    for path in sorted(ran.job.glob("*/result.json")):
        data = path.read_bytes()
        for cut in range(1, len(data) - 1, 37):
            assert isinstance(read_trial(data[:cut]), Unknown), (path.parent.name, cut)


def test_what_is_new_since_the_last_sweep_is_all_that_is_read(ran: Ran) -> None:
    first = swept(ran.job)
    login = Login()
    found, _ = run(login.ask, {0: trials([str(ran.job)], first.memos, NONCE)})
    again = found[0][str(ran.job)]
    assert (again.new, again.sums) == (0, first.sums)
    assert not any(
        item.endswith("/result.json") and "__" in item for c in login.calls for one in c for item in one.items
    )


def test_the_line_of_progress_is_that_of_the_end(ran: Ran) -> None:
    console = read_console(Chunk(ran.printed, 0))
    held = rewards(ran.truth)
    assert console is not None
    assert (console.done, console.of) == (15, 15)
    assert console.mean == pytest.approx(math.fsum(held) / len(held), abs=0.001)
