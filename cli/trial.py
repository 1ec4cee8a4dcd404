"""Cassettes judged under two rule sets, each read once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sweeprules.cli import held
from sweeprules.cli.loading import Loaded, SiteBroken
from sweeprules.cli.rule_sets import RuleSet
from sweeprules.cli.starting import replay_start, with_engine
from sweeprules.cli.sweep import Start, Swept, sweep
from sweeprules.collectors.prior import Prior
from sweeprules.engine.facts import Ref, World
from sweeprules.reports.comparing import Comparison
from sweeprules.store.cassette import Cassette, read_cassette
from sweeprules.store.errors import StoreError

PATIENCE = 600.0
"""Seconds for one cassette under one rule set."""


@dataclass(slots=True)
class Tried:
    """What came of it: the comparison, the clocks of the sweeps judged, and why each other cassette was not."""

    comparison: Comparison = field(default_factory=Comparison)
    times: list[float] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def try_all(old: RuleSet, new: RuleSet, paths: Sequence[Path]) -> Tried:
    """Judge each cassette under both rule sets, in the order given.

    What rules hold from sweep to sweep (`for:`) goes on from what the same rule set held after the sweep before, where
    that one was judged too; else from what was recorded. Raises `SiteBroken`, before anything is judged, when a rule
    set is broken; a cassette that can not be judged is counted, with the reason.
    """
    for side in (old, new):
        side.check()
    tried = Tried()
    lines = (_Line(old), _Line(new))
    for path in paths:
        try:
            tape = read_cassette(path)
            sites = [line.loaded(tape, first=not tried.times) for line in lines]
            start = _start(tape, sites[0])
        except (StoreError, _Unfit) as error:
            tried.failed[str(path)] = str(error)
            continue
        _judge(tried, tape, lines, [replace(start, loaded=site) for site in sites])
    return tried


def _judge(tried: Tried, tape: Cassette, lines: Sequence[_Line], starts: Sequence[Start]) -> None:
    old, new = (line.judge(start) for line, start in zip(lines, starts, strict=True))
    tried.comparison.add(tape.sweep_id, old.verdicts, new.verdicts, {**_names(old.world), **_names(new.world)})
    tried.times.append(tape.now)


def _names(world: World) -> dict[Ref, str]:
    jobs = ((job.ref, job.get("name")) for job in world.of_kind("job") if job.judged)
    return {ref: name if isinstance(name, str) else "" for ref, name in jobs}


class _Unfit(Exception):  # noqa: N818  it is what it says
    """A cassette that can be read and not be judged."""


def _start(tape: Cassette, loaded: Loaded) -> Start:
    """What the cassette started from, read once for both sides. Raises `_Unfit`."""
    try:
        start = with_engine(replay_start(loaded, tape, time.monotonic() + PATIENCE), "native")
        Prior.from_data(start.before.site.get("collectors") or {})  # type: ignore[arg-type]
        held.from_data(start.before.site.get(held.HOLDS))  # type: ignore[arg-type]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The prior state is a document that anyone may have written; what reads it says so in all these ways.
        raise _Unfit(f"its prior state can not be read: {type(error).__name__}: {error}") from None
    return start


@dataclass(slots=True)
class _Line:
    """One rule set going through the sweeps: `before` is the id of the sweep it judged last, and what it came to."""

    rules: RuleSet
    before: tuple[str, Swept] | None = None

    def loaded(self, tape: Cassette, *, first: bool) -> Loaded:
        """The site that judges this cassette.

        Raises `SiteBroken` for rules that a person named, as long as nothing is judged yet; later it is this cassette
        that does not fit them. Raises `_Unfit` and `StoreError`.
        """
        try:
            return self.rules.loaded(tape)
        except SiteBroken as broken:
            if first and self.rules.folder is not None:
                raise
            what = "; ".join(str(problem) for problem in broken.problems[:3])
            raise _Unfit(f"the policy can not be compiled ({self.rules.name}): {what}") from None

    def _carried(self, start: Start) -> Start:
        """The start, with what this rule set held after the sweep before; what was recorded where that is another."""
        last = start.before.last
        if self.rules.folder is None or self.before is None or last is None or last.id != self.before[0]:
            return start
        swept = self.before[1]
        site = {**start.before.site, held.HOLDS: held.to_data(swept.held)}
        return replace(start, before=replace(start.before, site=site, since=swept.since))

    def judge(self, start: Start) -> Swept:
        """The sweep under this rule set."""
        swept = sweep(replace(self._carried(start), deadline=time.monotonic() + PATIENCE))
        self.before = (start.id, swept)
        return swept
