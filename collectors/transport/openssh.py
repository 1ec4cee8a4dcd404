"""The system's ssh: a live ControlMaster, certificates, jumps and `~/.ssh/config` work as they do by hand."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sweeprules.collectors.transport import process, shell
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.carry import carry
from sweeprules.collectors.transport.command import Command, Reply, unsent
from sweeprules.engine.observation import Failure

LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:%-]*")
"""A login that can not be read as an option."""

# Nothing is asked of a person, no key is accepted or learned, nothing is forwarded, and no configured command runs
# here or there. ControlMaster=no still rides on a live socket of the user's ControlPath; it only keeps this process
# from becoming a master that would outlive the sweep and hold its pipes.
_OPTIONS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
    "ControlMaster=no",
    "ControlPersist=no",
    "ConnectionAttempts=1",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "EscapeChar=none",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
)


class OpenSshTransport:
    """Calls logins by `ssh`, one process a call, killed with its group when the time is up.

    `config` stands in for `~/.ssh/config`, `env` for the environment; `program` is the ssh that is started.
    """

    def __init__(
        self,
        allowed: AllowList | None = None,
        *,
        connect_timeout: float = 15.0,
        config: Path | None = None,
        program: str = "ssh",
        env: Mapping[str, str] | None = None,
        spawn: process.Spawn = process.spawn,
    ) -> None:
        self._allowed = allowed or AllowList()
        self._connect_timeout = connect_timeout
        self._config = config
        self._program = program
        self._env = {**(os.environ if env is None else env), "SSH_ASKPASS_REQUIRE": "never"}
        self._spawn = spawn

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        """Runs `batch` on `login` in one round trip; see `Transport`."""
        for command in batch:
            self._allowed.check(command)
        if not LOGIN.fullmatch(login):
            return unsent(batch, Failure.CONNECT, f"{login!a} is no name of a login", time.time())
        return carry(
            self.argv(login),
            self._env,
            batch,
            self._allowed,
            deadline,
            connect_timeout=self._connect_timeout,
            spawn=self._spawn,
        )

    def argv(self, login: str) -> tuple[str, ...]:
        """The ssh command line for one call; the same whatever is asked."""
        options = (*_OPTIONS, f"ConnectTimeout={max(1, math.ceil(self._connect_timeout))}")
        file = ("-F", str(self._config)) if self._config is not None else ()
        spread = tuple(word for option in options for word in ("-o", option))
        return (self._program, *file, "-T", *spread, "--", login, shell.REMOTE_SHELL)

    def close(self) -> None:
        """Holds nothing open: each call is a process of its own."""
