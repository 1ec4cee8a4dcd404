"""From the readings of trials to the facts of a datagen or eval job (catalogue f.4), and RL's pass rate of trials.

A count that follows from others is unknown as soon as one of them is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from types import MappingProxyType

from sweeprules.collectors.trials.results import JobResult, TrialConfig
from sweeprules.collectors.trials.rounds import Reading
from sweeprules.collectors.trials.tally import LAST, Tally, instant, plus
from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Unknown, Value

BENIGN = frozenset(
    {
        "AgentTimeoutError",
        "ContextLengthExceededError",
        "SummarizationTimeout",
        "SummarizationTimeoutError",
        "BadRequestError",
        "NonZeroAgentExitCodeError",
        "VerifierRuntimeError",
    }
)
"""The exceptions that are results of the model (domain page 3.5: exactly these)."""
NO_TRAJECTORY = frozenset({"oracle", "nop"})
"""Agents that write no trajectory (formats page 3)."""
NAMES = (
    "trials_planned", "trials_started", "trials_done", "trials_valid", "trials_errored", "mean_valid", "mean_all",
    "pass_rate", "exceptions", "top_exception", "exception_share", "nonbenign", "nonbenign_allowed", "avg_turns",
    "avg_turns_agent", "reward_zero_share", "judge_401", "newest_result_age", "instant_failed", "agent",
)  # fmt: skip
"""The facts that this page gives."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the policy and the site say.

    `planned` is the site's number of trials (None: not there). `instant` are the seconds that an agent without a token
    may have run to count as failed at once (domain page 3.5: 5). `error_share` of the planned trials, half a trial
    counting as one, may end in errors that are not `benign` (domain page 0.4: 0.10).
    """

    planned: int | None = None
    benign: frozenset[str] = BENIGN
    error_share: float = 0.10
    instant: float = 5.0


def no_trials(why: Absent | Unknown = ABSENT) -> dict[str, FactValue]:
    """The same for every fact: absent for a job that has no trials, or why its trials were not looked at."""
    return dict.fromkeys(NAMES, why)


def trial_facts(reading: Reading, terms: Terms) -> dict[str, FactValue]:
    """The facts of one job from its directory of trials."""
    sums = _sums(reading)
    planned = _planned(reading, terms)
    facts: dict[str, FactValue] = {"trials_planned": planned, "trials_started": reading.started}
    facts |= _counts(sums, terms) if isinstance(sums, Tally) else dict.fromkeys(_COUNTED, sums)
    facts |= {
        "mean_all": _mean_all(sums, planned),
        "nonbenign_allowed": planned if isinstance(planned, Unknown) else round_half_up(terms.error_share, planned),
        "newest_result_age": _newest_age(reading),
        "instant_failed": _instant(reading, terms),
        "agent": agent_of(reading),
        **_turns(reading),
    }
    return facts


_COUNTED = (
    "trials_done", "trials_valid", "trials_errored", "mean_valid", "pass_rate", "exceptions", "top_exception",
    "exception_share", "nonbenign", "reward_zero_share",
)  # fmt: skip


def _sums(reading: Reading) -> Tally | Unknown:
    """The sums over all results: from the results, else from the job's aggregate where that tells all of it."""
    if isinstance(reading.started, Unknown):
        return reading.doubt or reading.started
    if reading.doubt is None:
        return reading.sums
    if isinstance(reading.job, JobResult):
        told = _from_job(reading.job)
        if told is not None and told.done <= reading.started:
            return told
    return reading.doubt


def _from_job(job: JobResult) -> Tally | None:
    """An aggregate's counts, where its parts agree: an old one lacks some, and one with bare numbers hides trials."""
    if job.completed is None or job.errored is None or job.valid is None or job.unlisted:
        return None
    if sum(job.rewards.values()) != job.valid or sum(job.exceptions.values()) != job.errored:
        return None
    return Tally(
        done=job.completed,
        valid=job.valid,
        errored=job.errored,
        passed=sum(times for reward, times in job.rewards.items() if reward > 0),
        zeros=job.rewards.get(0.0, 0),
        total=math.fsum(reward * times for reward, times in job.rewards.items()),
        outside=any(not 0 <= reward <= 1 for reward in job.rewards),
        exceptions=job.exceptions,
    )


def _planned(reading: Reading, terms: Terms) -> int | Unknown:
    """The site's number, else the job's own, else its config's."""
    if terms.planned is not None:
        return terms.planned
    if isinstance(reading.job, JobResult) and reading.job.planned is not None:
        return reading.job.planned
    if isinstance(reading.config, TrialConfig) and reading.config.planned is not None:
        return reading.config.planned
    return Unknown(Reason.NOT_READ, "neither the site nor the job says how many trials there are to be")


def _counts(sums: Tally, terms: Terms) -> dict[str, FactValue]:
    names: Mapping[str, Value] = MappingProxyType(dict(sorted(sums.exceptions.items())))
    top = max(sorted(sums.exceptions), key=lambda name: sums.exceptions[name], default=None)
    return {
        "trials_done": sums.done,
        "trials_valid": sums.valid,
        "trials_errored": sums.errored,
        "mean_valid": _ratio(sums, sums.total, sums.valid),
        "pass_rate": sums.passed / sums.valid if sums.valid else ABSENT,
        "exceptions": names,
        "top_exception": ABSENT if top is None else top,
        "exception_share": sums.errored / sums.done if sums.done else ABSENT,
        "nonbenign": sum(times for name, times in sums.exceptions.items() if name not in terms.benign),
        "reward_zero_share": sums.zeros / sums.done if sums.done else ABSENT,
    }


def _ratio(sums: Tally, total: float, of: int) -> FactValue:
    if sums.outside:
        return Unknown(Reason.CALC, "some rewards are below 0 or above 1, so their mean is no ratio")
    return min(1.0, max(0.0, total / of)) if of else ABSENT


def _mean_all(sums: Tally | Unknown, planned: int | Unknown) -> FactValue:
    """The mean over all that was planned, a trial without a reward counting 0; over all done where these are more."""
    if isinstance(sums, Unknown):
        return sums
    if isinstance(planned, Unknown):
        return planned
    return _ratio(sums, sums.total, max(planned, sums.done)) if sums.valid else ABSENT


def round_half_up(share: float, of: int) -> int:
    """`share` of a number, half counting as one: 25 trials allow 3 at 0.10."""
    return int((Decimal(str(share)) * of).to_integral_value(ROUND_HALF_UP))


def _instant(reading: Reading, terms: Terms) -> FactValue:
    """Trials that failed at once: only their results tell, never an aggregate."""
    if isinstance(reading.started, Unknown):
        return reading.started
    return reading.doubt or instant(reading.sums, terms.instant)


def _newest_age(reading: Reading) -> FactValue:
    """Seconds since the youngest result, by the cluster's clock."""
    if isinstance(reading.started, Unknown):
        return reading.started
    if reading.doubt is not None:
        return reading.doubt
    if not reading.sums.done:
        return ABSENT
    if reading.sums.newest is None:
        return Unknown(Reason.MALFORMED, "no result says when its trial ended")
    if reading.clock is None:
        return Unknown(Reason.READ_FAILED, "the clock of the login was not read with the results")
    return max(0.0, reading.clock - reading.sums.newest)


def agent_of(reading: Reading) -> FactValue:
    """The agent's name by the job's config, a trial's config, a result, or the aggregate's groups."""
    for config in (reading.config, reading.trial_config):
        if isinstance(config, TrialConfig) and config.agents:
            return ", ".join(config.agents)
    if reading.agent:
        return reading.agent
    if isinstance(reading.job, JobResult) and reading.job.agents:
        return ", ".join(reading.job.agents)
    return Unknown(Reason.NOT_READ, "no config or result names the agent")


def _turns(reading: Reading) -> dict[str, FactValue]:
    """Turns by trajectories (a sample of the trials), by the agent's own episodes, and what judges refused."""
    seen, sums = reading.sampled, reading.sums
    why: FactValue = Unknown(Reason.NOT_READ, "no trajectory was read")
    if agent_of(reading) in NO_TRAJECTORY or (seen.without and not seen.steps_of):
        why = ABSENT
    unread = isinstance(reading.started, Unknown)
    own: FactValue = why
    if sums.episodes_of:
        own = sums.episodes / sums.episodes_of
    elif seen.agent_of:
        own = seen.agent_steps / seen.agent_of
    judged: FactValue = seen.judge_401
    if not seen.verifiers:
        judged = Unknown(Reason.NOT_READ, "no verifier's output was read")
    facts = {
        "avg_turns": seen.steps / seen.steps_of if seen.steps_of else why,
        "avg_turns_agent": own,
        "judge_401": judged,
    }
    return dict.fromkeys(facts, reading.started) if unread else facts


# ---------------------------------------------------------------- runs, chunks and RL


def together(readings: Iterable[Reading]) -> Reading | None:
    """The chunks of one run as one reading; what is unknown of one is unknown of the run. None for no chunk."""
    found = tuple(readings)
    return None if not found else _joined(found)


def _joined(found: tuple[Reading, ...]) -> Reading:
    whole = found[0]
    for one in found[1:]:
        started = whole.started
        if not isinstance(started, Unknown):
            started = one.started if isinstance(one.started, Unknown) else started + one.started
        whole = replace(
            whole,
            started=started,
            sums=plus(whole.sums, one.sums),
            doubt=whole.doubt or one.doubt,
            sampled=whole.sampled.plus(one.sampled),
            new=None if whole.new is None or one.new is None else whole.new + one.new,
            job=_jobs(whole.job, one.job),
            config=Unknown(Reason.NOT_READ, "each chunk has a config of its own"),
            agent=whole.agent or one.agent,
            clock=whole.clock if one.clock is None else one.clock,
            memos=MappingProxyType({**whole.memos, **one.memos}),
        )
    return whole


def _jobs(one: JobResult | Unknown, other: JobResult | Unknown) -> JobResult | Unknown:
    """Only what chunks plan is added up: the rest is told better by their results."""
    if isinstance(one, Unknown):
        return one
    if isinstance(other, Unknown):
        return other
    planned = None if one.planned is None or other.planned is None else one.planned + other.planned
    return JobResult(planned, None, None, None, None, agents=tuple(dict.fromkeys((*one.agents, *other.agents))))


def chunk_facts(states: Mapping[str, str | Unknown], total: int | None) -> dict[str, FactValue]:
    """`chunks_*` of a run from the states of its chunks by accounting; `total` None when their ids are not all known.

    A chunk of which only the state is unknown makes the other three counts unknown.
    """
    facts: dict[str, FactValue] = {
        "chunks_total": Unknown(Reason.NOT_READ, "the chunks are not all known") if total is None else total
    }
    unknown = next((state for state in states.values() if isinstance(state, Unknown)), None)
    if unknown is None and (total is None or total != len(states)):
        unknown = Unknown(Reason.NOT_READ, "the chunks are not all known")
    names = ("chunks_done", "chunks_running", "chunks_failed")
    if unknown is not None:
        return {**facts, **dict.fromkeys(names, unknown)}
    found = [str(state) for state in states.values()]
    done, running = found.count("COMPLETED"), sum(state in _RUNNING for state in found)
    failed = len(found) - done - running - found.count("PENDING")
    return {**facts, **dict(zip(names, (done, running, failed), strict=True))}


_RUNNING = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "RESIZING", "SIGNALING"})


def trial_pass_rate(reading: Reading) -> FactValue:
    """Share of the newest 100 finished trials with a reward above 0; unknown while there are fewer."""
    if isinstance(reading.started, Unknown):
        return reading.started
    if reading.doubt is not None:
        return reading.doubt
    last = reading.sums.last
    if len(last) < LAST:
        return Unknown(Reason.WARMING_UP, f"{len(last)} of {LAST} trials")
    return sum(passed for _, passed in last) / len(last)
