"""The directory that a run writes to: as its command or its log names it, or where the site's record says runs lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import TRIES, line_end, line_start
from sweeprules.engine.facts import FactValue, Reason, Unknown
from sweeprules.engine.site import ClusterRecord

MOST = 4
"""Directories that are looked into for one run."""
LONGEST = 1024
"""Bytes of a path that is believed."""
_NAMES = r"(?:output[-_]dir|ckpt[-_]path|run[-_]dir)"
_VALUE = r"['\"]?[ \t]*[:= ][ \t]*['\"]?(?P<path>[^\s'\",;|&<>(){}\[\]]+)"
_OPTION = re.compile(rf"(?:^|[\s\"'])(?:--|\+{{0,2}}(?:[\w-]+\.){{0,4}}){_NAMES}{_VALUE}")
_PRINTED = re.compile(rf"(?<![\w/-]){_NAMES}{_VALUE}".encode())
_SAVED = re.compile(
    rb"(?:Saving model checkpoint to|[Cc]onfiguration saved in|weights saved in|index located at) (?P<path>\S+)"
)
_LITERALS = (
    (b"output_dir", _PRINTED),
    (b"ckpt_path", _PRINTED),
    (b"Saving model checkpoint to ", _SAVED),
    (b"onfiguration saved in ", _SAVED),
    (b"weights saved in ", _SAVED),
    (b"index located at ", _SAVED),
)
_BACK = 40
_WITHIN = re.compile(r"/(?:checkpoint-\d+|global_step_\d+)(?:/.*)?\Z", re.DOTALL)
_FILE = re.compile(r"/[^/]+\.(?:json|safetensors|bin)\.?\Z")
_PARTS = frozenset({"checkpoints", "ckpts", "ckpt", "exports"})
_READ_BY_A_SHELL = frozenset("$`~*?\\\0\ufffd\n\r")
_NOT_WHOLE = Unknown(Reason.NOT_READ, "what is named is no whole path of a directory of its own")
_UNNAMED = Unknown(Reason.NOT_READ, "neither the command nor what was read of the log names it")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory that may be the run's. `sure` says that the run named it; else what it holds has to show it."""

    path: str
    sure: bool


def in_log(chunk: Chunk, before: str = "") -> str:
    """The directory that the newest line of a log names, as it stands there; `before` where no line does.

    A line of a save counts as well as a setting. The path may be a relative one.
    """
    found = [one for literal, regex in _LITERALS if (one := _newest(chunk, literal, regex)) is not None]
    return max(found)[1] if found else before


def run_directory(facts: Mapping[str, FactValue], said: str = "") -> FactValue:
    """The fact `run_dir` by the job's command, else by what its log `said`; unknown where neither names a whole path.

    Never absent: a configuration, which could name it as well, is not read.
    """
    command = facts.get("command")
    if isinstance(command, Unknown) and not said:
        return command
    named = _by_command(facts)
    paths = tuple(dict.fromkeys(path for one in named if (path := _whole(one))))
    if len(paths) > 1:
        return Unknown(Reason.CONFLICT, "the command names several directories")
    if paths:
        return _root(paths[0])
    path = _whole(said)
    if path:
        return _root(path)
    return _NOT_WHOLE if said or named else _UNNAMED


def places(facts: Mapping[str, FactValue], said: str, record: ClusterRecord, bucket: str) -> tuple[Place, ...]:
    """The directories to look into for a run, the likeliest first: the one it names alone, where it names a whole one.

    Else those below the workdir and those that the record names, by the run's tag and the job's name.
    """
    sure = run_directory(facts, said)
    if isinstance(sure, str):
        return (Place(sure, True),)
    paths = dict.fromkeys(path for path in _guesses(facts, said, record, bucket) if _whole(path))
    return tuple(Place(path, False) for path in paths)[:MOST]


def _guesses(facts: Mapping[str, FactValue], said: str, record: ClusterRecord, bucket: str) -> Iterator[str]:
    workdir = facts.get("workdir")
    if isinstance(workdir, str):
        for one in (*_by_command(facts), said):
            plain = _root(one.removeprefix("./")) if one and not one.startswith("/") else ""
            if plain:
                yield f"{workdir.rstrip('/')}/{plain}"
    kinds = ("rl_checkpoints", "experiments") if bucket == "rl" else ("experiments",)
    for root in (root for kind in kinds for root in record.paths.get(kind, ())):
        yield from (f"{root.rstrip('/')}/{label}" for label in _labels(facts))


def _labels(facts: Mapping[str, FactValue]) -> tuple[str, ...]:
    """What the run's own directory may be called; a name that was cut is no such name."""
    names = (facts.get("run_tag"), facts.get("name") if facts.get("name_cut") is False else None)
    texts = [one for one in names if isinstance(one, str) and one and "/" not in one and one not in (".", "..")]
    return tuple(dict.fromkeys(texts))


def _by_command(facts: Mapping[str, FactValue]) -> tuple[str, ...]:
    command = facts.get("command")
    return tuple(found["path"] for found in _OPTION.finditer(command)) if isinstance(command, str) else ()


def _newest(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes]) -> tuple[int, str] | None:
    text = chunk.text
    at = text.rfind(literal, chunk.begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        start = max(line_start(text, at, chunk.begin), at - _BACK)
        found = regex.search(text, start, min(line_end(text, at), at + len(literal) + LONGEST))
        if found is not None and found.end() < len(text):
            return found.start(), found["path"].decode("utf-8", "replace")
        at = text.rfind(literal, chunk.begin, at)
    return None


def _root(path: str) -> str:
    """The run's directory of a path in it: without a checkpoint, a file of one, or the folder that holds them."""
    below = "" if path.startswith("/") else "/"
    path = _FILE.sub("", _WITHIN.sub("", below + path)).removeprefix(below)
    above, _, last = path.rstrip("/").rpartition("/")
    return above if last in _PARTS and above.count("/") > 1 else path.rstrip("/")


def _whole(path: str) -> str:
    """The path as it stands when it is absolute, of a run's depth, and says the same to a shell; else nothing."""
    parts = path.split("/")
    deep = len([part for part in parts if part]) >= 3
    plain = _READ_BY_A_SHELL.isdisjoint(path) and len(path) <= LONGEST and ".." not in parts
    return path if path.startswith("/") and deep and plain else ""
