"""What killed a job, as far as the lines that were read tell, and the signature by which two deaths are alike."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk, Line, printed_time
from sweeprules.collectors.logs.scan import Match
from sweeprules.collectors.prior import SignatureMemo
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

_RANK = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]:\s?")
_START = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?$")
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen")
WRAPPERS = frozenset({"ChildFailedError", "CalledProcessError", "SystemExit", "RayTaskError", "KeyboardInterrupt"})
"""Exceptions that only say that another process failed (domain page, F5)."""
BUCKET = 0.10
"""Width of the elapsed times that a signature shows as one; which deaths are alike is the policy's to say."""
SECONDS = 2.0
"""Seconds by which two elapsed times may always differ: schedulers count whole ones, from either end."""
_MESSAGE = 300
MAX_FRAMES = 400
MAX_TRACEBACKS = 50


@dataclass(frozen=True, slots=True)
class Raised:
    """One traceback's end: type without its module, message, innermost frame of own code, rank (None: not printed)."""

    type: str
    message: str
    frame: str
    rank: int | None
    line: Line


def tracebacks(chunk: Chunk) -> list[Raised]:
    """The tracebacks of a chunk whose last line was read, in order; the first and the last of very many."""
    starts: list[int] = []
    at = chunk.text.find(_START.encode(), chunk.begin)
    while at >= 0:
        starts.append(at)
        at = chunk.text.find(_START.encode(), at + 1)
    if len(starts) > 2 * MAX_TRACEBACKS:
        starts = starts[:MAX_TRACEBACKS] + starts[-MAX_TRACEBACKS:]
    found = (_traceback(islice(chunk.lines(chunk.bounds(at)[0]), MAX_FRAMES)) for at in starts)
    return [raised for raised in found if raised is not None]


def _traceback(lines: Iterator[Line]) -> Raised | None:
    first = next(lines, None)
    if first is None or _START not in first.text:
        return None
    before = first.text[: first.text.index(_START)]
    rank = _RANK.match(first.text)
    frame = ""
    for line in lines:
        text = _RANK.sub("", line.text.removeprefix(before)) if before else _RANK.sub("", line.text)
        if text.startswith((" ", "\t")):
            frame = _own(text) or frame
            continue
        ended = _RAISED.match(text)
        if ended is None:
            return None
        kind = ended["type"].rpartition(".")[2]
        return Raised(kind, (ended["message"] or "")[:_MESSAGE], frame, int(rank["rank"]) if rank else None, line)
    return None


def _own(text: str) -> str:
    found = _FRAME.match(text)
    if found is None or any(part in found["file"] for part in _FOREIGN):
        return ""
    return f"{found['file'].rpartition('/')[2]}:{found['function']}"


def first_error_facts(
    raised: Sequence[Raised], faults: Iterable[Match], path: str, zone: ZoneInfo, *, whole: bool
) -> dict[str, FactValue]:
    """The earliest real cause: a traceback that is no wrapper, or a fault line. Unknown `cut` unless all was read."""
    names = ("rank", "type", "message", "path", "position", "time")
    if not whole:
        return {f"first_error.{name}": Unknown(Reason.CUT, "the log's beginning was not read") for name in names}
    real = [error for error in raised if error.type not in WRAPPERS]
    line = min((match.line for match in faults), key=lambda line: line.position, default=None)
    error = min(real, key=lambda error: error.line.position, default=None)
    if error is None and line is None:
        return {f"first_error.{name}": ABSENT for name in names}
    if error is not None and (line is None or error.line.position <= line.position):
        return _cause(error.line, error.type, error.message, error.rank, path, zone)
    assert line is not None
    rank = _RANK.match(line.text)
    return _cause(line, None, line.text[:_MESSAGE], int(rank["rank"]) if rank else None, path, zone)


def _cause(
    line: Line, kind: str | None, message: str, rank: int | None, path: str, zone: ZoneInfo
) -> dict[str, FactValue]:
    moment = printed_time(line.text, zone)
    return {
        "first_error.rank": ABSENT if rank is None else rank,
        "first_error.type": kind or ABSENT,
        "first_error.message": message,
        "first_error.path": path,
        "first_error.position": line.position,
        "first_error.time": Unknown(Reason.NOT_READ, "the line carries no time") if moment is None else moment,
    }


def signature(facts: Mapping[str, FactValue], raised: Sequence[Raised]) -> SignatureMemo | None:
    """What an ended job died of, from its exit and its last exception; None when neither was read."""
    exit_text, elapsed = facts.get("exit"), facts.get("elapsed")
    last = next((error for error in reversed(raised) if error.type not in WRAPPERS), raised[-1] if raised else None)
    if not isinstance(exit_text, str) and last is None:
        return None
    return SignatureMemo(
        exit_text if isinstance(exit_text, str) else "",
        last.type if last else "",
        last.frame if last else "",
        float(elapsed) if isinstance(elapsed, int | float) else None,
    )


def signature_text(memo: SignatureMemo) -> str:
    """For people and for equality at a glance; whether two deaths are alike is `alike`'s to say."""
    bucket = "?" if memo.elapsed is None else str(round(math.log(max(memo.elapsed, 1.0), 1 + BUCKET)))
    return " ".join((memo.exit or "?", memo.error or "-", memo.frame or "-", f"t{bucket}"))


def alike(one: SignatureMemo, other: SignatureMemo, share: float) -> bool:
    """True when exit, last exception and frame are equal, and the elapsed times differ by at most this share."""
    if (one.exit, one.error, one.frame) != (other.exit, other.error, other.frame):
        return False
    if one.elapsed is None or other.elapsed is None:
        return False
    return abs(one.elapsed - other.elapsed) <= max(share * max(one.elapsed, other.elapsed), SECONDS)
