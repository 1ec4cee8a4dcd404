"""Stand-ins for a cluster: programs on a PATH of their own, and a spawner that records what would be started."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from sweeprules.collectors.transport.local import LocalTransport

SHELLS = [shell for shell in ("/bin/dash", "/bin/bash") if Path(shell).exists()]
NO_TIMEOUT = "no-timeout"
"""A PATH variant on which the login has no `timeout`."""


@pytest.fixture
def fakes(tmp_path: Path) -> Callable[[str, str], Path]:
    """Puts a fake program on the PATH of the `transport` fixture: `fakes(name, body)`, a body of sh."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def fake(name: str, body: str) -> Path:
        file = folder / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return folder

    return fake


@pytest.fixture(params=SHELLS)
def transport(request: pytest.FixtureRequest, tmp_path: Path) -> LocalTransport:
    """This machine as a login, its shell dash and bash in turn, fakes first on the PATH."""
    return local(tmp_path, (request.param, "-s"))


def local(tmp_path: Path, argv: Sequence[str] = ("/bin/sh", "-s"), path: str | None = None) -> LocalTransport:
    where = path if path is not None else f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return LocalTransport(env={"PATH": where, "HOME": str(tmp_path)}, argv=argv)


def soon(seconds: float = 20.0) -> float:
    """A deadline from now."""
    return time.monotonic() + seconds


class Recorder:
    """A spawner that starts nothing and keeps what it was asked to start."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        self.calls.append(tuple(argv))
        raise OSError(2, "recorded, not started")
