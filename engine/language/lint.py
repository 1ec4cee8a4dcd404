"""Findings about a policy that loads: nothing that is wrong, but much that was hardly meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Problem
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.findings_actions import action_findings
from sweeprules.engine.language.findings_overlay import overlay_findings
from sweeprules.engine.language.findings_rules import rule_findings
from sweeprules.engine.language.findings_values import value_findings
from sweeprules.engine.language.findings_words import word_findings

PLANNED = 5
"""The last stage of the product whose collectors are planned: a fact of it counts as provided."""


def lint(
    policy: Policy,
    catalogue: Catalogue,
    *,
    now: float | None = None,
    stage: int = PLANNED,
    used: Collection[str] = (),
    release: int = PLANNED,
) -> list[Problem]:
    """The findings about a policy by place, each a warning with a code of `codes.CODES`.

    `now` is epoch seconds, for what has expired (None: that is not looked at). `stage` is the last stage of the
    product whose facts count as provided; `used` names params that something beside the policy reads. A flag of a
    stage after `release` waits for its rules, and may be named before there are any.
    """
    told = [*_all(policy, catalogue, now, stage, used), *action_findings(policy, catalogue, release)]
    return sorted({dataclasses.replace(one, severity="warning"): None for one in told})


def _all(
    policy: Policy, catalogue: Catalogue, now: float | None, stage: int, used: Collection[str]
) -> Iterator[Problem]:
    yield from rule_findings(policy, catalogue, stage)
    yield from value_findings(policy, catalogue)
    yield from word_findings(policy, used)
    yield from overlay_findings(policy, catalogue, now)
