"""One real Slurm cluster: munge, MariaDB, slurmdbd, slurmctld and four slurmd, and the ways in which it may fail."""

from __future__ import annotations

import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.testbed.chroot import forget
from tests.testbed.layout import Layout, TestbedError
from tests.testbed.packages import USERS, find_program
from tests.testbed.processes import (
    daemon_pid,
    end,
    end_all,
    marked,
    must,
    output_of,
    run,
    send,
    start_in_background,
    wait_until,
)
from tests.testbed.slurm_conf import DATABASE_PASSWORD, DATABASE_USER, write_configs
from tests.testbed.there import run_there

_JOB_INFO = re.compile(r"^\s*(REQUEST_JOB_INFO\w*|REQUEST_JOB_USER_INFO)\s*\(\s*\d+\)\s*count:(\d+)", re.MULTILINE)


class Slurm:
    """A running cluster; every outage below puts things right again when its `with` block ends."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.env = layout.environment()
        self._calls_before_restarts = 0

    # Reading and steering it, as root or as a user on the node itself.

    def run(
        self,
        *argv: str,
        user: str | None = None,
        deadline: float = 60,
        stdin: str = "",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command where Slurm is, to its end, whatever its exit status; `env` is added to the cluster's own."""
        return run_there(self.layout, argv, user=user, deadline=deadline, stdin=stdin, cwd=cwd, env=env)

    def must(self, *argv: str, user: str | None = None, deadline: float = 60, stdin: str = "") -> str:
        """Run a command where Slurm is that has to succeed; its standard output."""
        return output_of(argv, self.run(*argv, user=user, deadline=deadline, stdin=stdin))

    def daemons(self) -> dict[str, int | None]:
        """Each daemon's pid, None for one that does not run."""
        return {name: daemon_pid(self.layout, name) for name in daemon_names(self.layout)}

    def job_info_calls(self) -> int:
        """The job queries that slurmctld answered since bring-up, by its own count (sdiag)."""
        return self._calls_before_restarts + self._calls_now()

    def version(self) -> str:
        """The version line that slurmctld logged when it started, or "" if it never did."""
        log = self.layout.log / "slurmctld.log"
        found = re.search(r"slurmctld version (\S+) started", log.read_text(errors="replace")) if log.exists() else None
        return found[1] if found else ""

    # Outages.

    @contextmanager
    def slurmctld_killed(self) -> Iterator[None]:
        """No slurmctld; afterwards it is started anew and has its nodes back."""
        self._calls_before_restarts += self._calls_now()
        self._kill("slurmctld")
        try:
            yield
        finally:
            self._start_slurmctld()

    @contextmanager
    def slurmctld_hanging(self) -> Iterator[None]:
        """slurmctld accepts and never answers (SIGSTOP): clients give up after 2 x MessageTimeout."""
        with self._stopped("slurmctld"):
            yield
        wait_until("slurmctld to answer again", self._ctld_answers)

    @contextmanager
    def slurmdbd_killed(self) -> Iterator[None]:
        """No slurmdbd: sacct fails at once, squeue works."""
        self._kill("slurmdbd")
        try:
            yield
        finally:
            self._start_slurmdbd()

    @contextmanager
    def slurmdbd_hanging(self) -> Iterator[None]:
        """slurmdbd accepts and never answers (SIGSTOP): sacct waits several MessageTimeouts."""
        with self._stopped("slurmdbd"):
            yield
        wait_until("slurmdbd to answer again", self._dbd_answers)

    @contextmanager
    def munge_hanging(self) -> Iterator[None]:
        """munged accepts and never answers (SIGSTOP): every Slurm command hangs for long."""
        with self._stopped("munged"):
            yield
        wait_until("slurmctld to answer again", self._ctld_answers)

    # Up and down.

    def up(self) -> None:
        """Start all daemons in order and wait until four nodes are idle."""
        write_configs(self.layout)
        self._start_munged()
        self._start_mariadb()
        self._start_slurmdbd()
        # slurmctld refuses to start for a cluster that accounting does not know.
        users = ",".join((*USERS, "root"))
        account = "add account ot Description=ot Organization=ot"
        script = f"add cluster {self.layout.cluster}\n{account}\nadd user {users} account=ot\n"
        self.must("sacctmgr", "-i", stdin=script)
        self._start_slurmctld(nodes=False)
        for node in self.layout.nodes:
            (self.layout.root / "spool" / node).mkdir(exist_ok=True)
            self.must("slurmd", "-N", node)
        wait_until("four idle nodes", lambda: self._idle_nodes() >= len(self.layout.nodes))

    def _start_munged(self) -> None:
        folder, layout = self.layout.root / "munge", self.layout
        key = folder / "munge.key"
        key.touch(mode=0o400)
        key.write_bytes(secrets.token_bytes(1024))
        self.must(
            "munged",
            f"--key-file={key}",
            f"--socket={folder}/munge.sock",
            f"--seed-file={folder}/seed",
            f"--pid-file={layout.pid_file('munged')}",
            f"--log-file={layout.log}/munged.log",
        )

    def _start_mariadb(self) -> None:
        data, socket = self.layout.root / "mysql", self.layout.run / "mysql.sock"
        self._install_mariadb(data)
        start_in_background(
            [
                "mariadbd",
                "--no-defaults",
                "--user=root",
                f"--datadir={data}",
                f"--socket={socket}",
                "--bind-address=127.0.0.1",
                f"--port={self.layout.ports['mariadb']}",
                "--character-set-server=utf8mb4",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=32M",
                "--skip-log-bin",
                "--skip-name-resolve",
            ],
            env=self.env,
            log=self.layout.log / "mariadbd.log",
            pid_file=self.layout.pid_file("mariadbd"),
        )
        client = ["mariadb", "--no-defaults", "-S", str(socket)]
        wait_until("mariadbd to answer", lambda: run([*client, "-e", "select 1"], env=self.env).returncode == 0)
        must(
            client,
            env=self.env,
            stdin=f"create user {DATABASE_USER}@'127.0.0.1' identified by '{DATABASE_PASSWORD}';"
            f"grant all on *.* to {DATABASE_USER}@'127.0.0.1';",
        )

    def _install_mariadb(self, data: Path) -> None:
        argv = (
            "mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
            "--auth-root-authentication-method=normal", "--skip-test-db",
        )  # fmt: skip
        done = run(argv, env=self.env, deadline=60)
        if "Segmentation fault" in done.stdout + done.stderr:
            # Seen once in some fifty runs on a busy machine, and not the second time.
            shutil.rmtree(data)
            data.mkdir()
            done = run(argv, env=self.env, deadline=60)
        output_of(argv, done)

    def _start_slurmdbd(self) -> None:
        self.must("slurmdbd")
        wait_until("slurmdbd to answer", self._dbd_answers)

    def _start_slurmctld(self, *, nodes: bool = True) -> None:
        self.must("slurmctld")
        wait_until("slurmctld to answer", self._ctld_answers)
        if nodes:
            wait_until("the nodes to answer slurmctld", lambda: self._up_nodes() >= len(self.layout.nodes))

    # Small questions.

    def _ctld_answers(self) -> bool:
        return self.run("scontrol", "ping").returncode == 0

    def _dbd_answers(self) -> bool:
        return self.run("sacctmgr", "-n", "show", "cluster").returncode == 0

    def _idle_nodes(self) -> int:
        return len(self.run("sinfo", "-h", "-N", "-t", "idle").stdout.splitlines())

    def _up_nodes(self) -> int:
        return len(self.run("sinfo", "-h", "-N", "-t", "idle,alloc,mix").stdout.splitlines())

    def _calls_now(self) -> int:
        done = self.run("sdiag")
        by_type = done.stdout.partition("Remote Procedure Call statistics by user")[0]
        return sum(int(match[2]) for match in _JOB_INFO.finditer(by_type))

    def _pid(self, name: str) -> int:
        pid = daemon_pid(self.layout, name)
        if pid is None:
            raise TestbedError(f"{name} does not run; its log is {self.layout.log}/{name}.log")
        return pid

    def _kill(self, name: str) -> None:
        end(self._pid(name), grace=10)

    @contextmanager
    def _stopped(self, name: str) -> Iterator[None]:
        pid = self._pid(name)
        send(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            send(pid, signal.SIGCONT)


def daemon_names(layout: Layout) -> tuple[str, ...]:
    """The daemons of a cluster, in the order in which they are ended."""
    return (*(f"slurmd-{node}" for node in layout.nodes), "slurmctld", "slurmdbd", "mariadbd", "munged")


def take_down(layout: Layout) -> None:
    """End all daemons and jobs of a cluster, whatever state they are in; what runs no more is no error."""
    _cancel_jobs(layout)
    daemons = [pid for name in daemon_names(layout) if (pid := daemon_pid(layout, name)) is not None]
    database = daemon_pid(layout, "mariadbd")
    end_all([pid for pid in daemons if pid != database], grace=5)
    end_all([*marked(layout.root), *([database] if database else [])], grace=5)
    _remove_cgroups(layout)


def _cancel_jobs(layout: Layout) -> None:
    if daemon_pid(layout, "slurmctld") is None or find_program("scancel") is None:
        return
    for name in ("munged", "slurmdbd", "slurmctld"):
        pid = daemon_pid(layout, name)
        if pid is not None:
            send(pid, signal.SIGCONT)
    # What is left after these deadlines is killed by its mark instead.
    with suppress(TestbedError):
        for user in USERS:
            run_there(layout, ("scancel", "-u", user), deadline=5)
        busy = ("squeue", "-h", "-t", "running,completing")
        wait_until("jobs to end", lambda: not run_there(layout, busy, deadline=5).stdout.strip(), deadline=5, every=0.2)


def _remove_cgroups(layout: Layout) -> None:
    for controller in Path("/sys/fs/cgroup").glob("*/"):
        for node in layout.nodes:
            _remove_cgroup(controller / f"slurm_{node}")


def _remove_cgroup(folder: Path) -> None:
    if not folder.is_dir():
        return
    for child in folder.iterdir():
        if child.is_dir():
            _remove_cgroup(child)
    # A cgroup that still holds a process that is just dying can not be removed; the next `down` does it.
    with suppress(OSError):
        folder.rmdir()


def remove_files(layout: Layout) -> None:
    """Delete the test bed's folder."""
    forget(layout)
    shutil.rmtree(layout.root, ignore_errors=True)
