"""The serving side of one evaluation put together: its trials, and the logs of engine and tunnel beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.trials.counts import Terms, agent_of, trial_facts
from sweeprules.collectors.trials.rounds import Reading
from sweeprules.collectors.trials.serving import TUNNELLESS, Posts, Seen, infra_facts, post_facts, read_posts
from sweeprules.collectors.trials.sidelogs import Found, SideLog
from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown


@dataclass(frozen=True, slots=True)
class Times:
    """Epoch seconds on the cluster's clock: now, the start of the job's present attempt, and the last good sweep."""

    now: float
    started: float | None = None
    last: float | None = None


def serving_facts(
    reading: Reading,
    logs: Found,
    terms: Terms,
    times: Times,
    own: tuple[Chunk, int] | None = None,
    tunnelless: frozenset[str] = TUNNELLESS,
) -> dict[str, FactValue]:
    """`posts_*` and `infra.*` of one job with trials.

    `logs` are the logs beside its own (`sidelogs`). `own` is a stretch of the job's own log and the byte from which it
    is new, for an engine that logs there: it counts where no log of the engine was found.
    """
    counted = trial_facts(reading, terms)
    posts = _posts(logs, own)
    seconds = _seconds(logs, times)
    seen = Seen(
        agent=agent_of(reading),
        tunnel=_tunnel(logs, times),
        config=reading.trial_config if not isinstance(reading.trial_config, Unknown) else reading.config,
        posts=posts,
        started=_count(counted, "trials_started"),
        done=_count(counted, "trials_done"),
        new=reading.new,
        quick=_count(counted, "instant_failed"),
        running=None if times.started is None else times.now - times.started,
        planned=_count(counted, "trials_planned"),
    )
    return {**post_facts(posts, seconds), **infra_facts(seen, tunnelless)}


def _seconds(logs: Found, times: Times) -> float | None:
    """Over how long requests were counted; None where the log is new to us and tells of more than since last time."""
    if times.last is None:
        return None
    began = times.started is not None and times.started >= times.last
    engine = logs.get("engine")
    if isinstance(engine, SideLog) and engine.first and not (began and engine.whole):
        return None
    return times.now - (times.started if began and times.started is not None else times.last)


def _posts(logs: Found, own: tuple[Chunk, int] | None) -> Posts | Unknown:
    """Requests since the last sweep; where bytes were passed over their number is not known."""
    engine = logs.get("engine", Unknown(Reason.NOT_READ, "the engine's log was not looked for"))
    if isinstance(engine, SideLog):
        if engine.gap:
            return Unknown(Reason.CUT, "the engine's log grew by more than one sweep reads")
        return read_posts(engine.chunk, engine.since)
    if own is not None:
        found = read_posts(*own)
        if found.total:
            return found
    return Unknown(Reason.NOT_READ, "no log of the engine was found") if isinstance(engine, Absent) else engine


def _tunnel(logs: Found, times: Times) -> Chunk | Unknown:
    """What the tunnel's log says; one that was last written before the job began tells of an earlier attempt."""
    tunnel = logs.get("tunnel", Unknown(Reason.NOT_READ, "the tunnel's log was not looked for"))
    if isinstance(tunnel, Absent):
        return Unknown(Reason.NOT_READ, "no log of the tunnel was found")
    if isinstance(tunnel, Unknown):
        return tunnel
    if times.started is not None and tunnel.mtime < times.started:
        return Unknown(Reason.STALE_SOURCE, "the tunnel's log was last written before the job began")
    return tunnel.chunk


def _count(facts: Mapping[str, FactValue], name: str) -> int | Unknown:
    found = facts[name]
    if isinstance(found, int):
        return found
    return found if isinstance(found, Unknown) else Unknown(Reason.NOT_READ)
