"""A recorded sweep as a transport: the same questions get the same answers, and nothing is reached."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from sweeprules.collectors.transport.command import Answer, Command, Reply
from sweeprules.engine.observation import Failure, Observation

_Key = tuple[str, tuple[str, ...], tuple[str, ...]]


class ReplayTransport:
    """Answers from the recorded observations of one cluster.

    A question is found by login, argument list and items; one that was asked several times gets its answers in the
    order in which they were recorded. What was not recorded is `Failure.NOT_RECORDED`.
    """

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._left: dict[_Key, deque[Observation]] = defaultdict(deque)
        for observation in observations:
            self._left[(observation.login, observation.argv, observation.items)].append(observation)

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        """The recorded answers; `deadline` has no meaning, since nothing is waited for."""
        return Reply(tuple(self._answer(login, command) for command in batch))

    def close(self) -> None:
        """Holds nothing open."""

    def unasked(self) -> int:
        """How many recorded observations no question has taken: above zero, the replay took another way."""
        return sum(len(queue) for queue in self._left.values())

    def _answer(self, login: str, command: Command) -> Answer:
        queue = self._left.get((login, command.argv, command.items))
        if not queue:
            detail = f"the recording holds no further answer of {login} to this command"
            return Answer(started_at=0.0, duration=0.0, failure=Failure.NOT_RECORDED, detail=detail)
        kept = queue.popleft()
        return Answer(
            started_at=kept.started_at,
            duration=kept.duration,
            exit=kept.exit,
            stdout=kept.stdout,
            stderr=kept.stderr,
            noise=kept.noise,
            cut=kept.cut,
            failure=kept.failure,
            detail=kept.detail,
            remote_clock=kept.remote_clock,
        )
