"""Login nodes on loopback: real sshd, and hosts that misbehave, behind an ssh configuration that names them."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.testbed.bad_endpoints import start as start_bad_endpoints
from tests.testbed.layout import BAD_ENDPOINTS, LOGINS, MARKER, ODD_LOGINS, Layout, TestbedError
from tests.testbed.packages import USERS, find_program
from tests.testbed.processes import (
    command_name,
    daemon_pid,
    descendants,
    end,
    end_all,
    must,
    output_of,
    run,
    send,
    wait_until,
)
from tests.testbed.there import run_there

#: Each of these has an sshd of its own.
SERVERS = (*LOGINS, *ODD_LOGINS)
#: All names that the ssh configuration knows.
HOSTS = (*SERVERS, "jump01", *BAD_ENDPOINTS)
CONNECT_TIMEOUT = 5

_CANNOT_FORK, _MOTD = "cannot-fork", "motd"


class Logins:
    """The login nodes; every outage below puts things right again when its `with` block ends."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.hosts = HOSTS

    # What tests hand to a transport.

    def config(self, user: str = "alice", *, mux: bool = False) -> Path:
        """An ssh configuration for `user`; with `mux` each host keeps a ControlMaster socket under `control_dir`."""
        return self.layout.ssh / f"config-{user}{'-mux' if mux else ''}"

    @property
    def known_hosts(self) -> Path:
        """The keys of all hosts; that of rotated01 is another host's."""
        return self.layout.ssh / "known_hosts"

    @property
    def identity(self) -> Path:
        """The private key that opens alice and bob on every login node."""
        return self.layout.ssh / "id"

    @property
    def control_dir(self) -> Path:
        return self.layout.ssh / "cm"

    def port(self, host: str) -> int:
        """The loopback port of a host; jump01 is login02 seen through login01."""
        return self.layout.ports["login02" if host == "jump01" else host]

    def ssh(
        self, host: str, *command: str, user: str = "alice", mux: bool = False, deadline: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the system's ssh on a host; the words of `command` are joined by blanks, as ssh does."""
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        argv = ["ssh", "-F", str(self.config(user, mux=mux)), host, "--", *command]
        return run(argv, env=env, deadline=deadline, stdin=stdin)

    def close_masters(self) -> None:
        """End all ControlMaster connections."""
        for socket in self.control_dir.glob("*"):
            with suppress(TestbedError):
                run(
                    ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "x"], env={"PATH": "/usr/bin:/bin"}, deadline=5
                )

    # What the daemons themselves tell.

    def daemons(self) -> dict[str, int | None]:
        """Each sshd's pid, None for one that does not run."""
        return {host: daemon_pid(self.layout, f"sshd-{host}") for host in SERVERS}

    def sessions(self, host: str | None = None) -> int:
        """The sessions (commands) that sshd logged since bring-up, on one host or on all."""
        return sum(self._logged(name, "Starting session:") for name in ((host,) if host else SERVERS))

    def connections(self, host: str | None = None) -> int:
        """The logins that sshd logged since bring-up: many sessions may ride one connection."""
        return sum(self._logged(name, "Accepted publickey for") for name in ((host,) if host else SERVERS))

    def _logged(self, host: str, text: str) -> int:
        log = self._log(host)
        return (
            sum(line.startswith(text) for line in log.read_text(errors="replace").splitlines()) if log.exists() else 0
        )

    # Outages.

    @contextmanager
    def cannot_fork(self, host: str = "login01") -> Iterator[None]:
        """Sessions on this host may start no process: bash retries for about 15 s, prints to stderr and exits 254."""
        with self._flag(host, _CANNOT_FORK):
            yield

    @contextmanager
    def noisy(self, host: str = "login01") -> Iterator[None]:
        """Sessions on this host print three lines to stdout before the command's own output."""
        with self._flag(host, _MOTD):
            yield

    @contextmanager
    def hanging(self, host: str = "login01") -> Iterator[None]:
        """sshd and its live connections are stopped: the kernel accepts a connect and nothing is ever answered."""
        frozen = (self._pid(host), *self._connections_of(host))
        for pid in frozen:
            send(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in frozen:
                send(pid, signal.SIGCONT)

    @contextmanager
    def refusing(self, host: str = "login01") -> Iterator[None]:
        """No sshd on this host and its live connections cut; afterwards it is started anew."""
        pids = (self._pid(host), *self._connections_of(host))
        end_all(pids)
        try:
            yield
        finally:
            self._start(host)

    @contextmanager
    def _flag(self, host: str, name: str) -> Iterator[None]:
        flag = self._flags(host) / name
        flag.touch()
        try:
            yield
        finally:
            flag.unlink()

    def _connections_of(self, host: str) -> tuple[int, ...]:
        return tuple(pid for pid in descendants(self._pid(host)) if command_name(pid).startswith("sshd"))

    def _pid(self, host: str) -> int:
        pid = daemon_pid(self.layout, f"sshd-{host}")
        if pid is None:
            raise TestbedError(f"sshd of {host} does not run; its log is {self._log(host)}")
        return pid

    # Up and down.

    def up(self) -> None:
        """Start all sshd and bad endpoints, and write the keys and the configurations."""
        folder = self.layout.ssh
        _make_key(self.identity)
        for host in SERVERS:
            _make_key(folder / f"host-{host}")
            self._flags(host).mkdir(parents=True, exist_ok=True)
            (folder / f"gate-{host}.sh").write_text(
                _GATE.format(flags=self._flags(host), cannot_fork=_CANNOT_FORK, motd=_MOTD)
            )
        (self._flags("forkfail01") / _CANNOT_FORK).touch()
        (self._flags("motd01") / _MOTD).touch()
        # sshd wants a folder of this name for its unprivileged half; it stays empty.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.control_dir.mkdir(mode=0o700, exist_ok=True)
        self._write_known_hosts()
        for user in USERS:
            for mux in (False, True):
                self.config(user, mux=mux).write_text(self._client_config(user, mux=mux))
        for host in SERVERS:
            self._start(host)
        start_bad_endpoints(self.layout)

    def _start(self, host: str) -> None:
        config = self.layout.ssh / f"sshd-{host}.conf"
        config.write_text(self._server_config(host))
        program = find_program("sshd") or "/usr/sbin/sshd"  # sshd insists on being started by its full path
        argv = (program, "-f", str(config), "-E", str(self._log(host)))
        output_of(argv, run_there(self.layout, argv))
        wait_until(f"sshd of {host} to write its pid file", lambda: daemon_pid(self.layout, f"sshd-{host}") is not None)

    def _server_config(self, host: str) -> str:
        layout, folder = self.layout, self.layout.ssh
        return f"""\
Port {layout.ports[host]}
ListenAddress 127.0.0.1
HostKey {folder}/host-{host}
PidFile {layout.pid_file(f"sshd-{host}")}
AuthorizedKeysFile {folder}/id.pub
AllowUsers {" ".join(USERS)}
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
PrintMotd no
PrintLastLog no
LogLevel VERBOSE
MaxStartups 200
MaxSessions 200
ClientAliveInterval 20
Subsystem sftp internal-sftp
SetEnv SLURM_CONF={layout.slurm_conf} {MARKER}={layout.root} LOGIN_NODE={host}
ForceCommand /bin/sh {folder}/gate-{host}.sh
"""

    def _client_config(self, user: str, *, mux: bool) -> str:
        blocks = [f"Host {host}\n  Port {self.port(host)}\n" for host in HOSTS]
        blocks[HOSTS.index("jump01")] += "  ProxyJump login01\n"
        common = f"""\
Host *
  HostName 127.0.0.1
  User {user}
  IdentityFile {self.identity}
  IdentitiesOnly yes
  UserKnownHostsFile {self.known_hosts}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout {CONNECT_TIMEOUT}
"""
        master = f"  ControlMaster auto\n  ControlPath {self.control_dir}/%n-%r\n  ControlPersist 60\n"
        return "".join(blocks) + common + (master if mux else "")

    def _write_known_hosts(self) -> None:
        folder = self.layout.ssh
        lines = []
        for host in SERVERS:
            key = "login04" if host == "rotated01" else host
            lines.append(f"[127.0.0.1]:{self.layout.ports[host]} {(folder / f'host-{key}.pub').read_text()}")
        self.known_hosts.write_text("".join(lines))

    def _flags(self, host: str) -> Path:
        return self.layout.ssh / "flags" / host

    def _log(self, host: str) -> Path:
        return self.layout.log / f"sshd-{host}.log"


def take_down(layout: Layout) -> None:
    """End all sshd with their connections, and the bad endpoints; what runs no more is no error."""
    Logins(layout).close_masters()
    for host in SERVERS:
        pid = daemon_pid(layout, f"sshd-{host}")
        if pid is not None:
            end_all([pid, *descendants(pid)])
    pid = daemon_pid(layout, "bad-endpoints")
    if pid is not None:
        end(pid)


def _make_key(path: Path) -> None:
    if not path.exists():
        must(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)],
            env={"PATH": "/usr/bin:/bin"},
        )


# What every session runs first. `ulimit -u 1` counts all processes of the user, so any fork fails; without it, a
# command line of one program would still run, because the shell replaces itself by it.
_GATE = """\
if [ -e {flags}/{motd} ]; then
    echo '*** Welcome to the cluster ***'
    echo 'Scheduled maintenance: Tuesday 08:00'
    echo 'JobID 1 RUNNING is only an example'
fi
if [ -e {flags}/{cannot_fork} ]; then
    exec /bin/bash -c 'ulimit -u 1; /bin/bash -c "$SSH_ORIGINAL_COMMAND"; exit $?'
fi
exec /bin/bash -c "$SSH_ORIGINAL_COMMAND"
"""
