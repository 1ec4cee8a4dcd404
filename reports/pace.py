"""Whether the work of a running job moves on, in words: where it stands and since when, and how long that may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sweeprules.engine.facts import Absent, FactValue, Unknown
from sweeprules.reports.clean import one_line
from sweeprules.reports.words import duration


def pace(facts: Mapping[str, FactValue]) -> list[str]:
    """The section of a job that runs, empty for one that is not asked for progress."""
    marker = facts.get("progress_marker")
    if facts.get("state") != "RUNNING" or marker is None or isinstance(marker, Absent):
        return []
    first, *more = _lines(marker, facts)
    return ["", f"Progress: {one_line(first, 300)}", *(f"  {one_line(line, 300)}" for line in more)]


def _lines(marker: FactValue, facts: Mapping[str, FactValue]) -> Iterator[str]:
    yield _place(marker, facts)
    cadence, basis = facts.get("cadence"), facts.get("cadence_basis")
    if isinstance(cadence, int | float):
        yield f"the next sign of it is expected within {duration(cadence)} ({basis})"
    elif isinstance(cadence, Unknown):
        yield f"how soon the next sign of it is expected is not known: {cadence.detail or cadence.reason}"
    silent = facts.get("log_age")
    if isinstance(silent, int | float):
        beats = ", and only heartbeats since the last sign" if facts.get("heartbeats_only") is True else ""
        yield f"its log was written to {duration(silent)} ago{beats}"


def _place(marker: FactValue, facts: Mapping[str, FactValue]) -> str:
    if isinstance(marker, Unknown):
        return f"where its work stands was not read: {marker.detail or marker.reason}"
    age, seen = facts.get("progress_age"), facts.get("unchanged_sweeps")
    where = "no step or result yet" if marker == "none yet" else str(marker)
    if not isinstance(age, int | float):
        return f"{where}, seen there for the first time"
    if isinstance(seen, int) and seen > 1:
        return f"{where}, the same for {duration(age)} in {seen} sweeps"
    return f"{where}, for {duration(age)} now" if marker == "none yet" else f"{where}, moved {duration(age)} ago"
