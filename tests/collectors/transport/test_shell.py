"""The generated text through real shells: words arrive unchanged, streams stay apart, statuses are true."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.collectors.transport import shell
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.engine.observation import Failure
from tests.collectors.transport.conftest import SHELLS, local, soon

HOSTILE = [
    "plain", "two words", "it's", '"quoted"', "$(touch pwned)", "`touch pwned`", "$HOME", "a;touch pwned",
    "a&touch pwned", "a|touch pwned", "a\nb", "a\\nb", "-rf", "--", "-", "*", "?", "[a-z]", "{a,b}", "~", "!x", "#x",
    "naïve ☃ \u202e",
    "a\tb", "a\rb", "\x1b[31m", "%s%n", "\\", "'", "''", '"', "a'$(touch pwned)'b", "\x01", "\udcff\udcfe", ">pwned",
    "<x", "x=y",
]  # fmt: skip
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


def ask(transport: LocalTransport, *commands: Command) -> list[bytes]:
    reply = transport.call("here", commands, soon())
    assert [answer.failure for answer in reply.answers] == [Failure.NONE] * len(commands)
    return [answer.stdout for answer in reply.answers]


def octal(*words: str) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


@pytest.mark.parametrize("word", HOSTILE, ids=ascii)
def test_a_hostile_word_reaches_the_program_unchanged(
    word: str, transport: LocalTransport, fakes: Callable[[str, str], Path], tmp_path: Path
) -> None:
    fakes("stat", 'printf \'%s\\0\' "$@"; cd /; echo "$PWD" >&2')
    path = word if word not in ("-", "") else "./-"
    first, second = ask(
        transport,
        Command(("stat", "-c", "%n", "--", path)),
        Command(("xargs", "-0", "stat", "-c", "%n", "--"), items=(path, "next")),
    )
    assert first == octal("-c", "%n", "--", path)
    assert second == octal("-c", "%n", "--", path, "next")
    assert not (tmp_path / "pwned").exists() and not Path("pwned").exists()


@pytest.mark.parametrize("program", SHELLS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAMES.filter(lambda name: name != "-"), min_size=1, max_size=4))
def test_any_names_reach_the_program_unchanged(program: str, tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    fake = folder / "stat"
    fake.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    fake.chmod(0o755)
    transport = local(tmp_path, (program, "-s"))
    first, second = ask(
        transport,
        Command(("stat", "-c", "%n", "--", *names)),
        Command(("xargs", "-0", "-n", "1", "stat", "-c", "%n", "--"), items=tuple(names)),
    )
    assert first == octal("-c", "%n", "--", *names)
    assert second == b"".join(octal("-c", "%n", "--", name) for name in names)


def test_streams_and_statuses_stay_apart(transport: LocalTransport, fakes: Callable[[str, str], Path]) -> None:
    fakes("squeue", "echo out-$2; echo err-$2 >&2; exit 3")
    fakes("sacct", "echo only-error >&2")
    fakes("sinfo", "printf 'no newline'; exit 1")
    batch = (
        Command(("squeue", "-o", "%i")), Command(("sacct", "--format=JobID")), Command(("sinfo", "-o", "%P")),
        Command(("squeue", "-o", "%j")),
    )  # fmt: skip
    answers = transport.call("here", batch, soon()).answers
    assert [(answer.exit, answer.stdout, answer.stderr) for answer in answers] == [
        (3, b"out-%i\n", b"err-%i\n"), (0, b"", b"only-error\n"),
        (1, b"no newline", b""), (3, b"out-%j\n", b"err-%j\n"),
    ]  # fmt: skip
    assert answers[0].noise == b""
    assert abs((answers[0].remote_clock or 0) - time.time()) < 60


def test_any_bytes_come_back_unchanged(transport: LocalTransport, tmp_path: Path) -> None:
    body = bytes(range(256)) * 40 + b"\0\n\0\xff\xfe\n@o 1\n"
    (tmp_path / "log").write_bytes(body)
    answer = transport.call("here", (Command(("cat", "--", str(tmp_path / "log"))),), soon()).answers[0]
    assert answer.stdout == body


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_output_is_bounded_and_what_was_dropped_is_told(transport: LocalTransport, tmp_path: Path, size: int) -> None:
    (tmp_path / "log").write_bytes(b"x" * size)
    command = Command(("cat", "--", str(tmp_path / "log")), max_bytes=100)
    answer = transport.call("here", (command,), soon()).answers[0]
    assert answer.stdout == b"x" * min(size, 100)
    assert (answer.cut > 0) == (size > 100)


def test_standard_error_is_bounded(transport: LocalTransport, fakes: Callable[[str, str], Path]) -> None:
    fakes("sinfo", "head -c 1000000 /dev/zero >&2; exit 0")
    answer = transport.call("here", (Command(("sinfo", "-o", "%P")),), soon()).answers[0]
    assert len(answer.stderr) == shell.MAX_STDERR


def test_a_command_that_is_not_there_is_answered_with_127(transport: LocalTransport) -> None:
    answer = transport.call("here", (Command(("jutil", "project", "dataquota", "-p", "x")),), soon()).answers[0]
    assert (answer.exit, answer.failure) == (127, Failure.NONE)
    assert b"jutil" in answer.stderr


@pytest.mark.parametrize("program", SHELLS)
def test_a_login_without_timeout_answers_the_same(program: str, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    for name in ("head", "date", "stat", "xargs", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    transport = local(tmp_path, (program, "-s"), path=str(folder))
    first = Command(("stat", "-c", "%n", "--", "/etc", "/nope"), timeout=5.0)
    second = Command(("cat", "--", "/nope"), timeout=5.0)
    answers = transport.call("here", (first, second), soon()).answers
    assert [answer.exit for answer in answers] == [1, 1]
    assert answers[0].stdout == b"/etc\n"
    assert b"No such file" in answers[1].stderr


def test_the_login_s_own_settings_change_no_answer(tmp_path: Path, fakes: Callable[[str, str], Path]) -> None:
    fakes("squeue", 'echo "${SQUEUE_STATES-unset} ${SQUEUE_PARTITION-unset} $LC_ALL ${SLURM_CLUSTERS-unset}"')
    text = shell.script((Command(("squeue", "-o", "%i")),), shell.nonce(), AllowList())
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SQUEUE_STATES": "R", "SQUEUE_PARTITION": "x",
           "SLURM_CLUSTERS": "vista", "LC_ALL": "de_DE"}  # fmt: skip
    done = subprocess.run(["/bin/sh", "-s"], input=text, env=env, capture_output=True, timeout=20, check=False)
    assert b"unset unset C vista\n" in done.stdout


@pytest.mark.parametrize("program", SHELLS)
def test_a_text_that_was_cut_on_its_way_runs_nothing(
    program: str, tmp_path: Path, fakes: Callable[[str, str], Path]
) -> None:
    fakes("squeue", f"echo ran >> {tmp_path}/ran")
    text = shell.script((Command(("squeue", "-o", "%i")),) * 3, shell.nonce(), AllowList())
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for at in range(0, len(text) - len(b"}\n"), 97):
        subprocess.run([program, "-s"], input=text[:at], env=env, capture_output=True, timeout=20, check=False)
    assert not (tmp_path / "ran").exists()
    subprocess.run([program, "-s"], input=text, env=env, capture_output=True, timeout=20, check=True)
    assert (tmp_path / "ran").read_text() == "ran\n" * 3


def test_three_thousand_items_need_one_command(transport: LocalTransport, tmp_path: Path) -> None:
    names = tuple(f"{tmp_path}/{'x' * 150}-{number}" for number in range(3000))
    command = Command(("xargs", "-0", "stat", "-c", "%n", "--"), items=(*names, str(tmp_path)))
    answer = transport.call("here", (command,), soon()).answers[0]
    # Three thousand complaints are bounded, and keep nothing from the one good line.
    assert (answer.exit, answer.stdout) == (123, f"{tmp_path}\n".encode())
    assert len(answer.stderr) == shell.MAX_STDERR


def test_a_hook_that_a_clone_names_is_not_run(transport: LocalTransport, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    subprocess.run(["git", "-C", str(clone), "config", "core.fsmonitor", str(hook)], check=True)
    (clone / "new").write_text("x")
    command = Command(("git", "--no-optional-locks", "-C", str(clone), "status", "--short"))
    answer = transport.call("here", (command,), soon()).answers[0]
    assert (answer.exit, answer.stdout, answer.stderr) == (0, b"?? new\n", b"")
    assert not (tmp_path / "ran").exists()


def test_markers_never_repeat() -> None:
    assert len({shell.nonce() for _ in range(1000)}) == 1000
