"""What `doctor` looks at of each cluster: its record, and where it is swept what its login answers."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sweeprules.cli.checks import Check
from sweeprules.cli.gathering import Sessions, side_by_side
from sweeprules.cli.options import counted
from sweeprules.collectors.slurm.ask import ping, version
from sweeprules.collectors.slurm.scontrol import read_ping, read_version
from sweeprules.collectors.transport.allow import CommandRefusedError
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.connect import allow_list, transport_for
from sweeprules.collectors.transport.openssh import LOGIN
from sweeprules.collectors.transport.session import Session
from sweeprules.engine.errors import Problem
from sweeprules.engine.facts import Unknown
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import BrokenRecord, ClusterRecord
from sweeprules.store.errors import StoreError
from sweeprules.store.site import SiteLoad

CLOCK = 60.0
"""Seconds by which a cluster's clock may differ: far beyond what NTP leaves and what one call takes."""
SSH_SECONDS = 5.0
"""Time for a question to this machine's own ssh, which reaches nothing."""
_DO: Mapping[Failure, str] = {
    Failure.CONNECT: "try `ssh {login} true` by hand: is the name right, is the host up, is a VPN or jump host needed?",
    Failure.AUTH: "log in by hand once: a certificate may have run out, or the ControlMaster is gone",
    Failure.HOST_KEY: "compare the key with the site's published one; where keys rotate say host_keys: rotating",
    Failure.FORK: "the login has no processes left; add fallbacks to reach, or end what runs there",
    Failure.UNFRAMED: "does a start file of the login shell print, ask or exit?",
    Failure.TIMEOUT: "the login is slow; raise command_timeout",
    Failure.DEADLINE: "give it more time with --deadline",
}


def clusters(load: SiteLoad, now: float, end: float) -> list[Check]:
    """Every cluster's checks, in the order of their names; only those that a sweep would reach are contacted.

    `end` is in seconds of `time.monotonic()`.
    """
    contacted: dict[str, list[Check]] = {}
    reach: list[ClusterRecord] = []
    for record in load.site.records:
        found = _recorded(record, load.record_problems.get(record.name, ()), now)
        contacted[record.name] = found
        if isinstance(record, ClusterRecord) and all(check.status == "ok" for check in found if _final(check)):
            reach.append(record)
    for name, more in _reached(reach, end).items():
        contacted[name] += more
    return [check for name in sorted(contacted) for check in contacted[name]]


def _final(check: Check) -> bool:
    """Warnings about a record do not keep its cluster from being swept; anything else but `ok` does."""
    return check.status != "warning" or check.name.endswith(" scheduler")


def _recorded(record: ClusterRecord | BrokenRecord, problems: Sequence[Problem], now: float) -> list[Check]:
    """What the record alone tells."""
    from sweeprules.cli.seen import skip_reason
    from sweeprules.collectors.cluster import is_skipped

    name = f"{record.name} record"
    if isinstance(record, BrokenRecord):
        says = f"{record.path} has {counted(len(record.problems), 'error')}, first {record.problems[0]}"
        return [Check(name, "error", says, "the cluster is not swept; `sweeprules validate` prints them all")]
    found = [Check(name, "ok", f"{record.path} is valid, {_bans(record)}")]
    if problems:
        says = f"{record.path}: {problems[0].message}" + (f", and {len(problems) - 1} more" if problems[1:] else "")
        found = [Check(name, "warning", says, "`sweeprules validate` prints them all")]
    if is_skipped(record, now):
        return [*found, Check(f"{record.name} login", "skipped", f"not contacted: {skip_reason(record, now)}")]
    if record.scheduler != "slurm":
        says = f"no collector of this release reads {record.scheduler}; the cluster is reported as blocked"
        return [*found, Check(f"{record.name} scheduler", "warning", says, "set enabled: false with a because")]
    if record.reach.via == "replay":
        return [*found, _recording(record)]
    return found


def _bans(record: ClusterRecord) -> str:
    return f"bans {', '.join(sorted(record.bans))}" if record.bans else "bans nothing more"


def _recording(record: ClusterRecord) -> Check:
    from sweeprules.store.cassette import read_cassette

    name = f"{record.name} login"
    try:
        tape = read_cassette(Path(record.reach.cassette))
    except StoreError as error:
        return Check(name, "error", f"{error.where}: {error.what}", error.hint)
    held = counted(len(tape.observations), "command")
    return Check(name, "skipped", f"not contacted: answers from a recording of {held}")


# ---------------------------------------------------------------- what a login answers


def _reached(records: Sequence[ClusterRecord], end: float) -> dict[str, list[Check]]:
    if not records:
        return {}
    sessions = Sessions(records, transport_for, end)
    try:
        done, failed = side_by_side(
            records, lambda record: list(_one(record, sessions[record.name], end)), end, "checked"
        )
    finally:
        sessions.close()
    for name, error in failed.items():
        why = f"{type(error).__name__}: {error}" if error else "it took longer than the deadline"
        done[name] = [Check(f"{name} login", "error", why, "give it more time with --deadline")]
    return done


def _one(record: ClusterRecord, session: Session, end: float) -> Iterator[Check]:
    if record.reach.via == "openssh":
        yield control_master(record.name, record.reach.host, end)
    asked, banned = _questions(record)
    observed = session.ask([command for _, command in asked])
    answers = {tool: one for (tool, _), one in zip(asked, observed, strict=True)}
    yield from _logins(record, session, answers)
    if not any(one.answered for one in answers.values()):
        return
    yield _clock(record, answers)
    yield _tools(record, answers, banned)
    for tool, what in (("squeue", "queue"), ("sacct", "accounting")):
        if tool in answers and answers[tool].exit != 127:
            yield _answer(f"{record.name} {what}", answers[tool])
    if "scontrol" in answers and answers["scontrol"].exit != 127:
        yield _controller(record, answers)


def _questions(record: ClusterRecord) -> tuple[list[tuple[str, Command]], list[str]]:
    """One small command for each tool that a sweep uses, and the tools that the record bans."""
    null = ("--", "/dev/null")
    every = [
        ("squeue", Command(("squeue", "-h", "-a", "-u", record.user, "-o", "%i"), max_bytes=65536)),
        ("sacct", Command(("sacct", "-X", "-n", "-P", "-u", record.user, "-S", "now-1hours", "--format=JobID"),
                          max_bytes=65536)),
        ("scontrol", ping()),
        ("sinfo", version()),
        ("stat", Command(("stat", "-L", "-c", "%n", "--", "/"))),
        ("head", Command(("head", "-c", "1", *null))),
        ("tail", Command(("tail", "-c", "1", *null))),
        ("grep", Command(("grep", "-F", "-e", "x", *null))),
        ("xargs", Command(("xargs", "-0", "-r", "stat", "-c", "%n", "--"), ("/",))),
    ]  # fmt: skip
    allowed = allow_list(record)
    asked, banned = [], []
    for tool, command in every:
        try:
            allowed.check(command)
        except CommandRefusedError:
            banned.append(tool)
        else:
            asked.append((tool, command))
    return asked, banned


def _logins(record: ClusterRecord, session: Session, answers: Mapping[str, Observation]) -> Iterator[Check]:
    answered = any(one.answered for one in answers.values())
    for attempt in session.attempts:
        if attempt.failure is Failure.NONE:
            seconds = next(iter(answers.values())).duration
            yield Check(f"{record.name} login", "ok", f"{attempt.login} answers, in {seconds:.1f} s")
        elif attempt.alarm or not answered:
            says = f"{attempt.login}: {attempt.failure}: {attempt.detail}"
            hint = _DO.get(attempt.failure, "").format(login=attempt.login)
            yield Check(f"{record.name} login", "warning" if answered else "error", says, hint)


def _clock(record: ClusterRecord, answers: Mapping[str, Observation]) -> Check:
    name = f"{record.name} clock"
    one = next((one for one in answers.values() if one.answered and one.remote_clock is not None), None)
    if one is None or one.remote_clock is None:
        return Check(
            name, "error", "the login did not tell its time", "ages can not be told without it: is `date` there?"
        )
    offset = one.remote_clock - (one.started_at + one.duration)
    if abs(offset) > CLOCK + one.duration:
        hint = "ages are told by the cluster's own clock and stay right; set the clock that is wrong"
        return Check(name, "warning", f"{offset:+.0f} s against this machine", hint)
    return Check(name, "ok", f"{offset:+.0f} s against this machine")


def _tools(record: ClusterRecord, answers: Mapping[str, Observation], banned: Sequence[str]) -> Check:
    name = f"{record.name} commands"
    missing = [tool for tool, one in answers.items() if one.exit == 127]
    unread = [tool for tool, one in answers.items() if not one.answered]
    told = ", ".join(
        f"{words} {', '.join(tools)}" for words, tools in (("not there:", missing), ("no answer:", unread)) if tools
    )
    if told:
        return Check(name, "error", told, "a login without a shell's start files needs them on its plain PATH")
    if banned:
        says = f"the record bans {', '.join(banned)}, which a sweep uses"
        return Check(name, "error", says, "what they would read stays unknown; take the ban back if the site allows it")
    return Check(name, "ok", f"{len(answers)} of {len(answers)} are there")


def _answer(name: str, one: Observation) -> Check:
    """Whether a scheduler's answer is one: exit 0 and nothing on stderr. What it says is not looked at."""
    if one.clean or (one.cut and not one.stderr.strip()):
        return Check(name, "ok", f"`{one.argv[0]}` answers for {one.argv[one.argv.index('-u') + 1]}")
    lines = one.stderr.decode("utf-8", "replace").strip().splitlines()
    why = lines[0] if lines else one.detail or f"exit {one.exit} and no word"
    return Check(name, "error", f"`{one.argv[0]}`: {why}", "its part of the cluster is unknown while it says so")


def _controller(record: ClusterRecord, answers: Mapping[str, Observation]) -> Check:
    name = f"{record.name} controller"
    up = read_ping(answers["scontrol"])
    told = read_version(answers["sinfo"]) if "sinfo" in answers else None
    release = f", Slurm {told}" if isinstance(told, str) else ""
    if up is True:
        return Check(name, "ok", f"up{release}")
    why = up.detail or up.reason if isinstance(up, Unknown) else "every controller is DOWN"
    return Check(name, "error", f"{why}{release}", "the queue is unknown until it answers")


# ---------------------------------------------------------------- ssh on this machine


def control_master(cluster: str, login: str, end: float) -> Check:
    """Whether a live ControlMaster would carry calls to a login; asked of this machine's ssh alone, and of no agent."""
    name = f"{cluster} ssh"
    ssh = shutil.which("ssh")
    if ssh is None:
        return Check(name, "error", "there is no ssh on PATH", "install OpenSSH's client, or say via: fabric")
    if not LOGIN.fullmatch(login):
        return Check(name, "error", f"{login!a} is no name of a login", "mend reach.host")
    code, printed = _local((ssh, "-G", "--", login), end)
    if code != 0:
        return Check(name, "error", f"ssh can not read its configuration: {printed}", "mend ~/.ssh/config")
    path = re.search(r"^controlpath (.+)$", printed, re.MULTILINE)
    if path is None or path[1] == "none":
        return Check(name, "ok", "no ControlPath is configured: each call logs in by key or certificate")
    code, printed = _local((ssh, "-O", "check", "-o", "BatchMode=yes", "--", login), end)
    if code == 0:
        return Check(name, "ok", f"rides on the live ControlMaster at {path[1]}")
    hint = f"log in once with `ssh {login}` where that needs a person; it stays open as ControlPersist says"
    return Check(name, "warning", f"no ControlMaster is live at {path[1]}: calls need a key that asks nothing", hint)


def _local(argv: tuple[str, ...], end: float) -> tuple[int, str]:
    left = min(SSH_SECONDS, max(0.1, end - time.monotonic()))
    try:
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return 124, "it did not end in time"
    except OSError as error:
        return 126, error.strerror or "it could not be started"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace").strip()
