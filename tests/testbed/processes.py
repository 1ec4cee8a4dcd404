"""Processes of a test bed: found by pid file or by the mark in their environment, never by name."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.testbed.layout import MARKER, Layout, TestbedError

_TAIL = 600


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    deadline: float = 30,
    user: str | None = None,
    stdin: str = "",
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `user` where given; past its deadline it is killed and TestbedError raised."""
    groups: dict[str, object] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    try:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            list(argv), env=dict(env), input=stdin, capture_output=True, text=True, errors="replace",
            timeout=deadline, check=False, cwd=cwd, **groups,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise TestbedError(f"{' '.join(argv)}: no end within {deadline:g} s") from late


def must(
    argv: Sequence[str], *, env: Mapping[str, str], deadline: float = 30, stdin: str = "", user: str | None = None
) -> str:
    """Run a command that has to succeed; its standard output."""
    return output_of(argv, run(argv, env=env, deadline=deadline, stdin=stdin, user=user))


def output_of(argv: Sequence[str], done: subprocess.CompletedProcess[str]) -> str:
    """The standard output of a command that had to succeed; TestbedError if it did not."""
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(argv)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-_TAIL:]}")
    return done.stdout


def wait_until(what: str, ready: Callable[[], bool], *, deadline: float = 30, every: float = 0.05) -> None:
    """Poll until `ready`; past the deadline TestbedError says what did not come."""
    end = time.monotonic() + deadline
    while not ready():
        if time.monotonic() > end:
            raise TestbedError(f"{what}: not within {deadline:g} s")
        time.sleep(every)


def start_in_background(argv: Sequence[str], *, env: Mapping[str, str], log: Path, pid_file: Path) -> None:
    """Start a program that does not detach by itself, in a session of its own, and write its pid file."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            list(argv), env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    child.returncode = 0  # it lives on after us on purpose: no ResourceWarning for it
    pid_file.write_text(f"{child.pid}\n")


def alive(pid: int) -> bool:
    """Whether the process runs or is stopped; a zombie is dead (pid 1 of a container may never reap it)."""
    return _state(pid) not in ("", "Z", "X")


def pid_in(pid_file: Path) -> int | None:
    """The pid that a pid file holds, or None without a file or while it is still empty."""
    try:
        text = pid_file.read_text().strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None


def daemon_pid(layout: Layout, name: str) -> int | None:
    """The living process of this test bed that a pid file names; a pid that another program has by now is nobody's."""
    pid = pid_in(layout.pid_file(name))
    return pid if pid is not None and alive(pid) and belongs(pid, layout.root) else None


def belongs(pid: int, root: Path) -> bool:
    """Whether the process carries the test bed's mark, or its folder on its command line."""
    mark = f"{MARKER}={root}".encode()
    if mark in _proc(pid, "environ").split(b"\0"):
        return True
    return f"{root}/".encode() in _proc(pid, "cmdline")


def marked(root: Path) -> tuple[int, ...]:
    """All living processes with the test bed's mark in their environment: daemons, job steps and what they started."""
    mark = f"{MARKER}={root}".encode()
    return tuple(pid for pid in _pids() if mark in _proc(pid, "environ").split(b"\0") and alive(pid))


def descendants(pid: int) -> tuple[int, ...]:
    """The living children of a process, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for other in _pids():
        children.setdefault(_parent(other), []).append(other)
    found: list[int] = []
    todo = [pid]
    while todo:
        below = [child for child in children.get(todo.pop(), []) if alive(child)]
        found += below
        todo += below
    return tuple(found)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that is gone already is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def end(pid: int, *, grace: float = 5) -> None:
    """End one process: awake it, SIGTERM, after `grace` seconds SIGKILL."""
    send(pid, signal.SIGTERM)
    send(pid, signal.SIGCONT)
    try:
        wait_until(f"process {pid} to end", lambda: not alive(pid), deadline=grace)
    except TestbedError:
        send(pid, signal.SIGKILL)
        wait_until(f"process {pid} to be killed", lambda: not alive(pid), deadline=5)


def end_all(pids: Sequence[int], *, grace: float = 2) -> None:
    """End many processes at once, waiting for all of them together."""
    for pid in pids:
        send(pid, signal.SIGTERM)
        send(pid, signal.SIGCONT)
    try:
        wait_until("processes to end", lambda: not any(alive(pid) for pid in pids), deadline=grace)
    except TestbedError:
        for pid in pids:
            end(pid, grace=0)


def command_name(pid: int) -> str:
    """The first word of a process's command line or title."""
    return _proc(pid, "cmdline").split(b"\0")[0].decode(errors="replace")


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _proc(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    # The second field is the name in brackets, which may itself hold spaces and brackets.
    return _proc(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0] if fields else ""


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0
