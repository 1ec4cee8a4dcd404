"""Each way to change one thing of what a line of a log means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from sweeprules.engine.language.ast import Pattern

Kind = Literal["fault", "benign", "progress", "metric", "rung", "marker"]

_NEVER = "\x00never\x00"
"""No line of a log has it: a zero byte is no text."""
_OTHER: Mapping[str, Kind] = {"fault": "benign", "benign": "fault", "progress": "benign", "marker": "fault"}
"""Another kind that lines may have. A metric or a rung is told by its fields and its name alone."""


def patterns(found: Iterable[Pattern]) -> Iterator[tuple[str, Pattern]]:
    """What was changed in words, and the pattern then, which keeps its name."""
    for pattern in found:
        yield "left out", replace(pattern, literal=_NEVER)
        if pattern.regex:
            yield "literal alone, without its regex", replace(pattern, regex="", fields=pattern.fields)
        else:
            yield f"literal cut to {_half(pattern.literal)!r}", replace(pattern, literal=_half(pattern.literal))
        if pattern.kind in _OTHER:
            other = _OTHER[pattern.kind]
            yield f"{pattern.kind} made {other}", replace(pattern, kind=other)
        for name in pattern.fields:
            rest = {key: kind for key, kind in pattern.fields.items() if key != name}
            yield f"field {name} left out", replace(pattern, fields=rest)


def _half(literal: str) -> str:
    """The first words of a literal, or the first half of a single one: it stands in more lines."""
    words = literal.split(" ")
    if len(words) > 1 and words[0]:
        return " ".join(words[: (len(words) + 1) // 2])
    return literal[: (len(literal) + 1) // 2]
