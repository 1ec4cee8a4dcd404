"""The machine that sweeps, as a login: for clusters whose commands are found on its own PATH."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sweeprules.collectors.transport import process
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.carry import carry
from sweeprules.collectors.transport.command import Command, Reply

KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "SLURM_CONF", "SLURM_CLUSTERS")
"""All that the commands get of this process's environment."""


class LocalTransport:
    """Runs batches in a shell of this machine. `env` stands in for the environment, `argv` for `/bin/sh -s`."""

    def __init__(
        self,
        allowed: AllowList | None = None,
        *,
        env: Mapping[str, str] | None = None,
        argv: Sequence[str] = ("/bin/sh", "-s"),
        spawn: process.Spawn = process.spawn,
    ) -> None:
        self._allowed = allowed or AllowList()
        source = os.environ if env is None else env
        self._env = {name: source[name] for name in KEPT if name in source}
        self._argv = tuple(argv)
        self._spawn = spawn

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        """Runs `batch` here; `login` is a label alone."""
        return carry(self._argv, self._env, batch, self._allowed, deadline, connect_timeout=0.0, spawn=self._spawn)

    def close(self) -> None:
        """Holds nothing open."""
