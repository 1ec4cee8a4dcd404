"""One cluster's conversation: which login is asked, what happens when it fails, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Answer, Command, Reply, Transport, unsent
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import Reach


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to one login; `alarm` when people should hear of its failure even if the next login answered."""

    login: str
    round: int
    failure: Failure
    detail: str
    alarm: bool


@dataclass(slots=True)
class Session:
    """Asks one cluster, login by login, within its deadline; for one thread.

    Logins are tried in the record's order; the last one that answered stays first, and one that failed is left out
    until all have. Under `host_keys: rotating` a changed key is no news (the next login is tried, nobody is alarmed);
    no transport ever talks to a host whose key does not match. `deadline` is in seconds of `monotonic`. Every command
    that is asked becomes an `Observation`, the failed attempts included, with the id `cluster/round.position` (both
    count from 1), and is handed to `on_observation`.
    """

    cluster: str
    reach: Reach
    transport: Transport
    deadline: float
    allowed: AllowList = field(default_factory=AllowList)
    on_observation: Callable[[Observation], None] | None = None
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    attempts: list[Attempt] = field(default_factory=list)
    _good: str | None = None
    _failed: set[str] = field(default_factory=set)
    _answered: set[str] = field(default_factory=set)

    @property
    def round_trips(self) -> int:
        """Calls made so far, the failed ones included, those not sent for want of time left out."""
        return sum(attempt.failure is not Failure.DEADLINE for attempt in self.attempts)

    @property
    def login(self) -> str | None:
        """The login that answered last, None before any did."""
        return self._good

    @property
    def logins_tried(self) -> tuple[str, ...]:
        """Every login that was called, once, in order of first use."""
        return tuple(dict.fromkeys(attempt.login for attempt in self.attempts))

    def ask(self, batch: Sequence[Command]) -> tuple[Observation, ...]:
        """The observations of `batch`, in its order, from the first login of which any command was answered.

        When every login fails they are those of the last attempt. Raises `CommandRefusedError` before anything is sent.
        """
        return self._ask(batch, self._order())

    def ask_next(self, batch: Sequence[Command]) -> tuple[Observation, ...] | None:
        """As `ask`, on a login that has not answered yet; None when none is left: for another opinion.

        A login that answers here is asked first from then on. Before anything was asked, the record's own is left out.
        """
        heard = self._answered or {self.reach.logins[0]}
        others = tuple(login for login in self._order() if login not in heard)
        return self._ask(batch, others) if others else None

    def close(self) -> None:
        """Lets go of what the transport holds open."""
        self.transport.close()

    def _order(self) -> tuple[str, ...]:
        known = tuple(dict.fromkeys(self.reach.logins))
        alive = tuple(login for login in known if login not in self._failed) or known
        if self._good in alive:
            return (self._good, *(login for login in alive if login != self._good))
        return alive

    def _ask(self, batch: Sequence[Command], logins: tuple[str, ...]) -> tuple[Observation, ...]:
        commands = tuple(self._limited(command) for command in batch)
        for command in commands:
            self.allowed.check(command)
        if not commands:
            return ()
        kept: tuple[Observation, ...] = ()
        for login in logins:
            kept, failure = self._attempt(login, commands)
            if failure in (Failure.NONE, Failure.DEADLINE, Failure.NOT_RECORDED):
                break
        return kept

    def _limited(self, command: Command) -> Command:
        """The record's limit is the site's: a command may ask for less time, never for more."""
        asked, most = command.timeout, self.reach.command_timeout
        return command if asked is not None and asked <= most else replace(command, timeout=most)

    def _attempt(self, login: str, commands: tuple[Command, ...]) -> tuple[tuple[Observation, ...], Failure]:
        if self.monotonic() >= self.deadline:
            reply = unsent(commands, Failure.DEADLINE, "the cluster's time was up before this was sent", self.now())
        else:
            reply = self.transport.call(login, commands, self.deadline)
        self._note(login, reply)
        number = len(self.attempts)
        kept = tuple(
            self._observation(f"{self.cluster}/{number}.{position}", login, command, answer)
            for position, (command, answer) in enumerate(zip(commands, reply.answers, strict=True), start=1)
        )
        for observation in kept:
            if self.on_observation is not None:
                self.on_observation(observation)
        return kept, reply.failure

    def _note(self, login: str, reply: Reply) -> None:
        failure = reply.failure
        alarm = failure not in (Failure.NONE, Failure.DEADLINE)
        if failure is Failure.HOST_KEY and self.reach.host_keys == "rotating":
            alarm = False
        self.attempts.append(Attempt(login, len(self.attempts) + 1, failure, reply.detail, alarm))
        if failure is Failure.NONE:
            self._good = login
            self._answered.add(login)
            self._failed.discard(login)
        elif failure not in (Failure.DEADLINE, Failure.NOT_RECORDED):
            self._failed.add(login)

    def _observation(self, key: str, login: str, command: Command, answer: Answer) -> Observation:
        return Observation(
            id=key,
            cluster=self.cluster,
            login=login,
            argv=command.argv,
            items=command.items,
            started_at=answer.started_at,
            duration=answer.duration,
            exit=answer.exit,
            stdout=answer.stdout,
            stderr=answer.stderr,
            noise=answer.noise,
            cut=answer.cut,
            failure=answer.failure,
            detail=answer.detail,
            remote_clock=answer.remote_clock,
        )
