"""The ssh transports against real sshd: who answers is believed, who misbehaves is named, all in bounded time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sweeprules.collectors.transport import watch
from sweeprules.collectors.transport.command import Answer, Command, Transport
from sweeprules.collectors.transport.fabric_ssh import FabricTransport
from sweeprules.collectors.transport.openssh import OpenSshTransport
from sweeprules.collectors.transport.session import Session
from sweeprules.engine.observation import Failure
from sweeprules.engine.site import Reach
from tests.testbed.layout import LOGINS
from tests.testbed.ssh import Logins

CONNECT = 3.0
BOUND = 20.0
"""Seconds that any failing call may take here: the connect timeout, the start grace, and a busy machine."""
HOSTNAME = Command(("cat", "--", "/etc/hostname"), timeout=20.0)
Make = Callable[[Path], Transport]


def openssh(config: Path) -> Transport:
    return OpenSshTransport(config=config, connect_timeout=CONNECT)


def fabric(config: Path) -> Transport:
    return FabricTransport(config=config, connect_timeout=CONNECT)


@pytest.fixture(params=[openssh, fabric], ids=["openssh", "fabric"])
def make(request: pytest.FixtureRequest) -> Make:
    maker: Make = request.param
    return maker


@pytest.fixture
def transport(make: Make, logins: Logins) -> Iterator[Transport]:
    made = make(logins.config())
    yield made
    made.close()


@contextmanager
def bounded(seconds: float = BOUND) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


def ask(transport: Transport, login: str, *commands: Command) -> tuple[Answer, ...]:
    return transport.call(login, commands or (HOSTNAME,), soon()).answers


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "START_GRACE", 2.0)


@pytest.mark.parametrize("login", [*LOGINS, "jump01"])
def test_a_login_answers(login: str, transport: Transport) -> None:
    first, second = ask(transport, login, HOSTNAME, Command(("stat", "-c", "%n", "--", "/nope")))
    assert (first.exit, first.stdout, first.stderr) == (0, Path("/etc/hostname").read_bytes(), b"")
    assert (second.exit, second.stdout) == (1, b"") and b"/nope" in second.stderr
    assert abs((first.remote_clock or 0.0) - time.time()) < 60
    assert first.noise == b""


def test_hostile_names_and_bytes_survive_the_way(transport: Transport, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    names = ["a b", "it's", "$(touch pwned)", "`id`", "new\nline", "-rf", "☃", "%s\\n", "a;b", "*"]
    body = bytes(range(256))
    for name in names:
        (tmp_path / name).write_bytes(body)
    paths = tuple(f"{tmp_path}/{name}" for name in names)
    each = [Command(("cat", "--", path)) for path in paths]
    many = Command(("xargs", "-0", "stat", "--printf=%n\\0%s\\0", "--"), items=paths)
    *bodies, listed = ask(transport, "login01", *each, many)
    assert [answer.stdout for answer in bodies] == [body] * len(names)
    assert listed.stdout == b"".join(os.fsencode(path) + b"\x00256\x00" for path in paths)


def test_a_batch_may_be_longer_than_one_argument(transport: Transport) -> None:
    commands = [Command(("stat", "-c", "%n", "--", f"/{'x' * 200}/{number}"), timeout=20.0) for number in range(800)]
    answers = transport.call("login01", (*commands, HOSTNAME), soon()).answers
    assert [answer.exit for answer in answers] == [1] * 800 + [0]


@pytest.mark.parametrize("login", ["refuse01", "hang01", "noise01", "drip01"])
@pytest.mark.usefixtures("short_grace")
def test_a_host_that_is_no_login_is_unreachable(
    login: str, transport: Transport, capfd: pytest.CaptureFixture[str]
) -> None:
    with bounded():
        (answer,) = ask(transport, login)
    assert (answer.failure, answer.exit) == (Failure.CONNECT, None)
    assert answer.detail
    assert capfd.readouterr() == ("", "")


def test_a_changed_host_key_is_never_talked_to(transport: Transport, logins: Logins) -> None:
    before = logins.sessions("rotated01"), logins.connections("rotated01")
    with bounded():
        (answer,) = ask(transport, "rotated01")
    assert answer.failure is Failure.HOST_KEY
    assert (logins.sessions("rotated01"), logins.connections("rotated01")) == before


def altered(logins: Logins, tmp_path: Path, old: str, new: str) -> Path:
    text = logins.config().read_text()
    assert old in text
    file = tmp_path / "config"
    file.write_text(text.replace(old, new))
    return file


def test_an_unknown_host_key_is_never_talked_to(make: Make, logins: Logins, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("")
    transport = make(altered(logins, tmp_path, str(logins.known_hosts), str(known)))
    before = logins.connections("login01")
    with bounded():
        (answer,) = ask(transport, "login01")
    assert answer.failure is Failure.HOST_KEY
    assert logins.connections("login01") == before
    assert known.read_text() == ""


def test_a_configuration_that_is_careless_about_keys_changes_nothing(
    make: Make, logins: Logins, tmp_path: Path
) -> None:
    transport = make(altered(logins, tmp_path, "StrictHostKeyChecking yes", "StrictHostKeyChecking no"))
    before = logins.connections("rotated01")
    assert ask(transport, "rotated01")[0].failure is Failure.HOST_KEY
    assert logins.connections("rotated01") == before


def test_a_changed_key_of_a_jump_is_never_talked_to(make: Make, logins: Logins, tmp_path: Path) -> None:
    transport = make(altered(logins, tmp_path, "ProxyJump login01", "ProxyJump rotated01"))
    before = logins.connections("rotated01"), logins.connections("login02")
    with bounded():
        (answer,) = ask(transport, "jump01")
    assert answer.failure in (Failure.HOST_KEY, Failure.CONNECT)
    assert (logins.connections("rotated01"), logins.connections("login02")) == before


def test_a_user_who_may_not_in_is_told_so(make: Make, logins: Logins, tmp_path: Path) -> None:
    transport = make(altered(logins, tmp_path, "User alice", "User nobody"))
    with bounded():
        (answer,) = ask(transport, "login01")
    assert answer.failure is Failure.AUTH


def test_a_login_that_can_not_fork_is_named(transport: Transport) -> None:
    with bounded(40):
        answers = ask(transport, "forkfail01", HOSTNAME, HOSTNAME)
    assert [answer.failure for answer in answers] == [Failure.FORK, Failure.FORK]
    assert "fork" in answers[0].detail


def test_a_banner_stays_outside(transport: Transport) -> None:
    first, second = ask(transport, "motd01", HOSTNAME, HOSTNAME)
    assert first.stdout == second.stdout == Path("/etc/hostname").read_bytes()
    assert b"RUNNING is only an example" in first.noise
    assert (first.stderr, second.noise) == (b"", b"")


def test_a_command_that_hangs_is_ended_there(transport: Transport, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    os.mkfifo(tmp_path / "fifo", 0o644)
    with bounded():
        hung, after = ask(transport, "login01", Command(("cat", "--", f"{tmp_path}/fifo"), timeout=1.0), HOSTNAME)
    assert hung.failure is Failure.TIMEOUT
    assert after.exit == 0


def test_the_deadline_ends_a_call(transport: Transport, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    os.mkfifo(tmp_path / "fifo", 0o644)
    slow = Command(("cat", "--", f"{tmp_path}/fifo"), timeout=30.0)
    with bounded(10):
        before, hung = transport.call("login01", (HOSTNAME, slow), soon(3)).answers
    assert before.exit == 0
    assert hung.failure is Failure.DEADLINE
    assert ask(transport, "login01")[0].exit == 0


@pytest.mark.usefixtures("short_grace")
def test_a_login_that_freezes_is_given_up_and_asked_again_when_it_thaws(transport: Transport, logins: Logins) -> None:
    assert ask(transport, "login03")[0].exit == 0
    with logins.hanging("login03"), bounded():
        assert ask(transport, "login03")[0].failure is Failure.CONNECT
    assert ask(transport, "login03")[0].exit == 0


def test_a_connection_that_was_cut_is_made_anew(transport: Transport, logins: Logins) -> None:
    assert ask(transport, "login03")[0].exit == 0
    with logins.refusing("login03"), bounded():
        assert ask(transport, "login03")[0].failure is Failure.CONNECT
    assert ask(transport, "login03")[0].exit == 0


@pytest.mark.usefixtures("short_grace")
def test_a_session_finds_the_login_that_answers(transport: Transport) -> None:
    reach = Reach("openssh", "refuse01", ("rotated01", "noise01", "login02"), host_keys="rotating")
    talk = Session("leonardo", reach, transport, soon())
    with bounded(40):
        answer = talk.ask((HOSTNAME,))[0]
    assert (answer.login, answer.exit) == ("login02", 0)
    assert [(attempt.failure, attempt.alarm) for attempt in talk.attempts] == [
        (Failure.CONNECT, True), (Failure.HOST_KEY, False), (Failure.CONNECT, True), (Failure.NONE, False),
    ]  # fmt: skip


def test_openssh_rides_on_a_live_master(logins: Logins) -> None:
    logins.ssh("login01", "true", mux=True)
    before = logins.connections("login01"), logins.sessions("login01")
    transport = openssh(logins.config(mux=True))
    try:
        assert ask(transport, "login01")[0].exit == 0
        assert (logins.connections("login01"), logins.sessions("login01")) == (before[0], before[1] + 1)
    finally:
        logins.close_masters()


def test_openssh_never_becomes_a_master(logins: Logins) -> None:
    logins.close_masters()
    assert ask(openssh(logins.config(mux=True)), "login01")[0].exit == 0
    assert list(logins.control_dir.iterdir()) == []


@pytest.mark.usefixtures("short_grace")
def test_a_master_that_froze_is_given_up(logins: Logins) -> None:
    logins.ssh("login04", "true", mux=True)
    try:
        with logins.hanging("login04"), bounded():
            assert ask(openssh(logins.config(mux=True)), "login04")[0].failure is Failure.CONNECT
    finally:
        logins.close_masters()


def test_fabric_keeps_one_connection_a_login(logins: Logins) -> None:
    transport = fabric(logins.config())
    before = logins.connections("login01")
    for _ in range(3):
        assert ask(transport, "login01")[0].exit == 0
    assert logins.connections("login01") == before + 1
    transport.close()
    assert ask(transport, "login01")[0].exit == 0
    transport.close()
