"""Output of which the end is kept: the last bytes arrive, what was dropped is told, and nothing else may be run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport import outcome, shell
from sweeprules.collectors.transport.allow import AllowList, CommandRefusedError
from sweeprules.collectors.transport.command import Answer, Command, Reply
from sweeprules.collectors.transport.fabric_ssh import FabricTransport
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.collectors.transport.openssh import OpenSshTransport
from sweeprules.collectors.transport.outcome import Raw
from sweeprules.collectors.transport.session import Session
from sweeprules.collectors.transport.watch import Stop
from sweeprules.engine.observation import Failure
from sweeprules.engine.site import Reach
from tests.collectors.transport.conftest import SHELLS, Recorder, local, soon

Fakes = Callable[[str, str], Path]
WORD = "00112233445566778899aabbccddeeff"


def matches(path: Path, literal: str = "step=", *, size: int = 100) -> Command:
    return Command(("grep", "-F", "-a", "-b", "-e", literal, "--", str(path)), timeout=10.0, max_bytes=size, keep="end")


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000, 300_000])
def test_the_last_bytes_are_kept_and_the_cut_is_told(transport: LocalTransport, tmp_path: Path, size: int) -> None:
    body = bytes(97 + at % 26 for at in range(size))
    (tmp_path / "log").write_bytes(body)
    command = Command(("cat", "--", str(tmp_path / "log")), max_bytes=100, keep="end")
    answer = transport.call("here", (command,), soon()).answers[0]
    assert (answer.exit, answer.stdout, answer.failure) == (0, body[-100:], Failure.NONE)
    assert answer.cut == (1 if size > 100 else 0)


def test_a_search_keeps_its_newest_matches(transport: LocalTransport, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"noise\nstep=%d reward\n" % number for number in range(5000)))
    answer = transport.call("here", (matches(log, size=60),), soon()).answers[0]
    assert answer.exit == 0 and answer.cut > 0 and len(answer.stdout) == 60
    assert answer.stdout.endswith(b":step=4999 reward\n")


def test_beside_commands_that_keep_their_start(transport: LocalTransport, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"0123456789")
    cat = ("cat", "--", str(log))
    batch = (Command(cat, max_bytes=3), Command(cat, max_bytes=3, keep="end"), Command(cat, max_bytes=3))
    assert [one.stdout for one in transport.call("here", batch, soon()).answers] == [b"012", b"789", b"012"]


def test_nothing_found_is_an_answer(transport: LocalTransport, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"nothing of it\n")
    answer = transport.call("here", (matches(tmp_path / "log"),), soon()).answers[0]
    assert (answer.exit, answer.stdout, answer.cut) == (1, b"", 0)


def test_a_command_that_is_ended_by_the_login_keeps_its_last_bytes(transport: LocalTransport, fakes: Fakes) -> None:
    fakes("grep", "echo 1:step=1; echo 9:step=2; exec sleep 97541")
    command = Command(("grep", "-F", "-b", "-e", "step=", "--", "x"), timeout=1.0, max_bytes=9, keep="end")
    answer = transport.call("here", (command,), soon()).answers[0]
    assert (answer.failure, answer.stdout) == (Failure.TIMEOUT, b"9:step=2\n")
    assert answer.cut > 0 and not answer.answered


@pytest.mark.parametrize("program", SHELLS)
def test_a_login_without_timeout(program: str, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    for name in ("head", "tail", "date", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "log").write_bytes(b"abcdef")
    command = Command(("cat", "--", str(tmp_path / "log")), timeout=5.0, max_bytes=2, keep="end")
    answer = local(tmp_path, (program, "-s"), path=str(folder)).call("here", (command,), soon()).answers[0]
    assert (answer.exit, answer.stdout, answer.cut) == (0, b"ef", 1)


@pytest.mark.parametrize("keep", ["start", "end"])
def test_only_what_may_be_read_is_sent_whichever_end_is_kept(keep: Literal["start", "end"]) -> None:
    for argv in (
        ("rm", "-rf", "--", "/w"),
        ("grep", "-r", "-F", "-e", "x", "--", "/w"),
        ("grep", "-e", "x", "--", "/w"),
    ):
        with pytest.raises(CommandRefusedError):
            shell.script((Command(argv, keep=keep),), WORD, AllowList())


def test_the_text_differs_in_the_reader_alone() -> None:
    argv = ("cat", "--", "/w/x y")
    first = shell.script((Command(argv, max_bytes=8),), WORD, AllowList())
    second = shell.script((Command(argv, max_bytes=8, keep="end"),), WORD, AllowList())
    assert first.replace(b"\nr 0 head 9 ", b"\nr 0 tail 9 ") == second != first


def test_every_transport_sends_that_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[bytes] = []
    real = shell.script

    def kept(batch: Sequence[Command], word: str, allowed: AllowList) -> bytes:
        seen.append(real(batch, word, allowed))
        return seen[-1]

    monkeypatch.setattr(shell, "script", kept)
    batch = (Command(("cat", "--", "/w/x"), max_bytes=8, keep="end"),)
    config = tmp_path / "config"
    config.write_text("Host x\n  HostName 127.0.0.1\n  Port 9\n")
    LocalTransport(spawn=Recorder()).call("here", batch, soon())
    OpenSshTransport(spawn=Recorder()).call("x", batch, soon())
    FabricTransport(config=config, connect_timeout=1.0).call("x", batch, soon())
    assert len(seen) == 3
    assert all(b"\nr 1 tail 9 " in text and b"\nr 0 head 65 " in text for text in seen)


class Heard:
    """A transport that keeps what it was asked."""

    def __init__(self) -> None:
        self.batch: list[Command] = []

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        self.batch.extend(batch)
        return Reply(tuple(Answer(0.0, 0.0, exit=0) for _ in batch))

    def close(self) -> None:
        """Holds nothing open."""


def test_a_session_asks_for_the_same_end() -> None:
    heard = Heard()
    session = Session("c", Reach("local", "here"), heard, soon())
    session.ask((Command(("cat", "--", "/w/x"), timeout=9_999.0, keep="end"),))
    assert [one.keep for one in heard.batch] == ["end"]


@given(st.binary(max_size=40), st.integers(0, 30))
def test_of_any_frame_the_last_bytes_stay(body: bytes, most: int) -> None:
    batch = shell.framed((Command(("cat", "--", "x"), max_bytes=most, keep="end"),))
    printed = body[max(0, len(body) - most - 1) :]
    out, err = (
        b"".join(
            b"\n@%s o %d\n%s\n@%s c %d%s\n" % (WORD.encode(), at, part, WORD.encode(), at, status)
            for at, part in enumerate(parts)
        )
        for parts, status in (((b"1\n", printed, b"1\n"), b" 0 5"), ((b"", b"", b""), b""))
    )
    answer = outcome.reply(Raw(out, err, 0, Stop.NONE, 0.0, 1.0), batch, WORD).answers[0]
    assert answer.stdout == (body[-most:] if most else b"")
    assert (answer.cut > 0) == (len(body) > most)
