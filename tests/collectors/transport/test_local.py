"""A call ends in time, in bounded memory, and leaves no process behind."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.engine.observation import Failure
from tests.collectors.transport.conftest import SHELLS, local, soon

Fakes = Callable[[str, str], Path]
SQUEUE = ("squeue", "-h", "-o", "%i")
SACCT = ("sacct", "--format=JobID")


def running(mark: str) -> list[str]:
    """Processes whose command line holds `mark`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            state = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in line and state != "Z":
            found.append(folder.name)
    return found


def gone(mark: str) -> bool:
    until = time.monotonic() + 3
    while running(mark) and time.monotonic() < until:
        time.sleep(0.05)
    return not running(mark)


def test_the_login_ends_a_hung_command_and_runs_the_next(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("squeue", "echo partial; exec sleep 97531")
    fakes("sacct", "echo fine")
    start = time.monotonic()
    hung, fine = transport.call("here", (Command(SQUEUE, timeout=1.0), Command(SACCT, timeout=5.0)), soon()).answers
    assert time.monotonic() - start < 5
    assert (hung.failure, hung.stdout) == (Failure.TIMEOUT, b"partial\n")
    assert hung.cut > 0 and not hung.answered
    assert (fine.exit, fine.stdout) == (0, b"fine\n")
    assert gone("sleep\x0097531")


@pytest.mark.parametrize("program", SHELLS)
def test_without_timeout_there_the_call_is_ended_here(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeprules.collectors.transport.watch.COMMAND_GRACE", 0.2)
    folder = tmp_path / "plain"
    folder.mkdir()
    for name in ("head", "date", "sleep", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    (folder / "squeue").write_text("#!/bin/sh\necho partial\nsleep 97532\n")
    (folder / "sacct").write_text("#!/bin/sh\necho fine\n")
    for name in ("squeue", "sacct"):
        (folder / name).chmod(0o755)
    transport = local(tmp_path, (program, "-s"), path=str(folder))
    batch = (Command(SACCT, timeout=5.0), Command(SQUEUE, timeout=1.0), Command(SACCT, timeout=5.0))
    start = time.monotonic()
    before, hung, after = transport.call("here", batch, soon()).answers
    assert time.monotonic() - start < 5
    assert (before.exit, before.stdout) == (0, b"fine\n")
    assert (hung.failure, hung.exit) == (Failure.TIMEOUT, None)
    assert b"partial\n".startswith(hung.stdout)
    assert hung.cut > 0
    assert (after.failure, after.stdout) == (Failure.UNFRAMED, b"")
    assert gone("sleep\x0097532")


def test_the_deadline_ends_everything(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("sacct", "echo fine")
    fakes("squeue", "trap '' TERM; echo partial; sleep 97533; sleep 97533")
    start = time.monotonic()
    batch = (Command(SACCT), Command(SQUEUE), Command(SACCT))
    before, hung, after = transport.call("here", batch, start + 1.5).answers
    assert time.monotonic() - start < 4
    assert (before.exit, before.stdout) == (0, b"fine\n")
    assert (hung.failure, after.failure) == (Failure.DEADLINE, Failure.DEADLINE)
    assert gone("sleep\x0097533")


def test_a_command_in_the_background_is_not_left_behind(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("squeue", "sleep 97534 & echo started")
    start = time.monotonic()
    transport.call("here", (Command(SQUEUE, timeout=1.0),), start + 3)
    assert time.monotonic() - start < 6
    assert gone("sleep\x0097534")


def test_a_process_that_keeps_the_pipes_of_a_login_that_is_gone_is_ended(tmp_path: Path) -> None:
    shell = tmp_path / "login"
    shell.write_text("#!/bin/sh\nsleep 97535 &\nexit 0\n")
    shell.chmod(0o755)
    start = time.monotonic()
    reply = local(tmp_path, (str(shell),)).call("here", (Command(SQUEUE),), soon())
    assert reply.failure is Failure.UNFRAMED
    assert time.monotonic() - start < 5
    assert gone("sleep\x0097535")


def test_a_flood_is_bounded_where_it_is_printed(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("squeue", "exec head -c 1000000000 /dev/zero")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = transport.call("here", (Command(SQUEUE, max_bytes=100_000),), soon()).answers[0]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert len(answer.stdout) == 100_000
    assert answer.cut > 0 and answer.exit != 0
    assert grown < 64 * 1024  # KiB


def test_a_login_that_floods_outside_frames_is_cut_off(tmp_path: Path) -> None:
    shell = tmp_path / "login"
    shell.write_text("#!/bin/sh\nexec head -c 1000000000 /dev/zero\n")
    shell.chmod(0o755)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = local(tmp_path, (str(shell),)).call("here", (Command(SQUEUE, max_bytes=1000),), soon())
    assert reply.failure is Failure.UNFRAMED
    assert "banner" in reply.detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("echo 'This account is currently not available.'; exit 1", Failure.UNFRAMED),
        ("echo '/bin/sh: fork: retry: Resource temporarily unavailable' >&2; exit 254", Failure.FORK),
        ("exit 127", Failure.FORK),
        ("echo 'kex_exchange_identification: Connection closed' >&2; exit 255", Failure.CONNECT),
        ("echo 'alice@login01: Permission denied (publickey).' >&2; exit 255", Failure.AUTH),
        ("echo 'Host key verification failed.' >&2; exit 255", Failure.HOST_KEY),
        ("kill -9 $$", Failure.UNFRAMED),
        ("exit 0", Failure.UNFRAMED),
    ],
)
def test_a_login_that_runs_nothing_is_a_named_failure(body: str, failure: Failure, tmp_path: Path) -> None:
    shell = tmp_path / "login"
    shell.write_text(f"#!/bin/sh\n{body}\n")
    shell.chmod(0o755)
    reply = local(tmp_path, (str(shell),)).call("here", (Command(SQUEUE), Command(SACCT)), soon())
    assert [answer.failure for answer in reply.answers] == [failure, failure]
    assert reply.failure is failure and reply.detail
    assert all(answer.exit is None and not answer.answered for answer in reply.answers)


def test_a_banner_is_noise_of_the_first_answer(tmp_path: Path, fakes: Fakes) -> None:
    fakes("squeue", "echo 5")
    shell = tmp_path / "login"
    banner = "echo '* Welcome; password=hunter2hunter2 *'\necho 'stale file handle' >&2"
    shell.write_text(f"#!/bin/sh\n{banner}\nexec /bin/sh -s\n")
    shell.chmod(0o755)
    first, second = local(tmp_path, (str(shell),)).call("here", (Command(SQUEUE), Command(SQUEUE)), soon()).answers
    assert (first.stdout, first.stderr, second.noise) == (b"5\n", b"", b"")
    assert b"Welcome" in first.noise and b"stale file handle" in first.noise
    assert b"hunter2" not in first.noise


def test_a_command_that_could_not_fork_is_no_answer(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("squeue", "echo 'squeue: fork: Resource temporarily unavailable' >&2; exit 254")
    answer = transport.call("here", (Command(SQUEUE),), soon()).answers[0]
    assert answer.failure is Failure.FORK and not answer.answered


def test_secrets_are_masked_in_output_and_errors(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("squeue", "echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345; echo DAYTONA_API_KEY=abc123 >&2")
    answer = transport.call("here", (Command(SQUEUE),), soon()).answers[0]
    assert b"abc" not in answer.stdout + answer.stderr


def test_a_shell_that_is_not_there_is_a_failure_and_no_exception(tmp_path: Path) -> None:
    reply = local(tmp_path, ("/nope/sh", "-s")).call("here", (Command(SQUEUE),), soon())
    assert reply.failure is Failure.CONNECT
    assert "/nope/sh" in reply.detail


def test_only_what_is_needed_of_the_environment_is_passed_on(
    tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes("squeue", "env")
    monkeypatch.setenv("HF_TOKEN", "secret-of-the-caller")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    answer = LocalTransport().call("here", (Command(SQUEUE),), soon()).answers[0]
    assert b"PATH=" in answer.stdout
    assert b"HF_TOKEN" not in answer.stdout
