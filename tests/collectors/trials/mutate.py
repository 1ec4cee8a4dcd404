"""Damage as files and logs really take it: cut, glued, interleaved, coded otherwise, a byte turned."""

from __future__ import annotations

import random


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` after one to three kinds of damage, some of it with parts of `other`."""
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(_KINDS)(rng, data, other)
    return data


def _cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return rng.choice([data[:end], data[begin:], data[:begin] + data[end:]])


def _glued(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return rng.choice([data + other, other + data, data + b"\r" + other, data + data])


def _interleaved(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at, upto = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    return data[:at] + other[:upto] + data[at:]


def _recoded(rng: random.Random, data: bytes, other: bytes) -> bytes:
    kinds = [
        lambda: data.decode("utf-8", "replace").encode("utf-16"),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: b"\x1b[36m(worker pid=9)\x1b[0m " + data,
    ]
    return rng.choice(kinds)()


def _turned(rng: random.Random, data: bytes, other: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if found:
            found[rng.randrange(len(found))] = rng.choice(b'\0\xff{}[]",:0123456789nN\n\r\x1b')
    return bytes(found)


_KINDS = (_cut, _glued, _interleaved, _recoded, _turned)
