"""A cassette comes back as it was, or says what is wrong with it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sweeprules.engine.observation import Failure, Observation
from sweeprules.store import builtin, cassette
from sweeprules.store.cassette import Cassette, parse_cassette, read_cassette
from sweeprules.store.errors import StoreError
from tests.store.strategies import OBSERVATIONS

SEEN = Observation("leo/1.1", "leo", "login01", ("squeue", "--me"), (), 10.0, 0.5, 0, b"4711\n", b"", b"motd", 0)
FAILED = Observation(
    "leo/2.1", "leo", "login02", ("sacct",), (), 11.0, 60.0, None, b"\xff\x00", b"", failure=Failure.TIMEOUT, cut=7
)


def sample(*observations: Observation) -> Cassette:
    """A cassette of these observations."""
    return Cassette(
        sweep_id="20261130T193500Z-ab12",
        now=1_796_000_000.0,
        nonce="ab12",
        engine="checked",
        policy_sha256="0" * 64,
        site="demo",
        prior={"clusters": {"leo": {"jobs": [1, 2.5, None, "x"]}}},
        observations=observations,
        files={"sweeprules.yaml": "extends: builtin\n"},
    )


def lines(data: bytes) -> list[bytes]:
    """The lines in a cassette's bytes."""
    return gzip.decompress(data).splitlines(keepends=True)


def altered(index: int, line: bytes) -> bytes:
    """A cassette with one of its lines replaced."""
    parts = lines(sample(SEEN, FAILED).to_bytes())
    parts[index] = line
    return gzip.compress(b"".join(parts))


def with_field(name: str, value: object) -> bytes:
    """A cassette whose first observation has another value in a field; None leaves the field out."""
    document = json.loads(lines(sample(SEEN).to_bytes())[3])
    document[name] = value
    if value is None:
        del document[name]
    return altered(3, json.dumps(document).encode() + b"\n")


@given(st.lists(OBSERVATIONS, max_size=4, unique_by=lambda item: item.id))
def test_any_bytes_come_back(observations: list[Observation]) -> None:
    one = sample(*observations)
    assert parse_cassette(one.to_bytes(), "x") == one


def test_a_file_comes_back_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.cassette"
    sample(SEEN, FAILED).write(path)
    assert read_cassette(path) == sample(SEEN, FAILED)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_equal_cassettes_have_equal_bytes() -> None:
    assert sample(SEEN, FAILED).to_bytes() == sample(SEEN, FAILED).to_bytes()


def test_each_line_fits_the_schema() -> None:
    validator = Draft202012Validator(builtin.schema("cassette"))
    odd = replace(SEEN, id="leo/3.1", remote_clock=float("inf"))
    for line in lines(sample(SEEN, FAILED, odd).to_bytes()):
        validator.validate(json.loads(line))
    assert not validator.is_valid({"cassette": 2})
    assert not validator.is_valid({"id": "leo/1.1"})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not gzip data"),
        (b"PK\x03\x04", "not gzip data"),
        (b"\x1f\x8b", "cut short"),
        (sample(SEEN).to_bytes()[:-9], "cut short"),
        (sample(SEEN).to_bytes()[:60], "cut short"),
        (sample(SEEN).to_bytes() + b"tail", "is damaged"),
        (gzip.compress(b""), "ends before its end line"),
        (gzip.compress(b"".join(lines(sample(SEEN).to_bytes())[:-1])), "ends before its end line"),
        (gzip.compress(b"".join(lines(sample(SEEN).to_bytes())[:2])), "ends before its end line"),
        (gzip.compress(b'{"a": 1}\n'), "no format version"),
        (gzip.compress(b"[]\n"), "the header should be a mapping"),
        (gzip.compress(b'{"cassette": 2}\n'), "has cassette format 2; this sweeprules reads format 1"),
        (gzip.compress(b'{"cassette": true}\n'), "has cassette format True"),
        (altered(0, b'{"cassette": 1}\n'), "'sweep_id' is missing"),
        (altered(0, b'{"cassette": 1, "sweep_id": 3}\n'), "'sweep_id' in the header has the wrong type"),
        (altered(1, b"{}\n"), "'prior' is missing"),
        (altered(1, b'{"prior": 3}\n'), "the prior state should be a mapping"),
        (altered(2, b'{"files": {"a": 1}}\n'), "'a' should be a text"),
        (altered(3, b"nope\n"), "line 4: not a JSON document"),
        (altered(3, b"[]\n"), "line 4 should be a mapping"),
        (altered(4, lines(sample(SEEN).to_bytes())[3]), "line 5: a second observation 'leo/1.1'"),
        (altered(5, b'{"end": 5}\n'), "line 6 announces 5 observations, 2 are there"),
        (altered(4, b'{"end": 1}\n'), "line 6: something follows the end line"),
        (with_field("stdout", 3), "line 4: 'stdout' should be a text or base64"),
        (with_field("stdout", {"base64": "%"}), "line 4: 'stdout' is not base64"),
        (with_field("stdout", "\ud800"), "line 4: 'stdout' holds half a character"),
        (with_field("exit", True), "line 4: 'exit' should be a whole number"),
        (with_field("duration", "1"), "line 4: 'duration' should be a number"),
        (with_field("failure", "boredom"), "line 4: 'failure' is no failure that is known"),
        (with_field("argv", ["a", 1]), "line 4: 'argv' should be a text"),
        (with_field("login", None), "line 4: the observation has no 'login'"),
        (with_field("colour", 1), "line 4: 'colour' is no field of an observation"),
    ],
)
def test_each_mistake_is_named(data: bytes, words: str) -> None:
    with pytest.raises(StoreError) as caught:
        parse_cassette(data, "some.cassette")
    assert str(caught.value).startswith("some.cassette: ")
    assert words in str(caught.value)


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_nothing(place: int, flip: int) -> None:
    data = bytearray(sample(SEEN, FAILED).to_bytes())
    data[place % len(data)] ^= flip
    try:
        assert parse_cassette(bytes(data), "x") == sample(SEEN, FAILED)
    except StoreError as error:
        assert "x: " in str(error)


def test_what_unpacks_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "MAX_LINE", 1000)
    monkeypatch.setattr(cassette, "MAX_UNPACKED", 2000)
    bomb = gzip.compress(b'{"cassette": 1}'.ljust(10_000) + b"\n")
    with pytest.raises(StoreError, match=r"unpacks to more than is read \(line 1\)"):
        parse_cassette(bomb, "x")
    with pytest.raises(StoreError, match="unpacks to more than is read"):
        parse_cassette(sample(*(replace(SEEN, id=f"leo/{n}") for n in range(20))).to_bytes(), "x")


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="could not be read: No such file"):
        read_cassette(tmp_path / "none.cassette")
