"""Job directories as Harbor leaves them, made up: every version's layout, each kind of end, and what lies beside."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeprules.engine.facts import Reason, Unknown

T0 = 1_799_000_000.0
"""When the first trial of every job here began, epoch seconds."""


def stamp(moment: float) -> str:
    """A time as a trial's result prints it."""
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


def naive(moment: float) -> str:
    """A time as a job's result prints it, on a machine whose zone is UTC."""
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None).isoformat()


def reason(value: object) -> Reason:
    """Why a fact is unknown; no other fact has a reason."""
    assert isinstance(value, Unknown), value
    return value.reason


@dataclass
class FakeTrial:
    """One trial. `reward` None: the verifier gave none. `version` 1 is today's layout, 0 one of the first releases."""

    task: str = "sort-logs"
    id: str = "aB3dE7x"
    reward: float | None = 1.0
    key: str = "reward"
    exception: str | None = None
    tokens: int | None = 4_211
    episodes: int | None = 6
    agent: str = "terminus-2"
    model: str | None = "acme/small-1"
    began: float = T0
    seconds: float = 240.0
    version: int = 1
    steps: list[dict[str, Any]] = field(default_factory=list)
    ran: bool = True
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.task}__{self.id}"

    def result(self) -> dict[str, Any]:
        ended = self.began + self.seconds
        found: dict[str, Any] = {"schema_version": 1} if self.version else {}
        found |= {"task_name": self.task, "trial_name": self.name, "source": "acme-tasks", "config": self.config()}
        found |= {
            "agent_info": {
                "name": self.agent,
                "version": "2.3",
                "model_info": {"name": self.model} if self.model else None,
            },
            "agent_result": {
                "n_input_tokens": self.tokens and self.tokens * 9,
                "n_output_tokens": self.tokens,
                "cost_usd": None,
                "metadata": None if self.episodes is None else {"n_episodes": self.episodes},
            },
            "verifier_result": self.verified(),
            "exception_info": self.raised(self.exception, ended),
            "started_at": stamp(self.began),
            "finished_at": stamp(ended),
            "environment_setup": {"started_at": stamp(self.began), "finished_at": stamp(self.began + 1)},
            "agent_setup": None,
            "agent_execution": {"started_at": stamp(self.began + 2), "finished_at": stamp(ended - 1)}
            if self.ran
            else None,
            "verifier": None,
        }
        if self.version:
            found |= {"step_results": self.steps or None, "reward_valid": self.reward is not None}
        return found | self.extra

    def verified(self) -> dict[str, Any] | None:
        if self.reward is None:
            return None
        return {"rewards": {self.key: self.reward}} if self.version else {"reward": self.reward}

    def raised(self, kind: str | None, at: float) -> dict[str, Any] | None:
        if kind is None:
            return None
        text = f'Traceback (most recent call last):\n  File "/x/run.py", line 7, in go\n    raise {kind}("no")\n'
        return {
            "exception_type": kind,
            "exception_message": "no",
            "exception_traceback": text,
            "occurred_at": stamp(at),
        }

    def config(self) -> dict[str, Any]:
        agent = {"name": self.agent, "model_name": self.model, "base_url": None, "kwargs": {}}
        return {"trial_name": self.name, "trials_dir": "jobs/x", "agent": agent}


def dump(found: Any, *, compact: bool = False) -> bytes:
    """As the library writes it: indented by four; `compact` as older tools did."""
    return json.dumps(found, indent=None if compact else 4).encode()


def write_trial(
    root: Path, trial: FakeTrial, *, done: bool = True, turns: int | None = 5, output: str = "ok\n"
) -> Path:
    """A trial's directory; without `done` it still runs."""
    folder = root / trial.name
    (folder / "agent").mkdir(parents=True)
    (folder / "verifier").mkdir()
    (folder / "config.json").write_bytes(dump(trial.config()))
    (folder / "trial.log").write_text("started\n")
    (folder / "verifier" / "test-stdout.txt").write_text(output)
    if turns is not None:
        (folder / "agent" / "trajectory.json").write_bytes(dump(trajectory(turns)))
    if done:
        (folder / "result.json").write_bytes(dump(trial.result()))
    return folder


def trajectory(turns: int, *, padding: int = 0) -> dict[str, Any]:
    """One step of the user's, then the agent's; a copied one counts as a turn and not as the agent's."""
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": 'say "step_id": 99' + "x" * padding}]
    steps += [{"step_id": at, "source": "agent", "message": "y" * padding} for at in range(2, turns + 1)]
    if turns > 2:
        steps[1]["is_copied_context"] = True
    return {"schema_version": "ATIF-v1.2", "agent": {"name": "terminus-2"}, "steps": steps}


def aggregate(trials: list[FakeTrial], planned: int, *, finished: bool = True, version: int = 1) -> dict[str, Any]:
    """A job's own result over these trials; version 0 has the older names of the counts."""
    valid = [one for one in trials if one.reward is not None]
    rewards: dict[str, list[str]] = {}
    raised: dict[str, list[str]] = {}
    for one in valid:
        rewards.setdefault(str(float(one.reward or 0)), []).append(one.name)
    for one in trials:
        if one.exception:
            raised.setdefault(one.exception, []).append(one.name)
    errored = sum(map(len, raised.values()))
    mean = sum(one.reward or 0 for one in valid) / len(valid) if valid else None
    group = {
        "n_trials": len(valid),
        "n_errors": errored,
        "metrics": [{"mean": mean}] if valid else [],
        "pass_at_k": {},
        "reward_stats": {"reward": rewards} if valid else {},
        "exception_stats": raised,
    }
    counts: dict[str, Any] = {"n_completed_trials": len(trials), "n_errored_trials": errored, "n_cancelled_trials": 0}
    if version == 0:
        counts = {"n_trials": len(trials), "n_errors": errored}
    return {
        "id": "0d1f",
        "started_at": naive(T0),
        "updated_at": stamp(T0 + 900),
        "finished_at": naive(T0 + 900) if finished else None,
        "n_total_trials": planned,
        "stats": {**counts, "evals": {"terminus-2__acme/small-1__acme-tasks": group}},
    }


def write_job(root: Path, trials: list[FakeTrial], planned: int | None = None, **more: Any) -> Path:
    """A whole job directory: the trials, the aggregate, the config and the files that are no trials."""
    for one in trials:
        write_trial(root, one, **more)
    (root / "result.json").write_bytes(dump(aggregate(trials, planned or len(trials))))
    (root / "config.json").write_bytes(dump({"job_name": root.name, "jobs_dir": "jobs", "n_attempts": 1, **_AGENTS}))
    (root / "lock.json").write_text("{}")
    (root / "job.log").write_text("")
    return root


_AGENTS = {"agents": [{"name": "terminus-2", "model_name": "acme/small-1", "kwargs": {}}], "datasets": [{"path": "t"}]}
ERRORS = ("AgentTimeoutError", "DaytonaError", "RewardFileNotFoundError", "BadRequestError", "CancelledError")


def random_trials(seed: int, number: int) -> list[FakeTrial]:
    """Trials of every kind of end, the same for the same seed."""
    rng = random.Random(seed)
    found = []
    for at in range(number):
        raised = rng.choice(ERRORS) if rng.random() < 0.4 else None
        lost = raised is not None and raised != "AgentTimeoutError"
        found.append(
            FakeTrial(
                task=rng.choice(["fix-git", "grow_tree", "a.b-c", "été"]) + str(at),
                id="".join(rng.choices("abcdefXYZ0123456789", k=7)),
                reward=None if lost else rng.choice([0.0, 0.0, 1.0, 0.5]),
                exception=raised,
                tokens=None if rng.random() < 0.2 else rng.randrange(9_999),
                seconds=rng.choice([3.0, 60.0, 1800.5]),
                began=T0 + rng.randrange(9_000),
                version=rng.choice([0, 1]),
            )
        )
    return found
