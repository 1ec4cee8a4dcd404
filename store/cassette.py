"""A cassette: all that one sweep was told, so that it can be done again on an empty machine.

The file is gzip around lines of JSON: a header, the prior state, the site's own files, one line an observation, and an
end line that counts them. The header carries the format's version. The same cassette always gives the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from sweeprules.engine.observation import Failure, Observation
from sweeprules.store.codec import CodecError, Json, decode_float, dump, encode_float, load
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded, write_atomic

VERSION = 1
MAX_FILE = 256 * 2**20
MAX_UNPACKED = 2**30
"""A sweep of 3,000 running jobs with 64 KiB of each log is a fifth of this."""
MAX_LINE = 128 * 2**20
_LEVEL = 6
_HINT = "record it again with `sweeprules report --cassette FILE`, or fetch a whole copy"


@dataclass(frozen=True, slots=True)
class Cassette:
    """One sweep's observations, the prior state it started from, and what else decides its verdicts.

    `now` is epoch seconds; `nonce` the word in the frames that were sent; `prior` a JSON document that only its writer
    reads; `files` the site's own files (path in the site -> text), so that it replays where the site is not.
    """

    sweep_id: str
    now: float
    nonce: str
    engine: str
    policy_sha256: str
    site: str
    prior: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """The file's bytes, the same ones each time."""
        buffer = io.BytesIO()
        # No name and no time in the gzip header: they would change the bytes of equal cassettes.
        with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=_LEVEL, mtime=0) as stream:
            for line in self._lines():
                stream.write(dump(line) + b"\n")
        return buffer.getvalue()

    def _lines(self) -> Iterator[Json]:
        yield {
            "cassette": self.version,
            "sweep_id": self.sweep_id,
            "now": self.now,
            "nonce": self.nonce,
            "engine": self.engine,
            "policy_sha256": self.policy_sha256,
            "site": self.site,
        }
        yield {"prior": cast(Json, dict(self.prior))}
        yield {"files": cast(Json, dict(self.files))}
        for observation in self.observations:
            yield encode_observation(observation)
        yield {"end": len(self.observations)}

    def write(self, path: Path) -> None:
        """Put it at `path`, whole or not at all. Raises `StoreError`."""
        write_atomic(path, self.to_bytes())


def read_cassette(path: Path) -> Cassette:
    """The cassette in a file. Raises `StoreError` that names what is wrong and where."""
    return parse_cassette(read_bounded(path, MAX_FILE), str(path))


def parse_cassette(data: bytes, name: str) -> Cassette:
    """The cassette in these bytes; `name` stands in messages.

    Raises `StoreError`: not gzip, cut short, damaged, of another version, too large once unpacked, a line that is not
    what it should be.
    """
    return _parsed(data, name, whole=True)


def parse_head(data: bytes, name: str) -> Cassette:
    """The cassette in these bytes without its prior state and its observations, which are not looked at.

    Raises `StoreError` as `parse_cassette` does for what comes before the observations.
    """
    return _parsed(data, name, whole=False)


def _parsed(data: bytes, name: str, *, whole: bool) -> Cassette:
    raw = _raw_lines(data, name)
    lines = (_read_line(number, line) for number, line in raw)
    try:
        header = _object(next(lines)[1], "the header")
        _check_version(header, name)
        prior: dict[str, Json] = {}
        if whole:
            prior = _object(_object(next(lines)[1], "the prior state")["prior"], "the prior state")
        else:
            next(raw)
        files = _texts(_object(next(lines)[1], "the site's files")["files"])
        observations = tuple(_observations(lines)) if whole else ()
        return Cassette(
            sweep_id=_typed(header, "sweep_id", str),
            now=float(_typed(header, "now", int, float)),
            nonce=_typed(header, "nonce", str),
            engine=_typed(header, "engine", str),
            policy_sha256=_typed(header, "policy_sha256", str),
            site=_typed(header, "site", str),
            prior=prior,
            observations=observations,
            files=files,
        )
    except StopIteration:
        raise StoreError(name, "ends before its end line: it was cut short", _HINT) from None
    except KeyError as error:
        raise StoreError(name, f"is damaged: {error.args[0]!r} is missing", _HINT) from None
    except CodecError as error:
        raise StoreError(name, f"is damaged: {error}", _HINT) from None


def _check_version(header: dict[str, Json], name: str) -> None:
    if "cassette" not in header:
        raise StoreError(
            name, "is not a cassette: its first line has no format version", "name a file that a sweep recorded"
        )
    version = header["cassette"]
    if version != VERSION or isinstance(version, bool):
        raise StoreError(
            name,
            f"has cassette format {version!r}; this sweeprules reads format {VERSION}",
            "use the version that recorded it",
        )


def _observations(lines: Iterator[tuple[int, Json]]) -> Iterator[Observation]:
    seen: set[str] = set()
    for number, line in lines:
        document = _object(line, f"line {number}")
        if "end" in document:
            if document["end"] != len(seen):
                raise CodecError(f"line {number} announces {document['end']!r} observations, {len(seen)} are there")
            if next(lines, None) is not None:
                raise CodecError(f"line {number + 1}: something follows the end line")
            return
        observation = _decode_line(document, number)
        if observation.id in seen:
            raise CodecError(f"line {number}: a second observation {observation.id!r}")
        seen.add(observation.id)
        yield observation
    raise CodecError("it ends before its end line: it was cut short")


def _decode_line(document: dict[str, Json], number: int) -> Observation:
    try:
        return decode_observation(document)
    except CodecError as error:
        raise CodecError(f"line {number}: {error}") from error


def _read_line(number: int, raw: bytes) -> tuple[int, Json]:
    try:
        return number, load(raw)
    except CodecError as error:
        raise CodecError(f"line {number}: {error}") from error


def _raw_lines(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    if not data.startswith(b"\x1f\x8b"):
        raise StoreError(name, "is not a cassette: it is not gzip data", "name a file that a sweep recorded")
    total = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            number = 0
            while raw := stream.readline(MAX_LINE + 1):
                number += 1
                total += len(raw)
                if len(raw) > MAX_LINE or total > MAX_UNPACKED:
                    raise StoreError(
                        name, f"unpacks to more than is read (line {number})", "such a file is not one of ours"
                    )
                yield number, raw
    except EOFError:
        raise StoreError(name, "ends in the middle: it was cut short", _HINT) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise StoreError(name, f"is damaged: {error}", _HINT) from None


def encode_observation(observation: Observation) -> dict[str, Json]:
    """An observation as JSON: bytes as a text where they are UTF-8, else `{"base64": ...}`."""
    return {name: _encode_field(getattr(observation, name)) for name in _FIELDS}


def decode_observation(document: Json) -> Observation:
    """The observation that `encode_observation` wrote. Raises `CodecError` that names the field."""
    whole = _object(document, "an observation")
    for name in whole.keys() - _FIELDS.keys():
        raise CodecError(f"{name!r} is no field of an observation")
    values: dict[str, Any] = {}
    for name, kind in _FIELDS.items():
        if name not in whole:
            raise CodecError(f"the observation has no {name!r}")
        values[name] = _DECODERS[kind](whole[name], name)
    return Observation(**values)


_FIELDS: dict[str, str] = {item.name: str(item.type) for item in fields(Observation)}


def _encode_field(value: object) -> Json:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        # A remote clock is whatever the cluster printed: it must not keep a sweep from being recorded.
        return encode_float(value)
    return cast(Json, str(value) if isinstance(value, Failure) else value)


def _decode_bytes(value: Json, name: str) -> bytes:
    if isinstance(value, str):
        return _encodable(value, name).encode("utf-8")
    if isinstance(value, dict) and isinstance(packed := value.get("base64"), str):
        try:
            return base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError) as error:
            raise CodecError(f"{name!r} is not base64: {error}") from error
    raise CodecError(f"{name!r} should be a text or base64")


def _encodable(value: str, name: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CodecError(f"{name!r} holds half a character") from error
    return value


def _decode_str(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise CodecError(f"{name!r} should be a text")
    return value


def _decode_texts(value: Json, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise CodecError(f"{name!r} should be a list of texts")
    return tuple(_decode_str(item, name) for item in value)


def _decode_int(value: Json, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CodecError(f"{name!r} should be a whole number")
    return value


def _decode_float(value: Json, name: str) -> float:
    try:
        return decode_float(value)
    except CodecError as error:
        raise CodecError(f"{name!r} should be a number: {error}") from error


def _decode_failure(value: Json, name: str) -> Failure:
    try:
        return Failure(_decode_str(value, name))
    except ValueError as error:
        raise CodecError(f"{name!r} is no failure that is known: {value!r}") from error


_DECODERS: dict[str, Any] = {
    "str": _decode_str,
    "bytes": _decode_bytes,
    "int": _decode_int,
    "float": _decode_float,
    "tuple[str, ...]": _decode_texts,
    "int | None": lambda value, name: None if value is None else _decode_int(value, name),
    "float | None": lambda value, name: None if value is None else _decode_float(value, name),
    "Failure": _decode_failure,
}


def _object(document: Json, what: str) -> dict[str, Json]:
    if not isinstance(document, dict):
        raise CodecError(f"{what} should be a mapping")
    return document


def _texts(document: Json) -> dict[str, str]:
    return {name: _decode_str(text, name) for name, text in _object(document, "the site's files").items()}


def _typed(document: dict[str, Json], name: str, *kinds: type) -> Any:
    value = document[name]
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise CodecError(f"{name!r} in the header has the wrong type")
    return value
