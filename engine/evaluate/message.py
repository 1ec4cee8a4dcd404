"""Fills `{field}` in what rules say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.resolve import Lens
from sweeprules.engine.evaluate.words import humanise, shortened
from sweeprules.engine.facts import FactValue, Subject, Unknown

_HOLE = re.compile(r"\{([^{}]*)\}")
_LONGEST = 200

_SINGLE = frozenset(
    {"cluster", "run", "job", "row", "prior_link", "next_link", "previous", "log_filesystem", "credential"}
    | {"tracker_row", "campaign", "eval_job", "sweep"}
)
"""Relations that a `{field}` may follow where no catalogue says so."""


def fill(say: str, lens: Lens, subject: Subject, catalogue: Catalogue | None = None) -> str:
    """The text with each `{field}` replaced by its value in words: unknown as `? (reason)`, absent as `—`.

    The catalogue gives the units; without it numbers stand as they are.
    """

    def value(hole: re.Match[str]) -> str:
        found, kind = _named(hole.group(1).strip(), lens, subject, catalogue)
        return shortened(humanise(found, kind), _LONGEST)

    return _HOLE.sub(value, say)


def filled(text: str, lens: Lens, subject: Subject, catalogue: Catalogue | None = None) -> FactValue:
    """The same of an argument, which is unknown where one of its fields is."""
    for hole in _HOLE.finditer(text):
        name = hole.group(1).strip()
        found, _ = _named(name, lens, subject, catalogue)
        if isinstance(found, Unknown):
            return Unknown(found.reason, f"{name} in its text")
    return fill(text, lens, subject, catalogue)


def joined(messages: Sequence[str]) -> str:
    """The messages of several rules in one line, none twice."""
    return "; ".join(dict.fromkeys(message for message in messages if message))


def _named(text: str, lens: Lens, subject: Subject, catalogue: Catalogue | None) -> tuple[FactValue, str]:
    kind = None if catalogue is None else catalogue.kinds.get(subject.ref.kind)
    field = None if kind is None else kind.fields.get(text)
    if field is not None:
        return lens.fact(subject, text), field.type
    value = lens.fact(subject, text)
    head, _, rest = text.partition(".")
    if rest and isinstance(value, Unknown) and text not in subject.facts and head in _SINGLE:
        member = lens.hop(subject, head)
        return _named(rest, lens, member, catalogue) if isinstance(member, Subject) else (member, "")
    return value, ""
