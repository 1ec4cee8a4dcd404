"""fabric, for hosts with a plain key: one kept connection a login, host keys checked, nobody prompted.

By itself fabric takes any host key, even a changed one. Here each connection, and each jump on its way, loads the
known keys that ssh would and rejects what does not match.
"""

from __future__ import annotations

import logging
import math
import selectors
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import fabric
import paramiko

from sweeprules.collectors.transport import outcome, shell
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command, Reply
from sweeprules.collectors.transport.watch import Stop, Watch
from sweeprules.engine.observation import Failure

CHUNK = 65536
POLL = 0.25
"""Seconds between looks at the clock while nothing arrives."""

# paramiko's thread logs its tracebacks; with no handler at all they would go to standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class UnknownHostKeyError(Exception):
    """The host's key stands in no known-hosts file."""


class _Strict:
    """Rejects a key that is not known, without a warning on standard error."""

    def missing_host_key(self, client: object, hostname: str, key: paramiko.PKey) -> None:
        raise UnknownHostKeyError(f"no {key.get_name()} host key is known for {hostname}")


class FabricTransport:
    """Calls logins through fabric, with the hosts, users, ports, keys and jumps of `~/.ssh/config`.

    `config` stands in for that file. `allow_agent` None follows the file: an agent is asked unless it says
    `IdentitiesOnly yes`. A ControlMaster can not be shared: a cluster that lives on one says `openssh`.
    """

    def __init__(
        self,
        allowed: AllowList | None = None,
        *,
        connect_timeout: float = 15.0,
        config: Path | None = None,
        allow_agent: bool | None = None,
    ) -> None:
        self._allowed = allowed or AllowList()
        self._connect_timeout = connect_timeout
        self._config = config
        self._allow_agent = allow_agent
        self._kept: dict[str, fabric.Connection] = {}

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        """Runs `batch` on `login` in one round trip; see `Transport`."""
        word = shell.nonce()
        whole = shell.framed(batch)
        text = shell.script(whole, word, self._allowed)
        watch = Watch(whole, word, deadline, self._connect_timeout)
        exchange = _Exchange(text, watch, outcome.limits(whole))
        started_at, started = time.time(), time.monotonic()
        try:
            connection = self._connection(login)
        except (paramiko.SSHException, OSError, ValueError) as error:
            raw = outcome.Raw(b"", b"", None, Stop.NONE, started_at, 0.0, Failure.CONNECT, _said(error))
            return outcome.reply(raw, whole, word)
        stop = exchange.run(connection)
        if stop is not Stop.NONE or exchange.error is not None:
            self._kept.pop(login, None)
        failure, detail = _failure(exchange.error)
        duration = time.monotonic() - started
        raw = outcome.Raw(
            bytes(exchange.stdout),
            bytes(exchange.stderr),
            exchange.exit,
            stop,
            started_at,
            duration,
            Failure.NONE if stop is not Stop.NONE else failure,
            detail,
        )
        return outcome.reply(raw, whole, word)

    def close(self) -> None:
        """Closes every kept connection."""
        for connection in self._kept.values():
            _close(connection)
        self._kept.clear()

    def _connection(self, login: str) -> fabric.Connection:
        kept = self._kept.get(login)
        if kept is not None and kept.is_connected:
            return kept
        overrides = {"forward_agent": False, "authentication": {"strategy_class": None}}
        config = fabric.Config(
            overrides=overrides, runtime_ssh_path=str(self._config) if self._config is not None else None
        )
        connection = fabric.Connection(login, config=config, connect_timeout=max(1, math.ceil(self._connect_timeout)))
        for hop in _hops(connection):
            self._harden(hop)
        self._kept[login] = connection
        return connection

    def _harden(self, connection: fabric.Connection) -> None:
        seconds = max(1, math.ceil(self._connect_timeout))
        only = connection.ssh_config.get("identitiesonly", "no") == "yes"
        connection.connect_timeout = seconds
        connection.forward_agent = False
        connection.connect_kwargs.update(
            allow_agent=not only if self._allow_agent is None else self._allow_agent,
            look_for_keys=not only,
            banner_timeout=seconds,
            auth_timeout=seconds,
            channel_timeout=seconds,
        )
        connection.client.set_missing_host_key_policy(_Strict())
        for file in _known_hosts(connection):
            if file.is_file():
                connection.client.load_system_host_keys(str(file))


class _Exchange:
    """One call on a thread of its own, because paramiko waits in places without a limit."""

    def __init__(self, text: bytes, watch: Watch, limits: tuple[int, int]) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.exit: int | None = None
        self.error: BaseException | None = None
        self._text = text
        self._watch = watch
        self._limits = limits
        self._done = threading.Event()

    def run(self, connection: fabric.Connection) -> Stop:
        """Runs the call to its end or to the first limit, whose name it returns; then the connection is closed."""
        threading.Thread(target=self._work, args=(connection,), daemon=True).start()
        stop = self._wait()
        if stop is not Stop.NONE or self.error is not None:
            _close(connection)
            self._done.wait(POLL)
        return stop

    def _wait(self) -> Stop:
        while not self._done.is_set():
            moment, stop = self._watch.until()
            left = moment - time.monotonic()
            if left <= 0:
                return stop
            if len(self.stdout) > self._limits[0] or len(self.stderr) > self._limits[1]:
                return Stop.FLOOD
            self._done.wait(min(left, POLL))
        return Stop.NONE

    def _work(self, connection: fabric.Connection) -> None:
        try:
            channel = connection.create_session()
            try:
                channel.exec_command(shell.REMOTE_SHELL)
                channel.sendall(self._text)
                channel.shutdown_write()
                self._read(channel)
            finally:
                channel.close()
        # Whatever this thread meets belongs to the caller, who maps it to a failure of the login.
        except Exception as error:  # noqa: BLE001
            self.error = error
        finally:
            self._done.set()

    def _read(self, channel: paramiko.Channel) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(channel.fileno(), selectors.EVENT_READ)
            while not self._ended(channel):
                selector.select(POLL)
                self._take(channel)
        if channel.status_event.wait(POLL):
            self.exit = channel.exit_status

    def _ended(self, channel: paramiko.Channel) -> bool:
        if len(self.stdout) > self._limits[0] or len(self.stderr) > self._limits[1]:
            return True
        ready = channel.recv_ready() or channel.recv_stderr_ready()
        return not ready and (channel.eof_received or channel.closed)

    def _take(self, channel: paramiko.Channel) -> None:
        if channel.recv_ready():
            chunk = channel.recv(CHUNK)
            self.stdout += chunk
            self._watch.feed(chunk)
        if channel.recv_stderr_ready():
            self.stderr += channel.recv_stderr(CHUNK)


def _hops(connection: fabric.Connection) -> Iterator[fabric.Connection]:
    """The connection and each jump on its way; a ProxyCommand is a text, and no hop."""
    hop: object = connection
    while isinstance(hop, fabric.Connection):
        yield hop
        hop = hop.gateway


def _known_hosts(connection: fabric.Connection) -> list[Path]:
    user = connection.ssh_config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")
    everyone = connection.ssh_config.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
    return [Path(name).expanduser() for name in (*user.split(), *everyone.split()) if name.lower() != "none"]


def _failure(error: BaseException | None) -> tuple[Failure, str]:
    if error is None:
        return Failure.NONE, ""
    if isinstance(error, paramiko.BadHostKeyException | UnknownHostKeyError):
        return Failure.HOST_KEY, _said(error)
    if isinstance(error, paramiko.AuthenticationException):
        return Failure.AUTH, _said(error)
    return Failure.CONNECT, _said(error)


def _said(error: BaseException) -> str:
    # paramiko calls a host that never says hello "No existing session".
    if str(error) == "No existing session":
        return "the host accepted the connection and said nothing within the connect timeout"
    return outcome.one_line(str(error).encode()) or type(error).__name__


def _close(connection: fabric.Connection) -> None:
    for hop in _hops(connection):
        # A connection that is still being made counts as not connected; its client must be closed all the same.
        hop.client.close()
