"""Result files of Harbor, old and new: one trial's, a job's aggregate, and the configs beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from types import MappingProxyType

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import (
    count,
    member,
    moment,
    number,
    objects,
    parse,
    parse_object,
    table,
    text,
)
from sweeprules.engine.facts import Reason, Unknown

MAX_NAME = 80
"""Characters of an exception's type, an agent's or a model's name that are kept."""
_ADDRESSES = frozenset(
    {"api_base", "base_url", "openai_base_url", "openai_api_base", "llm_base_url", "anthropic_base_url"}
)
_MAX_DEPTH = 8
_MAX_ADDRESSES = 16


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial as its `result.json` tells it.

    `reward` is its finite reward, None without one; it counts only where `valid`. `exception` is the type of the
    exception it carries (that of a trial `in_steps` stands in its steps), empty without one: a trial may have both.
    `agent_seconds` is how long the agent ran, None when it never did. `has_model` is False where the file says that
    its agent uses none (oracle, nop). `finished` is in epoch seconds; `whole` is False while it still runs.
    """

    name: str
    reward: float | None
    valid: bool
    exception: str
    output_tokens: int | None
    episodes: int | None
    agent_seconds: float | None
    agent: str
    has_model: bool
    finished: float | None
    whole: bool = True
    in_steps: bool = False


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job's aggregate `result.json`, which is written anew after each trial.

    `planned`, `completed`, `errored` and `valid` are None where the file's version does not tell. `rewards` counts
    valid trials by reward; `exceptions` counts trials by type. Types whose trials are not listed stand in `unlisted`
    and are not counted (domain page 3.5). `updated` and `finished` are epoch seconds, `finished` None while it runs
    and after a kill.
    """

    planned: int | None
    completed: int | None
    errored: int | None
    valid: int | None
    mean: float | None
    rewards: Mapping[float, int] = field(default_factory=dict)
    exceptions: Mapping[str, int] = field(default_factory=dict)
    unlisted: frozenset[str] = frozenset()
    agents: tuple[str, ...] = ()
    cancelled: int | None = None
    updated: float | None = None
    finished: float | None = None


@dataclass(frozen=True, slots=True)
class TrialConfig:
    """A job's or a trial's `config.json`: how many trials it plans (None: not told there), agents, models, addresses.

    `addresses` are the places that the agent calls the model at, masked as everything is.
    """

    planned: int | None
    agents: tuple[str, ...]
    models: tuple[str, ...]
    addresses: tuple[str, ...]


def read_trial(data: bytes, zone: tzinfo = UTC) -> Trial | Unknown:
    """One trial's `result.json`; `malformed` while it is being written, and for any other file. Never raises."""
    found = parse_object(data)
    return found if isinstance(found, Unknown) else trial_of(found, zone)


def trial_of(found: Mapping[str, Json], zone: tzinfo = UTC) -> Trial | Unknown:
    """The trial that an object tells of; times without an offset are in `zone`."""
    if "n_total_trials" in found or not ("trial_name" in found or "task_name" in found):
        return Unknown(Reason.MALFORMED, "this is no trial's result")
    steps = objects(found.get("step_results"))
    reward = reward_of(found.get("verifier_result"))
    info = found.get("agent_info")
    exception = _exception(found, steps)
    finished = moment(found.get("finished_at"), zone)
    ended = finished is not None or exception or found.get("verifier_result") is not None
    return Trial(
        name=text(found.get("trial_name")),
        reward=reward,
        valid=reward is not None and found.get("reward_valid") is not False,
        exception=exception,
        output_tokens=_agent_count(found, steps, "n_output_tokens"),
        episodes=_agent_count(found, steps, "metadata", "n_episodes"),
        agent_seconds=_agent_seconds(found, steps, zone),
        agent=text(member(info, "name"), MAX_NAME) if isinstance(info, dict) else "",
        has_model=not (isinstance(info, dict) and "model_info" in info and info["model_info"] is None),
        finished=finished,
        whole=bool(ended) or "finished_at" not in found,
        in_steps=bool(steps),
    )


def reward_of(verified: Json) -> float | None:
    """The finite reward of a verifier's result: under `reward`, or under the one key that there is."""
    rewards = member(verified, "rewards")
    if isinstance(rewards, dict):
        if "reward" in rewards:
            return number(rewards["reward"])
        return number(next(iter(rewards.values()))) if len(rewards) == 1 else None
    return number(rewards) if rewards is not None else number(member(verified, "reward"))


def _exception(found: Mapping[str, Json], steps: Iterable[Mapping[str, Json]]) -> str:
    """The type of the trial's exception, else of its first step that has one."""
    for holder in (found, *steps):
        info = holder.get("exception_info")
        if info is None:
            continue
        if isinstance(info, dict):
            return text(info.get("exception_type"), MAX_NAME) or "unnamed"
        if isinstance(info, str) and info.strip():
            return text(info, MAX_NAME).partition(":")[0] or "unnamed"
    return ""


def _agent_count(found: Mapping[str, Json], steps: list[dict[str, Json]], *path: str) -> int | None:
    """A count of the agent's result; of a trial in steps their sum, where all of them that ran tell it."""
    whole = count(member(found.get("agent_result"), *path))
    if whole is not None or not steps:
        return whole
    parts = [count(member(step.get("agent_result"), *path)) for step in steps if step.get("agent_result") is not None]
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _agent_seconds(found: Mapping[str, Json], steps: Iterable[Mapping[str, Json]], zone: tzinfo) -> float | None:
    whole = _span(found.get("agent_execution"), zone)
    if whole is not None:
        return whole
    spans = [span for step in steps if (span := _span(step.get("agent_execution"), zone)) is not None]
    return sum(spans) if spans else None


def _span(times: Json, zone: tzinfo) -> float | None:
    if not isinstance(times, dict):
        return None
    begin, end = moment(times.get("started_at"), zone), moment(times.get("finished_at"), zone)
    return None if begin is None or end is None else max(0.0, end - begin)


# ---------------------------------------------------------------- a job


def read_job(data: bytes, zone: tzinfo = UTC) -> JobResult | Unknown:
    """A job's aggregate `result.json`; `malformed` while it is being written. Never raises."""
    found = parse_object(data)
    if isinstance(found, Unknown):
        return found
    stats = found.get("stats")
    if isinstance(stats, str):
        inner = parse(stats.encode("utf-8", "replace"))
        stats = None if isinstance(inner, Unknown) else inner
    if not isinstance(stats, dict):
        return Unknown(Reason.MALFORMED, "this is no job's result: it has no stats")
    evals = {name: one for name, one in table(stats.get("evals")).items() if isinstance(one, dict)}
    exceptions, unlisted = _exceptions(evals.values())
    return JobResult(
        planned=count(found.get("n_total_trials")),
        completed=_either(stats, "n_completed_trials", "n_trials"),
        errored=_either(stats, "n_errored_trials", "n_errors"),
        valid=_total(evals.values()) if "evals" in stats else None,
        mean=_mean(evals.values()),
        rewards=MappingProxyType(_rewards(evals.values())),
        exceptions=MappingProxyType(exceptions),
        unlisted=unlisted,
        agents=tuple(dict.fromkeys(text(name, MAX_NAME).partition("__")[0] for name in evals)),
        cancelled=count(stats.get("n_cancelled_trials")),
        updated=moment(found.get("updated_at"), zone),
        finished=moment(found.get("finished_at"), zone),
    )


def _either(stats: Mapping[str, Json], new: str, old: str) -> int | None:
    return count(stats[new]) if new in stats else count(stats.get(old))


def _total(evals: Iterable[Mapping[str, Json]]) -> int | None:
    """Reward-valid trials over all groups; None when a group does not tell."""
    parts = [count(one.get("n_trials")) for one in evals]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _mean(evals: Iterable[Mapping[str, Json]]) -> float | None:
    """The mean over valid trials, groups weighted by their size; None when one of them does not tell."""
    weighted: list[tuple[float, int]] = []
    for one in evals:
        size = count(one.get("n_trials"))
        first = next(iter(objects(one.get("metrics"))), {})
        mean = number(first.get("mean"))
        if size == 0:
            continue
        if size is None or mean is None:
            return None
        weighted.append((mean, size))
    total = sum(size for _, size in weighted)
    return sum(mean * size for mean, size in weighted) / total if total else None


def _rewards(evals: Iterable[Mapping[str, Json]]) -> dict[float, int]:
    """Valid trials by reward, from `reward`, or from the one key that there is; nothing when a group has several."""
    counts: dict[float, int] = {}
    for one in evals:
        stats = table(one.get("reward_stats"))
        values = stats.get("reward") if "reward" in stats else next(iter(stats.values()), None)
        if not isinstance(values, dict) or ("reward" not in stats and len(stats) != 1):
            if stats:
                return {}
            continue
        for reward, trials in values.items():
            plain = number(reward)
            if plain is not None and isinstance(trials, list):
                counts[plain] = counts.get(plain, 0) + len(trials)
    return counts


def _exceptions(evals: Iterable[Mapping[str, Json]]) -> tuple[dict[str, int], frozenset[str]]:
    counts: dict[str, int] = {}
    unlisted: set[str] = set()
    for one in evals:
        for kind, trials in table(one.get("exception_stats")).items():
            name = text(kind, MAX_NAME) or "unnamed"
            if isinstance(trials, list):
                counts[name] = counts.get(name, 0) + len(trials)
            else:
                unlisted.add(name)
    return counts, frozenset(unlisted)


# ---------------------------------------------------------------- configs


def read_config(data: bytes) -> TrialConfig | Unknown:
    """A `config.json` of a job or of one trial; `malformed` when it can not be read. Never raises."""
    found = parse_object(data)
    if isinstance(found, Unknown):
        return found
    agents = objects(found.get("agents")) or [one for one in (found.get("agent"),) if isinstance(one, dict)]
    if not agents and "trials_dir" not in found and "jobs_dir" not in found and "datasets" not in found:
        return Unknown(Reason.MALFORMED, "this is no config of a job or a trial")
    holders = (*agents, found.get("environment"), found.get("orchestrator"))
    addresses = dict.fromkeys(address for holder in holders for address in _addresses(holder, _MAX_DEPTH))
    return TrialConfig(
        planned=_planned(found, max(1, len(agents))),
        agents=_named(agents, "name", "import_path"),
        models=_named(agents, "model_name"),
        addresses=tuple(addresses)[:_MAX_ADDRESSES],
    )


def _named(agents: Iterable[Mapping[str, Json]], *names: str) -> tuple[str, ...]:
    found = (next((text(agent.get(name), MAX_NAME) for name in names if agent.get(name)), "") for agent in agents)
    return tuple(dict.fromkeys(name for name in found if name))


def _planned(found: Mapping[str, Json], agents: int) -> int | None:
    """Attempts times tasks times agents, where the config counts its tasks: a data set's own size is not told here."""
    attempts = count(found.get("n_attempts"))
    datasets = objects(found.get("datasets"))
    sizes = [_tasks_of(one) for one in datasets]
    known = [size for size in sizes if size is not None]
    tasks = sum(known) + len(objects(found.get("tasks")))
    if attempts is None or len(known) != len(sizes) or not tasks:
        return None
    return attempts * tasks * agents


def _tasks_of(dataset: Mapping[str, Json]) -> int | None:
    """How many tasks are taken of a data set; unknown when names are patterns, or `n_tasks` may exceed what it has."""
    names = dataset.get("task_names")
    if isinstance(names, list) and names and not dataset.get("exclude_task_names"):
        plain = all(isinstance(name, str) and not any(char in name for char in "*?[") for name in names)
        return len(names) if plain and dataset.get("n_tasks") is None else None
    return None


def _addresses(value: Json, depth: int) -> Iterable[str]:
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value:
            yield from _addresses(one, depth - 1)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name.lower() in _ADDRESSES and isinstance(one, str) and one.strip():
                yield text(one)
            else:
                yield from _addresses(one, depth - 1)
