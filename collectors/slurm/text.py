"""Slurm's text output: records that no name can forge, times, durations, ids and node lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Unknown

_NEVER = frozenset({"", "unknown", "none", "n/a", "(null)"})
_DURATION = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)", re.ASCII)
_ID = re.compile(
    r"(?P<base>\d+)"
    r"(?:_(?:(?P<task>\d+)|\[(?P<tasks>[0-9,\-:%.]*)\])|\+(?P<het>\d+))?"
    r"(?:\.(?P<step>[A-Za-z0-9_+]+))?",
    re.ASCII,
)
MAX_TASKS = 10_000
"""Tasks that one pending array record is spread over; Slurm's own default for MaxArraySize is 1,001."""


@dataclass(frozen=True, slots=True)
class Separators:
    """What stands before a record and between its fields: text that holds the sweep's nonce.

    Whoever named a job could not know the nonce, so a name can hold anything but these.
    """

    record: str
    field: str

    @classmethod
    def of(cls, nonce: str) -> Separators:
        """The separators of one sweep; `nonce` is at least 8 letters and digits, else a ValueError."""
        if not re.fullmatch("[0-9A-Za-z]{8,}", nonce):
            raise ValueError("a nonce is at least 8 letters or digits")
        return cls(f"@r{nonce}@", f"@f{nonce}@")


@dataclass(frozen=True, slots=True)
class Record:
    """One record as printed: its fields by column, or why it could not be told apart (`fields` is then empty)."""

    fields: tuple[str, ...]
    raw: str
    problem: str = ""


def marked_records(text: str, columns: int, marks: Separators) -> tuple[str, list[Record]]:
    """The text before the first record mark, and the records; a record has `columns` fields, else a problem."""
    before, *chunks = text.split(marks.record)
    return before, [_record(chunk.removesuffix("\n"), columns, marks.field) for chunk in chunks]


def _record(chunk: str, columns: int, mark: str) -> Record:
    fields = tuple(chunk.split(mark))
    if len(fields) != columns:
        return Record((), chunk, f"{len(fields)} fields where {columns} were asked for")
    return Record(fields, chunk)


def delimited_records(text: str, columns: int, mark: str) -> list[Record]:
    """Records that only a newline ends: the first field never holds one, all others may.

    Between the last field of a record and the first of the next one stands a newline, the last of that stretch.
    """
    if not text.strip("\n"):
        return []
    parts = text.removesuffix("\n").split(mark)
    if len(parts) < columns or (len(parts) - 1) % (columns - 1):
        return [Record((), text, f"{len(parts)} fields do not make whole records of {columns}")]
    return list(_whole(parts, columns - 1))


def _whole(parts: Sequence[str], step: int) -> Iterator[Record]:
    first = parts[0]
    for at in range(step, len(parts), step):
        final = at + 1 >= len(parts)
        last, _, following = (parts[at], "", "") if final else parts[at].rpartition("\n")
        fields = (first, *parts[at - step + 1 : at], last)
        yield Record(fields, "|".join(fields))
        first = following


def read_time(text: str, zone: str) -> FactValue:
    """Epoch seconds from an epoch or ISO text; absent for Slurm's words for never; malformed otherwise.

    A time without an offset is in `zone`, the cluster's.
    """
    text = text.strip()
    if text.lower() in _NEVER:
        return ABSENT
    if re.fullmatch(r"\d{9,11}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return Unknown(Reason.MALFORMED, f"not a time: {text[:40]!r}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(zone))
    return moment.timestamp()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def read_duration(text: str) -> FactValue:
    """Seconds from `[D-][HH:]MM:SS`; absent for UNLIMITED and the like; malformed otherwise.

    INVALID is malformed: it is what Slurm prints when its own clocks do not make sense.
    """
    text = text.strip()
    if text.lower() in _NEVER | {"unlimited", "partition_limit", "not_set"}:
        return ABSENT
    found = _DURATION.fullmatch(text)
    if found is None:
        return Unknown(Reason.MALFORMED, f"not a duration: {text[:40]!r}")
    days, hours, minutes, seconds = (int(found[name] or 0) for name in ("d", "h", "m", "s"))
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def read_integer(text: str) -> FactValue:
    """A count; absent when empty; malformed otherwise. A range of wanted nodes (`4-4`) gives its lower end."""
    text = text.strip()
    if text.lower() in _NEVER:
        return ABSENT
    found = re.fullmatch(r"(\d{1,18})(?:-\d+)?", text)
    return int(found[1]) if found else Unknown(Reason.MALFORMED, f"not a number: {text[:40]!r}")


def read_text(text: str) -> str | Absent:
    """The text, whatever it holds; absent for Slurm's `(null)` and for nothing."""
    return ABSENT if text in ("", "(null)", "N/A") else text


@dataclass(frozen=True, slots=True)
class JobId:
    """An id taken apart: `11_5` is base 11, task 5; `31+1` base 31, het 1; `38.0` has step 0.

    `tasks` are those of a pending array record (`11_[5-7%3]`), None where Slurm cut the list short.
    """

    base: int
    task: int | None = None
    het: int | None = None
    step: str = ""
    tasks: tuple[int, ...] | None = ()

    @property
    def text(self) -> str:
        """The id of the job without its step."""
        if self.task is not None:
            return f"{self.base}_{self.task}"
        return f"{self.base}+{self.het}" if self.het is not None else str(self.base)


def parse_id(text: str) -> JobId | None:
    """The id, or None when the text is none."""
    found = _ID.fullmatch(text.strip())
    if found is None:
        return None
    task, het, tasks = found["task"], found["het"], found["tasks"]
    return JobId(
        int(found["base"]),
        int(task) if task is not None else None,
        int(het) if het is not None else None,
        found["step"] or "",
        () if tasks is None else _ranges(tasks.partition("%")[0], MAX_TASKS),
    )


def _ranges(text: str, most: int) -> tuple[int, ...] | None:
    members: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part)
        if found is None:
            return None
        low, high, stride = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if high < low or stride < 1 or len(members) + (high - low) // stride >= most:
            return None
        members.extend(range(low, high + 1, stride))
    return tuple(members)


def sort_key(job_id: str) -> tuple[int, int, int]:
    """Orders ids by number, then by array task and component; text that is no id comes first."""
    parsed = parse_id(job_id)
    if parsed is None:
        return (-1, 0, 0)
    return (parsed.base, -1 if parsed.task is None else parsed.task, parsed.het or 0)


def expand_nodes(text: str, most: int = 4096) -> tuple[str, ...] | Unknown:
    """The hosts of `n[01-03,7],m5`; a list past `most`, or one that can not be read, is malformed."""
    hosts: list[str] = []
    if not re.fullmatch(r"(?:[^\[\]]|\[[0-9,-]+\])*", text):
        return Unknown(Reason.MALFORMED, f"not a list of nodes: {text[:60]!r}")
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\][^,\[\]]*)*", text):
        grown = _grow(part, most)
        if grown is None or len(hosts) + len(grown) > most:
            return Unknown(Reason.MALFORMED, f"not a list of nodes: {text[:60]!r}")
        hosts.extend(grown)
    return tuple(hosts)


def _grow(part: str, most: int) -> list[str] | None:
    grown = [""]
    for literal, ranges in re.findall(r"([^\[\]]+)|\[([^\]]*)\]", part):
        names = [literal] if literal else _numbers(ranges, most)
        if names is None or len(grown) * len(names) > most:
            return None
        grown = [start + name for start in grown for name in names]
    return grown


def _numbers(text: str, most: int) -> list[str] | None:
    names: list[str] = []
    for piece in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", piece)
        if found is None:
            return None
        low, high = int(found[1]), int(found[2] or found[1])
        if high < low or len(names) + high - low >= most:
            return None
        names.extend(str(number).zfill(len(found[1])) for number in range(low, high + 1))
    return names


def iso(epoch: float) -> str:
    """RFC 3339 in UTC, for messages."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
