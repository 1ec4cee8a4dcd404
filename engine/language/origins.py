"""Where each part of an effective policy was written, and what of an earlier layer it stands over."""

from __future__ import annotations

from typing import NamedTuple

from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Value


class Origin(NamedTuple):
    """One value of a policy and its place.

    `section` and `name` say what it belongs to; `part` is which part of it (`default`, `for cluster=tacc`, a member
    of a list, a key of a metric), empty for the thing as a whole. `over` is the place in an earlier layer that it
    replaced or switched off; None where it is new. `value` is there where it is a single one.
    """

    section: str
    name: str
    mark: Mark
    value: Value | None = None
    over: Mark | None = None
    part: str = ""


class Overlay(NamedTuple):
    """A rule or exemption of an earlier layer that no longer stands: replaced by id, or disabled.

    `flags` and `signals` are what the earlier one raised and gave; `because` is there where it is disabled.
    """

    section: str
    name: str
    mark: Mark
    over: Mark
    disabled: bool
    because: str
    flags: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
