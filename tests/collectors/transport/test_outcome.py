"""How a call ended, by name."""

from __future__ import annotations

import pytest

from sweeprules.collectors.transport import outcome, shell
from sweeprules.collectors.transport.command import Command, Reply
from sweeprules.collectors.transport.outcome import Raw
from sweeprules.collectors.transport.watch import Stop, Watch
from sweeprules.engine.observation import Failure

WORD = "00112233445566778899aabbccddeeff"
BATCH = shell.framed((Command(("squeue", "-o", "%i"), timeout=5.0), Command(("sacct", "--format=JobID"), timeout=5.0)))


def frame(index: int, stdout: bytes, stderr: bytes = b"", status: str = "0 5") -> tuple[bytes, bytes]:
    opened = f"\n@{WORD} o {index}\n".encode()
    out_close, err_close = f"\n@{WORD} c {index} {status}\n".encode(), f"\n@{WORD} c {index}\n".encode()
    return opened + stdout + out_close, opened + stderr + err_close


def joined(*frames: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    return b"".join(out for out, _ in frames), b"".join(err for _, err in frames)


def replied(
    streams: tuple[bytes, bytes], *, status: int | None = 0, stop: Stop = Stop.NONE, duration: float = 3.0
) -> Reply:
    return outcome.reply(Raw(*streams, status, stop, 100.0, duration), BATCH, WORD)


FIRST = frame(0, b"1796067844\n")
LAST = frame(3, b"1796067850\n")


def test_a_whole_call_has_the_clock_of_its_end() -> None:
    reply = replied(joined(FIRST, frame(1, b"5\n"), frame(2, b"x"), LAST))
    assert [answer.remote_clock for answer in reply.answers] == [1796067850.0] * 2
    assert reply.failure is Failure.NONE and reply.detail == ""


def test_a_call_that_broke_off_keeps_its_whole_frames_and_the_first_clock() -> None:
    out, err = joined(FIRST, frame(1, b"5\n"))
    tail = f"\n@{WORD} o 2\n".encode()
    reply = replied((out + tail + b"part", err + tail + b"Connection to login01 closed by remote host.\n"), status=255)
    good, broken = reply.answers
    assert (good.exit, good.stdout, good.remote_clock) == (0, b"5\n", 1796067844.0)
    assert (broken.failure, broken.stdout, broken.exit) == (Failure.UNFRAMED, b"part", None)
    assert broken.cut >= 1 and reply.failure is Failure.NONE


@pytest.mark.parametrize(("status", "failure"), [("124 5", Failure.TIMEOUT), ("137 5", Failure.TIMEOUT), ("124 0", "")])
def test_the_login_s_own_limit_is_a_timeout(status: str, failure: str) -> None:
    answer = replied(joined(FIRST, frame(1, b"half", status=status), frame(2, b""), LAST)).answers[0]
    assert (answer.failure, answer.exit) == (failure, int(status.split()[0]))
    assert answer.answered == (failure == "")


@pytest.mark.parametrize(
    "text",
    [
        b"bash: fork: retry: Resource temporarily unavailable",
        b"/bin/sh: fork: Resource temporarily unavailable\n",
        b"timeout: fork system call failed: Resource temporarily unavailable",
        b"sh: 1: Cannot fork",
        b"xargs: cannot fork: Resource temporarily unavailable",
        b"zsh: fork failed: resource temporarily unavailable",
    ],
)
def test_a_login_that_can_not_fork_in_the_middle_is_told(text: bytes) -> None:
    out, err = joined(FIRST, frame(1, b"", text, "254 5"))
    first, second = replied((out, err + text), status=2).answers
    assert (first.failure, second.failure) == (Failure.FORK, Failure.FORK)


def test_a_file_that_is_named_like_a_failure_is_a_file() -> None:
    text = b"stat: cannot statx '/a/fork: Resource temporarily unavailable': No such file or directory\n"
    answer = replied(joined(FIRST, frame(1, b"", text, "1 5"), frame(2, b""), LAST)).answers[0]
    assert answer.failure is Failure.NONE and answer.exit == 1


@pytest.mark.parametrize(
    ("stderr", "failure"),
    [
        (b"ssh: connect to host 127.0.0.1 port 2209: Connection refused", Failure.CONNECT),
        (b"Connection timed out during banner exchange\nConnection to 127.0.0.1 port 2210 timed out", Failure.CONNECT),
        (b"kex_exchange_identification: Connection closed by remote host", Failure.CONNECT),
        (b"ssh: Could not resolve hostname nope: Name or service not known", Failure.CONNECT),
        (b"alice@127.0.0.1: Permission denied (publickey).", Failure.AUTH),
        (b"Received disconnect from 1.2.3.4: 2: Too many authentication failures", Failure.AUTH),
        (b"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Failure.HOST_KEY),
        (b"No ED25519 host key is known for x and you have requested strict checking.", Failure.HOST_KEY),
    ],
)
def test_what_ssh_says_is_a_named_failure(stderr: bytes, failure: Failure) -> None:
    reply = replied((b"", stderr), status=255)
    assert reply.failure is failure
    assert reply.detail and reply.detail in stderr.decode()


def test_limits_of_this_side_are_told_apart() -> None:
    out, err = joined(FIRST)
    running = f"\n@{WORD} o 1\n".encode()
    assert [a.failure for a in replied((out + running, err + running), status=None, stop=Stop.COMMAND).answers] == [
        Failure.TIMEOUT, Failure.UNFRAMED,
    ]  # fmt: skip
    assert [a.failure for a in replied((out + running, err + running), status=None, stop=Stop.DEADLINE).answers] == [
        Failure.DEADLINE, Failure.DEADLINE,
    ]  # fmt: skip
    assert replied((b"", b""), status=None, stop=Stop.START, duration=25.0).detail == "no answer of a shell within 25 s"


def test_details_are_one_plain_masked_line() -> None:
    text = b"first\n\x1b[31mred token=abcdefgh12345678 \xff" + b"x" * 500 + b"\n\n"
    detail = outcome.one_line(text)
    assert detail.isprintable() and len(detail) <= 300
    assert "abcdefgh12345678" not in detail and "first" not in detail


def test_the_watch_waits_for_the_shell_then_for_each_command() -> None:
    now = [0.0]
    watch = Watch(BATCH, WORD, 1000.0, 15.0, clock=lambda: now[0])
    assert watch.until() == (25.0, Stop.START)
    now[0] = 3.0
    watch.feed(FIRST[0])
    assert watch.until() == (3.0 + 5.0 + 5.0, Stop.COMMAND)
    now[0] = 4.0
    watch.feed(b"output that never ends")
    assert watch.until()[0] == 13.0
    watch.feed(frame(1, b"")[0])
    assert watch.until() == (4.0 + 5.0 + 5.0, Stop.COMMAND)


def test_the_watch_never_waits_beyond_the_deadline() -> None:
    unlimited = shell.framed((Command(("squeue", "-o", "%i")),))
    watch = Watch(unlimited, WORD, 2.0, 15.0, clock=lambda: 0.0)
    assert watch.until() == (2.0, Stop.DEADLINE)
    watch.feed(FIRST[0])
    assert watch.until() == (2.0, Stop.DEADLINE)
