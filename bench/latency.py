"""What one round trip costs over a real sshd on the loopback, by a connection of its own or over one that stands."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measure import MeasurementError
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.openssh import OpenSshTransport

CALLS = 11
PATIENCE = 20.0
CLOCK = Command(("date", "+%s"), timeout=PATIENCE)


@dataclass(frozen=True, slots=True)
class Latency:
    """Median seconds of a round trip: with a new connection, and over a ControlMaster that stands."""

    new: float
    shared: float


def sshd() -> str | None:
    """The sshd of this machine; None where there is none."""
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    return found if found and shutil.which("ssh") and shutil.which("ssh-keygen") else None


def measure() -> Latency:
    """Start an sshd, call on it, stop it; MeasurementError when it does not answer."""
    with tempfile.TemporaryDirectory(prefix="sr-") as name, _daemon(Path(name)) as port:
        folder = Path(name)
        new, shared = _config(folder, port, ""), _config(folder, port, _master(folder))
        # The transport rides a master that stands and never makes one, as on a cluster with a second factor.
        subprocess.run(("ssh", "-F", str(shared), "-M", "-N", "-f", "login"), check=True, timeout=PATIENCE)
        return Latency(_median(new), _median(shared))


def _median(config: Path) -> float:
    transport = OpenSshTransport(config=config)
    took = []
    for _ in range(CALLS):
        started = time.perf_counter()
        (answer,) = transport.call("login", (CLOCK,), time.monotonic() + PATIENCE).answers
        took.append(time.perf_counter() - started)
        if answer.exit != 0:
            raise MeasurementError(f"a round trip over sshd ended with {answer.exit}")
    return statistics.median(took[1:])


@contextmanager
def _daemon(folder: Path) -> Iterator[int]:
    for key in ("host", "user"):
        subprocess.run(
            ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)), check=True, timeout=PATIENCE
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if os.geteuid() == 0:
        # sshd wants a folder of this name for its unprivileged half; it stays empty.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/user.pub\nPasswordAuthentication no\nStrictModes no\nPrintMotd no\n"
    )
    daemon = subprocess.Popen(
        (sshd() or "", "-D", "-f", str(config)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port, daemon)
        yield port
    finally:
        master = ("ssh", "-F", str(folder / "shared"), "-O", "exit", "login")
        subprocess.run(master, check=False, capture_output=True, timeout=PATIENCE)
        daemon.terminate()
        daemon.wait(timeout=PATIENCE)


def _wait(port: int, daemon: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and daemon.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise MeasurementError("sshd did not come up")


def _master(folder: Path) -> str:
    return f"ControlPath {folder}/cm\n"


def _config(folder: Path, port: int, more: str) -> Path:
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    path = folder / ("shared" if more else "new")
    path.write_text(
        f"Host login\nHostName 127.0.0.1\nPort {port}\nUser {getpass.getuser()}\nIdentityFile {folder}/user\n"
        f"IdentitiesOnly yes\nUserKnownHostsFile {known}\nStrictHostKeyChecking yes\nBatchMode yes\n{more}"
    )
    return path
