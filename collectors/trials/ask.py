"""What is asked of directories of trials: one listing each, and bounded reads of many files in one command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sweeprules.collectors.logs import ask as files
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.trials.bundle import askable, heads, tails
from sweeprules.collectors.trials.memo import name_hash

KIB = 1024
MIB = 1024 * KIB
EACH = 64 * KIB
"""Bytes read of one trial's result; real ones hold 4 to 7 KiB, one with token ids megabytes."""
AGGREGATE = 4 * MIB
"""Bytes read of a job's aggregate: it names every trial twice, 20,000 of them in 2 to 3 MiB."""
PER_COMMAND = 1000
"""Results asked for in one command: with so few, what it complains of names every trial that still runs."""
BUDGET = 64 * MIB
"""Bytes of results that one sweep reads, over all directories."""
END = 32 * KIB
"""Bytes read of the end of a long result: what follows the agent's part, a traceback among it."""
ENDS = 32 * MIB
"""Bytes of such ends that one sweep reads, whatever was spent on results before."""
PART = 8 * MIB
"""Bytes that one command may print."""
AGAIN = 64
"""Results asked for in one command the second time: few enough that each missing one is named."""
SAMPLE = 24
"""Trajectories read of one directory in one sweep, of trials that are newly done."""
TRAJECTORY_HEAD = 128 * KIB
TRAJECTORY_TAIL = 16 * KIB
VERIFIER_TAIL = 8 * KIB
MAX_INNER = 8
"""Directories inside `trace_jobs` that are looked into."""

_TRIAL = re.compile(r".+__[A-Za-z0-9-]{1,40}", re.DOTALL)
_FILE = re.compile(r"(?:\A\.|\.(?:jsonl?|log|out|err|txt|md|ya?ml|sh|sbatch|env|csv|tsv|parquet|py|gz|pt|html|lock)\Z)")
_OF_A_JOB = frozenset({"config.json", "result.json", "lock.json", "job.log"})
_NO_JOB = frozenset({"agent", "artifacts", "steps", "verifier", "logs", "tasks"})


def listing(directory: str) -> Command:
    """The names in one directory, at depth 1; a file in its place is an error."""
    return files.listing(f"{directory.rstrip('/')}/")


def is_trial(name: str) -> bool:
    """True for a name of the form `TASK__ID`, as directories of trials have."""
    return _TRIAL.fullmatch(name) is not None


def may_be_directory(name: str) -> bool:
    """False for a name that ends as files do, and for one that is not text."""
    return _FILE.search(name) is None and "\ufffd" not in name


def inner(names: Sequence[str]) -> tuple[str, ...]:
    """The names in a directory that may be jobs in it, at most `MAX_INNER`; none when it is a job's own.

    A job's name may look like a trial's (`datagen__set__model`), so where nothing shows that a directory is a job's
    own and only a few names are in it, all of them are looked into. A trial holds no trials.
    """
    if any(name in _OF_A_JOB for name in names):
        return ()
    found = sorted(name for name in names if may_be_directory(name) and name not in _NO_JOB)
    if len(found) > MAX_INNER:
        found = [] if any(is_trial(name) for name in found) else found[:MAX_INNER]
    return tuple(found)


def result_path(root: str, name: str) -> str:
    """Where a trial's result is written once it has ended."""
    return f"{root}/{name}/result.json"


def aggregates(roots: Sequence[str], nonce: str) -> tuple[Command, ...]:
    """The jobs' own `result.json` and `config.json`; nothing when there is no directory."""
    paths = [path for root in roots for path in (f"{root}/result.json", f"{root}/config.json") if askable(path)]
    return (heads(paths, AGGREGATE, nonce, BUDGET),) if paths else ()


def configs(paths: Sequence[str], nonce: str) -> tuple[Command, ...]:
    """The configs of some trials; nothing when there is none."""
    return (heads(paths, EACH, nonce, PART),) if paths else ()


def results(paths: Sequence[str], nonce: str, budget: int) -> tuple[Command, ...]:
    """The results at `paths`, as many as `budget` bytes allow at a first guess; the others wait."""
    return _parted(paths, PER_COMMAND, nonce, budget, PART)


def results_again(paths: Sequence[str], nonce: str, budget: int) -> tuple[Command, ...]:
    """The same in small commands, for what was being written, not reached or not named the first time."""
    return _parted(paths, AGAIN, nonce, budget, AGAIN * EACH // 2)


def result_ends(paths: Sequence[str], nonce: str) -> tuple[Command, ...]:
    """The ends of results that are longer than what is read of one, as many as fit into `ENDS`."""
    few = paths[: ENDS // END]
    return (tails(few, END, nonce, ENDS),) if few else ()


def samples(directories: Sequence[str], nonce: str) -> tuple[Command, ...]:
    """Both ends of the trajectories of some trials, and the ends of what their verifiers said."""
    if not directories:
        return ()
    trajectories = [trajectory_path(one) for one in directories]
    return (
        heads(trajectories, TRAJECTORY_HEAD, nonce, PART),
        tails(trajectories, TRAJECTORY_TAIL, nonce, PART),
        tails([verifier_path(one) for one in directories], VERIFIER_TAIL, nonce, PART),
    )


def trajectory_path(directory: str) -> str:
    """Where the agent writes its steps."""
    return f"{directory}/agent/trajectory.json"


def verifier_path(directory: str) -> str:
    """Where the verifier's output is kept."""
    return f"{directory}/verifier/test-stdout.txt"


def spread(names: Iterable[str], most: int) -> tuple[str, ...]:
    """At most `most` of the names, chosen by hash: the same at each replay, and of every kind of task."""
    return tuple(sorted(sorted(names, key=lambda name: (name_hash(name), name))[:most]))


def _parted(paths: Sequence[str], size: int, nonce: str, budget: int, part: int) -> tuple[Command, ...]:
    return tuple(heads(one, EACH, nonce, part) for one in _parts(paths, size, budget // part))


def _parts(paths: Sequence[str], size: int, most: int) -> Iterator[Sequence[str]]:
    for at in range(0, min(len(paths), size * most), size):
        yield paths[at : at + size]
