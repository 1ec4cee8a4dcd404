"""Logs that went through what real ones go through: cut, glued, interleaved, recoded."""

from __future__ import annotations

import random

NOISE = (
    b"(raylet, ip=10.1.2.3) \xff\xfe broken \x00\x00 bytes {'a': 1",
    b"(FSDPPolicyWorkerBase pid=77) {'policy/raw_grad_norm': '9.9',",
    b"\x1b[A\x1b[2K\rGeneration Buffer Progress:  12%|x",
    b"WANDB_MIRROR",
    b"WANDB_MIRROR kind=train step=",
    b"'trainer/global_step'",
    b"{'",
    "é█▏".encode("utf-16"),
    b"Training Step Progress: ",
    b"Started: '",
    b"[[[[[[[[[[[[{{{{{{{{",
    b"generation throughput: ",
)


def mutated(data: bytes, seed: int, times: int) -> bytes:
    """The log after so many mishaps; every number that still stands whole on its line is the one that was printed."""
    rng = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(times):
        if not lines:
            break
        rng.choice((_cut, _glue, _insert, _recode, _drop, _repeat, _colour))(lines, rng)
    return b"\n".join(lines)


def _at(lines: list[bytes], rng: random.Random) -> int:
    return rng.randrange(len(lines))


def _cut(lines: list[bytes], rng: random.Random) -> None:
    at = _at(lines, rng)
    place = rng.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:place]


def _glue(lines: list[bytes], rng: random.Random) -> None:
    at = _at(lines, rng)
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _insert(lines: list[bytes], rng: random.Random) -> None:
    lines.insert(_at(lines, rng), rng.choice(NOISE))


def _recode(lines: list[bytes], rng: random.Random) -> None:
    at = _at(lines, rng)
    wide = rng.choice(("utf-16", "utf-7", "utf-32"))
    lines[at] = lines[at].decode("utf-8", "replace").encode(wide).replace(b"\n", b"\x01")


def _drop(lines: list[bytes], rng: random.Random) -> None:
    del lines[_at(lines, rng)]


def _repeat(lines: list[bytes], rng: random.Random) -> None:
    at = _at(lines, rng)
    lines.insert(at, lines[at])


def _colour(lines: list[bytes], rng: random.Random) -> None:
    at = _at(lines, rng)
    place = rng.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:place] + b"\x1b[31m" + lines[at][place:]
