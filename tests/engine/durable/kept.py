"""One durable-rules child for many examples: each has its own deadline, and a child that is lost is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sweeprules.engine.durable.checked import CheckResult, check, with_exemptions
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child, ChildLostError
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language.ast import Policy

RENEW = 1500
"""Rulesets after which a new child takes over: the engine never gives a ruleset's memory back."""
DEADLINE = 60.0
"""Seconds for one example; the slowest takes a tenth of one."""


class Kept:
    """A session that is kept over many examples. `started` counts children, `lost` those that had to be replaced."""

    def __init__(self, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._session: Session | None = None
        self.started = 0
        self.lost = 0

    def session(self) -> Session:
        """The session, with the time of one example from now."""
        if self._session is not None and self._session.loaded > RENEW:
            self.close()
        if self._session is not None:
            try:
                self._session.child.allow(self._deadline)
            except ChildLostError:
                self.lose()
        if self._session is None:
            self._session = Session(Child(self._deadline))
            self.started += 1
        return self._session

    def check(self, policy: Policy, world: World, truths: Truths, held: Held = NOTHING_HELD) -> CheckResult:
        """A check of everything, exemptions too, after which a child that failed is replaced."""
        seen = with_exemptions(truths, judge(policy, world, None, truths))
        result = check(policy, world, seen, session=self.session(), held=held)
        if result.failure is not None:
            self.lose()
        return result

    def agree(self, policy: Policy, world: World, truths: Truths, held: Held = NOTHING_HELD) -> CheckResult:
        """The same, and a difference, a failure or a rule that was left out is an AssertionError."""
        result = self.check(policy, world, truths, held)
        differences = result.divergence and sorted(result.divergence.differences)
        assert result.status == "equal", (result.status, result.failure, differences)
        assert not result.left_out
        return result

    def lose(self) -> None:
        """Count a child that can not go on, and end it."""
        self.lost += 1
        self.close()

    def close(self) -> None:
        """End the child."""
        if self._session is not None:
            self._session.child.close()
            self._session = None


@contextmanager
def keeping(deadline: float = DEADLINE) -> Iterator[Kept]:
    """A child for many examples, with so many seconds for each."""
    kept = Kept(deadline)
    try:
        yield kept
    finally:
        kept.close()
