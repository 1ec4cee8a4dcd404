"""What is asked of Slurm: argument lists only, text output with explicit fields on every version."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sweeprules.collectors.slurm.text import Separators
from sweeprules.collectors.transport.command import Command

SQUEUE_COLUMNS: tuple[tuple[str, str], ...] = (
    ("job_id", "%i"), ("raw_id", "%A"), ("array_id", "%F"), ("user", "%u"), ("state", "%T"), ("elapsed", "%M"),
    ("time_limit", "%l"), ("started", "%S"), ("submitted", "%V"), ("nodes", "%D"), ("partition", "%P"), ("qos", "%q"),
    ("dependency", "%E"), ("host", "%B"), ("node_list", "%N"), ("reason", "%r"),
    ("workdir", "%Z"), ("command", "%o"), ("comment", "%k"), ("name", "%j"),
)  # fmt: skip
"""Ids and what Slurm prints itself first; what users choose last."""

SACCT_COLUMNS: tuple[str, ...] = (
    "JobID", "JobIDRaw", "State", "ExitCode", "Submit", "Start", "End", "ElapsedRaw", "TimelimitRaw", "NNodes", "User",
    "Partition", "QOS", "NodeList", "Reason", "Comment", "WorkDir", "SubmitLine", "JobName",
)  # fmt: skip
OPTIONAL_COLUMNS = frozenset(
    ("TimelimitRaw", "Partition", "QOS", "NodeList", "Reason", "Comment", "WorkDir", "SubmitLine")
)
"""What an older `sacct` may not know: then the rest is asked for without it, and that fact alone is unread."""
STDOUT_COLUMNS = ("JobID", "Submit", "StdOut")
"""Accounting keeps the path of the output from 24.05 on; older ones refuse the field at once, before they look."""

ID_WIDTH, PATH_WIDTH = 40, 1040
"""Fixed widths of `squeue -O`: a path longer than that is cut, and then not believed."""

ACCOUNTING_BYTES = 32 * 1024 * 1024
"""Room for some 60,000 rows, steps included: an answer that is cut proves nothing about any job."""

SIDE_TIMEOUT = 20.0
"""Seconds for what the queue does not rest on: a controller that hangs shall not use up the cluster's time."""
_EPOCHS = ("env", "SLURM_TIME_FORMAT=%s")


def squeue(user: str, marks: Separators) -> Command:
    """Every active job of a user, one record each, array tasks apart."""
    form = marks.record + marks.field.join(code for _, code in SQUEUE_COLUMNS)
    return Command((*_EPOCHS, "squeue", "-h", "-a", "-r", "-u", user, "-o", form))


def squeue_paths(user: str) -> Command:
    """Where the running jobs of a user write, as fixed columns that no path can break."""
    form = f"JobArrayID:{ID_WIDTH},STDOUT:{PATH_WIDTH}"
    states = "RUNNING,COMPLETING,SUSPENDED"
    return Command(("squeue", "-h", "-a", "-r", "-u", user, "-t", states, "-O", form), timeout=SIDE_TIMEOUT)


def sacct(user: str, marks: Separators, hours: int, columns: Sequence[str] = SACCT_COLUMNS) -> Command:
    """Every job of a user in the window, its steps included."""
    return _sacct(("-u", user, "-S", f"now-{hours}hours"), columns, marks)


def sacct_ids(ids: Iterable[str], marks: Separators, columns: Sequence[str] = SACCT_COLUMNS) -> Command:
    """These jobs whenever they were, their steps included; the only form that lists jobs never eligible."""
    return _sacct(("-j", ",".join(ids)), columns, marks)


def sacct_paths(user: str, marks: Separators, hours: int) -> Command:
    """Where the jobs of the window wrote; unexpanded, and refused before 24.05."""
    return _sacct(("-X", "-u", user, "-S", f"now-{hours}hours"), STDOUT_COLUMNS, marks)


def _sacct(selection: Sequence[str], columns: Sequence[str], marks: Separators) -> Command:
    form = f"--format={','.join(columns)}"
    argv = (*_EPOCHS, "sacct", *selection, "-n", "-P", f"--delimiter={marks.field}", form)
    return Command(argv, max_bytes=ACCOUNTING_BYTES)


def hours_since(since: float, now: float) -> int:
    """Whole hours of the accounting window, one more than needed so that its edge is inside."""
    return max(1, math.ceil(max(0.0, now - since) / 3600) + 1)


def scontrol_job(job_id: str) -> Command:
    """What the controller still knows of one job."""
    return Command((*_EPOCHS, "scontrol", "show", "job", job_id, "-o"))


def ping() -> Command:
    """Whether the controller answers."""
    return Command(("scontrol", "ping"), timeout=SIDE_TIMEOUT)


def version() -> Command:
    """Slurm's version, without asking the controller."""
    return Command(("sinfo", "-V"), timeout=SIDE_TIMEOUT)


def reservations() -> Command:
    """All reservations, one a line."""
    return Command((*_EPOCHS, "scontrol", "show", "res", "-o"), timeout=SIDE_TIMEOUT)


def certificate(path: str) -> Command:
    """What a certificate says of itself, in UTC."""
    return Command(("env", "TZ=UTC", "ssh-keygen", "-L", "-f", path), timeout=SIDE_TIMEOUT)
