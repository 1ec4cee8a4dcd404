"""What one sweep learns of a job, from its log, its facts and what is remembered of it and of its run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sweeprules.collectors.cadence import (
    NOT_JUDGED,
    Params,
    cadence_facts,
    history_key,
    model_size,
    remaining_share,
)
from sweeprules.collectors.gaps import CadenceMemo, Gaps, Moved, moved_at, signs_of
from sweeprules.collectors.prior import JobMemo
from sweeprules.collectors.progress import ProgressMemo, progress, progress_facts
from sweeprules.engine.facts import NOT_APPLICABLE, FactValue, Reason, Unknown

FAULTY = Unknown(Reason.FIRST_SIGHT, "its log holds a fault, and one look does not tell whether the work goes on")
UNJUDGED = "catch-all"
"""The bucket of jobs of which no output is expected."""


@dataclass(frozen=True, slots=True)
class News:
    """What was new in a job's log: signs of progress, where other phases began, and that bytes before were not read."""

    moved: tuple[Moved, ...] = ()
    breaks: tuple[tuple[int, str], ...] = ()
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Learned:
    """What the next sweep knows of a job. `kind` is its `history_key`, `before` the memo that this sweep began with."""

    progress: ProgressMemo | None
    cadence: CadenceMemo | None
    kind: str
    before: CadenceMemo | None


NOTHING = News()


def learn_job(
    facts: Mapping[str, FactValue],
    news: News,
    memo: JobMemo | None,
    chain: CadenceMemo | None,
    history: Mapping[str, Gaps],
    bucket: str,
    params: Params,
    now: float,
    *,
    complete: bool,
    patterns: Iterable[str] = (),
) -> tuple[dict[str, FactValue], Learned | None]:
    """The facts of cadence and of progress (catalogue f.1 and e.3) of a running job, and what is remembered of them.

    `chain` is what an earlier link of its run left (`chain_memo`), for a job that nothing is known of yet. `complete`
    says that its cluster was swept whole, `patterns` are the names of those of kind progress. A catch-all job is not
    asked: its facts are absent, and nothing is remembered.
    """
    if bucket == UNJUDGED:
        marks = dict.fromkeys(("progress_marker", "progress_age", "unchanged_sweeps", "progress"), NOT_APPLICABLE)
        return {**NOT_JUDGED, **marks}, None
    news = of_attempt(news, facts)
    marked, marker = progress_facts(
        facts, memo.progress if memo else None, now, complete=complete, patterns=patterns,
        moved_at=moved_at(news.moved),
    )  # fmt: skip
    before = memo.cadence if memo is not None and memo.cadence is not None else chain
    cluster, phase = facts.get("cluster"), facts.get("phase")
    kind = history_key(bucket, model_size(facts.get("model"), facts.get("name")), str(cluster))
    signs = signs_of(news.moved, news.breaks, facts, now, gap=news.gap)
    paced, cadence = cadence_facts(
        signs, phase if isinstance(phase, str) else "", before, history, kind, params, remaining=remaining_share(facts)
    )
    moves = progress(
        marked, paced["cadence"], floor=params.wedge_floor, factor=params.wedge_factor, sweeps=params.sweeps
    )
    if moves is True and (memo is None or memo.progress is None):
        moves = _at_first_sight(facts.get("fault_lines"))
    return {**paced, **marked, "progress": moves}, Learned(marker, cadence, kind, before)


def _at_first_sight(faults: FactValue | None) -> FactValue:
    """Whether work goes on that one look saw moving: not told behind a fault, nor where none could be looked for."""
    if isinstance(faults, Unknown):
        return faults
    return FAULTY if isinstance(faults, Mapping) and faults else True


def of_attempt(news: News, facts: Mapping[str, FactValue]) -> News:
    """What is new of this attempt: a log that a job appends to holds the lines of its earlier ones too."""
    started, mtime = facts.get("started"), facts.get("log.mtime")
    if not isinstance(started, int | float):
        return news
    if isinstance(mtime, int | float) and mtime < started:
        return NOTHING
    old = [sign.position for sign in news.moved if sign.time is not None and sign.time < started]
    last = max(old, default=-1)
    return replace(news, moved=tuple(sign for sign in news.moved if sign.position > last))


def chain_memo(run: str, job: str, jobs: Mapping[str, JobMemo]) -> CadenceMemo | None:
    """The gaps that the newest other link of a run left, by the keys of run and job; None without any."""
    if not run:
        return None
    links = [memo for key, memo in jobs.items() if memo.run == run and key != job and memo.cadence is not None]
    newest = max(links, key=lambda memo: (memo.last_seen, memo.started or 0.0, memo.key), default=None)
    return newest.cadence.inherited() if newest is not None and newest.cadence is not None else None


def kept(memo: JobMemo, learned: Learned | None, *, ended: bool) -> tuple[ProgressMemo | None, CadenceMemo | None]:
    """What is remembered of a job: of one that has ended only the gaps, which the next link of its run starts from."""
    marker = learned.progress if learned is not None else memo.progress
    cadence = learned.cadence if learned is not None else memo.cadence
    if not ended:
        return marker, cadence
    return None, cadence.inherited() if cadence is not None else None


NONE_LEARNED: Mapping[str, Learned] = MappingProxyType({})
