"""Which jobs are one run: joined by edges, by one name that never ran twice at a time, or grouped into one row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sweeprules.collectors.prior import JobMemo
from sweeprules.collectors.slurm.text import sort_key

CHAINED = frozenset({"rl", "sft"})
"""Buckets whose jobs of one name and workdir are links without an edge ever seen (catalogue g)."""
_CHUNK = re.compile(r"_chunk\d+")


@dataclass(frozen=True, slots=True)
class Link:
    """One job as joining sees it, of this sweep (`current`) or kept from an earlier one."""

    key: str
    cluster: str
    job_id: str
    user: str
    name: str
    workdir: str
    bucket: str
    state: str
    started: float | None
    ended: float | None
    exit: str
    array: bool
    run_tag: str
    waits_for: tuple[str, ...]
    current: bool
    memo: JobMemo | None = None

    @property
    def base(self) -> str:
        """The id without a component: the components of a heterogeneous job are one link."""
        return self.job_id.partition("+")[0]

    @property
    def order(self) -> tuple[int, int, int]:
        """Ids grow with time, and a requeue keeps its own."""
        return sort_key(self.job_id)


def identity_of(link: Link | JobMemo) -> tuple[str, str, str, str] | None:
    """What links of one run have in common: cluster, user, name, workdir; None where one of them was not read."""
    identity = (link.cluster, link.user, link.name, link.workdir)
    return identity if all(identity) else None


@dataclass(frozen=True, slots=True)
class Run:
    """Jobs of one row, in order; `chain` is False for chunks and resumes, which follow each other in no order."""

    links: tuple[Link, ...]
    chain: bool


class _Sets:
    """Disjoint sets of keys."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.parent = {key: key for key in keys}

    def root(self, key: str) -> str:
        while self.parent[key] != key:
            self.parent[key] = self.parent[self.parent[key]]
            key = self.parent[key]
        return key

    def join(self, first: str, second: str) -> None:
        self.parent[self.root(first)] = self.root(second)

    def groups(self) -> list[list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for key in self.parent:
            found[self.root(key)].append(key)
        return list(found.values())


def find_runs(links: Mapping[str, Link], edges: frozenset[tuple[str, str]]) -> list[Run]:
    """The runs of `links` (by key), each link in exactly one; `edges` are all dependency edges ever seen."""
    chains = _Sets(links)
    for first, second in edges:
        if first in links and second in links and identity_of(links[first]) == identity_of(links[second]) is not None:
            chains.join(first, second)
    for members in _by(links.values(), identity_of):
        _join_components(members, chains)
        plain = [link for link in members if link.bucket in CHAINED and not link.array]
        if len(plain) > 1 and len({link.bucket for link in plain}) == 1 and not _ever_together(plain):
            for link in plain[1:]:
                chains.join(plain[0].key, link.key)
    chained = {key: len(group) > 1 for group in chains.groups() for key in group}
    rows = _Sets(links)
    for group in chains.groups():
        for key in group[1:]:
            rows.join(group[0], key)
    for members in _by(links.values(), grouping_of):
        for link in members[1:]:
            rows.join(members[0].key, link.key)
    return [_run([links[key] for key in group], chained, chains) for group in rows.groups()]


def _run(members: list[Link], chained: Mapping[str, bool], chains: _Sets) -> Run:
    ordered = tuple(sorted(members, key=lambda link: (link.order, link.key)))
    one = len({chains.root(link.key) for link in ordered}) == 1
    return Run(ordered, one and chained[ordered[0].key])


def _by(links: Iterable[Link], identity: Callable[[Link], Hashable]) -> list[list[Link]]:
    found: dict[Hashable, list[Link]] = defaultdict(list)
    for link in links:
        key = identity(link)
        if key is not None:
            found[key].append(link)
    return [members for members in found.values() if len(members) > 1]


def _join_components(members: Sequence[Link], chains: _Sets) -> None:
    leaders: dict[str, Link] = {}
    for link in members:
        if "+" in link.job_id:
            chains.join(leaders.setdefault(link.base, link).key, link.key)


def grouping_of(link: Link) -> tuple[str, ...] | None:
    """Datagen chunks by their name without the chunk; resumes of an evaluation by its run tag."""
    if link.bucket == "datagen" and link.name and (_CHUNK.search(link.name) or link.array):
        return ("datagen", link.cluster, link.user, _CHUNK.sub("", link.name))
    if link.bucket == "eval" and link.run_tag:
        return ("eval", link.cluster, link.user, link.run_tag)
    return None


def _ever_together(links: Sequence[Link]) -> bool:
    """True when two of them ran at one time; one that runs has no end yet, and one whose times are unread may have."""
    spans: list[tuple[float, float, str]] = []
    for link in links:
        if link.started is None:
            if link.state == "RUNNING" or not link.state:
                return True
            continue
        end = link.ended if link.ended is not None else float("inf")
        spans.append((link.started, end, link.base))
    spans.sort()
    latest, holder = float("-inf"), ""
    for start, end, base in spans:
        if start < latest and base != holder:
            return True
        if end > latest:
            latest, holder = end, base
    return False
