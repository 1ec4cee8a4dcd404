"""The training bar among all bars that a log holds: its step, its total, and how long a step takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import line_end, line_start

WINDOW = 100
"""Steps drawn, from the newest on, over which the rate is taken."""
TRIES = 600
"""Frames that are looked at for them."""
ENOUGH = 10.0
"""Seconds that a window has to span, for tqdm prints whole ones; within less, the rate that it prints is taken."""
SPIKE = 2.0
"""Times the usual seconds a step from which on an interval held a save or an evaluation beside the training."""
_DRAWN = re.compile(
    rb"(?P<pct>\d{1,3})%\|[^|\r\n]{0,1500}\|\s*(?P<n>\d{1,15})/(?P<m>\d{1,15})\s*"
    rb"\[(?:(?P<h>\d{1,6}):)?(?P<min>\d{1,2}):(?P<s>\d\d)<[\d:? ]{1,20},\s*"
    rb"(?:\?|(?P<rate>\d+(?:\.\d+)?(?:e[-+]?\d+)?))\s*(?P<unit>[A-Za-z]{1,20}/[A-Za-z]{1,20})[^\]\r\n]{0,400}\]"
)
_STEPWISE = {b"it/s": False, b"s/it": True, b"step/s": False, b"s/step": True, b"steps/s": False, b"s/steps": True}
_ASIDE = (b"***** Running Evaluation", b"***** Running Prediction")
_TRAINING = re.compile(rb"(?:training|train|steps?|iterations?)(?: (?:steps?|progress))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A frame that may be the training bar's: step `n` of `m`, seconds since the bar began, and the rate it prints.

    `low` and `high` are its places in the chunk's plain text; `rate` is in seconds a step, None before the first.
    """

    n: int
    m: int
    low: int
    high: int
    elapsed: int
    rate: float | None


def drawn(text: bytes, bar: int, begin: int) -> Drawn | None:
    """The frame whose `%|` stands at a place; None for one of packing, tokenising, loading or saving, or a broken one.

    A training bar counts steps and has no description, or one that says training.
    """
    low = bar
    while low > max(begin, bar - 3) and text[low - 1 : low].isdigit():
        low -= 1
    found = _DRAWN.match(text, low)
    if found is None or found["unit"] not in _STEPWISE or not _described(text, low, begin):
        return None
    n, m = int(found["n"]), int(found["m"])
    # A frame of which digits were lost no longer agrees with its own percentage.
    if m == 0 or n > m or abs(int(found["pct"]) - 100 * n / m) > 1:
        return None
    seconds = 3600 * int(found["h"] or 0) + 60 * int(found["min"]) + int(found["s"])
    printed = float(found["rate"]) if found["rate"] else 0.0
    rate = None if printed <= 0 else printed if _STEPWISE[found["unit"]] else 1 / printed
    return Drawn(n, m, low, found.end(), seconds, rate)


def _described(text: bytes, low: int, begin: int) -> bool:
    before = text[max(begin, low - 200) : low]
    before = before[max(before.rfind(b"\r"), before.rfind(b"\n"), before.rfind(b"]")) + 1 :].rstrip()
    if not before.endswith(b":"):
        return True
    name = before[:-1].strip()
    return name.isdigit() or _TRAINING.fullmatch(name) is not None


def frames(chunk: Chunk, total: int) -> Iterator[Drawn]:
    """The training frames of a total, the newest first."""
    text, literal = chunk.text, b"/%d [" % total
    at = text.rfind(literal, chunk.begin)
    for _ in range(TRIES):
        if at < 0:
            return
        bar = text.rfind(b"%|", line_start(text, at, chunk.begin), at)
        frame = drawn(text, bar, chunk.begin) if bar >= 0 else None
        if frame is not None and frame.m == total and frame.high > at:
            yield frame
        at = text.rfind(literal, chunk.begin, at)


def own(chunk: Chunk, newest_first: Sequence[Drawn]) -> list[Drawn]:
    """The frames without those of an evaluation that has as many batches as the training has steps, the newest first.

    Such a bar is begun at 0 right below the training bar, with nothing between but the line that announces it; what
    starts anew says more. It counts up until the training bar, which stood still meanwhile, is drawn again.
    """
    kept: list[Drawn] = []
    other: Drawn | None = None
    for frame in reversed(newest_first):
        before = kept[-1] if kept else None
        if before is not None and _of_another(chunk.text, frame, before, other):
            other = frame
        else:
            other = None
            kept.append(frame)
    return kept[::-1]


def _of_another(text: bytes, frame: Drawn, before: Drawn, other: Drawn | None) -> bool:
    """Whether a frame begins another bar below the training frame `before` it, or goes on with that `other` one."""
    if other is None:
        return frame.n == 0 and before.n > 0 and _aside(text[before.high : frame.low])
    back = frame.n >= before.n and frame.elapsed >= before.elapsed + other.elapsed
    return frame.n >= other.n and frame.elapsed >= other.elapsed and not back


def _aside(between: bytes) -> bool:
    return not between.strip() or any(literal in between for literal in _ASIDE)


def recent(chunk: Chunk, most: int) -> list[Drawn]:
    """At most so many frames that may be the training bar's, of any total, the newest first."""
    found: list[Drawn] = []
    at = chunk.text.rfind(b"%|", chunk.begin)
    for _ in range(most):
        if at < 0:
            break
        frame = drawn(chunk.text, at, chunk.begin)
        if frame is not None:
            found.append(frame)
        at = chunk.text.rfind(b"%|", chunk.begin, at)
    return found


def after(text: bytes, at: int, begin: int) -> Drawn | None:
    """The frame that is drawn anew behind a place, with nothing but blanks and breaks between."""
    bar = text.find(b"%|", at, at + 200)
    frame = drawn(text, bar, begin) if bar >= 0 else None
    if frame is None or text[at : frame.low].strip() or b"\r" not in text[at : frame.low]:
        return None
    return frame


def before(text: bytes, at: int, begin: int) -> Drawn | None:
    """The frame that ends right before a place, on the same line."""
    bar = text.rfind(b"%|", line_start(text, at, begin), at)
    frame = drawn(text, bar, begin) if bar >= 0 else None
    return frame if frame is not None and frame.high <= at and not text[frame.high : at].strip() else None


def written(text: bytes, at: int, begin: int) -> bool:
    """True for a row that was written over the bar, which was wiped for it and is drawn anew behind it."""
    return text[max(begin, at - 2) : at] == b" \r"


def beside(text: bytes, low: int, high: int, begin: int) -> Drawn | None:
    """The frame of the step of a row between two places: the one drawn anew behind it, or the one it is glued to.

    None for rows that were held back and came all at once: the frame before the first of them is of a later step.
    """
    if written(text, low, begin):
        return after(text, high, begin)
    return None if held_back(text, high) else before(text, low, begin)


def held_back(text: bytes, high: int) -> bool:
    """True where right behind the line that ends at a place another row follows, and no bar between them."""
    return text[high : high + 8].lstrip(b"\r\n").startswith(b"{'")


def moving(chunk: Chunk, *, printed: bool = False) -> int | None:
    """The total of the one bar that moves and is not at its end, where no row tells which bar is the training's.

    Where rows are `printed`, without their bars, it may be at its end, and other bars may come and go within it.
    """
    found = recent(chunk, WINDOW)
    if not found or not (printed or all(frame.m == found[0].m for frame in found)) or found[-1].m != found[0].m:
        return None
    steps = [frame.n for frame in reversed(found) if frame.m == found[0].m]
    if len(set(steps)) < 3 or steps != sorted(steps) or (steps[-1] == found[0].m and not printed):
        return None
    return found[0].m


def seconds_a_step(newest_first: Sequence[Drawn]) -> float | None:
    """The seconds that a step takes over the trailing window, saves and evaluations left out; None before two steps."""
    marks, jumped = _since_the_last_jump(newest_first)
    if not marks:
        return None
    spans = [(later.n - one.n, later.elapsed - one.elapsed) for one, later in pairwise(marks)]
    if sum(seconds for _, seconds in spans) >= ENOUGH:
        return _usual(spans)
    # Behind the jump of a resumed run the bar prints the rate of that jump for some time.
    return marks[-1].rate if len(marks) > 1 and not jumped else None


def _since_the_last_jump(newest_first: Sequence[Drawn]) -> tuple[list[Drawn], bool]:
    """The first frame of each step, in order, back to where the bar began anew or was set to where the run resumed.

    Beside them whether it was set so.
    """
    marks: list[Drawn] = []
    for frame in newest_first:
        if marks and (frame.n > marks[-1].n or frame.elapsed > marks[-1].elapsed):
            break
        if marks and frame.n == marks[-1].n:
            marks[-1] = frame
        elif len(marks) < WINDOW:
            marks.append(frame)
        else:
            break
    jumped = len(marks) > 1 and marks[-1].n == 0 and marks[-2].n > 1
    if jumped:
        # From the start to the first step of a resumed run no step was trained.
        marks.pop()
    return marks[::-1], jumped


def _usual(spans: Sequence[tuple[int, int]]) -> float:
    parts = list(_joined(spans))
    limit = SPIKE * median(seconds / steps for steps, seconds in parts)
    kept = [(steps, seconds) for steps, seconds in parts if seconds <= limit * steps] or parts
    return sum(seconds for _, seconds in kept) / sum(steps for steps, _ in kept)


def _joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Intervals joined until each spans some seconds, for one of whole seconds says little of itself."""
    least = max(3, sum(seconds for _, seconds in spans) // WINDOW)
    steps = seconds = 0
    for more_steps, more_seconds in spans:
        steps, seconds = steps + more_steps, seconds + more_seconds
        if seconds >= least:
            yield steps, seconds
            steps = seconds = 0
    if steps and seconds:
        yield steps, seconds


def line_of(text: bytes, at: int, begin: int) -> str:
    """The line that holds a place, at most 300 characters of it, as a person reads it."""
    return text[line_start(text, at, begin) : line_end(text, at)][:1200].decode("utf-8", "replace").strip()[:300]
