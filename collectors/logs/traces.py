"""Python tracebacks in logs: of any rank, behind any prefix, glued to a frame of a bar, between lines of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from sweeprules.collectors.logs.lines import Chunk, Line

START = "Traceback (most recent call last)"
RANK = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]:\s?")
_TOLD = re.compile(r"\[(?:rank|default)(?P<rank>\d+)\]:\s?")
_ANY_RANK = re.compile(r"\[(?:rank|default)(?P<a>\d{1,9})\]|\bRank (?P<b>\d{1,9})\]")
WRAPPERS = frozenset(
    {
        "ChildFailedError",
        "CalledProcessError",
        "SystemExit",
        "RayTaskError",
        "KeyboardInterrupt",
        "SignalException",
        "ProcessExitedException",
        "ProcessRaisedException",
    }
)
"""Exceptions that only say that another process failed, or that this one was told to end (domain page, F5)."""
MAX_FRAMES = 400
MAX_TRACEBACKS = 50
_MESSAGE = 300
_PREFIX = 160
"""Characters before the heading that may be a record's prefix; what is longer is a frame of a bar."""
# Breaks, and holes, which may be long.
_BETWEEN = re.compile(rb"[\r\n\x00]*")
_SOURCE = re.compile(rb"\([A-Za-z_][\w.:<>-]{0,80} pid=\d+[^()\r\n]{0,60}\)")
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_]\w*(?:\.\w+)*)(?::\s?(?P<message>.*))?$")
_TASK = re.compile(r"^(?:[\w.]+\.)?RayTaskError\((?P<type>\w+)\): ")
_NAMED = re.compile(r"(?:Error|Exception|Interrupt|Exit|Timeout|Expired|Warning|Failure|Stop)$")
_HUMPS = re.compile(r"^_?[A-Z]+[a-z0-9]+[A-Z]")
_DIGITS = re.compile(r"\d+")
_GROUP = re.compile(r"^\s*[|+]\s?-?")
# The launcher's table moves the lines of an error that a rank left it by two blanks.
_TABLE = re.compile(r"^\s*traceback\s*:\s*$")
_INDENTED = re.compile(r"  ")
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen")


@dataclass(frozen=True, slots=True)
class Raised:
    """One traceback's end: type without its module, message, innermost frame of own code, rank (None: not printed).

    `line` is the line of the exception, `head` the one with the heading.
    """

    type: str
    message: str
    frame: str
    rank: int | None
    line: Line
    head: Line | None = None


def rank_of(text: str) -> int | None:
    """The rank that a line names as its own, by torchrun's prefix or by NCCL's; None without any."""
    found = _ANY_RANK.search(text)
    return None if found is None else int(found["a"] or found["b"])


def tracebacks(chunk: Chunk) -> list[Raised]:
    """The tracebacks of a chunk whose last line was read, in order; the first and the last of very many."""
    starts: list[int] = []
    at = chunk.text.find(START.encode(), chunk.begin)
    while at >= 0:
        starts.append(at)
        at = chunk.text.find(START.encode(), at + 1)
    if len(starts) > 2 * MAX_TRACEBACKS:
        starts = starts[:MAX_TRACEBACKS] + starts[-MAX_TRACEBACKS:]
    found = (_traceback(chunk, chunk.bounds(at)[0]) for at in starts)
    return [raised for raised in found if raised is not None]


def _sourced(chunk: Chunk, low: int) -> Iterator[tuple[bytes, Line]]:
    """At most `MAX_FRAMES` lines from a place on, each with the name of the process that Ray puts before it."""
    at, size = low, len(chunk.text)
    for _ in range(MAX_FRAMES):
        if at >= size:
            return
        begin, end = chunk.bounds(at)
        line = chunk.line(begin, end)
        if line is not None:
            named = _SOURCE.match(chunk.text, begin)
            yield (named[0] if named else b""), line
        behind = _BETWEEN.match(chunk.text, end)
        at = behind.end() if behind else end


@dataclass(frozen=True, slots=True)
class _Head:
    """How the lines of a traceback begin: the process, the rank, and the record's prefix with any numbers in it."""

    source: bytes
    rank: str | None
    prefix: re.Pattern[str] | None
    line: Line

    @classmethod
    def of(cls, source: bytes, line: Line) -> _Head:
        before = line.text[: line.text.index(START)]
        # A frame of a bar may stand before the rank too.
        rank = next(iter(reversed(list(_TOLD.finditer(before)))), None)
        number = rank["rank"] if rank else None
        if "Exception Group" in before:
            return cls(source, number, _GROUP, line)
        rest = before[rank.end() :] if rank else before
        if _TABLE.match(rest):
            return cls(source, number, _INDENTED, line)
        prefix = None
        if rest.strip() and len(rest) <= _PREFIX and "%|" not in rest:
            prefix = re.compile(_DIGITS.sub(r"\\d+", re.escape(rest)))
        return cls(source, number, prefix, line)

    def own(self, source: bytes, line: Line) -> str | None:
        """A line's text without what it begins with; None when another process wrote it."""
        if source != self.source:
            return None
        rank = RANK.match(line.text)
        if (rank["rank"] if rank else None) != self.rank:
            return None
        text = line.text[rank.end() :] if rank else line.text
        if self.prefix is None:
            return text
        found = self.prefix.match(text)
        return text[found.end() :] if found else None


def _traceback(chunk: Chunk, low: int) -> Raised | None:
    source, first = next(_sourced(chunk, low), (b"", None))
    if first is None or START not in first.text:
        return None
    head = _Head.of(source, first)
    found = _followed(head, islice(_sourced(chunk, low), 1, None))
    if found is None and head.prefix is not None:
        # What stands before the heading was no prefix of a record, but the end of another line.
        return _followed(replace(head, prefix=None), islice(_sourced(chunk, low), 1, None))
    return found


def _followed(head: _Head, lines: Iterator[tuple[bytes, Line]]) -> Raised | None:
    frame = ""
    task: Raised | None = None
    for named, line in lines:
        text = head.own(named, line)
        if text is None:
            continue
        if text.startswith((" ", "\t")):
            frame = _own_code(text) or frame
        elif START in text:
            return _glued(head, text.partition(START)[0], frame, line) or task
        elif wrapped := _TASK.match(text):
            # Ray prints the frames of the task itself behind its name, without a heading.
            task, frame = _ended(head, "RayTaskError", text[wrapped.end() :], frame, line), ""
        elif (ended := _RAISED.match(text)) and _is_exception(ended["type"]):
            kind = ended["type"].rpartition(".")[2]
            return _ended(head, kind, ended["message"] or "", frame, line)
    return task


def _glued(head: _Head, before: str, frame: str, line: Line) -> Raised | None:
    """The exception of a traceback whose last line lost its break to the heading of the next one."""
    ended = _RAISED.match(before)
    if ended is None or not ended["message"] or _NAMED.search(ended["type"]) is None:
        return None
    return _ended(head, ended["type"].rpartition(".")[2], ended["message"].strip(), frame, line)


def _ended(head: _Head, kind: str, message: str, frame: str, line: Line) -> Raised:
    rank = int(head.rank[:9]) if head.rank is not None else None
    return Raised(kind, message[:_MESSAGE], frame, rank, line, head.line)


def _is_exception(name: str) -> bool:
    """False for a word that only looks like a class: a level, a heading, a line of one word."""
    last = name.rpartition(".")[2]
    return "." in name or _NAMED.search(last) is not None or _HUMPS.match(last) is not None


def _own_code(text: str) -> str:
    found = _FRAME.match(text)
    if found is None or any(part in found["file"] for part in _FOREIGN):
        return ""
    return f"{found['file'].rpartition('/')[2]}:{found['function']}"
