"""What earlier sweeps left for this one: whether this version can read it, before anything is asked of a cluster."""

from __future__ import annotations

from sweeprules.cli import held, marks
from sweeprules.collectors.prior import COLLECTORS, Prior
from sweeprules.store.errors import StoreError
from sweeprules.store.kept import StartingPoint

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What a document of another shape makes its reader raise."""


def check_remembered(before: StartingPoint, where: str) -> None:
    """Raise `StoreError` that names `where` when a document of the prior state is not of this version.

    Nothing of it is passed over: without what was held and seen before, a sweep would tell of things as new.
    """
    for name, read in ((COLLECTORS, Prior.from_data), (held.HOLDS, held.from_data), (marks.STEPS, marks.from_data)):
        try:
            read(before.document(name))
        except _UNREADABLE as error:
            said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
            raise StoreError(
                where,
                f"what earlier sweeps left under {name!r} can not be read by this version: {said}",
                "use the version that wrote it, or start afresh in another folder with --state",
            ) from None
