"""The key of a handoff: the same subject, template and cause are the same handoff in every sweep."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sweeprules.engine.facts import Ref
from sweeprules.engine.verdicts import Action


def identity(ref: Ref, template: str, cause: str) -> str:
    """12 hexadecimal digits that name one intent."""
    return hashlib.sha256("\0".join((str(ref), template, cause)).encode()).hexdigest()[:12]


def cause_of(actions: Sequence[Action]) -> str:
    """The first flag behind the actions of one handoff; an action without a flag is its own cause."""
    return next((cause for action in actions for cause in action.causes), actions[0].name)


def path_of(handoff: str) -> str:
    """Where a handoff's document is, below the state folder."""
    return f"handoffs/{handoff}.md"
