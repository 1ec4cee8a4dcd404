"""The one word for how a job is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sweeprules.engine.facts import FactValue, Unknown
from sweeprules.engine.verdicts import Flag

READ = ("state", "liveness", "progress")
"""The fields that it looks at."""


def health(flags: Iterable[Flag], facts: Mapping[str, FactValue]) -> str:
    """The first that holds of flagged, unknown, exempt, starting, waiting, ended, healthy (catalogue e.3).

    `facts` gives `state`, `liveness` and `progress` as rules see them; one that is missing counts as unknown. Exempt
    and resolved flags do not make a job flagged.
    """
    state = facts.get("state")
    starting = exempt = False
    for flag in flags:
        if flag.severity in ("warning", "critical") and not (flag.exempt or flag.resolved):
            return "flagged"
        starting = starting or flag.name == "bringup"
        exempt = exempt or flag.exempt
    if not isinstance(state, str) or (state == "RUNNING" and not starting and _unseen(facts)):
        return "unknown"
    if exempt:
        return "exempt"
    if starting:
        return "starting"
    if state == "PENDING":
        return "waiting"
    if state != "RUNNING":
        return "ended"
    # Work that stands still, by a limit that no rule trusts enough to flag it, is not known to be well.
    return "unknown" if facts.get("progress") is False else "healthy"


def _unseen(facts: Mapping[str, FactValue]) -> bool:
    # Absent progress is a bucket that is not asked; absent liveness is not a thing that can be.
    return any(name not in facts or isinstance(facts[name], Unknown) for name in ("liveness", "progress"))
