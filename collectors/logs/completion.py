"""Whether the work of a log was done and saved, and from where on: what fails behind that is teardown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sweeprules.collectors.logs.lines import Chunk, Line

KEEP = 8
"""Numbers of steps that are kept of a log: the last ones that a bar came to, and the last ones that were saved."""
MAX_LINES = 400
"""Lines that are looked at for one literal, from the end on; and lines behind the end of the work."""
_FULL = (
    (b"100%|", re.compile(r"100%\|[^|]*\|\s*(?P<n>\d{1,12})/(?P<m>\d{1,12})\b")),
    (b"/max_steps", re.compile(r"/max_steps'?\s*[:=]\s*'?(?P<n>\d{1,12})/(?P<m>\d{1,12})\b")),
    (b"max training steps", re.compile(r"Reached max training steps \((?P<n>(?P<m>\d{1,12}))\)")),
)
_CHECKPOINT = (b"checkpoint-", b"global_step_")
_NUMBER = re.compile(r"(?:checkpoint-|global_step_)(?P<n>\d{1,12})\b")
_SAVED = re.compile(r"last_model_checkpoint|best_model_checkpoint|(?i:\bsaved\b)")
_SAVING = re.compile(r"(?i:\bsaving\b)")
_OVER = (b"train_runtime", b"Training done!", b"raining completed", b"***** train metrics *****")
_TROUBLE = re.compile(
    r"\[[EF]\d{3,4} |watchdog got stuck|Traceback|\bSIG(?:TERM|ABRT|SEGV)\b|[Ee]xited with exit code [1-9]|Broken pipe"
    r"|terminate called|[Ss]egmentation fault|core dumped|destroy_process_group"
)


@dataclass(frozen=True, slots=True)
class Completion:
    """Steps at which a bar was full, steps that were saved and that were begun to be saved, each with its place.

    `over` is where the program first said that it is over; `trouble` the first troubled line behind the end.
    """

    full: Mapping[int, int] = field(default_factory=dict)
    saved: Mapping[int, int] = field(default_factory=dict)
    begun: Mapping[int, int] = field(default_factory=dict)
    over: int | None = None
    trouble: Line | None = None

    @property
    def done(self) -> int | None:
        """Where the last step was both reached and saved; None when that was not printed."""
        places = [max(at, self.saved[step]) for step, at in self.full.items() if step in self.saved]
        if self.over is not None:
            # A program that says that it is over has ended the save that it began before.
            saving = {step: at for step, at in self.begun.items() if at < self.over}
            places += [self.over for step in saving if step in self.full]
        return min(places, default=None)

    def then(self, later: Completion) -> Completion:
        """What two readings of one log say together."""
        return Completion(
            _first(self.full, later.full),
            _first(self.saved, later.saved),
            _first(self.begun, later.begun),
            later.over if self.over is None else self.over,
            self.trouble or later.trouble,
        )


def read_completion(chunk: Chunk, before: Completion | None = None) -> Completion:
    """What a chunk tells of the end of the work, with what was read of the log `before` it."""
    full: dict[int, int] = {}
    for literal, pattern in _FULL:
        for line in _last_lines(chunk, literal):
            for found in pattern.finditer(line.text):
                if found["n"] == found["m"] and int(found["n"]) > 1:
                    full[int(found["n"])] = line.position
    saved: dict[int, int] = {}
    begun: dict[int, int] = {}
    for literal in _CHECKPOINT:
        for line in _last_lines(chunk, literal):
            place = saved if _SAVED.search(line.text) else begun if _SAVING.search(line.text) else None
            number = _NUMBER.search(line.text)
            if place is not None and number is not None:
                place[int(number["n"])] = line.position
    overs = [line.position for literal in _OVER for line in _last_lines(chunk, literal)]
    here = Completion(_bounded(full), _bounded(saved), _bounded(begun), min(overs, default=None))
    whole = here if before is None else before.then(here)
    if whole.done is None or whole.trouble is not None:
        return whole
    return replace(whole, trouble=_trouble(chunk, whole.done))


def _last_lines(chunk: Chunk, literal: bytes) -> Iterator[Line]:
    """At most `MAX_LINES` lines that hold a literal, from the end on."""
    end = len(chunk.text)
    for _ in range(MAX_LINES):
        at = chunk.text.rfind(literal, chunk.begin, end)
        if at < 0:
            return
        low, high = chunk.bounds(at)
        line = chunk.line(low, high)
        if line is not None:
            yield line
        end = low


def _trouble(chunk: Chunk, done: int) -> Line | None:
    lines = 0
    for line in chunk.lines():
        if line.position <= done:
            continue
        lines += 1
        if lines > MAX_LINES:
            return None
        if _TROUBLE.search(line.text):
            return line
    return None


def _bounded(places: Mapping[int, int]) -> Mapping[int, int]:
    """The last ones by place."""
    kept = sorted(places.items(), key=lambda one: one[1])[-KEEP:]
    return MappingProxyType(dict(kept))


def _first(before: Mapping[int, int], after: Mapping[int, int]) -> Mapping[int, int]:
    return _bounded({**after, **before})
