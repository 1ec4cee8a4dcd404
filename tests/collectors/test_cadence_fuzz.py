"""Cut, glued, interleaved and recoded logs through what learns a cadence: no exception, no gap that was not there."""

from __future__ import annotations

import json
import random
import time
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.gaps import KEEP, KINDS, CadenceMemo, Signs, learn
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare, scan
from tests.collectors.metrics.rl_broken import mutated
from tests.rules.shipped import policy

UTC = ZoneInfo("UTC")
FAR = 14
"""Signs in a log."""


def moments(rng: random.Random) -> list[int]:
    """Seconds since the start, no two distances alike."""
    at = 0
    found = []
    for n in range(FAR):
        at += 60 + (1 << n) % 997 + rng.randrange(5)
        found.append(at)
    return found


def clock(seconds: int) -> bytes:
    return b"%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)


def stamped(at: int, n: int) -> bytes:
    return b"2026-11-30 %s INFO Training Step Progress: %d/90\n" % (clock(at + 36_000), n)


def bar(at: int, n: int) -> bytes:
    share = round(100 * n / 90)
    return b"\rTraining Step Progress: %3d%%|#         | %d/90 [%s<9:00:00, 90s/it]\n" % (share, n, clock(at))


def mean(at: int, n: int) -> bytes:
    return b"  %d/90 Mean: 0.211 \xe2\x94\x81\xe2\x94\x81 %s 3:33:02\r\n" % (n, clock(at))


def hold(seeds: range) -> None:
    matchers = prepare(policy().patterns)
    learned = 0
    for seed in seeds:
        rng = random.Random(seed)
        times = moments(rng)
        line = rng.choice((stamped, bar, mean))
        data = b"".join(line(at, n) + b"noise about nothing\n" for n, at in enumerate(times, start=1))
        read = scan(Chunk(mutated(data, seed, rng.randrange(1, 6)), 0), matchers, UTC)
        memo = learn(None, Signs(read.moved, read.breaks))
        assert CadenceMemo.decode(json.loads(json.dumps(memo.encode()))) == memo
        assert len(memo.gaps) <= KINDS
        # Of a line that is there twice and glued to the next, the step is the next one's and the time is its own.
        real = {0} | {later - one for at, one in enumerate(times) for later in times[at + 1 :]}
        for gaps in memo.gaps.values():
            assert len(gaps.newest) <= KEEP
            assert real.issuperset(gaps.newest), (seed, line.__name__, gaps.newest)
            learned += len(gaps.newest)
    assert learned > len(seeds)


def test_every_gap_of_a_broken_log_is_one_between_two_of_its_signs() -> None:
    hold(range(5_000))


@pytest.mark.deep
def test_every_gap_of_very_many_broken_logs_is_one_between_two_of_their_signs() -> None:
    hold(range(5_000, 105_000))


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 20_000_000,
        b"Training Step Progress: 1/2 " * 300_000,
        b" Mean: 0.5 0:00:01\r" * 300_000,
        b"9:" * 4_000_000,
    ],
    ids=["one line", "bars on one line", "means", "clocks"],
)
def test_the_time_is_bounded(data: bytes) -> None:
    begun = time.process_time()
    read = scan(Chunk(data, 0), prepare(policy().patterns), UTC)
    learn(None, Signs(read.moved, read.breaks))
    assert time.process_time() - begun < 20
