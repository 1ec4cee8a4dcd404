"""Real lines, cut, glued, interleaved and recoded: no exception, no unbounded time, nothing that was not there."""

from __future__ import annotations

import time
from random import Random
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.candidates import read_causes
from sweeprules.collectors.logs.causes import Cause, Causes, first_cause
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare
from sweeprules.collectors.logs.traces import tracebacks
from tests.cases import collectives, ends, engines
from tests.rules.shipped import policy

UTC = ZoneInfo("UTC")
UNTIL = 1_782_907_200.0
KINDS = (
    collectives.hang_then_monitor,
    collectives.hang_then_fallout,
    collectives.finished,
    collectives.native_crash,
    engines.unanswered,
    engines.dead,
    ends.gpu_memory,
    ends.quota,
    ends.ray_memory,
    ends.unmasked,
    ends.at_the_wall,
)
JUNK = (
    b"\x00",
    b"\xff\xfe",
    b"\x1b[",
    b"\r",
    b"\n",
    b"|",
    b"%|",
    b"[rank",
    b"(a pid=1) ",
    b"Traceback (most recent call last)",
)


def _matchers():
    return prepare(policy().patterns)


def _read(data: bytes, matchers) -> tuple[Causes, Cause | None]:
    chunk = Chunk(data, 0)
    read = read_causes(chunk, tracebacks(chunk), matchers, "/w/a.out", UTC, UNTIL)
    return read, first_cause([read])


def mutated(rng: Random, data: bytes) -> bytes:
    """A log to which one to four things happened."""
    for _ in range(rng.randrange(1, 5)):
        at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        what = rng.randrange(6)
        if what == 0:
            data = data[:at]
        elif what == 1:
            data = data[:at] + rng.choice(JUNK) + data[at:]
        elif what == 2:
            data = data[:at] + data[to:]
        elif what == 3:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = b"\n".join(lines)
        elif what == 4:
            data = data.decode("utf-8", "replace").encode(rng.choice(("utf-8", "utf-16", "latin-1")), "replace")
        else:
            data = data[:at].replace(b"\n", b"") + data[at:]
    return data


def _hold(number: int) -> None:
    matchers = _matchers()
    names = {one.pattern.name for one in matchers}
    for seed in range(number):
        rng = Random(seed)
        data = mutated(rng, rng.choice(KINDS)(rng).log)
        read, cause = _read(data, matchers)
        # Without what became a colour: a code and the letter behind it are one.
        plain = Chunk(data, 0).text.decode("utf-8", "replace")
        for one in read.found:
            assert 0 <= one.position < len(data)
            assert one.type in names or one.type == "c10::Error" or one.type in plain, (seed, one)
            assert one.rank is None or str(one.rank) in plain
            assert one.time is None or one.time <= UNTIL + 86_400 or "20" in plain
        if cause is not None:
            assert cause.type == "teardown" or any(cause.position == one.position for one in read.found)


def test_what_is_read_of_broken_logs_was_there() -> None:
    _hold(5_000)


@pytest.mark.deep
def test_what_is_read_of_many_broken_logs_was_there() -> None:
    _hold(100_000)


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 20_000_000,
        b"Traceback (most recent call last): " * 60_000,
        b'Traceback (most recent call last):\n  File "a", line 1, in b\n' * 40_000,
        b"CUDA out of memory\n" * 100_000,
        b"100%|" * 400_000,
        b"(" * 2_000_000,
        b"[rank1]:" * 250_000,
        b"'loss': 1\n" * 200_000,
        b"\x00" * 2_000_000,
        (b"CUDA out of memory" + b" " * 16_000 + b"x\n") * 120,
    ],
    ids=["one line", "headings", "tracebacks", "faults", "bars", "brackets", "ranks", "rows", "nothing", "blanks"],
)
def test_the_time_is_bounded(data: bytes) -> None:
    matchers = _matchers()
    begun = time.monotonic()
    _read(data, matchers)
    assert time.monotonic() - begun < 20
