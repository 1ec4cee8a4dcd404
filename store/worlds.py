"""Worlds that were read before, in a form that is quick to read again; every file here may be deleted at any time.

A file is named by a hash of all that its world was made from, and holds the subjects without the sources of their
facts: rules never read those. Each distinct value, shape (the names of a subject's facts) and relation is written once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import zlib
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.store.codec import (
    CodecError,
    Json,
    decode_fact,
    decode_relation,
    dump,
    encode_fact,
    encode_relation,
    load,
)
from sweeprules.store.errors import StoreError
from sweeprules.store.files import drop_leftovers, read_bounded, write_atomic

FOLDER = "worlds"
VERSION = 1
MAX_FILE = 256 * 2**20
MAX_UNPACKED = 2**30
KEPT_BYTES = 512 * 2**20
"""All files together: about ten times what 30 days of 8 sweeps of 400 jobs take."""
_MAGIC = b"sweeprules world\n"
_NUMBER = "I"
_WORLD, _HEAD = ".world", ".seen"


@dataclass(slots=True)
class Worlds:
    """The worlds that are kept under a state folder, by the hash of what they were made from.

    A key has a small document of its own, which names its world by a hash of what is in it: two keys that came to the
    same world share one, and `get` then gives the very same value for both when they are asked for in turn.
    """

    folder: Path
    _last: tuple[str, World] | None = None

    def get(self, key: str) -> tuple[dict[str, Json], World] | None:
        """The document and the world that were put there; None when they are not, or not as they were written."""
        try:
            name, document = _opened(read_bounded(self._path(key, _HEAD), MAX_FILE), key)
            return document, self._world(name)
        except (StoreError, CodecError):
            return None

    def put(self, key: str, head: Mapping[str, Json], world: World) -> World:
        """Keep a world, and return it as `get` will give it. One that can not be kept is not: it is made again."""
        data = pack(world)
        name = hashlib.sha256(data).hexdigest()
        if self._last is None or self._last[0] != name:
            try:
                self._last = (name, unpack(data))
            except CodecError:  # larger than is ever read back
                return world
        with contextlib.suppress(StoreError):
            write_atomic(self._path(name, _WORLD), data)
            write_atomic(self._path(key, _HEAD), _sealed(key, name, head))
        return self._last[1]

    def prune(self, most: int = KEPT_BYTES) -> None:
        """Forget those that were used least lately until all together take at most so many bytes."""
        drop_leftovers(self.folder)
        with contextlib.suppress(OSError):
            found = ((path, path.stat()) for suffix in (_WORLD, _HEAD) for path in self.folder.glob(f"*{suffix}"))
            total = 0
            for path, at in sorted(found, key=lambda one: one[1].st_mtime, reverse=True):
                total += at.st_size
                if total > most:
                    path.unlink(missing_ok=True)

    def _world(self, name: str) -> World:
        if self._last is not None and self._last[0] == name:
            return self._last[1]
        path = self._path(name, _WORLD)
        data = read_bounded(path, MAX_FILE)
        if hashlib.sha256(data).hexdigest() != name:
            raise CodecError("not the world that its name says")
        self._last = (name, unpack(data))
        with contextlib.suppress(OSError):
            path.touch()
        return self._last[1]

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{name}{suffix}"


# ---------------------------------------------------------------- the form


def _sealed(key: str, name: str, head: Mapping[str, Json]) -> bytes:
    return dump({"seal": _seal(key, name, head), "world": name, "head": dict(head)})


def _seal(key: str, name: str, head: Mapping[str, Json]) -> str:
    return hashlib.sha256(dump([key, name, dict(head)])).hexdigest()


def _opened(data: bytes, key: str) -> tuple[str, dict[str, Json]]:
    """The name of the world and the document that were sealed under this key. Raises `CodecError` for anything else."""
    try:
        match load(data):
            case {"world": str(name), "head": dict(head), "seal": seal} if seal == _seal(key, name, head):
                return name, head
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not what a key leads to: {error}") from error
    raise CodecError("not what this key leads to")


class _Table:
    """Distinct values in the order in which they came, each as JSON."""

    def __init__(self, encode: Callable[[Any], Json]) -> None:
        self.rows: list[Json] = []
        self._encode = encode
        self._places: dict[Hashable, int] = {}

    def place(self, value: Any, key: Hashable) -> int:
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.rows)
            self.rows.append(self._encode(value))
        return found


def pack(world: World) -> bytes:
    """A world as bytes; `unpack` gives it back, but for the sources of facts."""
    values, relations, shapes = _Table(encode_fact), _Table(encode_relation), _Table(list)
    numbers = array(_NUMBER)
    subjects: list[Json] = []
    for subject in world.subjects.values():
        facts, around = subject.facts, subject.relations
        subjects.append([subject.ref.kind, subject.ref.key, subject.judged])
        numbers.append(shapes.place(tuple(facts), tuple(facts)))
        numbers.append(shapes.place(tuple(around), tuple(around)))
        numbers.extend(values.place(value, _identity(value)) for value in facts.values())
        numbers.extend(relations.place(relation, relation) for relation in around.values())
    if sys.byteorder != "little":
        numbers.byteswap()
    document = {
        "version": VERSION, "subjects": subjects,
        "shapes": shapes.rows, "values": values.rows, "relations": relations.rows,
    }  # fmt: skip
    # Keys are not sorted: a map keeps the order in which it was read.
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    return _MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + numbers.tobytes(), 6)


def _identity(value: object) -> Hashable:
    # 1, 1.0 and True are equal to Python and are three facts; so are 0.0 and -0.0.
    return value if type(value) is str else (type(value), repr(value))


def unpack(data: bytes) -> World:
    """What `pack` wrote. Raises `CodecError` for anything else."""
    try:
        document, numbers = _parts(data)
        subjects = dict(_subjects(document, numbers))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CodecError(f"not a kept world: {error}") from error
    if len(subjects) != len(document["subjects"]):
        raise CodecError("not a kept world: a subject stands in it twice")
    return World(subjects)


def _parts(data: bytes) -> tuple[dict[str, Any], Sequence[int]]:
    if not data.startswith(_MAGIC):
        raise CodecError("not a kept world")
    try:
        stream = zlib.decompressobj()
        whole = stream.decompress(data[len(_MAGIC) :], MAX_UNPACKED)
    except zlib.error as error:
        raise CodecError(f"not a kept world: {error}") from error
    if not stream.eof or stream.unused_data:
        raise CodecError("not a whole kept world")
    end = 8 + int.from_bytes(whole[:8], "little")
    document = load(whole[8:end])
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise CodecError("not a kept world of this version")
    numbers = array(_NUMBER, whole[end:])
    if sys.byteorder != "little":
        numbers.byteswap()
    return document, numbers


_PLAIN = frozenset({str, int, float, bool})


def _subjects(document: Mapping[str, Any], numbers: Sequence[int]) -> Iterator[tuple[Ref, Subject]]:
    value = [row if type(row) in _PLAIN else decode_fact(row) for row in document["values"]].__getitem__
    relation = [decode_relation(row) for row in document["relations"]].__getitem__
    shapes = [_shape(row) for row in document["shapes"]]
    at = 0
    for kind, key, judged in document["subjects"]:
        if (type(kind), type(key), type(judged)) != (str, str, bool):
            raise CodecError("a subject has a kind, a key, and whether it is judged")
        names, around = shapes[numbers[at]], shapes[numbers[at + 1]]
        middle = at + 2 + len(names)
        end = middle + len(around)
        ref = Ref(kind, key)
        facts = dict(zip(names, map(value, numbers[at + 2 : middle]), strict=True))
        relations = dict(zip(around, map(relation, numbers[middle:end]), strict=True))
        yield ref, Subject(ref, facts, {}, relations, judged)
        at = end
    if at != len(numbers):
        raise CodecError("something follows the last subject")


def _shape(row: Sequence[object]) -> tuple[str, ...]:
    names = [name for name in row if isinstance(name, str)]
    if len({*names}) != len(row):
        raise CodecError("a shape is of names, each once")
    return tuple(names)
