"""From the two streams of a call to the answer of each command: a pure parser that believes only whole frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NOISE_KEPT = 4096
"""Bytes kept of what stood outside every frame, at each end: enough for any login banner."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What was found of one command. `opened` says that it was started, `exit` None that its frame is not whole.

    `limit` is the seconds after which the login itself would have ended it, 0 where it had no such means. Of a frame
    that is not whole, `stdout` and `stderr` are what had arrived.
    """

    opened: bool = False
    exit: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Framed:
    """The frames of a call, one a command, and the text outside them (stdout's, then stderr's)."""

    frames: tuple[Frame, ...]
    noise: bytes


def parse(stdout: bytes, stderr: bytes, word: str, count: int) -> Framed:
    """The frames of `count` commands whose markers carry `word`; total: it never raises.

    Frames must come in their order from 0. From the first marker that is out of order on, nothing is believed.
    """
    out, out_noise = _split(stdout, word, count)
    err, err_noise = _split(stderr, word, count)
    frames = tuple(_frame(out.get(index), err.get(index)) for index in range(count))
    noise = b"\n".join(part for part in (_ends(out_noise), _ends(err_noise)) if part.strip())
    return Framed(frames, noise)


class Progress:
    """Counts the opening and closing markers in a stream that arrives in pieces, to know which command runs now."""

    def __init__(self, word: str) -> None:
        self._opening = f"\n@{word} o ".encode()
        self._closing = f"\n@{word} c ".encode()
        self._tail = b""
        self.opened = 0
        self.closed = 0

    def feed(self, chunk: bytes) -> bool:
        """Takes the next piece; True when it held a marker."""
        text = self._tail + chunk
        opened, closed = text.count(self._opening), text.count(self._closing)
        self.opened += opened
        self.closed += closed
        # One byte short of a marker: a marker is seen once, however it was split.
        self._tail = text[-(len(self._opening) - 1) :]
        return bool(opened or closed)


@dataclass(frozen=True, slots=True)
class _Part:
    body: bytes
    closed: bool
    status: bytes = b""
    limit: int = 0


def _split(stream: bytes, word: str, count: int) -> tuple[dict[int, _Part], bytes]:
    """The numbered parts of one stream and the text between them."""
    parts: dict[int, _Part] = {}
    noise: list[bytes] = []
    at = 0
    for number, opening, closing in _pairs(stream, word):
        if number != len(parts) or number >= count:
            break
        noise.append(stream[at : opening.start()])
        if closing is None:
            parts[number] = _Part(stream[opening.end() :], closed=False)
            return parts, b"".join(noise)
        limit = int(closing["limit"] or 0)
        parts[number] = _Part(stream[opening.end() : closing.start()], True, closing["status"] or b"", limit)
        at = closing.end()
    noise.append(stream[at:])
    return parts, b"".join(noise)


def _pairs(stream: bytes, word: str) -> Iterator[tuple[int, re.Match[bytes], re.Match[bytes] | None]]:
    marker = re.compile(
        rb"\n@" + re.escape(word.encode()) + rb" (?:o (?P<open>[0-9]{1,7})"
        rb"|c (?P<close>[0-9]{1,7})(?: (?P<status>[0-9]{1,3}|x) (?P<limit>[0-9]{1,9}))?)\n"
    )
    opening: re.Match[bytes] | None = None
    for found in marker.finditer(stream):
        if found["open"] is not None and opening is None:
            opening = found
        elif opening is not None and found["close"] == opening["open"]:
            yield int(opening["open"]), opening, found
            opening = None
        else:
            return
    if opening is not None:
        yield int(opening["open"]), opening, None


def _frame(out: _Part | None, err: _Part | None) -> Frame:
    if out is None:
        return Frame(stderr=err.body if err else b"", opened=err is not None)
    stderr = err.body if err is not None else b""
    whole = out.closed and err is not None and err.closed and out.status.isdigit()
    return Frame(True, int(out.status) if whole else None, out.body, stderr, out.limit)


def _ends(noise: bytes) -> bytes:
    if len(noise) <= 2 * NOISE_KEPT:
        return noise
    return noise[:NOISE_KEPT] + b"\n[...]\n" + noise[-NOISE_KEPT:]
