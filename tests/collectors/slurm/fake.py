"""A Slurm cluster of values: jobs, files and logins that answer the collector's own commands, or fail as real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sweeprules.collectors.slurm.ask import ID_WIDTH, PATH_WIDTH, SACCT_COLUMNS, SQUEUE_COLUMNS, STDOUT_COLUMNS
from sweeprules.collectors.slurm.text import Separators
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import ClusterRecord, Reach

NONCE = "0123456789abcdef"
MARKS = Separators.of(NONCE)
NOW = 1_800_000_000.0
TERMINAL = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "DEADLINE"}


@dataclass(frozen=True)
class FakeJob:
    """One job. `queued` and `accounted` say which source lists it; times are epoch seconds."""

    id: str
    name: str = "rl__x"
    state: str = "RUNNING"
    exit: str = "0:0"
    submitted: float = NOW - 7200
    started: float | None = NOW - 3600
    ended: float | None = None
    dependency: str = "(null)"
    reason: str = "None"
    workdir: str = "/w"
    command: str = "/w/run.sh"
    comment: str = "(null)"
    nodes: str = "n[01-02]"
    stdout: str = "/w/%x-%j.out"
    steps: Sequence[tuple[str, str, str]] = ()
    queued: bool | None = None
    accounted: bool | None = None
    sacct_state: str | None = None
    sacct_submitted: float | None = None
    user: str = "alice"

    def in_queue(self) -> bool:
        return self.queued if self.queued is not None else self.state not in TERMINAL

    def in_accounting(self) -> bool:
        return self.accounted if self.accounted is not None else True


def job(job_id: str, state: str = "RUNNING", **more: object) -> FakeJob:
    """A job whose times fit its state."""
    times: dict[str, object] = {}
    if state == "PENDING":
        times = {"started": None}
    elif state in TERMINAL:
        times = {"ended": NOW - 600}
    return FakeJob(job_id, state=state, **{**times, **more})  # type: ignore[arg-type]


def _epoch(value: float | None, never: str) -> str:
    return never if value is None else str(int(value))


def squeue_text(jobs: Sequence[FakeJob], marks: Separators = MARKS) -> str:
    """What `squeue -o` prints of the jobs that the queue lists."""
    return "".join(_squeue_record(one, marks) for one in jobs if one.in_queue())


def _squeue_record(one: FakeJob, marks: Separators) -> str:
    base = one.id.partition("_")[0].partition("+")[0]
    values = {
        "job_id": one.id, "raw_id": base, "array_id": base, "user": one.user, "state": one.state, "elapsed": "1:00:00",
        "time_limit": "1-00:00:00", "started": _epoch(one.started, "N/A"), "submitted": _epoch(one.submitted, "N/A"),
        "nodes": "2", "partition": "boost", "qos": "normal", "dependency": one.dependency, "host": "n01",
        "node_list": one.nodes if one.started else "", "reason": one.reason, "workdir": one.workdir,
        "command": one.command, "comment": one.comment, "name": one.name,
    }  # fmt: skip
    return marks.record + marks.field.join(values[name] for name, _ in SQUEUE_COLUMNS) + "\n"


def paths_text(jobs: Sequence[FakeJob]) -> str:
    """What `squeue -O` prints of running jobs."""
    running = [one for one in jobs if one.in_queue() and one.state in ("RUNNING", "COMPLETING", "SUSPENDED")]
    return "".join(f"{one.id:<{ID_WIDTH}}{one.stdout:<{PATH_WIDTH}}\n" for one in running)


def sacct_text(jobs: Sequence[FakeJob], marks: Separators = MARKS) -> str:
    """What `sacct -P` prints of the jobs and their steps."""
    lines: list[str] = []
    for one in jobs:
        if not one.in_accounting():
            continue
        values = _accounted(one)
        lines.append(marks.field.join(values[name] for name in SACCT_COLUMNS))
        for step, state, exit_text in one.steps:
            of_step = dict.fromkeys(SACCT_COLUMNS, "") | {
                "JobID": f"{one.id}.{step}", "JobIDRaw": f"{one.id}.{step}", "State": state, "ExitCode": exit_text,
                "JobName": step,
            }  # fmt: skip
            lines.append(marks.field.join(of_step[name] for name in SACCT_COLUMNS))
    return "".join(line + "\n" for line in lines)


def _accounted(one: FakeJob) -> dict[str, str]:
    start, end = one.started or one.submitted, one.ended or NOW
    return {
        "JobID": one.id, "JobIDRaw": one.id, "State": one.sacct_state or one.state, "ExitCode": one.exit,
        "Submit": _epoch(one.sacct_submitted or one.submitted, "Unknown"), "Start": _epoch(one.started, "Unknown"),
        "End": _epoch(one.ended, "Unknown"), "ElapsedRaw": str(int(end - start)), "TimelimitRaw": "1440",
        "NNodes": "2", "User": one.user, "Partition": "boost", "QOS": "normal",
        "NodeList": one.nodes if one.started else "None assigned", "Reason": "None", "Comment": "",
        "WorkDir": one.workdir, "SubmitLine": f"sbatch {one.command}", "JobName": one.name,
    }  # fmt: skip


@dataclass(frozen=True)
class FakeFile:
    """A file: its bytes and when it was last written."""

    data: bytes
    mtime: float = NOW - 60
    inode: int = 1


@dataclass(frozen=True)
class Login:
    """One login node. `failure` fails every call; `broken` replaces the answer of a program by (exit, out, err)."""

    failure: Failure = Failure.NONE
    broken: Mapping[str, tuple[int, str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """One call to a login."""

    login: str
    failure: Failure
    detail: str = ""
    alarm: bool = False


class FakeSession:
    """Answers as a session of the transport does; `later` replaces the jobs after the first call."""

    def __init__(
        self,
        jobs: Sequence[FakeJob] = (),
        files: Mapping[str, FakeFile] | None = None,
        *,
        logins: Mapping[str, Login] | None = None,
        later: Sequence[FakeJob] | None = None,
        ended_later: Sequence[FakeJob] = (),
        controller_up: bool = True,
        version: str = "22.05.8",
        reservations: str = "No reservations in the system\n",
        clock: float = NOW,
        certs: Mapping[str, tuple[int, str]] | None = None,
    ) -> None:
        self.jobs, self.files, self.later = list(jobs), dict(files or {}), later
        self.ended_later = list(ended_later)
        self.logins = dict(logins or {"login01": Login()})
        self.controller_up, self.version, self.reservations, self.clock = controller_up, version, reservations, clock
        self.certs = dict(certs or {})
        self.shown: dict[str, str] = {}
        self.attempts: list[Attempt] = []
        self.login: str | None = None
        self.calls: list[tuple[Command, ...]] = []

    @property
    def logins_tried(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(attempt.login for attempt in self.attempts))

    def ask(self, batch: Sequence[Command]) -> tuple[Observation, ...]:
        order = [self.login] if self.login else list(self.logins)
        return self._ask(batch, order)

    def ask_next(self, batch: Sequence[Command]) -> tuple[Observation, ...] | None:
        current = self.login or next(iter(self.logins))
        others = [name for name in self.logins if name != current]
        return self._ask(batch, others) if others else None

    def _ask(self, batch: Sequence[Command], order: Sequence[str]) -> tuple[Observation, ...]:
        kept: tuple[Observation, ...] = ()
        for name in order:
            failure = self.logins[name].failure
            self.attempts.append(Attempt(name, failure, str(failure)))
            self.calls.append(tuple(batch))
            number = len(self.calls)
            kept = tuple(
                self._observe(f"leonardo/{number}.{at}", name, command) for at, command in enumerate(batch, start=1)
            )
            if failure is Failure.NONE:
                self.login = name
                break
        if len(self.calls) == 1 and self.later is not None:
            self.jobs = list(self.later)
        return kept

    def _observe(self, key: str, login: str, command: Command) -> Observation:
        blank = Observation(key, "leonardo", login, command.argv, command.items, NOW, 0.1, None, b"", b"")
        if self.logins[login].failure is not Failure.NONE:
            return replace(blank, failure=self.logins[login].failure, detail=str(self.logins[login].failure))
        words = command.argv[2:] if command.argv[0] == "env" else command.argv
        broken = self.logins[login].broken.get(words[0])
        code, out, err = broken if broken is not None else self._answer(words, command)
        data = out.encode("utf-8", "surrogateescape")
        return replace(
            blank,
            exit=code,
            stdout=data[: command.max_bytes],
            stderr=err.encode(),
            cut=max(0, len(data) - command.max_bytes),
            remote_clock=self.clock,
        )

    def _answer(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        answers: Mapping[str, Callable[[Sequence[str], Command], tuple[int, str, str]]] = {
            "squeue": self._squeue, "sacct": self._sacct, "scontrol": self._scontrol, "sinfo": self._sinfo,
            "xargs": self._stat, "ls": self._ls, "tail": self._tail, "ssh-keygen": self._cert,
        }  # fmt: skip
        return answers[words[0]](words, command)

    def _squeue(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        return 0, (paths_text(self.jobs) if "-O" in words else squeue_text(self.jobs)), ""

    def _sacct(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        if words[-1] == f"--format={','.join(STDOUT_COLUMNS)}":
            if self.version.startswith("22"):
                return 1, "", 'sacct: error: Invalid field requested: "StdOut"\n'
            rows = [(one.id, _epoch(one.submitted, "Unknown"), one.stdout) for one in self.jobs]
            return 0, "".join(MARKS.field.join(row) + "\n" for row in rows), ""
        if "-j" in words:
            ids = words[words.index("-j") + 1].split(",")
            jobs = {one.id: one for one in (*self.jobs, *self.ended_later)}
            return 0, sacct_text([replace(jobs[one], accounted=True) for one in ids if one in jobs]), ""
        return 0, sacct_text(self.jobs), ""

    def _scontrol(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        if words[1] == "ping":
            word = "UP" if self.controller_up else "DOWN"
            return (0 if self.controller_up else 1), f"Slurmctld(primary) at head is {word}\n", ""
        if words[2] == "res":
            return 0, self.reservations, ""
        if words[3] in self.shown:
            return 0, self.shown[words[3]], ""
        return 1, "", "slurm_load_jobs error: Invalid job id specified\n"

    def _sinfo(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        return 0, f"slurm {self.version}\n", ""

    def _stat(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        out = err = ""
        for path in command.items:
            file = self.files.get(path)
            if file is None:
                err += f"stat: cannot statx '{path}': No such file or directory\n"
                continue
            fields = ("1", str(file.inode), str(len(file.data)), str(int(file.mtime)), path)
            out += MARKS.record + MARKS.field.join(fields)
        return (123 if err else 0), out, err

    def _ls(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        directory = words[-1].rstrip("/")
        inside = {path: file for path, file in self.files.items() if path.rpartition("/")[0] == directory}
        if not inside:
            return 2, "", f"ls: cannot access '{directory}': No such file or directory\n"
        newest = sorted(inside, key=lambda path: -inside[path].mtime)
        return 0, "".join(f'"{path.rpartition("/")[2]}"\n' for path in newest), ""

    def _tail(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        file = self.files.get(words[-1])
        if file is None:
            return 1, "", f"tail: cannot open '{words[-1]}' for reading: No such file or directory\n"
        count = words[2]
        data = file.data[int(count[1:]) - 1 :] if count.startswith("+") else file.data[-int(count) :]
        return 0, data.decode("utf-8", "surrogateescape"), ""

    def _cert(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        code, text = self.certs.get(words[-1], (255, f"{words[-1]}: No such file or directory\n"))
        return code, text, ""


def record(**more: object) -> ClusterRecord:
    """A record of a plain cluster; `more` replaces its fields."""
    plain = ClusterRecord(
        name="leonardo", path="ops/leonardo/cluster.yaml", sha256="0" * 64, scheduler="slurm", user="alice",
        timezone="UTC", reach=Reach(via="openssh", host="login01", fallbacks=("login02",)),
        log_fallbacks=("data_{job_id}.out",),
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def observation(
    argv: Sequence[str], stdout: bytes | str = b"", *, code: int | None = 0, stderr: str = "", **more: object
) -> Observation:
    """One answered command."""
    data = stdout.encode("utf-8", "surrogateescape") if isinstance(stdout, str) else stdout
    plain = Observation("leonardo/1.1", "leonardo", "login01", tuple(argv), (), NOW, 0.1, code, data, stderr.encode())
    return replace(plain, remote_clock=NOW, **more)  # type: ignore[arg-type]
