"""What killed a job, as far as the lines that were read tell, and the signature by which two deaths are alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sweeprules.collectors.logs.causes import Cause, Causes, first_cause
from sweeprules.collectors.logs.traces import WRAPPERS, Raised
from sweeprules.collectors.prior import SignatureMemo
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

BUCKET = 0.10
"""Width of the elapsed times that a signature shows as one; which deaths are alike is the policy's to say."""
SECONDS = 2.0
"""Seconds by which two elapsed times may always differ: schedulers count whole ones, from either end."""
_NAMES = ("rank", "type", "message", "path", "position", "time")


def first_error_facts(logs: Sequence[Causes], *, whole: bool, unread: Unknown | None = None) -> dict[str, FactValue]:
    """`first_error.*` and `elastic_summary` by what was read of all logs of a job, its main log first.

    `whole` says that every byte of the main log was read. Otherwise what comes first is unknown (`cut`), and a summary
    that was not seen too. `unread` is why a log of a worker could not be read: then that no cause was found is unknown.
    Absent: all was read, and no real cause is there.
    """
    seen = any(log.summary for log in logs)
    cut = Unknown(Reason.CUT, "the log's beginning was not read")
    summary: FactValue = True if seen else cut if not whole else unread or False
    if not whole:
        return {**{f"first_error.{name}": cut for name in _NAMES}, "elastic_summary": summary}
    cause = first_cause(logs)
    if cause is None:
        return {**{f"first_error.{name}": unread or ABSENT for name in _NAMES}, "elastic_summary": summary}
    untold = Unknown(Reason.NOT_READ, "the line carries no time")
    return {
        "first_error.rank": ABSENT if cause.rank is None else cause.rank,
        "first_error.type": cause.type,
        "first_error.message": _message(cause),
        "first_error.path": cause.path,
        "first_error.position": cause.position,
        "first_error.time": untold if cause.time is None else cause.time,
        "elastic_summary": summary,
    }


def _message(cause: Cause) -> str:
    """The line, with the number of ranks on which the same operation timed out."""
    return f"{cause.message} (on {len(cause.ranks)} ranks)" if len(cause.ranks) > 1 else cause.message


def signature(facts: Mapping[str, FactValue], raised: Sequence[Raised] | None) -> SignatureMemo | None:
    """What an ended job died of, from its exit and its last exception; None when neither was read.

    `raised` is None where the log was not read.
    """
    exit_text, elapsed = facts.get("exit"), facts.get("elapsed")
    if not isinstance(exit_text, str) and not raised:
        return None
    last = next((error for error in reversed(raised or ()) if error.type not in WRAPPERS), None)
    last = last or (raised[-1] if raised else None)
    return SignatureMemo(
        exit_text if isinstance(exit_text, str) else "",
        last.type if last else None if raised is None else "",
        last.frame if last else "",
        float(elapsed) if isinstance(elapsed, int | float) else None,
    )


def signature_text(memo: SignatureMemo) -> str:
    """For people and for equality at a glance; whether two deaths are alike is `alike`'s to say."""
    bucket = "?" if memo.elapsed is None else str(round(math.log(max(memo.elapsed, 1.0), 1 + BUCKET)))
    error = "?" if memo.error is None else memo.error or "-"
    return " ".join((memo.exit or "?", error, memo.frame or "-", f"t{bucket}"))


def alike(one: SignatureMemo, other: SignatureMemo, share: float) -> bool | None:
    """True when exit, last exception and frame are equal, and the elapsed times differ by at most this share.

    None where nothing that was read of both differs, and something was not read of one.
    """
    same = (_exits(one, other), _errors(one, other), _lengths(one, other, share))
    return False if False in same else None if None in same else True


def _exits(one: SignatureMemo, other: SignatureMemo) -> bool | None:
    return one.exit == other.exit if one.exit and other.exit else None


def _errors(one: SignatureMemo, other: SignatureMemo) -> bool | None:
    return None if one.error is None or other.error is None else (one.error, one.frame) == (other.error, other.frame)


def _lengths(one: SignatureMemo, other: SignatureMemo, share: float) -> bool | None:
    if one.elapsed is None or other.elapsed is None:
        return None
    return abs(one.elapsed - other.elapsed) <= max(share * max(one.elapsed, other.elapsed), SECONDS)
