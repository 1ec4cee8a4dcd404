"""What an upload's log and a job's console say of results: how far they got, and whether they left the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import count, number
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

_YIELD = re.compile(r"Literal yield:\s*([\d,]{1,15})\s*/\s*([\d,]{1,15})(?![\d,.])")
_COMPLETE = re.compile(r"Upload complete\b(?:\s*\(([\d,]{1,15}) rows?\))?")
_SPLIT = re.compile(
    r"Generating train split:(?:\s*\d{1,3}%\|[^|]*\|)?\s*([\d,]{1,15})(?:/[\d,]{1,15})?\s*\[?[^\r\n]*?examples"
)
_MEAN = re.compile(
    r"(?<![\d/.,])([\d,]{1,12})/([\d,]{1,12})\s+Mean:\s*(-?(?:\d{1,9}(?:\.\d{0,17})?|\.\d{1,17}))(?![\d.A-Za-z])"
)
_FAILED = re.compile(
    r"\bupload(?:ing)?\b[^\r\n]{0,80}\b(?:fail(?:ed|ure)|error|skipped|aborted)\b|\bfailed to (?:upload|push)\b|"
    r"refusing to export a literal-less dataset|\b(?:HfHubHTTPError|RepositoryNotFoundError)\b",
    re.IGNORECASE,
)
_HINTS = (b"pload", b"ailed to push", b"refusing to export", b"HfHubHTTPError", b"RepositoryNotFoundError")
_REGISTERED = b"registration complete for"


@dataclass(frozen=True, slots=True)
class Upload:
    """The facts of an upload's log, the lines behind them by fact, and what the next sweep starts from."""

    facts: Mapping[str, FactValue]
    quotes: Mapping[str, str] = field(default_factory=dict)
    memo: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""
    """The line that says that the upload failed, when nothing later says that it came to its end."""


def read_upload(chunk: Chunk, before: Mapping[str, Json] | None = None, *, whole: bool) -> Upload:
    """`literal_yield`, `literal_of`, `uploaded`, `uploaded_rows`, and `registered` where the log tells it.

    `whole` says that every byte of the log was read, now or before. `uploaded` is false when the whole log holds no
    line of completion, or an error after it. Where no literal rows were asked for the two figures are absent.
    """
    memo = dict(before or {})
    quotes: dict[str, str] = {}
    for line in _lines(chunk, b"Literal yield:"):
        if found := _YIELD.search(line):
            memo |= {"literal_yield": _whole(found[1]), "literal_of": _whole(found[2])}
            quotes["literal_yield"] = quotes["literal_of"] = line[:300]
    _ends(chunk, memo, quotes)
    for line in _lines(chunk, _REGISTERED):
        memo["registered"] = True
        quotes["registered"] = line[:300]
    never: FactValue = ABSENT if whole else Unknown(Reason.CUT, "only the end of the log was read")
    facts: dict[str, FactValue] = {
        "literal_yield": _count(memo, "literal_yield", never),
        "literal_of": _count(memo, "literal_of", never),
        "uploaded_rows": _count(memo, "rows", never),
        "uploaded": _uploaded(memo, whole=whole),
    }
    if memo.get("registered") is True:
        facts["registered"] = True
    error = memo.get("error")
    said = error if isinstance(error, str) else ""
    return Upload(MappingProxyType(facts), MappingProxyType(quotes), MappingProxyType(memo), said)


def _ends(chunk: Chunk, memo: dict[str, Json], quotes: dict[str, str]) -> None:
    """How the upload ended: the last line that says so decides."""
    marks: list[tuple[int, bool, str]] = []
    for hint in _HINTS:
        for at, line in _placed(chunk, hint):
            if found := _COMPLETE.search(line):
                marks.append((at, True, line[:300]))
                memo |= {"rows": _whole(found[1])} if found[1] else {}
            elif _FAILED.search(line):
                marks.append((at, False, line[:300]))
    if "rows" not in memo:
        for line in _lines(chunk, b"Generating train split:"):
            if split := _SPLIT.search(line):
                memo["split"] = _whole(split[1])
    if marks:
        _, done, line = max(marks)
        memo |= {"uploaded": done, "error": None if done else line}
        quotes["uploaded"] = line
    if memo.get("uploaded") is True and "rows" not in memo and "split" in memo:
        memo["rows"] = memo["split"]


def _uploaded(memo: Mapping[str, Json], *, whole: bool) -> FactValue:
    told = memo.get("uploaded")
    if isinstance(told, bool):
        return told
    return False if whole else Unknown(Reason.CUT, "only the end of the log was read")


def _count(memo: Mapping[str, Json], name: str, never: FactValue) -> FactValue:
    found = count(memo.get(name))
    return never if found is None else found


def _whole(digits: str) -> int:
    return int(digits.replace(",", "") or "0")


def _lines(chunk: Chunk, literal: bytes) -> Iterator[str]:
    return (line for _, line in _placed(chunk, literal))


def _placed(chunk: Chunk, literal: bytes) -> Iterator[tuple[int, str]]:
    """The lines that hold a literal, each once, and where they begin."""
    at = chunk.text.find(literal, chunk.begin)
    while at >= 0:
        low, high = chunk.bounds(at)
        yield low, chunk.raw(low, high).decode("utf-8", "replace")
        at = chunk.text.find(literal, max(high, at + 1))


# ---------------------------------------------------------------- the console


@dataclass(frozen=True, slots=True)
class Console:
    """The last `n/m Mean: x` of a console: trials done, trials to do, and the mean over those with a reward so far."""

    done: int
    of: int
    mean: float
    position: int


def read_console(chunk: Chunk) -> Console | None:
    """The last progress line that has a mean; None without one (there is none before the first valid reward)."""
    at = chunk.text.rfind(b"Mean:", chunk.begin)
    while at >= 0:
        low, high = chunk.bounds(at)
        found = list(_MEAN.finditer(chunk.raw(low, high).decode("utf-8", "replace")))
        mean = number(found[-1][3]) if found else None
        if found and mean is not None and _whole(found[-1][1]) <= _whole(found[-1][2]):
            return Console(_whole(found[-1][1]), _whole(found[-1][2]), mean, chunk.position(low))
        at = chunk.text.rfind(b"Mean:", chunk.begin, max(low, chunk.begin))
    return None


def console_facts(found: Console | None) -> dict[str, FactValue]:
    """What a console tells where result files are out of reach: `trials_done`, `trials_planned`, `mean_valid`."""
    if found is None:
        return {}
    facts: dict[str, FactValue] = {"trials_done": found.done, "trials_planned": found.of}
    if 0 <= found.mean <= 1:
        facts["mean_valid"] = found.mean
    return facts
