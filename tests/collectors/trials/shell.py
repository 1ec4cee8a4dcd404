"""A login that runs what it is asked for with the real tools of this machine, as the transport would."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace

from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.mask import masked
from sweeprules.engine.observation import Failure, Observation

NONCE = "9f3c1d77a0e2b645"
CLOCK = 1_799_100_000.0
STDERR_KEPT = 16 * 1024


class Login:
    """Answers batches; `between` runs before each call, `fail` says which calls (from 1) are not answered."""

    def __init__(self, between: Callable[[int], None] | None = None, fail: frozenset[int] = frozenset()) -> None:
        self.calls: list[tuple[Command, ...]] = []
        self.between, self.fail = between, fail
        self.sent = 0

    def ask(self, batch: Sequence[Command]) -> tuple[Observation, ...]:
        self.calls.append(tuple(batch))
        number = len(self.calls)
        if self.between is not None:
            self.between(number)
        return tuple(self._run(f"c/{number}.{at}", command, number) for at, command in enumerate(batch, start=1))

    def _run(self, key: str, command: Command, number: int) -> Observation:
        AllowList().check(command)
        shown = Observation(key, "c", "l1", command.argv, command.items, CLOCK, 0.1, None, b"", b"", remote_clock=CLOCK)
        if number in self.fail:
            return replace(shown, failure=Failure.TIMEOUT, detail="it did not end within its time")
        done = subprocess.run(
            command.argv,
            input=b"".join(item.encode("utf-8", "surrogateescape") + b"\0" for item in command.items),
            capture_output=True,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            check=False,
        )
        self.sent += len(done.stdout)
        cut = max(0, len(done.stdout) - command.max_bytes)
        return replace(
            shown,
            exit=141 if cut else done.returncode,
            stdout=masked(done.stdout[: command.max_bytes]),
            stderr=masked(done.stderr[:STDERR_KEPT]),
            cut=cut,
        )
