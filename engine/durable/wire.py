"""Frames between the sweep and its durable-rules child: a length, then that many bytes, never more than a bound."""

from __future__ import annotations

import json
import struct
from typing import BinaryIO

MAX_FRAME = 15 * 2**20
"""Largest frame in bytes, either way; the engine itself fails above 16 MiB."""
HEADER = struct.Struct(">I")


class FrameError(Exception):
    """Raised for bytes that are no frame: too long, cut short, or not the text that was agreed on."""


def frame(payload: bytes) -> bytes:
    """One frame; ValueError above the bound."""
    if len(payload) > MAX_FRAME:
        raise ValueError(f"a frame of {len(payload)} bytes is over the bound of {MAX_FRAME}")
    return HEADER.pack(len(payload)) + payload


def request(head: dict[str, object], body: str = "") -> bytes:
    """A framed request: one line of JSON that says what to do, then the facts as they go to the engine."""
    return frame(json.dumps(head, ensure_ascii=True).encode() + b"\n" + body.encode("utf-8"))


def split(payload: bytes) -> tuple[dict[str, object], str]:
    """A request's head and body."""
    head, _, body = payload.partition(b"\n")
    value = json.loads(head)
    if not isinstance(value, dict):
        raise FrameError("the head of a request is not an object")
    return value, body.decode("utf-8")


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next payload, or None at a clean end; `FrameError` when it is too long or cut short."""
    head = stream.read(HEADER.size)
    if not head:
        return None
    if len(head) < HEADER.size:
        raise FrameError("cut short in a length")
    (size,) = HEADER.unpack(head)
    if size > MAX_FRAME:
        raise FrameError(f"a frame of {size} bytes")
    payload = stream.read(size)
    if len(payload) < size:
        raise FrameError("cut short in a payload")
    return payload
