"""One call by a child process that hands its standard input to a shell, here or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sweeprules.collectors.transport import outcome, process, shell
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command, Reply
from sweeprules.collectors.transport.watch import Stop, Watch
from sweeprules.engine.observation import Failure


def carry(
    argv: Sequence[str],
    env: Mapping[str, str],
    batch: Sequence[Command],
    allowed: AllowList,
    deadline: float,
    *,
    connect_timeout: float,
    spawn: process.Spawn,
) -> Reply:
    """The reply of `argv`, which runs the shell text of `batch` from its standard input.

    `deadline` is of `time.monotonic()`. Raises `CommandRefusedError` before anything is started.
    """
    word = shell.nonce()
    whole = shell.framed(batch)
    text = shell.script(whole, word, allowed)
    started_at = time.time()
    try:
        child = spawn(argv, env)
    except OSError as error:
        raw = outcome.Raw(b"", b"", None, Stop.NONE, started_at, 0.0, Failure.CONNECT, f"{argv[0]}: {error.strerror}")
        return outcome.reply(raw, whole, word)
    watch = Watch(whole, word, deadline, connect_timeout)
    ended = process.run(child, text, watch, outcome.limits(whole))
    raw = outcome.Raw(ended.stdout, ended.stderr, ended.exit, ended.stop, started_at, ended.duration)
    return outcome.reply(raw, whole, word)
