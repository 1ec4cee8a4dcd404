"""What a sweep learns of the jobs that run: how long they take from sign to sign, and whether their work moves on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeprules.cli.cadence import CADENCE, cadence_params
from sweeprules.collectors.cadence import NAMES, unread
from sweeprules.collectors.gaps import Gaps
from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.learning import NOTHING, Learned, News, chain_memo, learn_job
from sweeprules.collectors.normalise import Normalised
from sweeprules.collectors.prior import JobMemo, Prior
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Ref, Source, Subject, Unknown
from sweeprules.engine.language.ast import Policy

UNSURE = Unknown("not-read", "the bucket is unknown")
_MARKED = ("progress_marker", "progress_age", "unchanged_sweeps", "progress")
_MARKS = Source("", "what the kept sweeps saw of its step, its results and its progress lines", "")
_PACE = {
    "learned": Source("", "the gaps between its own signs of progress", ""),
    "history": Source("", "the gaps between signs of progress of earlier jobs of its kind", ""),
    "default": Source("", f"policy parameter {CADENCE}", ""),
}


@dataclass(frozen=True, slots=True)
class Learning:
    """What a sweep learns from: what is new in the logs of jobs, what earlier sweeps left of jobs, both by job key.

    `history` are the gaps of earlier jobs by kind, `now` is the time of the sweep, epoch seconds.
    """

    news: Mapping[str, News]
    jobs: Mapping[str, JobMemo]
    history: Mapping[str, Gaps]
    now: float


def learning_of(read: Iterable[Normalised | None], gathered: Iterable[Gathered], prior: Prior, now: float) -> Learning:
    """What the sweep of some clusters learns from: of each cluster the jobs that its logs were read on from."""
    news = {key: news for one in read if one is not None for key, news in one.news.items()}
    jobs = {memo.key: memo for one in gathered for memo in one.memos.values()}
    return Learning(news, jobs, prior.cadences, now)


def lasting(learned: Mapping[str, Learned], own: Container[str]) -> dict[str, Learned]:
    """What the next sweep starts from; a cluster that replays a recording starts from that one's `own` state again."""
    return {key: one for key, one in learned.items() if key.partition(":")[0] not in own}


def with_learned(
    subjects: Sequence[Subject],
    buckets: Mapping[Ref, str],
    tags: Mapping[Ref, FactValue],
    learning: Learning,
    policy: Policy,
) -> tuple[list[Subject], dict[str, Learned]]:
    """The subjects, the running jobs among them with what is known of their cadence and their progress.

    Beside them what the next sweep starts from, by job key. `subjects` have all that was read of them. Only a cluster
    that was swept whole adds to the sweeps in which a marker stands still.
    """
    whole = {one.ref.key for one in subjects if one.ref.kind == "cluster" and one.get("status") == "swept"}
    patterns = [name for name, one in policy.patterns.items() if one.kind == "progress"]
    runs = _by_run(learning.jobs)
    made: list[Subject] = []
    learned: dict[str, Learned] = {}
    for subject in subjects:
        if subject.ref.kind != "job" or not subject.judged or subject.get("state") != "RUNNING":
            made.append(subject)
            continue
        key, bucket = subject.ref.key, buckets.get(subject.ref)
        if bucket is None:
            made.append(_with(subject, {**unread(UNSURE), **dict.fromkeys(_MARKED, UNSURE)}))
            continue
        run = _run(subject)
        cluster = subject.get("cluster") or NOT_READ
        job = (key, subject.get("job_id") or NOT_READ, subject.get("name") or NOT_READ)
        facts, found = learn_job(
            subject.facts, learning.news.get(key, NOTHING), learning.jobs.get(key),
            chain_memo(run, key, runs.get(run, {})), learning.history, bucket,
            cadence_params(policy, cluster, bucket, tags.get(subject.ref, ABSENT), job), learning.now,
            complete=cluster in whole, patterns=patterns,
        )  # fmt: skip
        made.append(_with(subject, facts))
        if found is not None:
            learned[key] = found
    return made, learned


def _with(subject: Subject, facts: Mapping[str, FactValue]) -> Subject:
    pace = facts["cadence_source"]
    told = _PACE.get(pace) if isinstance(pace, str) else None
    sources = dict.fromkeys(_MARKED, _MARKS) | (dict.fromkeys(NAMES, told) if told is not None else {})
    return replace(subject, facts={**subject.facts, **facts}, sources={**subject.sources, **sources})


def _run(subject: Subject) -> str:
    relation = subject.relations.get("run")
    return relation.members[0].key if relation is not None and relation.members else ""


def _by_run(jobs: Mapping[str, JobMemo]) -> dict[str, dict[str, JobMemo]]:
    runs: dict[str, dict[str, JobMemo]] = {}
    for key, memo in jobs.items():
        if memo.cadence is not None:
            runs.setdefault(memo.run, {})[key] = memo
    return runs
