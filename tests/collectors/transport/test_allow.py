"""The allow-list: what is not a known reading form is refused, and nothing is sent."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport.allow import AllowList, CommandRefusedError, check, check_extra
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.collectors.transport.openssh import OpenSshTransport
from sweeprules.collectors.transport.session import Session
from sweeprules.engine.site import Reach
from tests.collectors.transport.conftest import Recorder, soon

ALLOWED = {
    "squeue -h -u alice -o %i|%j|%T|%M": "squeue",
    "squeue -ahr --user=alice,bob --format=%i -t RUNNING,PENDING": "squeue",
    "squeue --json": "squeue",
    "squeue -h -j 11_5,12,31+0 -o %i": "squeue",
    "squeue -h -u alice -O JobID:30,Name:200": "squeue",
    "squeue -V": "slurm-version",
    "sacct -u alice -S now-3hours -X -n -P --format=JobID,JobName%90,State": "sacct",
    "sacct -XnP -j 480,481_3 -o JobID,State": "sacct",
    "sacct -D -n -P -S 2026-11-30T12:00:00 -E now -s F,TO --format=JobID --delimiter=^": "sacct",
    "sacct --json -u alice": "sacct",
    "env SLURM_TIME_FORMAT=%s sacct -X -n -P --format=JobID": "sacct",
    "env SLURM_TIME_FORMAT=%s TZ=UTC LC_ALL=C squeue -h -o %i": "squeue",
    "env TZ=UTC ssh-keygen -L -f /home/a/x-cert.pub": "cert",
    "scontrol show job 501 -o": "scontrol-job",
    "scontrol show jobs": "scontrol-job",
    "scontrol -o show job 11_5": "scontrol-job",
    "scontrol show res -o": "scontrol-reservation",
    "scontrol show reservation maint": "scontrol-reservation",
    "scontrol show config": "scontrol-config",
    "scontrol ping": "scontrol-ping",
    "scontrol --version": "slurm-version",
    "sinfo -V": "slurm-version",
    "sinfo -h -o %P|%a|%F": "sinfo",
    "stat -c %n -- /a /b": "stat",
    "stat -L --printf=%n\\0%Y\\0 -- /a": "stat",
    "stat -c %n -- -rf": "stat",
    "head -c 4096 -- /a": "head",
    "tail -c 4096 -- /a": "tail",
    "tail -c +123456 -- /a": "tail",
    "grep -F -c -e Traceback -- /a /b": "grep",
    "grep -Fan -m 1 -e -x -- /a": "grep",
    "ls -1A -- /a": "ls",
    "ls -lU --time-style=+%s -- /a": "ls",
    "cat -- /a": "cat",
    "date +%s": "date",
    "date +%s.%N": "date",
    "df -i /a": "df",
    "df -Pi /a": "df",
    "df -Pk -- /a": "df",
    "git --no-optional-locks -C /a status --short": "git-status",
    "git -C /a --no-optional-locks status --porcelain=v2 -z --untracked-files=all": "git-status",
    "git --no-optional-locks -C /a diff --stat --no-ext-diff --no-textconv origin/main -- f": "git-diff",
    "jutil project dataquota -p datasets -o json -U KB": "jutil",
    "jutil project dataquota --project datasets": "jutil",
    "lfs quota -q -u alice /s": "lfs-quota",
    "lfs quota -p 1000 /s": "lfs-quota",
    "mmlsquota -Y -j proj fs1": "mmlsquota",
    "cindata -f 0": "cindata",
    "taccinfo": "taccinfo",
    "/usr/local/etc/taccinfo": "taccinfo",
    "ssh-keygen -L -f /a/x-cert.pub": "cert",
}

REFUSED = [
    line
    for line in (Path(__file__).parent / "refused.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]

HOSTILE = [
    ("squeue", "-o", "%i\n%j"), ("squeue", "-u", "a\nb", "-o", "%i"), ("squeue\n", "-o", "%i"),
    ("squeue", "-o\n", "%i"),
    ("stat", "-c", "%n\0", "--", "/a"), ("stat", "-c", "%n", "--", "/a\0b"), ("stat", "-c", "%n\n", "--", "/a"),
    ("cat", "--", ""), ("cat", "", "--", "/a"), ("grep", "-F", "-e", "a\nb", "--", "/a"), ("date", "+%s\n"), (),
    ("git", "--no-optional-locks", "-C", "/a\n", "status", "--short"), ("cat", "--", "x" * 100_001),
    ("stat", "-c", "%n", "--", *["x" * 99_000] * 11),
    ("head", "-c", "5\n", "--", "/a"), ("head", "-c", "５", "--", "/a"),
    ("env", "TZ=UTC\n", "squeue", "-o", "%i"), ("ssh-keygen", "-L", "-f", "/a\r"),
    ("squeue", "-u", "аlice", "-o", "%i"),
]  # fmt: skip

UNLISTED = [tuple(shlex.split(text)) for text in REFUSED] + HOSTILE


@pytest.mark.parametrize("text", ALLOWED)
def test_every_reading_form_that_is_needed_is_allowed(text: str) -> None:
    assert check(text.split()) == ALLOWED[text]


@pytest.mark.parametrize("argv", UNLISTED, ids=lambda argv: shlex.join(argv)[:60].encode("unicode_escape").decode())
@pytest.mark.parametrize("kind", ["local", "openssh", "session"])
def test_for_every_banned_and_unlisted_form_nothing_is_sent(argv: tuple[str, ...], kind: str) -> None:
    spawned = Recorder()
    good = Command(("date", "+%s"))
    batch = (good, Command(argv), good)
    with pytest.raises(CommandRefusedError) as refusal:
        if kind == "local":
            LocalTransport(spawn=spawned).call("here", batch, soon())
        elif kind == "openssh":
            OpenSshTransport(spawn=spawned).call("login01", batch, soon())
        else:
            Session("c", Reach("local", "here"), LocalTransport(spawn=spawned), soon()).ask(batch)
    assert spawned.calls == []
    assert refusal.value.why
    assert str(refusal.value).isprintable()


def test_the_recorder_would_have_seen_an_allowed_command() -> None:
    spawned = Recorder()
    LocalTransport(spawn=spawned).call("here", (Command(("date", "+%s")),), soon())
    OpenSshTransport(spawn=spawned).call("login01", (Command(("date", "+%s")),), soon())
    assert [argv[0] for argv in spawned.calls] == ["/bin/sh", "ssh"]


@pytest.mark.parametrize(
    ("argv", "items"),
    [
        ("stat -c %n -- /a", ("/b",)),
        ("xargs -0 stat -c %n --", ()),
        ("xargs -0 stat -c %n --", ("",)),
        ("xargs -0 stat -c %n --", ("/a\0b",)),
        ("xargs -0 stat -c %n --", ("x" * 100_001,)),
    ],
)
def test_items_belong_to_xargs_and_are_names(argv: str, items: tuple[str, ...]) -> None:
    with pytest.raises(CommandRefusedError):
        AllowList().check(Command(tuple(argv.split()), items))


@pytest.mark.parametrize(
    "argv", ["xargs -0 stat -c %n --", "xargs -0 -r -n 20 tail -c 100 --", "xargs -r -0 head -c 5 --"]
)
def test_xargs_runs_three_readers(argv: str) -> None:
    assert AllowList().check(Command(tuple(argv.split()), ("/a b", "-rf"))).startswith("xargs-")


def test_xargs_without_items_needs_r() -> None:
    assert AllowList().check(Command(("xargs", "-0", "-r", "stat", "-c", "%n", "--"))) == "xargs-stat"


@pytest.mark.parametrize(
    ("ban", "argv"),
    [
        ("sinfo", "sinfo -h -o %P"),
        ("stat", "xargs -0 -n 2 stat -c %n --"),
        ("xargs", "xargs -0 stat -c %n --"),
        ("scontrol show config", "scontrol show config"),
        ("sacct", "env SLURM_TIME_FORMAT=%s sacct --format=JobID"),
        ("env", "env SLURM_TIME_FORMAT=%s sacct --format=JobID"),
    ],
)
def test_a_ban_takes_away_what_is_shipped(ban: str, argv: str) -> None:
    words = argv.split()
    check(words)
    with pytest.raises(CommandRefusedError, match="bans"):
        check(words, frozenset({ban}))


def test_a_ban_of_what_is_never_allowed_changes_nothing_else() -> None:
    assert check(("scontrol", "show", "job", "5"), frozenset({"find", "du", "scontrol show config"})) == "scontrol-job"


def test_a_record_adds_only_allowed_shapes_and_may_say_where_a_program_lies() -> None:
    extra = ("/opt/slurm/bin/squeue", "-h", "-o", "%i")
    assert check_extra(extra) == "squeue"
    assert check(("/opt/slurm/bin/squeue", "-a", "-o", "%j"), extra=(extra,)) == "squeue"
    assert check(("squeue", "-a", "-o", "%j"), extra=(extra,)) == "squeue"
    for argv in (("/opt/slurm/bin/sacct", "--format=JobID"), ("/opt/slurm/bin/squeue", "-i", "5", "-o", "%i")):
        with pytest.raises(CommandRefusedError):
            check(argv, extra=(extra,))


@pytest.mark.parametrize(
    "text",
    ["find /a", "kubectl describe pod x", "du -s /a", "/opt/../tmp/squeue -o %i", "/tmp/evil", "cat -- '/a/*.log'",
     "ls -- '/a/**'", "ls -R -- /a", "/opt/bin/find /a"],
)  # fmt: skip
def test_a_record_can_not_add_anything_else(text: str) -> None:
    with pytest.raises(CommandRefusedError):
        check_extra(shlex.split(text))


def test_a_ban_holds_against_a_record_s_own_program() -> None:
    extra = ("/opt/slurm/bin/squeue", "-o", "%i")
    with pytest.raises(CommandRefusedError, match="bans"):
        check(extra, frozenset({"squeue"}), (extra,))


def test_a_refusal_says_what_why_and_what_is_nearest() -> None:
    with pytest.raises(CommandRefusedError) as refusal:
        check(("squeu", "-o", "%i"))
    assert refusal.value.argv == ("squeu", "-o", "%i")
    assert "only read" in refusal.value.why
    assert refusal.value.nearest.startswith("squeue")
    assert "nothing was sent" in str(refusal.value)


@given(st.lists(st.text(max_size=12), max_size=6), st.sampled_from(["squeue", "stat", "xargs", "git", "env", ""]))
def test_any_words_are_allowed_or_refused_and_nothing_else_happens(words: list[str], program: str) -> None:
    try:
        kind = check((program, *words))
    except CommandRefusedError as refusal:
        assert str(refusal).isprintable()
    else:
        assert kind
