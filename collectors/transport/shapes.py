"""The one list of what may be run on a cluster, as data.

A shape is a program, the words that must follow it, the options it may carry and what may stand after them. What is
not described here can not be sent. A short option's value is the next word; a long option's value is joined by `=`
(`long_values_apart` marks the tools that also take it as the next word).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TEXT = r"[^\0\n\r]*"
FORMAT = r"[^\0\n\r]+"
USERS = r"[A-Za-z0-9_][A-Za-z0-9_.,@$-]*"
STATES = r"[A-Za-z_]+(,[A-Za-z_]+)*"
JOBS = r"[0-9][0-9A-Za-z_.,+%\[\]-]*"
NAMES = r"[A-Za-z0-9_][A-Za-z0-9_.,-]*"
TIME = r"[0-9A-Za-z][0-9A-Za-z:+/.-]*"
COUNT = r"[0-9]{1,15}"
OFFSET = r"\+?[0-9]{1,15}"
PATH = r"[^\0]+"
PATH_VALUE = r"[^\0\n\r]+"
REF = r"[A-Za-z0-9_@][A-Za-z0-9_./@{}~^-]*"


@dataclass(frozen=True, slots=True)
class Shape:
    """What one kind of command looks like.

    `flags` take no value, `values` map an option to the pattern of its whole value; single-letter flags may be
    clustered (`-Xn`). `global_flags` and `global_values` stand before `words`. `required` must all be given, and at
    least one of `one_of`. `operands` is how many words may stand after the options, each matching `operand`; `dashes`
    says that they must stand behind `--`, because users name them. `lead` is the pattern of one word that may stand
    before `--`.
    """

    kind: str
    program: str
    words: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    global_flags: frozenset[str] = frozenset()
    global_values: Mapping[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    one_of: frozenset[str] = frozenset()
    operands: tuple[int, int] = (0, 0)
    operand: str = PATH
    dashes: bool = False
    lead: str = ""
    long_values_apart: bool = False

    def __str__(self) -> str:
        return " ".join((self.program, *self.words))


MANY = 100_000


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ONE_LINE = _set("-o --oneliner")

SLURM = (
    Shape(
        "squeue",
        "squeue",
        flags=_set("-h --noheader -a --all -r --array --me --json"),
        values={
            "-o": FORMAT,
            "--format": FORMAT,
            "-O": FORMAT,
            "--Format": FORMAT,
            "-u": USERS,
            "--user": USERS,
            "-t": STATES,
            "--states": STATES,
            "-j": JOBS,
            "--jobs": JOBS,
            "-p": NAMES,
            "--partition": NAMES,
            "-M": NAMES,
            "--clusters": NAMES,
        },
        one_of=_set("-o --format -O --Format --json"),
    ),
    Shape(
        "sacct",
        "sacct",
        flags=_set("-X --allocations -n --noheader -P --parsable2 -D --duplicates --json"),
        values={
            "-u": USERS,
            "--user": USERS,
            "-S": TIME,
            "--starttime": TIME,
            "-E": TIME,
            "--endtime": TIME,
            "-j": JOBS,
            "--jobs": JOBS,
            "-s": STATES,
            "--state": STATES,
            "-o": FORMAT,
            "--format": FORMAT,
            "--delimiter": FORMAT,
            "-M": NAMES,
            "--clusters": NAMES,
            "--units": "[KMGTP]",
        },
        one_of=_set("-o --format --json"),
    ),
    *(
        Shape(
            "scontrol-job",
            "scontrol",
            ("show", word),
            global_flags=_ONE_LINE,
            flags=_ONE_LINE | {"--json"},
            operands=(0, 1),
            operand=JOBS,
        )
        for word in ("job", "jobs")
    ),
    *(
        Shape(
            "scontrol-reservation",
            "scontrol",
            ("show", word),
            global_flags=_ONE_LINE,
            flags=_ONE_LINE | {"--json"},
            operands=(0, 1),
            operand=NAMES,
        )
        for word in ("res", "reservation", "reservations")
    ),
    Shape("scontrol-config", "scontrol", ("show", "config")),
    Shape("scontrol-ping", "scontrol", ("ping",), flags=_set("--json")),
    *(
        Shape("slurm-version", program, flags=_set("-V --version"), one_of=_set("-V --version"))
        for program in ("scontrol", "sinfo", "squeue", "sacct")
    ),
    Shape(
        "sinfo",
        "sinfo",
        flags=_set("-h --noheader -N --Node -a --all -r --responding -R --list-reasons --json"),
        values={
            "-o": FORMAT,
            "--format": FORMAT,
            "-O": FORMAT,
            "--Format": FORMAT,
            "-t": STATES,
            "--states": STATES,
            "-p": NAMES,
            "--partition": NAMES,
            "-M": NAMES,
            "--clusters": NAMES,
        },
        one_of=_set("-o --format -O --Format --json"),
    ),
)

FILES = (
    Shape(
        "stat",
        "stat",
        flags=_set("-L --dereference"),
        values={"-c": TEXT, "--format": TEXT, "--printf": TEXT},
        one_of=_set("-c --format --printf"),
        operands=(1, MANY),
        dashes=True,
    ),
    Shape(
        "head", "head", flags=_set("-q -v"), values={"-c": COUNT}, required=_set("-c"), operands=(1, MANY), dashes=True
    ),
    Shape(
        "tail", "tail", flags=_set("-q -v"), values={"-c": OFFSET}, required=_set("-c"), operands=(1, MANY), dashes=True
    ),
    Shape(
        "grep",
        "grep",
        flags=_set("-F -a -c -n -b -h -H -s"),
        values={"-e": FORMAT, "-m": COUNT},
        required=_set("-F -e"),
        operands=(1, MANY),
        dashes=True,
    ),
    Shape(
        "ls",
        "ls",
        flags=_set("-1 -A -a -l -n -f -U -t -L -b -Q -N --zero --full-time"),
        values={
            "--time-style": r"(full-iso|long-iso|iso|\+%s(\.%N)?)",
            "--quoting-style": "(literal|c|escape|shell-escape-always)",
        },
        operands=(1, 1),
        dashes=True,
    ),
    Shape("cat", "cat", operands=(1, 1), dashes=True),
    Shape("date", "date", operands=(1, 1), operand=r"\+%s(\.%N)?"),
    Shape("df", "df", flags=_set("-i -P -k"), one_of=_set("-i -P"), operands=(1, 64)),
    Shape("cert", "ssh-keygen", flags=_set("-L"), values={"-f": PATH_VALUE}, required=_set("-L -f")),
)

_GIT_FLAGS = _set("--no-optional-locks --no-pager")
_GIT_VALUES = {"-C": PATH_VALUE}
_SUBMODULES = {"--ignore-submodules": "(all|dirty|untracked)"}

GIT = (
    Shape(
        "git-status",
        "git",
        ("status",),
        global_flags=_GIT_FLAGS,
        global_values=_GIT_VALUES,
        flags=_set("--short --porcelain -s -z --branch --no-renames"),
        values={"--porcelain": "v[12]", "--untracked-files": "(no|normal|all)", **_SUBMODULES},
        required=_set("-C --no-optional-locks"),
        one_of=_set("--short --porcelain -s"),
    ),
    Shape(
        "git-diff",
        "git",
        ("diff",),
        global_flags=_GIT_FLAGS,
        global_values=_GIT_VALUES,
        flags=_set("--stat --numstat --shortstat --no-color --no-renames --no-ext-diff --no-textconv -z"),
        values={"--stat": "[0-9,]+", **_SUBMODULES},
        required=_set("-C --no-optional-locks --no-ext-diff --no-textconv"),
        one_of=_set("--stat --numstat --shortstat"),
        operands=(1, MANY),
        dashes=True,
        lead=REF,
    ),
)

QUOTA = (
    Shape(
        "jutil",
        "jutil",
        ("project", "dataquota"),
        values={
            "-p": NAMES,
            "--project": NAMES,
            "-o": "(json|parsable|columns)",
            "--output": "(json|parsable|columns)",
            "-U": "[KMGTP]B",
            "--unit": "[KMGTP]B",
        },
        one_of=_set("-p --project"),
        long_values_apart=True,
    ),
    Shape(
        "lfs-quota",
        "lfs",
        ("quota",),
        flags=_set("-q -h"),
        values={"-u": USERS, "-g": USERS, "-p": COUNT},
        operands=(1, 1),
    ),
    Shape(
        "mmlsquota",
        "mmlsquota",
        flags=_set("-Y"),
        values={"-j": NAMES, "-u": USERS},
        one_of=_set("-j -u"),
        operands=(0, 1),
        operand=r"[A-Za-z0-9_./:][A-Za-z0-9_./:-]*",
    ),
    Shape("cindata", "cindata", flags=_set("-h"), values={"-f": COUNT}),
    Shape("taccinfo", "taccinfo"),
    Shape("taccinfo", "/usr/local/etc/taccinfo"),
)

SHAPES: tuple[Shape, ...] = (*SLURM, *FILES, *GIT, *QUOTA)

XARGS_PROGRAMS = frozenset({"stat", "tail", "head"})
"""What may stand behind `xargs -0`; the files follow as items."""

ENVIRONMENT: Mapping[str, str] = {
    "SLURM_TIME_FORMAT": r"(%s|standard|relative|%[A-Za-z](?:[T :/.-]?%[A-Za-z])*)",
    "LC_ALL": r"(C|POSIX|C\.UTF-8)",
    "TZ": "UTC",
}
"""The variables that `env` may set, and to what."""
