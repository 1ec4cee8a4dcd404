"""Lines of metrics in the log of an RL run: the mirror line, the console's dictionary, and what they hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import LONGEST, line_end, line_start
from sweeprules.engine.facts import FactValue, Reason, Unknown

MIRROR = b"WANDB_MIRROR"
STEP_KEY = "trainer/global_step"
CONSOLE = b"'trainer/global_step'"
_EXACT = re.compile(rb"WANDB_MIRROR\s+kind=(?P<kind>\S+)\s+step=(?P<step>-?\d{1,18})\s+metrics=\s*(?=\{)")
_LOOSE = re.compile(rb"WANDB_MIRROR\b[^{]*")
_KIND = re.compile(rb"\bkind=(\S+)")
_STEP = re.compile(rb"\bstep=(\d{1,18})\b")
_WORD = r"[-+]?(?:[Nn]a[Nn]|[Ii]nf(?:inity)?|None|null|True|true|False|false)"
_PLAIN = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIR = re.compile(
    r"\s*(?P<q>['\"])(?P<key>[^'\"\n]{1,300})(?P=q)\s*:\s*"
    rf"(?:(?P<w>['\"])(?P<text>[^'\"\n]{{0,1000}})(?P=w)|(?P<bare>{_PLAIN}|{_WORD})|\[[^\[\]{{}}]*\])\s*(?P<end>,|\}}|$)"
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?)(?:[eE][-+]?\d{1,4})?\Z", re.ASCII)
_NOT_FINITE = frozenset({"nan", "inf", "infinity"})
_RAY = re.compile(rb"\([A-Za-z_][\w.:<>-]* pid=\d+(?:, ip=[\da-f.:]+)?\)")
CONSOLE_LINES = 400
"""Lines of one dictionary that are looked at, those of other processes between them included."""
HALF = 16 * 1024
"""Bytes of a half-written dictionary that are kept for the next sweep."""
_DECODE = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Record:
    """One line of metrics: from byte `at` to `end` of the chunk's plain text. `source` is `mirror console row`.

    `data` holds what was printed, None where it can not be read; `step` is None where the line has none.
    """

    step: int | None
    at: int
    end: int
    source: str
    data: Mapping[str, Any] | None
    total: int | None = None


def mirrors(chunk: Chunk, low: int) -> Iterator[Record]:
    """The mirror lines of training from a place on; those of evaluation and of the start are no steps.

    A line that is not ended and can not be read is left for the next reading.
    """
    text = chunk.text
    at = text.find(MIRROR, low)
    high = -1
    while at >= 0:
        following = text.find(MIRROR, at + len(MIRROR))
        if at >= high:
            high = line_end(text, at)
        stop = high if following < 0 else min(high, following)
        record = _mirror(text[at:stop], at, stop)
        if record is not None and (record.data is not None or high < len(text)):
            yield record
        at = following


def _mirror(piece: bytes, at: int, end: int) -> Record | None:
    exact = _EXACT.match(piece)
    if exact is not None:
        if exact["kind"] != b"train":
            return None
        data = parse(piece[exact.end() :].decode("utf-8", "replace"))
        step = int(exact["step"])
        return Record(step if step >= 0 else None, at, end, "mirror", data if step >= 0 else None)
    kind = _KIND.search(piece)
    if kind is not None and kind[1] != b"train":
        return None
    loose = _LOOSE.match(piece)
    data = parse(piece[loose.end() :].decode("utf-8", "replace")) if loose is not None else None
    number = _STEP.search(piece)
    step_of = int(number[1]) if number is not None else step_in(data)
    return Record(step_of, at, end, "mirror", data if step_of is not None else None)


def parse(text: str) -> Mapping[str, Any] | None:
    """The object at the start of a text, as JSON or as Python prints it; None when it can not be read whole."""
    try:
        data, _ = _DECODE(text)
    except (ValueError, RecursionError):
        data = pairs(text)
    if not isinstance(data, dict) or not data or "_serialize_error" in data:
        return None
    return data


def pairs(text: str) -> dict[str, Any] | None:
    """The pairs of one flat dictionary, with single or double quotes and bare `nan`; None when any of it is broken."""
    if not text.startswith("{"):
        return None
    found: dict[str, Any] = {}
    at = 1
    while (pair := _PAIR.match(text, at)) is not None:
        if pair["end"] == "" or not pair["key"] or pair["key"] in found:
            return None
        found[pair["key"]] = pair["text"] if pair["text"] is not None else pair["bare"]
        at = pair.end()
        if pair["end"] == "}":
            return found
    return None


def step_in(data: Mapping[str, Any] | None) -> int | None:
    """The step that a line of metrics names itself."""
    value = number(data[STEP_KEY]) if data is not None and STEP_KEY in data else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 10**15 else None


def number(raw: Any) -> FactValue:
    """A number as it was printed, bare or quoted; unknown when it is none, or not a finite one."""
    if isinstance(raw, float):
        return raw if math.isfinite(raw) else Unknown(Reason.NAN, f"printed as {raw}")
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw if abs(raw) < 2**63 else Unknown(Reason.MALFORMED, "a number beyond any range")
    if not isinstance(raw, str):
        return Unknown(Reason.MALFORMED, "not a number")
    text = raw.strip()
    if text.lower().lstrip("+-") in _NOT_FINITE:
        return Unknown(Reason.NAN, f"printed as {text}")
    if len(text) > 60 or _NUMBER.match(text) is None:
        return Unknown(Reason.MALFORMED, "not a number")
    text = text.replace(",", "")
    value = int(text) if text.lstrip("+-").isdigit() else float(text)
    return number(value)


def is_nan(raw: Any) -> bool:
    """True for a value that was printed as a number and is none: NaN or infinity."""
    value = number(raw)
    return isinstance(value, Unknown) and value.reason == Reason.NAN


# ---------------------------------------------------------------- the console's dictionary


def console_ends(chunk: Chunk, low: int) -> Iterator[tuple[int, int]]:
    """Where a console dictionary names its step: (place of the key, step). Those within a mirror line are left out."""
    text = chunk.text
    at = text.find(CONSOLE, low)
    while at >= 0:
        high = line_end(text, at)
        pair = _PAIR.match(text[at : min(high, at + 200)].decode("utf-8", "replace"))
        step = step_in({STEP_KEY: pair["text"] or pair["bare"]}) if pair is not None else None
        start = line_start(text, at, chunk.begin)
        if step is not None and pair is not None and pair["end"] and text.find(MIRROR, start, at) < 0:
            yield at, step
        at = text.find(CONSOLE, max(high, at + 1))


def console(chunk: Chunk, at: int, step: int, before: bytes = b"") -> Record | None:
    """The dictionary around the key at `at`: lines of one process, bars and lines of others between them passed over.

    Its keys are sorted, so that a line of another dictionary is seen. `before` is plain text that stood right before
    the stretch. None when its first line was not read; what else can not be read is left out.
    """
    text = chunk.text
    start = line_start(text, at, chunk.begin)
    owner = _owner(text, start)
    data: dict[str, Any] = {}
    look = _take(text[start : line_end(text, at)], owner, data)
    place = start
    for low, line in _lines_before(chunk, start, before) if look == "within" else ():
        place = low
        if _owner(line, 0) == owner:
            look = _take(line, owner, data)
            if look != "within":
                break
    if look != "opened" or len(data) < 2:
        return None
    return Record(step, place, line_end(text, at), "console", data)


def _lines_before(chunk: Chunk, start: int, before: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines before a place, the nearest first, and where each begins; those of `before` where the stretch does."""
    text, place = chunk.text, start
    for _ in range(CONSOLE_LINES):
        if place <= chunk.begin:
            break
        end = place - 1
        place = line_start(text, end, chunk.begin)
        yield place, text[place:end]
    else:
        return
    for line in reversed(before.splitlines()[-CONSOLE_LINES:]):
        yield chunk.begin, line


def half_written(text: bytes) -> bytes:
    """The lines of a dictionary that is begun near the end of a text and not ended there; empty without one."""
    low = max(0, len(text) - HALF)
    at = max(text.rfind(b"{'", low), text.rfind(b'{"', low))
    if at < 0 or text.find(b"}", at) >= 0:
        return b""
    return text[line_start(text, at, low) :]


def _owner(text: bytes, start: int) -> bytes:
    prefix = _RAY.match(text, start)
    return prefix[0] if prefix is not None else b""


def _take(line: bytes, owner: bytes, data: dict[str, Any]) -> str:
    """Adds the pairs of one line: `opened` when it begins the dictionary, `within`, or `strange` when it is no part.

    What is nested deeper is left out, and so is a pair that is broken.
    """
    rest = line[len(owner) :][:LONGEST].decode("utf-8", "replace")
    if owner and rest[:1] in (" ", "\t"):
        rest = rest[1:]
    if not rest.strip() or "%|" in rest:
        return "within"
    found = _pairs_of(rest[1:]) if rest.startswith(("{'", '{"', " '", ' "')) else {}
    least = min(data, default=None)
    if rest[0] not in "{ " or (found and least is not None and max(found) >= least):
        return "strange"
    data.update(found)
    return "opened" if rest[0] == "{" and found else "within"


def _pairs_of(body: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    while (pair := _PAIR.match(body, at)) is not None and pair["end"]:
        found[pair["key"]] = pair["text"] if pair["text"] is not None else pair["bare"]
        at = pair.end()
    return found
