"""Finds each job's log in two looks: `stat` of the paths that it should have, then listings where those are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sweeprules.collectors.logs.facts import FoundLog, Location
from sweeprules.collectors.logs.find import NOWHERE, Listing, Naming, Stats, expand, fallback_paths, loose
from sweeprules.engine.facts import ABSENT, Absent, Reason, Unknown

UNPRINTABLE = "\ufffd"
NO_LOG = Unknown(Reason.NO_LOG_BY_DESIGN, "the job's output goes to /dev/null")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path that may be the log, and the place that names it."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job whose log is sought. `ids` are its id and its raw id; `known_path` says that a scheduler's path was read.

    `beside` matches names in `beside_dir` that are the scheduler's path but for what only the node knew.
    """

    job_id: str
    candidates: tuple[Candidate, ...]
    workdir: str
    ids: tuple[str, ...]
    ended: bool
    known_path: bool
    name: str = ""
    beside_dir: str = ""
    beside: re.Pattern[str] | None = None
    to_nowhere: bool = False
    arrays: frozenset[str] = frozenset()

    @property
    def directories(self) -> tuple[str, ...]:
        """What is listed when no candidate is there."""
        return tuple(dict.fromkeys(path for path in (self.beside_dir, self.workdir) if usable(path)))


def usable(path: str) -> bool:
    """True for an absolute path that was read whole: every byte of it is known."""
    return path.startswith("/") and UNPRINTABLE not in path and "\0" not in path


def want(
    naming: Naming,
    job_id: str,
    templates: Sequence[tuple[str, str]],
    fallbacks: Sequence[str],
    *,
    ended: bool,
) -> Wanted:
    """What to look for. `templates` are (path as submitted, source), the most trusted first."""
    candidates: list[Candidate] = []
    beside_dir, beside = "", None
    for template, source in templates:
        path = expand(template, naming)
        if path == NOWHERE:
            return Wanted(job_id, (), naming.workdir, (), ended, True, naming.name, to_nowhere=True)
        candidates.append(Candidate(path, source))
        if beside is None:
            beside = loose(template, naming)
            beside_dir = path.rpartition("/")[0] if beside else ""
    candidates.extend(Candidate(path, "workdir") for path in fallback_paths(naming, fallbacks))
    whole = tuple(dict.fromkeys(item for item in candidates if usable(item.path)))
    ids = tuple(dict.fromkeys((job_id, naming.raw_id)))
    return Wanted(job_id, whole, naming.workdir, ids, ended, bool(templates), naming.name, beside_dir, beside)


def after_stat(wanted: Wanted, stats: Stats | None) -> FoundLog | Unknown | None:
    """The first candidate that is there; unknown when one before it could not be looked at; None: all are missing."""
    if wanted.to_nowhere:
        return NO_LOG
    if not wanted.candidates:
        return None
    if stats is None:
        return Unknown(Reason.NOT_READ)
    for candidate in wanted.candidates:
        stat = stats.there.get(candidate.path)
        if stat is not None:
            return FoundLog(candidate.path, candidate.source, stat, stats.clock, stats.observation)
        if candidate.path not in stats.missing:
            return Unknown(Reason.READ_FAILED, "the log could not be looked at")
    return None


def after_listing(wanted: Wanted, listings: Mapping[str, Listing | Unknown]) -> Candidate | Absent | Unknown:
    """The log among the listed names; absent when every place was listed whole and none holds it."""
    beside = _beside(wanted, listings)
    names, doubtful = _named(_names(listings.get(wanted.workdir)), wanted)
    if beside or names:
        directory, name, source = (wanted.beside_dir, beside, "scheduler") if beside else (
            wanted.workdir, names[0], "listing"
        )  # fmt: skip
        return Candidate(f"{directory.rstrip('/')}/{name}", source)
    if doubtful:
        return Unknown(Reason.READ_FAILED, "a file in the workdir may be this job's log or that of an array's task")
    unread = [listings.get(path) for path in wanted.directories]
    for listing in unread:
        if not isinstance(listing, Listing):
            return listing or Unknown(Reason.NOT_READ, "the directory was not listed")
        if not listing.whole:
            return Unknown(Reason.CUT, "the directory has more names than were read")
    if not unread or (not wanted.known_path and not wanted.ended):
        return Unknown(Reason.READ_FAILED, "where the log should be was not read")
    return ABSENT


def _names(listing: Listing | Unknown | None) -> tuple[str, ...]:
    return listing.names if isinstance(listing, Listing) else ()


def _beside(wanted: Wanted, listings: Mapping[str, Listing | Unknown]) -> str:
    """The one name that is the scheduler's path but for what only the node knew; empty when none or several are."""
    if wanted.beside is None:
        return ""
    names = [name for name in _names(listings.get(wanted.beside_dir)) if wanted.beside.fullmatch(name)]
    return names[0] if len(names) == 1 and UNPRINTABLE not in names[0] else ""


def _named(names: Iterable[str], wanted: Wanted) -> tuple[tuple[str, ...], bool]:
    """The names that hold the job's id, best first, and whether others might be a task of some array instead.

    `*_ID.out`; for an ended job `*[_-.]ID.*`, a blank or nothing before the id too. `11_2.out` is job 2's only when
    the job's own name is `11`; it is nobody's here when 11 is an array that we know. Output files come
    before others, short names before long ones.
    """
    number = "|".join(re.escape(job_id) for job_id in wanted.ids)
    tail = rf"(?P<mark>^|[_\-. ])(?:{number})\." if wanted.ended else rf"(?P<mark>_)(?:{number})\.out\Z"
    form = re.compile(tail, re.DOTALL)
    sure: list[str] = []
    doubtful = False
    for name in names:
        match = form.search(name)
        if match is None or UNPRINTABLE in name:
            continue
        before = name[: match.start("mark")]
        number_before = re.search(r"(?:^|[_\-.])(\d+)\Z", before)
        if number_before and before != wanted.name:
            doubtful = doubtful or number_before[1] not in wanted.arrays
        else:
            sure.append(name)
    return tuple(sorted(sure, key=lambda name: (not name.endswith(".out"), len(name), name))), doubtful


def found(candidate: Candidate, stats: Stats | None) -> Location:
    """The log that a listing named, looked at; unknown when it could not be."""
    stat = stats.there.get(candidate.path) if stats is not None else None
    if stats is None or stat is None:
        return Unknown(Reason.READ_FAILED, "the log was listed and could not be looked at")
    return FoundLog(candidate.path, candidate.source, stat, stats.clock, stats.observation)
