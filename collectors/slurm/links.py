"""Joins jobs into runs: the links of a chain, the chunks of a data set, the resumes of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sweeprules.collectors.logs.failure import alike
from sweeprules.collectors.prior import JobMemo, Prior, SignatureMemo
from sweeprules.collectors.slurm.runs import Link, Run, find_runs, grouping_of, identity_of
from sweeprules.collectors.slurm.siblings import sibling_relations
from sweeprules.collectors.slurm.states import ACTIVE, FAILED, TERMINAL
from sweeprules.engine.facts import (
    ABSENT,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    Value,
)

Share = Callable[[str, str], FactValue]
"""Cluster and bucket -> the share by which elapsed times of like deaths may differ."""


def join_links(
    subjects: Sequence[Subject],
    decided: Mapping[Ref, str],
    prior: Prior,
    signatures: Mapping[str, SignatureMemo],
    share: Share,
) -> tuple[Subject, ...]:
    """The subjects with their runs: jobs gain `run`, `prior_link`, `next_link`, `siblings` and the row's `links`.

    `subjects` are the clusters and jobs of one sweep; `decided` the bucket of each job; `signatures` those of this
    sweep by job key; `share` the policy's word on how alike elapsed times have to be. Added are one run each and, not
    judged, the earlier links of runs that are still about.
    """
    wholeness = {subject.ref.key: subject.relations["jobs"] for subject in subjects if subject.ref.kind == "cluster"}
    jobs = {subject.ref.key: subject for subject in subjects if subject.ref.kind == "job"}
    links = {key: _link(subject, decided.get(subject.ref, ""), prior.jobs.get(key)) for key, subject in jobs.items()}
    links |= _kept_links(links.values(), prior)
    edges = prior.edges | edges_of(links.values())
    runs = find_runs(links, edges)
    siblings = sibling_relations(jobs.values(), wholeness)
    joined = [subject for subject in subjects if subject.ref.kind != "job"]
    for run in runs:
        joined.extend(_joined(run, jobs, links, wholeness, signatures, siblings, share))
    return tuple(joined)


def edges_of(links: Iterable[Link]) -> frozenset[tuple[str, str]]:
    """The dependency edges that this sweep shows, as (waiting, awaited) keys."""
    return frozenset((link.key, f"{link.cluster}:{awaited}") for link in links for awaited in link.waits_for)


def _link(subject: Subject, bucket: str, memo: JobMemo | None) -> Link:
    def text(name: str) -> str:
        value = subject.get(name)
        return value if isinstance(value, str) else ""

    def number(name: str) -> float | None:
        value = subject.get(name)
        return float(value) if isinstance(value, int | float) else None

    dependency = subject.get("dependency")
    return Link(
        subject.ref.key,
        text("cluster"),
        text("job_id"),
        text("user"),
        text("name"),
        text("workdir"),
        bucket,
        text("state"),
        number("started"),
        number("ended"),
        text("exit"),
        isinstance(subject.get("array_id"), str),
        text("run_tag"),
        tuple(str(job_id) for job_id in dependency) if isinstance(dependency, tuple) else (),
        True,
        memo,
    )


def _kept_links(links: Iterable[Link], prior: Prior) -> dict[str, Link]:
    """Earlier jobs that may be of a run that is there: equal in cluster, user, name and workdir, or its chunks."""
    current = list(links)
    keys = {link.key for link in current}
    wanted = {identity for link in current if (identity := identity_of(link)) is not None}
    grouped = {group for link in current if (group := grouping_of(link)) is not None}
    kept = {}
    for key, memo in prior.jobs.items():
        if key in keys or memo.state not in TERMINAL:
            continue
        link = _kept_link(key, memo)
        if identity_of(memo) in wanted or grouping_of(link) in grouped:
            kept[key] = link
    return kept


def _kept_link(key: str, memo: JobMemo) -> Link:
    return Link(
        key, memo.cluster, memo.job_id, memo.user, memo.name, memo.workdir, memo.bucket, memo.state,
        memo.started, memo.ended, memo.exit, memo.array, "", (), False, memo,
    )  # fmt: skip


def _joined(
    run: Run,
    jobs: Mapping[str, Subject],
    links: Mapping[str, Link],
    wholeness: Mapping[str, Relation],
    signatures: Mapping[str, SignatureMemo],
    siblings: Mapping[str, Relation],
    share: Share,
) -> Iterable[Subject]:
    if not any(link.current for link in run.links):
        return
    row = choose_row(run.links)
    ref = Ref("run", run_key(run.links))
    cluster = wholeness.get(row.cluster, Relation((), Completeness.UNKNOWN, Reason.NOT_READ))
    for at, link in enumerate(run.links):
        subject = jobs.get(link.key) or _kept_subject(link)
        relations = {**subject.relations, "run": Relation((ref,)), **_neighbours(run, at, cluster)}
        if link.key in siblings:
            relations["siblings"] = siblings[link.key]
        facts = subject.facts
        if link.key == row.key:
            facts = MappingProxyType({**facts, "links": tuple(_record(one) for one in run.links if one.key != row.key)})
        yield replace(subject, facts=facts, relations=MappingProxyType(relations))
    yield Subject(
        ref,
        MappingProxyType(_run_facts(run, ref.key, cluster, signatures, share(row.cluster, row.bucket))),
        relations=MappingProxyType(
            {
                "links": replace(cluster, members=tuple(Ref("job", link.key) for link in run.links)),
                "row": Relation((Ref("job", row.key),)),
            }
        ),
    )


def choose_row(links: Sequence[Link]) -> Link:
    """The RUNNING link, of several the one that started last; else the last that started; else the first pending."""
    running = [link for link in links if link.state == "RUNNING"]
    started = [link for link in links if link.started is not None]
    pool = running or started
    if not pool:
        return min(links, key=lambda link: (link.order, link.key))
    return max(pool, key=lambda link: (link.started or 0.0, _negated(link.order)))


def _negated(order: tuple[int, int, int]) -> tuple[int, int, int]:
    """Of links that started together the later id, but the first component."""
    return (order[0], order[1], -order[2])


def run_key(links: Sequence[Link]) -> str:
    """The key of the first link ever seen; a run that was known keeps its key."""
    known = [link for link in links if link.memo is not None and link.memo.run]
    if known:
        first = min(known, key=lambda link: (link.memo.first_seen if link.memo else 0.0, link.order))
        return first.memo.run if first.memo else first.key
    return links[0].key


def _neighbours(run: Run, at: int, cluster: Relation) -> dict[str, Relation]:
    """The links before and after; that there is none is only known when the queue was read whole."""
    none = Relation() if cluster.completeness is Completeness.WHOLE else replace(cluster, members=())
    if cluster.completeness is Completeness.PARTIAL:
        none = Relation((), Completeness.UNKNOWN, cluster.reason)
    if not run.chain:
        return {"prior_link": Relation(), "next_link": none}
    bases = list(dict.fromkeys(link.base for link in run.links))
    place = bases.index(run.links[at].base)
    lead = {base: next(link for link in run.links if link.base == base) for base in bases}
    prior = Relation((Ref("job", lead[bases[place - 1]].key),)) if place else Relation()
    after = Relation((Ref("job", lead[bases[place + 1]].key),)) if place + 1 < len(bases) else none
    return {"prior_link": prior, "next_link": after}


def _record(link: Link) -> Value:
    record: dict[str, Value] = {"job_id": link.job_id}
    for name, value in (("state", link.state), ("started", link.started), ("ended", link.ended), ("exit", link.exit)):
        if value not in ("", None):
            record[name] = value
    return record


def _kept_subject(link: Link) -> Subject:
    """An earlier link: it stands in relations and is not judged again."""
    memo = link.memo
    facts: dict[str, FactValue] = {
        "key": link.key,
        "cluster": link.cluster,
        "job_id": link.job_id,
        "user": link.user,
        "name": link.name,
        "workdir": link.workdir,
        "state": link.state,
        "state_source": "store",
        "submitted": ABSENT if memo is None or memo.submitted is None else memo.submitted,
        "started": ABSENT if link.started is None else link.started,
        "ended": ABSENT if link.ended is None else link.ended,
        "exit": link.exit or ABSENT,
    }
    if memo is not None:
        facts["first_seen"] = memo.first_seen
        if memo.elapsed is not None:
            facts["elapsed"] = memo.elapsed
    relations = {"cluster": Relation((Ref("cluster", link.cluster),))}
    return Subject(Ref("job", link.key), MappingProxyType(facts), relations=relations, judged=False)


def _run_facts(
    run: Run, key: str, cluster: Relation, signatures: Mapping[str, SignatureMemo], share: FactValue
) -> dict[str, FactValue]:
    same = _same_signature(run, signatures, share)
    return {"key": key, "successors": _successors(run, cluster), "same_signature": same}


def _successors(run: Run, cluster: Relation) -> FactValue:
    """The active links behind the newest ended one, or behind the first when none has ended."""
    if any(link.current and not link.state for link in run.links):
        return Unknown(Reason.VANISHED, "the state of one link is not known")
    if cluster.completeness is not Completeness.WHOLE:
        return Unknown(Reason.READ_FAILED, "the queue was not read whole")
    ended = [at for at, link in enumerate(run.links) if link.state in TERMINAL]
    behind = run.links[(ended[-1] if ended else 0) + 1 :] if run.chain else ()
    return tuple({"id": link.job_id, "state": link.state} for link in behind if link.state in ACTIVE)


def _same_signature(run: Run, signatures: Mapping[str, SignatureMemo], share: FactValue) -> FactValue:
    """How many deaths in a row are alike, counted back from the newest.

    What was never read of a death, and an unknown `share`, leave the count unknown where they decide before the second
    alike; behind two that are alike it is at least so many.
    """
    deaths = list(_deaths(run, signatures))
    first: SignatureMemo | None = None
    count = 0
    for at, (link, memo) in enumerate(deaths):
        same: bool | Unknown = Unknown(Reason.NOT_READ, f"why {link.job_id} ended was not read")
        if memo is not None and not _may_be_a_wall(link, memo):
            same = first is None or _like(first, memo, share)
        if isinstance(same, Unknown):
            return same if count < 2 else Interval(count, count + len(deaths) - at)
        if not same:
            break
        first = first or memo
        count += 1
    return count


def _like(one: SignatureMemo, other: SignatureMemo, share: FactValue) -> bool | Unknown:
    """Whether two deaths are alike; unknown where what was not read decides it."""
    told = float(share) if isinstance(share, int | float) else None
    same = alike(one, other, math.inf if told is None else told)
    if same is None:
        return Unknown(Reason.NOT_READ, "why a link ended, or how long it ran, was not read")
    if same and told is None:
        return share if isinstance(share, Unknown) else Unknown(Reason.MALFORMED, "the share is no number")
    return same


def _deaths(run: Run, signatures: Mapping[str, SignatureMemo]) -> Iterator[tuple[Link, SignatureMemo | None]]:
    """The links that died and their signatures, the newest first, as far as no link ended well.

    A wall TIMEOUT without an exception is the normal end of a link, no death: it is passed over. One of which the log
    was not read may be either.
    """
    for link in reversed(run.links):
        memo = signatures.get(link.key) or (link.memo.signature if link.memo else None)
        if link.state in ACTIVE or not link.state:
            continue
        if link.state == "TIMEOUT" and memo is not None and memo.error == "":
            continue
        if link.state not in FAILED and link.state != "TIMEOUT":
            return
        yield link, memo


def _may_be_a_wall(link: Link, memo: SignatureMemo) -> bool:
    return link.state == "TIMEOUT" and memo.error is None
