"""`ops/<cluster>/cluster.yaml`: from text to a record, or to everything that is wrong with it."""

from __future__ import annotations

import hashlib
import re
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.language.node import Node, plain
from sweeprules.engine.language.shape import check_shape
from sweeprules.engine.language.yamltext import scan
from sweeprules.engine.site import BrokenRecord, ClusterRecord, Downtime, Gotcha, Reach, Refusal
from sweeprules.store import builtin, units
from sweeprules.store.tree import Text, read_file, read_text

CheckCommand = Callable[[tuple[str, ...], frozenset[str]], str | None]
"""(argv, bans) -> why a record may not add this command, or None when it may."""
SecretRisk = Callable[[tuple[str, ...]], bool]
"""argv -> whether the command would print environments or whole objects."""

NOWHERE = Reach(via="replay")
"""How a cluster is reached whose record, switched off, does not say it: by an empty recording, so by nothing at all."""
MAX_DURATION = 366 * 86400.0
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """One cluster's record and all that was found in its files: errors made it a `BrokenRecord`, warnings did not.

    `texts` are its files as they were read (path in the site -> text).
    """

    record: ClusterRecord | BrokenRecord
    problems: tuple[Problem, ...]
    texts: Mapping[str, str]


@cache
def _schema() -> Mapping[str, Any]:
    return builtin.schema("cluster")


def read_record(root: Path, folder: str, check_command: CheckCommand, secret_risk: SecretRisk) -> ReadRecord:
    """The record of the cluster in `ops/<folder>`; a mistake in it is a value, never an exception."""
    path = f"ops/{folder}/cluster.yaml"
    data = read_file(root / path, path)
    if isinstance(data, Problem):
        return ReadRecord(_broken(folder, path, "", [data], False), (data,), {})
    sha256 = hashlib.sha256(data).hexdigest()
    notes_path = f"ops/{folder}/ops.md"
    notes = read_text(root / notes_path, notes_path)
    found = scan(data, path)
    problems = [*found.problems]
    risk = False
    if found.node is not None:
        problems += check_shape(found.node, _schema())
        problems += _meaning(found.node, folder, root / "ops" / folder)
        refused, risk = _commands(found.node, check_command, secret_risk)
        problems += refused
        problems += _headings(found.node, notes, notes_path)
    problems = sorted(set(problems))
    texts = {path: data.decode("utf-8", "replace")}
    if notes.text:
        texts[notes_path] = notes.text
    if found.node is None or any(problem.severity == "error" for problem in problems):
        return ReadRecord(_broken(folder, path, sha256, problems, risk), tuple(problems), texts)
    record = _record(found.node, path, sha256, root / "ops" / folder)
    return ReadRecord(record, tuple(problems), texts)


def _broken(folder: str, path: str, sha256: str, problems: list[Problem], risk: bool) -> BrokenRecord:
    errors = tuple(str(problem) for problem in problems if problem.severity == "error")
    return BrokenRecord(folder, path, sha256, errors, secret_risk=risk)


# ---------------------------------------------------------------- what a schema can not say


def _meaning(node: Node, folder: str, home: Path) -> Iterator[Problem]:
    yield from _name(node, folder, home)
    yield from _timezone(node.get("timezone"))
    for window in _items(node.get("downtime")):
        yield from _window(window)
    yield from _durations(node)
    yield from _reach(node.get("reach"), home)
    yield from _validated(node)


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if node is not None else ()


def _text(node: Node | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) and node.kind == "text" else None


def _name(node: Node, folder: str, home: Path) -> Iterator[Problem]:
    name = _text(node.get("cluster"))
    if name is None or name == folder:
        return
    mark = cast(Node, node.get("cluster")).mark
    if not _NAME.fullmatch(folder):
        yield Problem(mark, f"the folder `{folder}` can not be a cluster's name", "use a-z, 0-9, - and _ only")
    elif (home.parent / name / "cluster.yaml").is_file():
        yield Problem(mark, f"there is a cluster `{name}` already, in ops/{name}", f"write `cluster: {folder}` here")
    else:
        yield Problem(mark, f"`{name}` is not the name of the folder, `{folder}`", "the two must be the same word")


def _timezone(node: Node | None) -> Iterator[Problem]:
    name = _text(node)
    if node is None or name is None:
        return
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        if known:
            hint = nearest(name, known) or "such as Europe/Rome, America/Chicago or UTC"
            yield Problem(node.mark, f"there is no time zone `{name}`", hint)
        else:
            yield Problem(node.mark, f"the time zone `{name}` can not be looked up here", "install the tzdata package")


def _window(node: Node) -> Iterator[Problem]:
    ends = []
    for name in ("from", "to"):
        end = node.get(name)
        text = _text(end)
        at = None if text is None else units.moment(text)
        if end is not None and text is not None and at is None and text[:4].isdigit():
            yield Problem(end.mark, f"`{text}` is no day of the calendar", "write 2026-06-23 or 2026-06-23T06:00Z")
        ends.append(at)
    if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
        yield Problem(cast(Node, node.get("to")).mark, "the window ends before it begins", "`to` must be after `from`")


def _durations(node: Node) -> Iterator[Problem]:
    reach = node.get("reach")
    found = [reach.get(name) for name in ("connect_timeout", "command_timeout")] if reach else []
    walls = node.get("walls")
    found += [entry.value for entry in walls.entries] if walls else []
    found += [cert.get("warn") for cert in _items(node.get("certs"))]
    for item in found:
        text = _text(item)
        seconds = None if text is None else units.duration(text)
        if item is not None and seconds is not None and not 0 < seconds <= MAX_DURATION:
            yield Problem(item.mark, f"`{text}` is out of range", "more than 0s and at most 366d")


def _reach(node: Node | None, home: Path) -> Iterator[Problem]:
    if node is None:
        return
    host = _text(node.get("host"))
    for fallback in _items(node.get("fallbacks")):
        if host is not None and _text(fallback) == host:
            yield Problem(fallback.mark, f"the fallback `{host}` is the host itself", "name another login")
    cassette = node.get("cassette")
    name = _text(cassette)
    if cassette is not None and name and not _inside(home, name).is_file():
        yield Problem(cassette.mark, f"there is no cassette `{name}`", "it is looked for beside cluster.yaml")


def _inside(home: Path, name: str) -> Path:
    return home / Path(name).expanduser()


def _validated(node: Node) -> Iterator[Problem]:
    dates = node.get("validated")
    known = sorted(_paths(node, ""))
    for entry in dates.entries if dates else ():
        if entry.key not in known:
            message = f"this record has no field `{entry.key}`"
            yield Problem(entry.mark, message, nearest(entry.key, known), severity="warning")
    gotchas = [item.get("validated") for item in _items(node.get("gotchas"))]
    for value in [*(entry.value for entry in dates.entries), *gotchas] if dates else gotchas:
        text = _text(value)
        if value is not None and text is not None and text[:4].isdigit() and units.moment(text) is None:
            yield Problem(value.mark, f"`{text}` is no day of the calendar", "write 2026-07-08, true or false")


def _paths(node: Node, prefix: str) -> Iterator[str]:
    for entry in node.entries:
        yield prefix + entry.key
        yield from _paths(entry.value, f"{prefix}{entry.key}.")


_TELLS = "command refused, nothing was sent: it would print secrets"


def _commands(node: Node, check: CheckCommand, secret_risk: SecretRisk) -> tuple[list[Problem], bool]:
    bans = frozenset(text for item in _items(node.get("bans")) if (text := _text(item)) is not None)
    problems: list[Problem] = []
    risk = False
    for item in _items(node.get("commands")):
        argv = item.get("argv")
        words = tuple(text for word in _items(argv) if (text := _text(word)) is not None)
        if argv is None or not words:
            continue
        secret = secret_risk(words)
        risk = risk or secret
        why = check(words, bans) or (_TELLS if secret else None)
        if why is not None:
            problems.append(Problem(argv.mark, why, "a record adds only commands that read, of the allowed shapes"))
    return problems, risk


def _headings(node: Node, notes: Text, shown: str) -> Iterator[Problem]:
    # People read ops.md, the sweep does not: what is wrong there never blocks the cluster.
    yield from (replace(problem, severity="warning") for problem in notes.problems)
    there = _heading_tags(notes.text)
    for gotcha in _items(node.get("gotchas")) if notes.text else ():
        tag = gotcha.get("tag")
        word = _text(tag)
        if tag is not None and word and word not in there:
            hint = nearest(word, there) or f"add `## {word}` there"
            yield Problem(tag.mark, f"{shown} has no heading for the tag `{word}`", hint, severity="warning")


def _heading_tags(notes: str) -> frozenset[str]:
    """The tags that headings stand for: `## Host keys: they rotate` stands for host, host-keys, host-keys-they, ..."""
    tags: set[str] = set()
    fenced = False
    for line in notes.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (heading := _HEADING.fullmatch(line)):
            words = re.findall(r"[a-z0-9]+", heading[1].lower())
            tags.update("-".join(words[:count]) for count in range(1, len(words) + 1))
    return frozenset(tags)


# ---------------------------------------------------------------- from a tree without errors to values


def _record(node: Node, path: str, sha256: str, home: Path) -> ClusterRecord:
    raw = cast(dict[str, Any], plain(node))
    return ClusterRecord(
        name=raw["cluster"],
        path=path,
        sha256=sha256,
        scheduler=raw["scheduler"],
        user=raw.get("user", ""),
        timezone=raw.get("timezone", "UTC"),
        reach=_read_reach(raw["reach"], home) if "reach" in raw else NOWHERE,
        enabled=raw.get("enabled", True),
        because=raw.get("because", ""),
        downtime=tuple(
            Downtime(_known(units.moment(item["from"])), _known(units.moment(item["to"])), item["because"])
            for item in raw.get("downtime", [])
        ),
        caps=raw.get("caps", {}),
        walls={name: _known(units.duration(wall)) for name, wall in raw.get("walls", {}).items()},
        gpu_memory_limit=units.size(raw["gpu_memory_limit"]) if "gpu_memory_limit" in raw else None,
        dotenv=raw.get("dotenv", ""),
        paths={name: _tuple(value) for name, value in raw.get("paths", {}).items()},
        log_fallbacks=tuple(raw.get("log_fallbacks", [])),
        clones=tuple(raw.get("clones", [])),
        write_paths={name: tuple(value) for name, value in raw.get("write_paths", {}).items()},
        bans=frozenset(raw.get("bans", [])),
        commands=tuple(tuple(item["argv"]) for item in raw.get("commands", [])),
        refusals=tuple(Refusal(item["text"], item["means"]) for item in raw.get("refusals", [])),
        gotchas=tuple(_gotcha(item) for item in raw.get("gotchas", [])),
        raw=raw,
    )


def _read_reach(raw: Mapping[str, Any], home: Path) -> Reach:
    defaults = Reach(via=raw["via"])
    return Reach(
        via=raw["via"],
        host=raw.get("host", ""),
        fallbacks=tuple(raw.get("fallbacks", [])),
        connect_timeout=_seconds(raw, "connect_timeout", defaults.connect_timeout),
        command_timeout=_seconds(raw, "command_timeout", defaults.command_timeout),
        host_keys=raw.get("host_keys", defaults.host_keys),
        cassette=str(_inside(home.absolute(), raw["cassette"])) if "cassette" in raw else "",
    )


def _seconds(raw: Mapping[str, Any], name: str, default: float) -> float:
    return _known(units.duration(raw[name])) if name in raw else default


def _known(value: float | None) -> float:
    """A number that the checks before have proved to be one."""
    if value is None:
        raise AssertionError("a value passed the checks and can not be read")
    return value


def _tuple(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _gotcha(raw: Mapping[str, Any]) -> Gotcha:
    validated = raw["validated"]
    # `true` says that somebody checked, on no date on record; the catalogue's field has room for a date or nothing.
    day = validated if isinstance(validated, str) else "undated" if validated else ""
    return Gotcha(raw["tag"], raw["text"], day, raw["source"])
