"""What the next sweep starts from, made of what this one saw; a value in, a value out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sweeprules.collectors.cadence import history_after
from sweeprules.collectors.cluster import status
from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.learning import NONE_LEARNED, Learned, kept
from sweeprules.collectors.normalise import Normalised
from sweeprules.collectors.prior import ClusterMemo, JobMemo, Prior
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.engine.facts import Ref, Subject, Unknown

NO_RESULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
KEEP_SETTINGS = 90 * 86400.0
"""Seconds that a setting counts as proved: as long as sweeps are kept, unless a site says otherwise."""
KEEP = 30 * 86400.0
"""Seconds that a job is remembered after it was last seen: links of a chain reach back that far."""


def remember(
    prior: Prior,
    swept: Sequence[tuple[Gathered, Normalised]],
    joined: Iterable[Subject],
    decided: Mapping[Ref, str],
    now: float,
    learned: Mapping[str, Learned] = NONE_LEARNED,
    results: Mapping[str, Mapping[str, Any]] = NO_RESULTS,
    sound: Collection[str] = (),
) -> Prior:
    """The state after this sweep. `joined` are the subjects of `join_links`, `decided` the buckets of jobs.

    `learned` is what was learned of running jobs, and `results` what was read of the results of jobs, both by their
    keys; of others what was known is kept. `sound` are the keys of jobs whose settings are proved by
    how they run or ended.

    A job whose state is unknown keeps the state that it had: its end must still be proved. Clusters that were not
    reached keep all of theirs.
    """
    subjects = {subject.ref.key: subject for subject in joined if subject.ref.kind == "job"}
    jobs = dict(prior.jobs)
    clusters = dict(prior.clusters)
    edges = set(prior.edges)
    for gathered, normalised in swept:
        name = gathered.record.name
        whole = status(gathered) == "swept"
        for subject in normalised.subjects:
            if subject.ref.kind != "job":
                continue
            key = subject.ref.key
            seen = subjects.get(key, subject)
            memo = _memo(seen, prior.jobs.get(key), normalised, decided.get(subject.ref, ""), now, whole=whole)
            progress, cadence = kept(memo, learned.get(key), ended=memo.state in TERMINAL)
            jobs[key] = replace(memo, progress=progress, cadence=cadence, results=results.get(key, memo.results))
            edges |= _edges(seen)
        if gathered.scheduled is not None:
            clusters[name] = _cluster(clusters.get(name, ClusterMemo()), gathered, now, whole=whole)
    still = {key: memo for key, memo in jobs.items() if now - memo.last_seen < KEEP}
    news = [(one.kind, one.before, one.cadence) for _, one in sorted(learned.items()) if one.cadence is not None]
    return Prior(
        still,
        clusters,
        frozenset(edge for edge in edges if edge[0] in still or edge[1] in still),
        history_after(prior.cadences, news),
        _settings(prior, subjects, sound, now),
    )


def _settings(prior: Prior, subjects: Mapping[str, Subject], sound: Collection[str], now: float) -> Mapping[str, float]:
    """The settings that a sound run proved, now or in the sweeps that are remembered."""
    proved = {
        setting: now
        for key, subject in subjects.items()
        if key in sound and isinstance(setting := subject.get("settings_key"), str)
    }
    return {key: at for key, at in {**prior.settings, **proved}.items() if now - at < KEEP_SETTINGS}


def _cluster(memo: ClusterMemo, gathered: Gathered, now: float, *, whole: bool) -> ClusterMemo:
    version = gathered.scheduled.version if gathered.scheduled else ""
    return ClusterMemo(now if whole else memo.last_good, version if isinstance(version, str) else memo.version)


def _edges(subject: Subject) -> set[tuple[str, str]]:
    dependency, cluster = subject.get("dependency"), subject.get("cluster")
    if not isinstance(dependency, tuple):
        return set()
    return {(subject.ref.key, f"{cluster}:{awaited}") for awaited in dependency}


def _memo(
    subject: Subject, before: JobMemo | None, normalised: Normalised, bucket: str, now: float, *, whole: bool
) -> JobMemo:
    job_id, cluster = _text(subject, "job_id"), _text(subject, "cluster")
    memo = before or JobMemo(cluster, job_id, first_seen=now)
    log = normalised.logs.get(subject.ref.key, memo.log)
    run = subject.relations.get("run")
    memo = replace(
        memo,
        bucket=bucket or memo.bucket,
        run=run.members[0].key if run is not None and run.members else memo.run,
        log=log,
        last_seen=now,
    )
    if isinstance(subject.get("state"), Unknown):
        return replace(memo, last_seen=memo.last_seen if before else now, settled=False)
    state = _text(subject, "state")
    return replace(
        memo,
        user=_text(subject, "user") or memo.user,
        name=_text(subject, "name") or memo.name,
        workdir=_text(subject, "workdir") or memo.workdir,
        state=state,
        state_reason=_text(subject, "state_reason"),
        submitted=_number(subject, "submitted"),
        started=_number(subject, "started"),
        ended=_number(subject, "ended"),
        elapsed=_number(subject, "elapsed"),
        exit=_text(subject, "exit"),
        array=isinstance(subject.get("array_id"), str),
        settled=state in TERMINAL and (whole or memo.settled),
        gone_sweeps=memo.gone_sweeps + 1 if state == "GONE" else 0,
        signature=normalised.signatures.get(subject.ref.key, memo.signature) if state in TERMINAL else None,
    )


def _text(subject: Subject, name: str) -> str:
    value = subject.get(name)
    return value if isinstance(value, str) else ""


def _number(subject: Subject, name: str) -> float | None:
    value = subject.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
