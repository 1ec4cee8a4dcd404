"""Which other jobs of a cluster ended within the hour of a failed one: a trap of the machine kills several."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sweeprules.collectors.slurm.states import FAILED
from sweeprules.engine.facts import Completeness, Reason, Ref, Relation, Subject

WITHIN = 3600.0
"""Seconds around a job's end (catalogue f, relations)."""


def sibling_relations(jobs: Iterable[Subject], wholeness: Mapping[str, Relation]) -> dict[str, Relation]:
    """For each failed job the jobs that ended within the hour, by key; whole only as far as the cluster was read."""
    ended: dict[str, list[tuple[float, str]]] = defaultdict(list)
    failed: list[tuple[str, str, float]] = []
    for job in jobs:
        cluster, moment = job.get("cluster"), job.get("ended")
        if not isinstance(cluster, str) or not isinstance(moment, int | float):
            continue
        ended[cluster].append((float(moment), job.ref.key))
        if job.get("state") in FAILED:
            failed.append((job.ref.key, cluster, float(moment)))
    for members in ended.values():
        members.sort()
    return {key: _around(key, moment, ended[cluster], wholeness.get(cluster)) for key, cluster, moment in failed}


def _around(key: str, moment: float, ended: list[tuple[float, str]], cluster: Relation | None) -> Relation:
    low = bisect_left(ended, (moment - WITHIN, ""))
    high = bisect_right(ended, (moment + WITHIN, "\U0010ffff"))
    members = tuple(Ref("job", other) for _, other in ended[low:high] if other != key)
    if cluster is None:
        return Relation(members, Completeness.PARTIAL, Reason.NOT_READ)
    return Relation(members, cluster.completeness, cluster.reason)
