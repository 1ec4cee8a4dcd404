"""Lines that name a fault and are none: what a death brings about, what lists possible causes, what is only noted."""

from __future__ import annotations

import re

_FALLOUT = re.compile(
    r"more than 1EB|Connection closed by (?:remote )?peer|Connection reset by peer|Broken pipe|BrokenPipeError"
    r"|ConnectionResetError|\bSIGTERM\b|got signal: 15|remote process exited or there was a network error"
    r"|NCCL communicator was aborted(?! on rank \d+\.\s+Original reason)"
    r"|is killed by signal: Killed|exit ?code\s*:\s*-15\b|SignalException"
)
_REPORT = re.compile(
    r"\b(?:Ray)?(?:ActorDiedError|ActorError|TaskError|WorkerCrashedError|ActorUnavailableError|NodeDiedError)\b"
    r"|EngineDeadError\b|EngineCore encountered a fatal error|EngineCore died|Engine core (?:proc\w* )?initialization"
    r"|\bproc \S+ died unexpectedly|[Rr]aylet (?:process )?(?:has )?died|The actor died|Train loop failed"
)
_PROSE = re.compile(
    r"(?:There are some |[Ss]ome )?(?:potential root causes|[Cc]ommon causes|possible causes|This can happen when)\b.*",
    re.DOTALL,
)
_LISTED = re.compile(r"^\s*\(\d\) ")
_QUIET = re.compile(r"(?<![\w'\"./-])(?:TRACE|DEBUG|INFO|(?<!NCCL )WARN|WARNING)(?![\w'\"=/-])|\[[WI]\d{3,4} ")
_LEVEL_WITHIN = 120


def is_fallout(text: str) -> bool:
    """True for what other processes print because one died: closed connections, terminations, absurd allocations."""
    return _FALLOUT.search(text) is not None


def death_report(text: str) -> bool:
    """True for a line that tells of the death of another process, whose own words may stand elsewhere."""
    return _REPORT.search(text) is not None


def without_prose(text: str) -> str:
    """The line without what Ray lists as possible causes of a death; empty for an item of such a list."""
    return "" if _LISTED.match(text) else _PROSE.sub("", text)


def is_quiet(before: str) -> bool:
    """True when the record that this begins is at a level at which nothing ends: information, debugging, warning."""
    return _QUIET.search(before[-_LEVEL_WITHIN:]) is not None
