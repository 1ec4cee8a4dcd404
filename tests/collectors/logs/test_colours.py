"""Colours are taken off block by block, and it does not show where a block ended."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.logs import lines
from sweeprules.collectors.logs.lines import Chunk

CODE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
PARTS = (
    b"\x1b[36m",
    b"\x1b[0m",
    b"\x1b]8;;x\x1b\\",
    b"\x1b]0;t\x07",
    b"\x1b",
    b"\x1b\\",
    b"\x1b[3",
    b"\n",
    b"text ",
    b"",
)
logs = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=6)), max_size=40).map(b"".join)


@pytest.fixture(params=[1, 3, 20], scope="module", autouse=True)
def block(request: pytest.FixtureRequest):
    """Blocks of a few bytes, so that every short log has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", request.param)
        yield request.param


@given(logs)
def test_a_text_in_blocks_is_the_text_at_once(data: bytes) -> None:
    assert Chunk(data, 0).text == CODE.sub(b"", data)


@given(logs, st.integers(0, 10**12))
def test_each_byte_is_found_where_it_stood(data: bytes, start: int) -> None:
    chunk = Chunk(data, start)
    places = [chunk.position(at) - start for at in range(len(chunk.text))]
    assert places == sorted(set(places))
    for at, place in enumerate(places):
        # The place is that of the byte, or of the codes right before it.
        rest = data[place:]
        while rest[:1] != chunk.text[at : at + 1] or CODE.match(rest):
            code = CODE.match(rest)
            assert code is not None, (at, place)
            rest = rest[code.end() :]


def test_the_codes_are_counted_over_all_blocks() -> None:
    chunk = Chunk(b"\x1b[36m(a pid=1)\x1b[0m one\n" * 50, 7)
    assert [chunk.position(chunk.text.index(b"one", 14 * n)) for n in range(50)] == [7 + 23 * n + 19 for n in range(50)]
