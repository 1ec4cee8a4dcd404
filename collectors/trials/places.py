"""Where a job's results may lie: directories by its own words and by the site's, for a first look and the next ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal

from sweeprules.collectors.trials.bundle import askable
from sweeprules.engine.facts import FactValue

Kind = Literal["trials", "suite"]
MOST = 12
"""Directories that are looked into for one job."""
TRACES = "trace_jobs"
_OPTION = r"(?:^|[\s\"'])--?{names}[= ][\"']?([^\s\"']+)"
_TRIALS_DIR = re.compile(r"(?:^|[\s\"'])(?:--)?(?:[\w.]+\.)?trials[-_]dir[= ][\"']?([^\s\"']+)")
_JOBS_DIR = re.compile(_OPTION.format(names="(?:jobs[-_]dir|eval[-_]jobs[-_]dir)"))
_JOB_NAME = re.compile(_OPTION.format(names="job[-_]name"))
_EXPERIMENTS = re.compile(_OPTION.format(names="experiments?[-_]dir"))
_OUTPUT = re.compile(_OPTION.format(names="output[-_](?:path|dir)"))
_PLAIN = frozenset({"eval", "data", "datagen", "run", "job", "test"})
_STANDARD = re.compile(r"^(?:delphi-eval-|delphi-think-eval-?|evalchemy-eval-?)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job whose results are looked for.

    `kept` is the directory in which an earlier sweep found them. `labels` are the names that its directories may bear.
    `log_folder` and `run_dir` are empty where they are not known. `experiments` and `eval_jobs` are the site's.
    `alone` says that no job of another name has this workdir.
    """

    job_id: str
    kind: Kind
    bucket: str
    labels: tuple[str, ...]
    workdir: str = ""
    command: str = ""
    log_folder: str = ""
    run_dir: str = ""
    experiments: tuple[str, ...] = ()
    eval_jobs: tuple[str, ...] = ()
    kept: str = ""
    alone: bool = False

    @property
    def identity(self) -> str:
        """What it has in common with jobs that may share its directories."""
        return identity_of(self.job_id, self.labels)

    def names(self, path: str) -> bool:
        """Whether a directory on the way bears one of the job's names, and not one that any job may have."""
        parts = PurePosixPath(path).parts
        return any(label in parts for label in self.labels if label.lower() not in _PLAIN)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory: `sure` says that it is the job's even when nothing is in it yet, `named` that it can be no other's.

    In one that is not named, several jobs' directories may lie side by side.
    """

    path: str
    sure: bool
    named: bool = True


def labels_of(facts: Mapping[str, FactValue]) -> tuple[str, ...]:
    """The run tag and the name, as far as they can be the name of a directory."""
    found = [facts.get("run_tag"), facts.get("name")]
    texts = [one for one in found if isinstance(one, str) and one]
    # A resume goes on in the directory of the evaluation that it resumes.
    texts += [f"eval_{one.removeprefix('res_')}" for one in texts if one.startswith("res_")]
    return tuple(dict.fromkeys(one for one in texts if "/" not in one and one not in (".", "..")))


def identity_of(job_id: str, labels: Sequence[str]) -> str:
    """What two jobs have in common that may share a directory: a name that says something; nothing in an array."""
    first = labels[0] if labels else ""
    return f"job {job_id}" if first.lower() in _PLAIN or not first or "_" in job_id else first


def places(wanted: Wanted) -> tuple[Place, ...]:
    """The directories to look into, the likeliest first, at most `MOST`; only the known one where there is one."""
    if wanted.kept:
        return (Place(wanted.kept, True),)
    told = _told_suite(wanted) if wanted.kind == "suite" else _told_trials(wanted)
    guessed = _guessed_suite(wanted) if wanted.kind == "suite" else _guessed_trials(wanted)
    paths: dict[str, Place] = {}
    for path, sure in told:
        if plain := _plain(path):
            paths.setdefault(plain, Place(plain, sure))
    for path, sure in guessed:
        plain = _plain(path)
        named = wanted.names(plain)
        if plain and (named or wanted.alone):
            paths.setdefault(plain, Place(plain, sure, named))
    return tuple(paths.values())[:MOST]


def _plain(path: str) -> str:
    """The path without a last slash or a `.`; empty for one that is not whole, or that a shell would have to read."""
    if not path.startswith("/") or not askable(path) or any(mark in path for mark in ("$", "`", "~", "*")):
        return ""
    parts = PurePosixPath(path)
    return "" if ".." in parts.parts or len(parts.parts) < 3 else str(parts)


def _told_trials(wanted: Wanted) -> Iterator[tuple[str, bool]]:
    """What the command or the run's own directory says."""
    for path in _told(_TRIALS_DIR, wanted):
        yield path, True
    for path in _told(_JOBS_DIR, wanted):
        yield from ((f"{path}/{name}", True) for name in (*_JOB_NAME.findall(wanted.command), *wanted.labels))
    if wanted.run_dir:
        yield from _of_run(wanted.run_dir, wanted.labels)


def _guessed_trials(wanted: Wanted) -> Iterator[tuple[str, bool]]:
    names, work = wanted.labels, wanted.workdir
    for path in wanted.eval_jobs if wanted.bucket == "eval" else ():
        yield from ((f"{path}/{name}", True) for name in names)
    for path in (*_told(_EXPERIMENTS, wanted), *wanted.experiments):
        yield from (place for name in names for place in _of_run(f"{path}/{name}", (name,)))
        yield from ((f"{path}/{TRACES}/{name}", True) for name in names)
    if work:
        yield from ((f"{work}/{TRACES}/{name}", True) for name in names)
        yield from ((f"{work}/jobs/{name}", True) for name in names)
    parent = _parent_of_logs(wanted.log_folder)
    if parent:
        yield from _of_run(parent, names)
    if work:
        yield f"{work}/{TRACES}", True


def _of_run(root: str, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """In a run's directory its traces, once or twice nested, or the trials themselves."""
    yield f"{root}/{TRACES}", True
    yield from ((f"{root}/{name}/{TRACES}", True) for name in names)
    yield root, False


def _told_suite(wanted: Wanted) -> Iterator[tuple[str, bool]]:
    for path in _told(_OUTPUT, wanted):
        yield path, True
    if wanted.run_dir:
        yield wanted.run_dir, True


def _guessed_suite(wanted: Wanted) -> Iterator[tuple[str, bool]]:
    names = [name for name in (*wanted.labels, *(_STANDARD.sub("", one) for one in wanted.labels)) if name]
    for path in (*_told(_EXPERIMENTS, wanted), *wanted.experiments):
        yield from ((f"{path}/delphi-eval/{name}", True) for name in names)
        yield from ((f"{path}/{name}", True) for name in names)
    if wanted.workdir:
        yield from ((f"{wanted.workdir}/results/{name}", True) for name in names)
        yield f"{wanted.workdir}/results", True


def _told(option: re.Pattern[str], wanted: Wanted) -> Iterator[str]:
    """The directories that the command names, those below the workdir made whole."""
    for path in option.findall(wanted.command):
        yield path if path.startswith("/") or not wanted.workdir else f"{wanted.workdir}/{path}"


def _parent_of_logs(folder: str) -> str:
    """The run's directory where its log lies in a directory `logs` of it."""
    path = PurePosixPath(folder)
    return str(path.parent) if path.name == "logs" else ""


def directories(asked: Iterable[Wanted], most: int) -> Mapping[str, tuple[Place, ...]]:
    """The directories to look into by job, `most` in all: those where results were found before come first.

    A directory that two jobs without a name in common would take for theirs is nobody's.
    """
    found = {one.job_id: (one, places(one)) for one in asked}
    claims: dict[str, set[str]] = {}
    for one, some in found.values():
        for place in some:
            claims.setdefault(place.path, set()).add(one.identity)
    taken: dict[str, tuple[Place, ...]] = {}
    paths: set[str] = set()
    for job_id, (_, some) in sorted(found.items(), key=lambda item: not item[1][0].kept):
        own = tuple(place for place in some if len(claims[place.path]) == 1)
        more = {place.path for place in own} - paths
        if len(paths) + len(more) <= most:
            paths |= more
            taken[job_id] = own
    return MappingProxyType(taken)


def beside(wanted: Wanted, found: Iterable[Place]) -> tuple[str, ...]:
    """Where the logs beside a job's own may lie: with its trials, above them, and with its own log."""
    roots = [place.path for place in found]
    above = [_above(root) for root in roots]
    logs = [f"{root}/logs" for root in above if root]
    own = [wanted.log_folder, wanted.workdir, f"{wanted.workdir}/logs" if wanted.workdir else ""]
    paths = [*roots, *(root for root in above if root), *logs, *own] if wanted.kept else [*own, *roots]
    return tuple(dict.fromkeys(plain for path in paths if (plain := _plain(path))))[:MOST]


def run_of(path: str) -> str:
    """The run's directory, of one that holds its trials: what is above its traces, else that itself."""
    return _above(path) or path


def _above(path: str) -> str:
    """The run's directory, of one that holds its trials: what is above its traces."""
    parts = PurePosixPath(path)
    for at, part in enumerate(parts.parts):
        if part == TRACES:
            return str(PurePosixPath(*parts.parts[:at]))
    return ""


def is_own(wanted: Wanted, folder: str, name: str) -> bool:
    """Whether a log beside is the job's: by its folder, which is the job's alone, or by its own name."""
    if wanted.names(folder) or (wanted.alone and _within(folder, wanted.workdir)) or _within(folder, wanted.kept):
        return True
    base = wanted.job_id.partition("_")[0]
    if re.search(rf"(?<!\d){re.escape(base)}(?!\d)", name):
        return True
    return any(label in name for label in wanted.labels if label.lower() not in _PLAIN)


def _within(folder: str, root: str) -> bool:
    return bool(root) and (folder == root or folder.startswith(f"{root}/"))
