"""The parameters of the policy that the pipeline reads itself."""

from __future__ import annotations

from sweeprules.collectors.cadence import Params
from sweeprules.engine.evaluate.params import Place, param_value
from sweeprules.engine.facts import FactValue, Unknown
from sweeprules.engine.language.ast import Policy

CADENCE = "default_cadence"
"""The cadence of a job of which nothing was learned yet."""
ALIKE = "alike_elapsed"
"""Share by which the elapsed times of two deaths may differ that are taken for the same."""
LEAST = "cadence_gaps_least"
"""How many gaps tell a cadence."""
SPREAD = "cadence_spread"
"""How many times the median a gap may be before it is a standstill."""
FLOOR = "cadence_floor"
"""The shortest cadence that is learned."""
CEILING = "cadence_ceiling"
"""The longest cadence that is learned."""
TAIL = "cadence_tail"
"""The share of results at the end of an evaluation in which its bulk tells nothing of the gaps."""
WEDGE_FLOOR = "wedge_floor"
"""How long a marker may stand still whatever the cadence is."""
WEDGE_FACTOR = "wedge_factor"
"""How many cadences long a marker may stand still."""
SWEEPS = "unchanged_sweeps_least"
"""How many complete sweeps have to see a marker at the same place before it stands still."""
LEARNED = (LEAST, SPREAD, FLOOR, CEILING, TAIL, WEDGE_FLOOR, WEDGE_FACTOR, SWEEPS)
READ = (CADENCE, ALIKE, *LEARNED)
"""All of them: a change of one changes what is read, not only how it is judged."""
_UNREAD = Unknown("not-read")
Job = tuple[FactValue, ...] | Unknown


def value(
    policy: Policy, name: str, cluster: FactValue, bucket: FactValue, tags: FactValue = (), job: Job = _UNREAD
) -> FactValue:
    """What a parameter that the pipeline reads is worth; unknown where the policy has none of that name.

    `job` are the names that overrides may have for the job.
    """
    param = policy.params.get(name)
    if param is None:
        return Unknown("not-read", f"the policy has no parameter {name}")
    return param_value(param, Place(job, tags, cluster, bucket))


def cadence_params(
    policy: Policy, cluster: FactValue, bucket: FactValue, tags: FactValue = (), job: Job = _UNREAD
) -> Params:
    """What the policy says of the cadence of a job; where it says nothing of how one is learned, the usual.

    A number that turns on what is not known of the job is the usual one too, but for the default, which stays unknown.
    """
    plain = Params(value(policy, CADENCE, cluster, bucket, tags, job))
    read = {name: value(policy, name, cluster, bucket, tags, job) for name in LEARNED}
    return Params(
        plain.default,
        int(_number(read[LEAST], plain.least)),
        _number(read[SPREAD], plain.spread),
        _number(read[FLOOR], plain.floor),
        _number(read[CEILING], plain.ceiling),
        _number(read[TAIL], plain.tail),
        _number(read[WEDGE_FLOOR], plain.wedge_floor),
        _number(read[WEDGE_FACTOR], plain.wedge_factor),
        int(_number(read[SWEEPS], plain.sweeps)),
    )


def _number(found: FactValue, usual: float) -> float:
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else usual
