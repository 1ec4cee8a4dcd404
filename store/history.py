"""Since when a flag stands: kept over sweeps, unbroken by a sweep that could not tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sweeprules.engine.facts import Ref
from sweeprules.store.codec import CodecError, Json


class Raised(NamedTuple):
    """One flag on one subject."""

    ref: Ref
    flag: str


Since = Mapping[Raised, str]
"""A raised flag -> id of the sweep that first raised it without a break."""


def carry(before: Since, raised: Collection[Raised], unsure: Collection[Raised], sweep_id: str) -> dict[Raised, str]:
    """The history after a sweep, from the one before it.

    What is `raised` keeps its first sweep or gets this one. What was raised before and is among `unsure` (its rule's
    truth is unknown, or its subject was not seen) keeps its first sweep for later; all else ends here.
    """
    after = {item: before.get(item, sweep_id) for item in raised}
    for item in unsure:
        if item in before and item not in after:
            after[item] = before[item]
    return after


def encode_since(since: Since) -> Json:
    """The history as JSON, in the order of the names."""
    return [[item.ref.kind, item.ref.key, item.flag, sweep] for item, sweep in sorted(since.items())]


def decode_since(document: Json) -> dict[Raised, str]:
    """The history that `encode_since` wrote. Raises `CodecError`."""
    if not isinstance(document, list):
        raise CodecError("the flags' history should be a list")
    return dict(_decode_item(item) for item in document)


def _decode_item(item: Json) -> tuple[Raised, str]:
    match item:
        case [str(kind), str(key), str(flag), str(sweep)]:
            return Raised(Ref(kind, key), flag), sweep
    raise CodecError(f"not a raised flag: {item!r}")
