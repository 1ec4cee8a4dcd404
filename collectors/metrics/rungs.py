"""How far the start of an RL run came, by the rungs that its log shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sweeprules.collectors.prior import LineMemo
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from sweeprules.engine.language.ast import Pattern

WORDS = ("admitted", "revision", "staging", "nodes", "mesh", "weights", "engine", "trainer", "first-step")
"""The rungs of the catalogue, the lowest first."""
PREFIX = "rung-"


def bringup_rung(
    lines: Mapping[str, LineMemo], patterns: Iterable[Pattern], *, whole: bool, stepped: bool
) -> FactValue:
    """The furthest rung that was seen: of the patterns of kind rung that matched, the one with the highest order.

    A pattern `rung-WORD` stands for the word of the catalogue; any other for the highest such word that its order
    reaches. One with the fields `n` and `m` counts once they are equal. `stepped` says that a step was finished.
    Absent when the whole log shows none, unknown when only its end was read.
    """
    if stepped:
        return WORDS[-1]
    rungs = [pattern for pattern in patterns if pattern.kind == "rung" and pattern.order is not None]
    seen = [pattern.order or 0 for pattern in rungs if _reached(lines.get(pattern.name))]
    known = {pattern.name.removeprefix(PREFIX): pattern.order or 0 for pattern in rungs if _is_shipped(pattern)}
    below = [word for word, order in known.items() if seen and order <= max(seen)]
    if below:
        return max(below, key=lambda word: known[word])
    return ABSENT if whole else Unknown(Reason.CUT, "only the end of the log was read")


def _is_shipped(pattern: Pattern) -> bool:
    return pattern.name.startswith(PREFIX) and pattern.name.removeprefix(PREFIX) in WORDS


def _reached(line: LineMemo | None) -> bool:
    if line is None or not line.count:
        return False
    n, m = line.fields.get("n"), line.fields.get("m")
    return n is None or m is None or n == m
