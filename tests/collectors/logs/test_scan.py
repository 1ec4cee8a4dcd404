"""Lines, patterns, counts over several sweeps, and what the end of a log says of a death."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs.failure import alike, signature, signature_text
from sweeprules.collectors.logs.lines import MAX_LINE, Chunk, printed_time, split_lines
from sweeprules.collectors.logs.scan import match_line, prepare, scan
from sweeprules.collectors.logs.traces import tracebacks
from sweeprules.collectors.prior import SignatureMemo
from tests.collectors.slurm.sweeps import PATTERNS, pattern

UTC = ZoneInfo("UTC")
MATCHERS = prepare(PATTERNS)


def texts(data: bytes, **more: object) -> list[str]:
    return [line.text for line in split_lines(data, 0, **more)]  # type: ignore[arg-type]


def test_lines_end_at_newlines_and_carriage_returns():
    assert texts(b"a\nb\r\nc\rd\n\n  \ne") == ["a", "b", "c", "d", "e"]


def test_colours_titles_and_rays_prefix_go():
    raw = b"\x1b[36m(skyrl_entrypoint pid=9077, ip=10.0.0.1)\x1b[0m \x1b[32mINFO\x1b[0m x\x1b[A\x1b]0;title\x07y"
    assert texts(raw) == ["INFO xy"]


def test_a_broken_first_line_is_left_out():
    assert texts(b"half\nwhole\n", whole_start=False) == ["whole"]


def test_positions_are_bytes_in_the_file():
    lines = list(split_lines("é\nb\n".encode(), 100))
    assert [(line.text, line.position) for line in lines] == [("é", 100), ("b", 103)]


def test_a_dump_of_a_line_is_cut():
    (line,) = split_lines(b"x" * 10_000_000, 0)
    assert len(line.text) == MAX_LINE


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_any_bytes_make_lines(data):
    for line in split_lines(data, 7):
        assert 7 <= line.position <= 7 + len(data)
        assert "\n" not in line.text


@pytest.mark.parametrize(
    ("text", "zone", "wanted"),
    [
        ("2026-11-30 17:40:30 INFO", "UTC", 1796060430),
        ("[2026-11-30T17:40:30.123+01:00] x", "UTC", 1796056830),
        ("2026/11/30 17:40:30,5 x", "Europe/Rome", 1796056830),
        ("INFO 2026-11-30T17:40:30Z", "Europe/Rome", 1796060430),
        ("step 12 of 300", "UTC", None),
        ("2026-99-99 17:40:30", "UTC", None),
    ],
)
def test_times_in_lines(text, zone, wanted):
    assert printed_time(text, ZoneInfo(zone)) == wanted


def lines_of(*texts: str) -> Chunk:
    return Chunk("\n".join(texts).encode(), 0)


def test_counts_fields_and_the_last_match():
    reading = scan(
        lines_of(
            "WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600000 ms before timing out",
            "2026-11-30T17:40:30 WorkNCCL(SeqNum=2) ran for 1800000 ms before timing out",
            "it ran for an hour",
        ),
        MATCHERS,
        UTC,
    )
    assert reading.counts == {"nccl": 2}
    assert reading.last["nccl"].fields == {"op": "SeqNum=2", "ms": 1800000}
    assert reading.last["nccl"].time == 1796060430
    assert reading.first["nccl"].line.position == 0


SHM = "No available shared memory broadcast block"


@pytest.mark.parametrize(
    ("given_lines", "only"),
    [
        (("Step Progress: 3/9", SHM, SHM), True),
        (("Step Progress: 3/9", SHM, "something else"), False),
        ((SHM, "Step Progress: 4/9"), False),
        (("something else", "Step Progress: 4/9", SHM), True),
    ],
)  # fmt: skip
def test_only_heartbeats_since_the_last_progress(given_lines, only):
    assert scan(lines_of(*given_lines), MATCHERS, UTC).heartbeats_only is only


def test_nothing_read_says_nothing():
    assert scan(lines_of(), MATCHERS, UTC).heartbeats_only is None


def test_a_field_that_is_no_number_is_left_out():
    odd = prepare({"n": pattern("n", "metric", "n=", r"n=(?P<n>\S+)", n="integer")})
    assert scan(lines_of("n=twelve"), odd, UTC).last["n"].fields == {}
    assert scan(lines_of("n=12"), odd, UTC).last["n"].fields == {"n": 12}


PIECES = st.sampled_from(
    [
        b"Step Progress: 3/9", b"\x1b[32mStep \x1b[0mProgress: 4/9\x1b[0m",
        b"No available shared memory broadcast block",
        b"(worker pid=7) No available shared memory broadcast block", b"Watchdog caught", b"WorkNCCL(a) ran for 5 ms",
        b"it ran for long", b"fine", b"", b"  ", b"\xff\xfe", b"2026-11-30 17:40:30 Watchdog caught x",
    ]
)  # fmt: skip
BREAKS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(PIECES, BREAKS), max_size=14), st.booleans(), st.integers(0, 60))
def test_a_scan_equals_the_plain_one_line_by_line(pieces, whole_start, counted_from):
    data = b"".join(piece + end for piece, end in pieces)
    reading = scan(Chunk(data, 9, whole_start=whole_start), MATCHERS, UTC, counted_from)
    lines = list(split_lines(data, 9, whole_start=whole_start))
    matches = {
        matcher.pattern.name: [line for line in lines if match_line(matcher, line.text) is not None]
        for matcher in MATCHERS
    }
    counts = {name: sum(line.position >= counted_from for line in found) for name, found in matches.items()}
    assert reading.counts == {name: count for name, count in counts.items() if count}
    assert {name: match.line for name, match in reading.first.items()} == {n: f[0] for n, f in matches.items() if f}
    assert {name: match.line for name, match in reading.last.items()} == {n: f[-1] for n, f in matches.items() if f}
    progress = max((line.position for line in matches["bar"]), default=-1)
    after = [line for line in lines if line.position > progress]
    only = bool(after) and all(line in matches["shm"] for line in after)
    assert reading.heartbeats_only == (only if lines else None)
    times = [moment for line in lines if (moment := printed_time(line.text, UTC)) is not None]
    assert reading.last_time == (times[-1] if times else None)


# ---------------------------------------------------------------- deaths

TRACE = (
    "Traceback (most recent call last):",
    '  File "/opt/conda/lib/python3.11/site-packages/torch/x.py", line 1, in call',
    '  File "/w/train.py", line 30, in train_step',
    "    loss.backward()",
    '  File "/opt/conda/lib/python3.11/site-packages/torch/y.py", line 2, in backward',
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
)


def test_a_traceback_gives_its_type_and_the_innermost_frame_of_our_own():
    (raised,) = tracebacks(lines_of("before", *TRACE, "after"))
    assert (raised.type, raised.frame) == ("OutOfMemoryError", "train.py:train_step")
    assert raised.message.startswith("CUDA out of memory")


def test_ranks_and_prefixes_are_seen_through():
    prefixed = [f"[rank3]: {line}" for line in TRACE]
    (raised,) = tracebacks(lines_of(*prefixed))
    assert (raised.type, raised.frame, raised.rank) == ("OutOfMemoryError", "train.py:train_step", 3)


def test_a_traceback_without_an_end_is_none():
    assert tracebacks(lines_of(*TRACE[:4])) == []


def test_signatures():
    (raised,) = tracebacks(lines_of(*TRACE))
    memo = signature({"exit": "1:0", "elapsed": 11400}, [raised])
    assert memo == SignatureMemo("1:0", "OutOfMemoryError", "train.py:train_step", 11400.0)
    assert memo is not None
    assert signature_text(memo) == "1:0 OutOfMemoryError train.py:train_step t98"
    assert signature({}, []) is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (SignatureMemo("1:0", "E", "f", 1000.0), True),
        (SignatureMemo("1:0", "E", "f", 1090.0), True),
        (SignatureMemo("1:0", "E", "f", 1200.0), False),
        (SignatureMemo("1:0", "E", "f", None), None),
        (SignatureMemo("1:0", "F", "f", None), False),
        (SignatureMemo("1:0", "F", "f", 1000.0), False),
        (SignatureMemo("0:9", "E", "f", 1000.0), False),
    ],
)
def test_deaths_alike(other, same):
    assert alike(SignatureMemo("1:0", "E", "f", 1000.0), other, 0.1) is same


@pytest.mark.parametrize(
    ("between", "broken"),
    [
        (b"\n", True),
        (b"\r", True),
        (b"\x00" * 15, False),
        (b"\x00" * 16, True),
        (b"\x00" * 17 + b"\r\n\x00", True),
        (b"\n" + b"\x00" * 20, True),
    ],
)
def test_a_break_is_an_end_of_a_line_or_a_hole_of_sixteen_nuls_or_more(between, broken):
    assert len(list(Chunk(b"one" + between + b"two", 0).spans())) == (2 if broken else 1)
