"""The logs beside a job's own: its serving engine's, its tunnel's and its upload's, each from where it was left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from sweeprules.collectors.logs import ask as files
from sweeprules.collectors.logs.find import FileStat, Listing, Stats, read_listing, read_stats
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.bundle import askable
from sweeprules.collectors.trials.jsontext import count
from sweeprules.collectors.trials.steps import Steps
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, Reason, Unknown
from sweeprules.engine.observation import Observation

AT_MOST = 2 * 1024 * 1024
"""Bytes read of one log in one sweep, as of a job's own."""
FIRST_SIGHT = 256 * 1024
KINDS = {
    "tunnel": re.compile(r".*pinggy.*\.(?:log|out|txt)", re.IGNORECASE | re.DOTALL),
    "engine": re.compile(r".*vllm.*\.(?:log|out|txt)", re.IGNORECASE | re.DOTALL),
    "upload": re.compile(r".*upload.*\.(?:log|out|txt)", re.IGNORECASE | re.DOTALL),
}


@dataclass(frozen=True, slots=True)
class SideLog:
    """The end of a log. What is new begins at byte `since`; `gap` says that bytes before the chunk were never read.

    `first`: no earlier sweep read it. `whole`: every byte of the log was read, now or in earlier sweeps. `mtime` is in
    epoch seconds of the file's own clock, `memo` what the next sweep starts from.
    """

    path: str
    chunk: Chunk
    since: int
    gap: bool
    whole: bool
    mtime: float
    memo: Mapping[str, Json]
    first: bool = False
    observation: Observation | None = None


Found = Mapping[str, SideLog | Absent | Unknown]
Owns = Callable[[str, str, str], bool]
"""Whether a job's log may be one in a directory with this name; takes job, directory and name."""


def _any(_job: str, _folder: str, _name: str) -> bool:
    return True


def sidelogs(
    directories: Mapping[str, Sequence[str]],
    memos: Mapping[str, Mapping[str, Json]],
    record: str,
    field: str,
    owns: Owns = _any,
) -> Steps[Mapping[str, Found]]:
    """By job, by kind (`tunnel`, `engine`, `upload`), the newest log of it in the job's directories; three rounds.

    Absent: every directory was listed and holds none of that kind. `memos` are by path, as earlier readings left them;
    `record` and `field` are the sweep's separators of `stat` records. What `owns` denies is passed over: in a directory
    of many jobs the newest log may be another's.
    """
    folders = tuple(dict.fromkeys(path.rstrip("/") or "/" for paths in directories.values() for path in paths))
    folders = tuple(path for path in folders if askable(path))
    if not folders:
        return MappingProxyType({})
    listed = yield tuple(files.listing(f"{path}/", newest_first=True) for path in folders)
    listings = dict.fromkeys(folders, NOT_READ) | {
        path: read_listing(one) for path, one in zip(folders, listed, strict=False)
    }
    chosen = {
        job: {kind: _newest(kind, paths, listings, partial(owns, job)) for kind in KINDS}
        for job, paths in directories.items()
    }
    wanted = tuple(dict.fromkeys(one for found in chosen.values() for one in found.values() if isinstance(one, str)))
    logs: dict[str, SideLog | Unknown] = {}
    if wanted:
        stats = read_stats((yield (files.stat(wanted, record, field),))[0], record, field)
        there = tuple(path for path in wanted if path in stats.there)
        begins = {path: _begin(stats.there[path], memos.get(path)) for path in there}
        ends = yield tuple(files.tail(path, begins[path], _size(stats, path) - begins[path]) for path in there)
        logs = {
            path: _log(path, stats.there[path], begins[path], one, memos)
            for path, one in zip(there, ends, strict=False)
        }
    return MappingProxyType({job: _filed(found, logs) for job, found in chosen.items()})


def _newest(
    kind: str, paths: Iterable[str], listings: Mapping[str, Listing | Unknown], owns: Callable[[str, str], bool]
) -> str | Absent | Unknown:
    """The newest log of a kind in the first directory that has one."""
    unknown: Unknown | None = None
    for folder in paths:
        listing = listings.get(folder.rstrip("/") or "/", NOT_READ)
        if isinstance(listing, Unknown):
            unknown = unknown or listing
            continue
        for name in listing.names:
            path = f"{folder.rstrip('/')}/{name}"
            if KINDS[kind].fullmatch(name) and askable(path) and owns(folder, name):
                return path
        if not listing.whole:
            unknown = unknown or Unknown(Reason.CUT, "the directory holds more names than are looked at")
    return unknown or ABSENT


def _size(stats: Stats, path: str) -> int:
    return stats.there[path].size


def _continues(stat: FileStat, memo: Mapping[str, Json] | None) -> int | None:
    """How far the file was read, when it is the one that was read before and was not cut short since."""
    if memo is None or (count(memo.get("device")), count(memo.get("inode"))) != (stat.device, stat.inode):
        return None
    offset = count(memo.get("offset"))
    return offset if offset is not None and offset <= stat.size else None


def _begin(stat: FileStat, memo: Mapping[str, Json] | None) -> int:
    """Where to read from: all that is new, 256 KiB of the end at least, 2 MiB at most."""
    last = max(0, stat.size - FIRST_SIGHT)
    offset = _continues(stat, memo)
    return max(min(last if offset is None else offset, last), stat.size - AT_MOST)


def _log(
    path: str, stat: FileStat, begin: int, observation: Observation, memos: Mapping[str, Mapping[str, Json]]
) -> SideLog | Unknown:
    if not observation.answered or (observation.exit != 0 and not observation.cut):
        return Unknown(Reason.READ_FAILED, observation.detail or f"{path} could not be read")
    memo = memos.get(path)
    since = _continues(stat, memo)
    gap = since is not None and begin > since
    whole = begin == 0 or (since is not None and not gap and memo is not None and memo.get("whole") is True)
    data = observation.stdout
    until = begin + max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    left: dict[str, Json] = {"device": stat.device, "inode": stat.inode, "offset": until, "whole": whole}
    chunk = Chunk(data, begin, whole_start=begin in (0, since))
    return SideLog(
        path,
        chunk,
        begin if since is None else since,
        gap,
        whole,
        stat.mtime,
        MappingProxyType(left),
        since is None,
        observation,
    )


def _filed(found: Mapping[str, str | Absent | Unknown], logs: Mapping[str, SideLog | Unknown]) -> Found:
    unread = Unknown(Reason.READ_FAILED, "the log could not be looked at")
    return MappingProxyType(
        {kind: logs.get(one, unread) if isinstance(one, str) else one for kind, one in found.items()}
    )
