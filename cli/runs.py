"""What the training runs of a sweep still lack once the ends of their logs were read, by cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sweeprules.collectors.metrics.points import KEEP
from sweeprules.collectors.numbers import Printed, Told
from sweeprules.collectors.training import Training, wanted
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.site import ClusterRecord
from sweeprules.engine.verdicts import Verdict

_UNITS = frozenset({"steps", "points"})


def reach(policy: Policy) -> int:
    """How many points of a run a rule may look at, the current one among them: the longest window of the policy.

    At most as many as are kept from sweep to sweep.
    """
    params = (param for param in policy.params.values() if param.unit in _UNITS)
    values = (value for param in params for value in (param.default, *(one.value for one in param.overrides)))
    return min(KEEP, 1 + max((value for value in values if isinstance(value, int)), default=0))


def sound(verdicts: Mapping[Ref, Verdict], world: World) -> frozenset[str]:
    """The keys of the jobs that run healthy, or that were completed with nothing flagged that asks for somebody."""
    return frozenset(
        ref.key
        for ref, verdict in verdicts.items()
        if ref.kind == "job"
        and (
            verdict.health == "healthy"
            or (verdict.health == "ended" and world.subjects[ref].get("state") == "COMPLETED")
        )
    )


def lacking(
    records: Iterable[ClusterRecord],
    world: World,
    buckets: Mapping[Ref, str],
    printed: Mapping[str, Printed],
    told: Mapping[str, Told],
    policy: Policy,
) -> dict[str, Training]:
    """What is asked of each cluster in the second stage; `world` is that of the first one, logs are by job key."""
    jobs = world.of_kind("job")
    known = [(job, bucket) for job in jobs if (bucket := buckets.get(job.ref)) is not None and "@" not in job.ref.key]
    points = reach(policy)
    return {record.name: wanted(record, known, printed, told, points) for record in records}
