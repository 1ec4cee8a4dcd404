"""Where a job's log may be: Slurm's path expanded, the fallbacks beside it, and what `stat` and `ls` say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from sweeprules.engine.facts import Unknown
from sweeprules.engine.observation import Observation

NOWHERE = "/dev/null"
_CODE = re.compile(r"%(?:%|(\d*)([A-Za-z]))")
_MISSING = re.compile(r"(?:No such file or directory|Not a directory)$")


@dataclass(frozen=True, slots=True)
class Naming:
    """What the `%` codes of an output path stand for; `host` is the first node, `""` when unread."""

    job_id: str
    raw_id: str
    array_id: str
    task: int | None
    user: str
    name: str
    host: str
    workdir: str


def expand(template: str, naming: Naming) -> str:
    """The path that Slurm would open for a batch script, relative ones taken from the workdir.

    Codes that only the node knows get their usual value: the host's short name, node and task 0, step `batch`.
    """
    path = _CODE.sub(lambda found: _code(found, naming), template)
    return path if path.startswith("/") else str(PurePosixPath(naming.workdir or "/") / path)


def _code(found: re.Match[str], naming: Naming) -> str:
    if found[2] is None:
        return "%"
    values = {
        "j": naming.raw_id, "A": naming.array_id or naming.raw_id, "J": naming.raw_id,
        "a": "4294967294" if naming.task is None else str(naming.task),
        "b": "" if naming.task is None else str(naming.task % 10),
        "u": naming.user, "x": naming.name, "N": naming.host.partition(".")[0], "n": "0", "t": "0", "s": "batch",
    }  # fmt: skip
    value = values.get(found[2])
    if value is None:
        return found[0]
    width = min(int(found[1] or 0), 10)
    return value.zfill(width) if value.isdigit() else value


def loose(template: str, naming: Naming) -> re.Pattern[str] | None:
    """Matches the names beside the path that differ from it only where the node decides; None without such codes."""
    directory, _, name = template.rpartition("/")
    if not any(found[2] in "NntsJ" for found in _CODE.finditer(name) if found[2]):
        return None
    if any(found[2] in "NntsJ" for found in _CODE.finditer(directory) if found[2]):
        return None
    parts: list[str] = []
    at = 0
    for found in _CODE.finditer(name):
        parts.append(re.escape(name[at : found.start()]))
        node = found[2] is not None and found[2] in "NntsJ"
        parts.append("[^/]+" if node else re.escape(_code(found, naming)))
        at = found.end()
    return re.compile("".join((*parts, re.escape(name[at:]))))


def fallback_paths(naming: Naming, fallbacks: Sequence[str]) -> tuple[str, ...]:
    """The record's `log_fallbacks` (`data_{job_id}.out`) in the workdir."""
    if not naming.workdir:
        return ()
    names = (form.replace("{job_id}", naming.raw_id).replace("{array_id}", naming.array_id) for form in fallbacks)
    return tuple(str(PurePosixPath(naming.workdir) / name) for name in names)


@dataclass(frozen=True, slots=True)
class FileStat:
    """Device, inode, size in bytes, mtime in epoch seconds of the file's own clock."""

    device: int
    inode: int
    size: int
    mtime: float


@dataclass(frozen=True, slots=True)
class Stats:
    """The files that are there, those proved missing, and the remote clock of the same call (None: unread)."""

    there: Mapping[str, FileStat]
    missing: frozenset[str]
    clock: float | None
    observation: Observation


def read_stats(observation: Observation, record: str, field: str) -> Stats:
    """One `xargs -0 stat`.

    A path is missing when stderr says so of as many files as have no record, or of it by name.
    """
    there: dict[str, FileStat] = {}
    for chunk in observation.text().split(record)[1:]:
        parts = chunk.split(field)
        if len(parts) == 5 and all(part.isdigit() for part in parts[:3]) and re.fullmatch(r"-?\d+", parts[3]):
            there[parts[4]] = FileStat(int(parts[0]), int(parts[1]), int(parts[2]), float(parts[3]))
    absent = [path for path in observation.items if path not in there]
    return Stats(
        MappingProxyType(there),
        _missing(absent, observation) if observation.answered and not observation.cut else frozenset(),
        observation.remote_clock,
        observation,
    )


def _missing(absent: Sequence[str], observation: Observation) -> frozenset[str]:
    lines = observation.stderr.decode("utf-8", "replace").splitlines()
    gone = [line for line in lines if _MISSING.search(line)]
    if len(gone) == len(lines) == len(absent):
        return frozenset(absent)
    return frozenset(path for path in absent if any(f"'{path}':" in line for line in gone))


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in a directory; `whole` is False when the output was cut (then a name not in it proves nothing)."""

    names: tuple[str, ...]
    whole: bool
    observation: Observation


def read_listing(observation: Observation) -> Listing | Unknown:
    """One `ls --quoting-style=c`. A directory that is not there is a whole listing without names."""
    if observation.answered and observation.exit == 2 and not observation.stdout:
        lines = observation.stderr.decode("utf-8", "replace").strip().splitlines()
        if len(lines) == 1 and _MISSING.search(lines[0]):
            return Listing((), True, observation)
    cut = observation.cut > 0
    if not observation.answered or (observation.exit != 0 and not cut) or observation.stderr.strip():
        return Unknown("read-failed", observation.detail or "the directory could not be listed")
    lines = observation.stdout.decode("ascii", "replace").split("\n")
    whole_lines = lines[:-1] if lines[-1] or cut else lines
    return Listing(tuple(_unquote(line) for line in whole_lines if line), not cut, observation)


def _unquote(line: str) -> str:
    """A C string as `ls` prints it: octal bytes are UTF-8; what is not becomes U+FFFD, and such a name is no path."""
    inner = line.removeprefix('"').removesuffix('"')
    data = re.sub(r"\\(?:([0-7]{3})|(.))", _escape, inner).encode("latin-1", "replace")
    return data.decode("utf-8", "replace")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _escape(found: re.Match[str]) -> str:
    return chr(int(found[1], 8)) if found[1] else _ESCAPES.get(found[2], found[2])
