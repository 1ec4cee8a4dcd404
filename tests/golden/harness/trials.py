"""Directories of trials and of standard evaluations on disk, from a few words in a scenario.

A job's `trials` is one of these or a list of them; paths are below its workdir, or whole from `{root}` on:

    dir: trace_jobs/NAME     where the trials lie (default: `trace_jobs/` and the name of the job)
    done: 20                 trials with a whole result           running: 3     with a directory and none
    half: 1                  with a result that is being written  planned: 267   in the job's result (default: all)
    reward: "1x5 0x14 -"     by trial, as `printing` spells a series; `-`: the verifier gave none (default 1)
    exceptions: {AgentTimeoutError: 5}    on the last trials that are done, whatever their reward
    turns: "5"               steps of each trajectory; `-`: the agent wrote none (default 5)
    tokens: "4000"           that the model gave; `-`: none       seconds: "240" that the agent ran
    age: 4m   every: 1m      of the newest result, and between two of them
    agent: terminus-2        model: acme/small-1      api_base: https://abc.a.pinggy.link/v1
    judge: "..."             what each verifier printed (default: ok)
    format: new              or `old`: the layout of the first releases
    aggregate: false         leaves the job's own result and config out; finished: true says that the job ended

A trial that is whole stays as it was written when a later sweep names more of them; those that ran get their results.
A job's `suite` is a standard evaluation's: {dir: results, MATH500: 0.41, AIME24: "0.3x10", gsm8k: 0.7}, a seed's
directory for each number of AIME24 (from 42 on), or {dir: results, empty: true} for a file without a score.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.collectors.trials.harbor import FakeTrial, aggregate, dump, trajectory
from tests.golden.harness.printing import series
from tests.golden.harness.scenario import span

_KEYS = {
    "dir", "done", "running", "half", "planned", "reward", "exceptions", "turns", "tokens", "seconds", "age", "every",
    "agent", "model", "api_base", "judge", "format", "aggregate", "finished",
}  # fmt: skip
_FIRST_SEED = 42


def write(folder: Path, name: str, given: Any, now: float) -> None:
    """What a job's `trials` says, on disk below `folder`; `name` is the job's."""
    for one in given if isinstance(given, list) else [given]:
        unknown = set(one) - _KEYS
        if unknown:
            raise ValueError(f"trials of {name}: {sorted(unknown)} is not known; there is {sorted(_KEYS)}")
        _job(folder / one.get("dir", f"trace_jobs/{name}"), one, now)


def _job(root: Path, given: Mapping[str, Any], now: float) -> None:
    done, running, half = (int(given.get(word, 0)) for word in ("done", "running", "half"))
    found = list(_trials(given, done, running + half, now))
    root.mkdir(parents=True, exist_ok=True)
    for at, trial in enumerate(found):
        _trial(root / trial.name, trial, given, turns=_turns(given, done)[at] if at < done else "-")
        result = dump(trial.result())
        path = root / trial.name / "result.json"
        if at < done and not _whole(path):
            path.write_bytes(result)
        elif done <= at < done + half:
            path.write_bytes(result[: len(result) // 2])
    if given.get("aggregate", True):
        _own(root, found[:done], given, len(found))


def _trials(given: Mapping[str, Any], done: int, more: int, now: float) -> Iterator[FakeTrial]:
    rewards, tokens, seconds = (
        series(str(given.get(word, usual)), done) if done else []
        for word, usual in (("reward", 1), ("tokens", 4000), ("seconds", 240))
    )
    raised = [kind for kind, times in given.get("exceptions", {}).items() for _ in range(times)]
    if len(raised) > done:
        raise ValueError(f"{len(raised)} exceptions in {done} trials")
    kinds = [None] * (done - len(raised)) + raised
    newest, every = now - span(given.get("age", "1m")), span(given.get("every", "1m"))
    for at in range(done + more):
        last = at < done
        ran = float(seconds[at]) if last else 240.0
        yield FakeTrial(
            task=f"task-{at:05d}",
            id=f"aB{at:05d}",
            reward=None if not last or rewards[at] == "-" else float(rewards[at]),
            exception=kinds[at] if last else None,
            tokens=None if not last or tokens[at] == "-" else int(tokens[at]),
            episodes=None,
            agent=given.get("agent", "terminus-2"),
            model=given.get("model", "acme/small-1"),
            # The agent begins two seconds after its trial, and ends one before it.
            began=newest - every * (done - 1 - at) - ran - 3 if last else now - 60,
            seconds=ran + 3,
            version=0 if given.get("format") == "old" else 1,
        )


def _turns(given: Mapping[str, Any], done: int) -> list[str]:
    return series(str(given.get("turns", 5)), done)


def _trial(folder: Path, trial: FakeTrial, given: Mapping[str, Any], *, turns: str) -> None:
    (folder / "agent").mkdir(parents=True, exist_ok=True)
    (folder / "verifier").mkdir(exist_ok=True)
    config = trial.config()
    config["agent"]["kwargs"] = {"api_base": given["api_base"]} if "api_base" in given else {}
    (folder / "config.json").write_bytes(dump(config))
    (folder / "verifier" / "test-stdout.txt").write_text(given.get("judge", "ok\n"), "utf-8")
    if turns != "-":
        (folder / "agent" / "trajectory.json").write_bytes(dump(trajectory(int(turns))))


def _whole(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def _own(root: Path, done: list[FakeTrial], given: Mapping[str, Any], there: int) -> None:
    version = 0 if given.get("format") == "old" else 1
    planned = int(given.get("planned", there))
    result = aggregate(done, planned, finished=bool(given.get("finished")), version=version)
    (root / "result.json").write_bytes(dump(result))
    agent = {"name": given.get("agent", "terminus-2"), "model_name": given.get("model", "acme/small-1"), "kwargs": {}}
    config = {
        "job_name": root.name,
        "jobs_dir": "jobs",
        "n_attempts": 1,
        "agents": [agent],
        "datasets": [{"path": "t"}],
    }
    (root / "config.json").write_bytes(dump(config))


def write_suite(folder: Path, given: Mapping[str, Any]) -> None:
    """What a job's `suite` says, on disk below `folder`, in the places of evalchemy's and lm-eval's files."""
    root = folder / given.get("dir", "results")
    if given.get("empty"):
        _results(root / f"seed{_FIRST_SEED}", {})
        return
    seeds = str(given.get("AIME24", "")).split()
    values = series(str(given["AIME24"]), _length(seeds)) if seeds else []
    for at, value in enumerate(values):
        _results(root / f"seed{_FIRST_SEED + at}", {"AIME24": {"accuracy_avg": float(value)}}, "00-00-01.0")
    if "MATH500" in given:
        path = root / f"seed{_FIRST_SEED}"
        told = {"MATH500": {"accuracy": float(given["MATH500"])}}
        if values:
            told["AIME24"] = {"accuracy_avg": float(values[0])}
        _results(path, told, "00-00-02.0")
    if "gsm8k" in given:
        _results(root / "gsm8k", {"gsm8k": {"alias": "gsm8k", "exact_match,strict-match": float(given["gsm8k"])}})


def _length(words: list[str]) -> int:
    return sum(int(word.partition("x")[2] or 1) for word in words)


def _results(folder: Path, results: Mapping[str, Any], clock: str = "00-00-00.0") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"results_2026-07-11T{clock}.json"
    path.write_bytes(dump({"results": results, "config": {"model": "hf"}, "date": 1_752_000_000.5}))
