"""Whether a job moves on: what marks its progress, and for how long and how many sweeps that has not moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Interval, Reason, Unknown

VERSION = 1
MOST = 32
"""Parts of a marker that are kept of a job."""
NONE_YET = "none yet"
"""The marker of a job of which all was read and that has neither a step nor a result."""
_SAME = 1.0
"""Seconds by which two starts of one attempt may differ."""
_MAIN = ("step", "trials")
"""The parts that show work by themselves; with one of them known, single patterns are not named in the marker."""


@dataclass(frozen=True, slots=True)
class ProgressMemo:
    """Where the marker of a job stood: part -> value (empty: known to have none), since when, and how often seen so.

    `since` is epoch seconds, the first sweep or the printed time at which it stood so; `exact` says that it was seen
    to move then, and not only found there. `sweeps` counts the complete sweeps in a row that saw it there.
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    since: float = 0.0
    exact: bool = False
    sweeps: int = 0
    seen: float = 0.0
    started: float | None = None

    def encode(self) -> dict[str, Any]:
        """JSON-ready; `decode` gives an equal value back."""
        return {
            "version": VERSION,
            "parts": dict(sorted(self.parts.items())),
            "since": self.since,
            "exact": self.exact,
            "sweeps": self.sweeps,
            "seen": self.seen,
            "started": self.started,
        }

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> ProgressMemo:
        """The value of `encode`. Other versions: ValueError."""
        if data.get("version") != VERSION:
            raise ValueError(
                f"the kept progress has version {data.get('version')!r}; this release reads version {VERSION}"
            )
        return cls(dict(data["parts"]), data["since"], data["exact"], data["sweeps"], data["seen"], data["started"])


def progress_facts(
    facts: Mapping[str, FactValue],
    memo: ProgressMemo | None,
    now: float,
    *,
    complete: bool,
    patterns: Iterable[str] = (),
    moved_at: float | None = None,
) -> tuple[dict[str, FactValue], ProgressMemo | None]:
    """`progress_marker`, `progress_age` and `unchanged_sweeps` of a running job, and what the next sweep starts from.

    `facts` are the job's own: `step`, `buffer_n`, `buffer_m`, `trials_done`, and `lines.NAME.*` of `patterns`, those of
    kind progress. `complete` says that its cluster was swept whole. `moved_at` is the printed time of the newest sign
    of progress, epoch seconds. The mtime of a log is never asked: heartbeats move it.

    The age is unknown `first-sight` where the marker was only ever found standing and no line says since when; from the
    second sweep on it counts from the first. A marker that this sweep could not read leaves all three unknown, and
    what was remembered as it was; so does a step or a count of results that was known before and can not be read now.
    """
    parts = _parts(facts, patterns)
    started = _number(facts.get("started"))
    if memo is not None and not _same_attempt(memo.started, started):
        memo = None
    known = {name: value for name, value in parts.items() if isinstance(value, str)}
    why = _unseen(parts, known, memo)
    if why is not None:
        return dict.fromkeys(("progress_marker", "progress_age", "unchanged_sweeps"), why), memo
    after = _after(memo, known, now, moved_at, started, complete=complete)
    age: FactValue = max(0.0, now - after.since)
    if after.since == now and not after.exact:
        age = Unknown(Reason.FIRST_SIGHT, "the marker was seen for the first time")
    return {"progress_marker": _marker(known), "progress_age": age, "unchanged_sweeps": after.sweeps}, after


def progress(
    marked: Mapping[str, FactValue], cadence: FactValue, *, floor: float, factor: float, sweeps: int
) -> FactValue:
    """The fact `progress` (catalogue e.3), from the facts of `progress_facts` and the cadence in seconds.

    True where the marker moved within the limit, the longer of `floor` seconds and `factor` cadences, where it moved
    since the last complete sweep, and at first sight where there is a step or a result. False where `sweeps` complete
    sweeps saw it stand for longer. Else unknown: no marker could be read, or there is no step or result yet.
    """
    marker, age, seen = (marked.get(name, NOT_READ) for name in ("progress_marker", "progress_age", "unchanged_sweeps"))
    if not isinstance(marker, str) or not isinstance(seen, int):
        return marker if isinstance(marker, Unknown | Absent) else NOT_READ
    if not isinstance(cadence, int | float):
        return cadence if isinstance(cadence, Unknown | Absent) else NOT_READ
    standing = seen >= sweeps and not (isinstance(age, int | float) and age <= max(floor, factor * cadence))
    if not standing:
        return Unknown(Reason.FIRST_SIGHT, "there is no step or result yet") if marker == NONE_YET else True
    return False if isinstance(age, int | float) else NOT_READ


def _unseen(parts: Mapping[str, str | Unknown], known: Mapping[str, str], memo: ProgressMemo | None) -> Unknown | None:
    """Why this sweep does not tell where the marker stands; None where it does.

    A step or a count of results that was known and is not now may have moved, unless another part shows that it did.
    """
    if not known:
        return next((value for value in parts.values() if isinstance(value, Unknown)), Unknown(Reason.NOT_READ))
    if memo is None or _moved(memo.parts, known):
        return None
    lost = (parts.get(name) for name in _MAIN if name in memo.parts)
    return next((value for value in lost if isinstance(value, Unknown)), None)


def _after(
    memo: ProgressMemo | None,
    known: Mapping[str, str],
    now: float,
    moved_at: float | None,
    started: float | None,
    *,
    complete: bool,
) -> ProgressMemo:
    seen = int(complete)
    kept = dict(sorted({**(memo.parts if memo else {}), **known}.items())[:MOST])
    if memo is None:
        nothing = not any(known.values())
        # What has never moved stands where it stood at the start.
        printed = started if nothing else moved_at
        since = now if printed is None else min(now, printed)
        return ProgressMemo(MappingProxyType(kept), since, printed is not None, seen, now, started)
    if _moved(memo.parts, known):
        since = now if moved_at is None or not memo.seen <= moved_at <= now else moved_at
        return ProgressMemo(MappingProxyType(kept), since, True, seen, now, started)
    return ProgressMemo(MappingProxyType(kept), memo.since, memo.exact, memo.sweeps + seen, now, started)


def _moved(before: Mapping[str, str], known: Mapping[str, str]) -> bool:
    """A part that was known before and is another now; a count of lines only when it is a higher one."""
    changed = [name for name, value in known.items() if name in before and before[name] != value]
    return any(not name.endswith("#") or _count(known[name]) > _count(before[name]) for name in changed)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _same_attempt(one: float | None, other: float | None) -> bool:
    return one is None or other is None or abs(one - other) < _SAME


def _parts(facts: Mapping[str, FactValue], patterns: Iterable[str]) -> dict[str, str | Unknown]:
    """Each part of the marker as text, empty where there is none yet; unknown where it could not be read."""
    parts: dict[str, str | Unknown] = {}
    for name, fact in (("step", "step"), ("trials", "trials_done")):
        if fact in facts:
            parts |= _part(name, facts[fact])
    parts |= _buffer(facts)
    for pattern in sorted(patterns):
        parts |= _of_pattern(pattern, facts)
    return parts


def _part(name: str, value: FactValue) -> dict[str, str | Unknown]:
    if isinstance(value, Unknown):
        return {name: value}
    if isinstance(value, Absent):
        # A bucket that has no such thing says nothing by its absence.
        return {} if value.reason else {name: ""}
    if isinstance(value, Interval):
        return {name: str(value.sure)}
    return {name: str(value)} if isinstance(value, int) and not isinstance(value, bool) else {}


def _buffer(facts: Mapping[str, FactValue]) -> dict[str, str | Unknown]:
    filled, size = facts.get("buffer_n", ABSENT), facts.get("buffer_m", ABSENT)
    if isinstance(filled, Unknown):
        return {"buffer": filled}
    if not isinstance(filled, int):
        return {}
    return {"buffer": f"{filled}/{size}" if isinstance(size, int) else str(filled)}


def _of_pattern(pattern: str, facts: Mapping[str, FactValue]) -> dict[str, str | Unknown]:
    """How far a pattern's last line says that it is; of one whose lines say no such thing, how many there are."""
    for name in ("step", "n"):
        value = facts.get(f"lines.{pattern}.{name}")
        if value is None:
            continue
        found = _part(pattern, value)
        total = facts.get(f"lines.{pattern}.m")
        text = found.get(pattern)
        return {pattern: f"{text}/{total}"} if isinstance(text, str) and text and isinstance(total, int) else found
    count = facts.get(f"lines.{pattern}.count")
    if count is None:
        return {}
    if isinstance(count, Interval) and not count.sure:
        return {f"{pattern}#": Unknown(Reason.CUT, "only the end of the log was read")}
    return {name: "" if text == "0" else text for name, text in _part(f"{pattern}#", count).items()}


def _marker(known: Mapping[str, str]) -> str:
    """The parts in words, the plain ones first: `step 140, buffer 35/64`."""
    there = {name: value for name, value in known.items() if value}
    main = [name for name in _MAIN if name in there]
    if main:
        shown = [*main, *(["buffer"] if "buffer" in there else [])]
    else:
        shown = sorted(there)
    return ", ".join(_worded(name, there[name]) for name in shown)[:200] or NONE_YET


def _worded(name: str, value: str) -> str:
    if not name.endswith("#"):
        return f"{name} {value}"
    return f"{name[:-1]} {value} {'line' if value == '1' else 'lines'}"


def _number(value: FactValue | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
