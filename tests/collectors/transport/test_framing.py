"""Frames are believed whole or not at all, whatever stands around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport.framing import NOISE_KEPT, Frame, Progress, parse

WORD = "0123456789abcdef0123456789abcdef"
JUNK = st.binary(max_size=40) | st.sampled_from(
    [b"\n", b"@", b"\n@", b"\n@0123456789abcdef c 0 0 0\n", b"\n@x o 1\n", b"Welcome\r\n", b"\n@" + WORD.encode()]
)
BODIES = st.lists(st.tuples(JUNK, JUNK, st.integers(0, 255)), min_size=1, max_size=5)


def opening(index: int) -> bytes:
    return f"\n@{WORD} o {index}\n".encode()


def streams(
    bodies: list[tuple[bytes, bytes, int]], out_junk: list[bytes] | None = None, err_junk: list[bytes] | None = None
) -> tuple[bytes, bytes]:
    """What a login sends for these (stdout, stderr, status), with junk before, between and after the frames."""
    out, err = b"", b""
    for index, (stdout, stderr, status) in enumerate(bodies):
        out += (out_junk[index] if out_junk else b"") + opening(index) + stdout
        out += f"\n@{WORD} c {index} {status} 60\n".encode()
        err += (err_junk[index] if err_junk else b"") + opening(index) + stderr + f"\n@{WORD} c {index}\n".encode()
    return out + (out_junk[-1] if out_junk else b""), err + (err_junk[-1] if err_junk else b"")


@given(BODIES)
def test_each_command_gets_its_own_bytes_and_status(bodies: list[tuple[bytes, bytes, int]]) -> None:
    framed = parse(*streams(bodies), WORD, len(bodies))
    assert framed.frames == tuple(Frame(True, status, out, err, 60) for out, err, status in bodies)
    assert framed.noise == b""


@given(BODIES, st.data())
def test_junk_outside_the_frames_changes_no_answer(bodies: list[tuple[bytes, bytes, int]], data: st.DataObject) -> None:
    pieces = st.lists(JUNK, min_size=len(bodies) + 1, max_size=len(bodies) + 1)
    noisy = streams(bodies, data.draw(pieces), data.draw(pieces))
    assert parse(*noisy, WORD, len(bodies)).frames == parse(*streams(bodies), WORD, len(bodies)).frames


@given(BODIES, st.data())
def test_a_cut_takes_answers_away_and_changes_none(bodies: list[tuple[bytes, bytes, int]], data: st.DataObject) -> None:
    out, err = streams(bodies)
    whole = parse(out, err, WORD, len(bodies)).frames
    at, err_at = data.draw(st.integers(0, len(out))), data.draw(st.integers(0, len(err)))
    part = parse(out[:at], err[:err_at], WORD, len(bodies)).frames
    answered = [frame.exit is not None for frame in part]
    assert answered == sorted(answered, reverse=True)
    for frame, full in zip(part, whole, strict=True):
        if frame.exit is None:
            assert full.stdout.startswith(frame.stdout) or not frame.opened or frame.stdout.startswith(full.stdout)
        else:
            assert frame == full
    if at < len(out):
        assert part[-1].exit is None


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 4))
def test_any_bytes_parse_to_no_answer(out: bytes, err: bytes, count: int) -> None:
    framed = parse(out, err, WORD, count)
    assert framed.frames == (Frame(),) * count


def test_a_marker_of_another_call_is_text() -> None:
    bodies = [(b"\n@ffffffffffffffffffffffffffffffff c 0 0 0\nspoofed", b"", 3)]
    assert parse(*streams(bodies), WORD, 1).frames[0].exit == 3


def test_a_status_that_could_not_be_read_is_no_answer() -> None:
    out, err = streams([(b"x", b"", 0)])
    assert parse(out.replace(b" 0 60\n", b" x 60\n"), err, WORD, 1).frames[0].exit is None


def test_standard_error_without_its_closing_marker_is_no_answer() -> None:
    out, err = streams([(b"x", b"partial", 0)])
    frame = parse(out, err[: err.rindex(b"\n@")], WORD, 1).frames[0]
    assert (frame.exit, frame.stderr) == (None, b"partial")


def test_frames_out_of_order_are_not_believed_from_there_on() -> None:
    first, second = streams([(b"a", b"", 0)]), f"\n@{WORD} o 2\nb\n@{WORD} c 2 0 0\n".encode()
    frames = parse(first[0] + second, first[1] + second, WORD, 3).frames
    assert [frame.exit for frame in frames] == [0, None, None]


def test_a_long_banner_is_kept_at_both_ends_only() -> None:
    out, err = streams([(b"a", b"", 0)], [b"first" + b"." * 5_000_000 + b"last", b""])
    noise = parse(out, err, WORD, 1).noise
    assert len(noise) < 3 * NOISE_KEPT
    assert noise.startswith(b"first") and noise.endswith(b"last")


@given(BODIES, st.lists(st.integers(1, 30), min_size=1))
def test_markers_are_counted_once_however_the_stream_is_split(
    bodies: list[tuple[bytes, bytes, int]], sizes: list[int]
) -> None:
    out, _ = streams(bodies)
    progress = Progress(WORD)
    at = 0
    for turn in range(len(out)):
        size = sizes[turn % len(sizes)]
        progress.feed(out[at : at + size])
        at += size
        if at >= len(out):
            break
    assert (progress.opened, progress.closed) == (len(bodies), len(bodies))
