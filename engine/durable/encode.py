"""Facts as the text that durable-rules reads, with a guard for each value that it is known to misread.

durable-rules parses JSON itself, drops a fact and all after it at a number it can not read, keeps the length of a text
in 16 bits, saturates integers and compares field names and ids by 32-bit hashes. So nothing leaves here that it would
read differently from Python: such a value raises `UnencodableError`, and its subject is judged by native alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring

MAX_TEXT_BYTES = 60_000
"""Longest text in bytes; the length is kept in 16 bits, so 65,536 bytes would compare equal to an empty text."""
MAX_INT = 2**53
"""Largest integer: above it an integer and a float are compared as doubles, which is not exact."""
MAX_FIELDS = 250
"""Most fields of one fact; the engine refuses the 253rd."""
BIG = 1e300
"""Stands for an absent number or an open end in the columns made for a negation; a real value may not reach it."""
BIG_TEXT = "1.0e+300"
ABSENT_TEXT = "\x01absent"
"""Stands for an absent text in the columns made for a negation; a real text may not equal it."""


class UnencodableError(Exception):
    """Raised for a value that durable-rules would misread; the message says which and why, in words for people."""


class NameCollisionError(Exception):
    """Raised when two names of one policy have the same 32-bit hash, so that the engine could not tell them apart."""


def fnv1a32(text: str) -> int:
    """The 32-bit FNV-1a hash by which durable-rules tells names and ids apart."""
    value = 0x811C9DC5
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def check_names(names: Iterable[str]) -> None:
    """Raise `NameCollisionError` when two different names hash alike."""
    seen: dict[int, str] = {}
    for name in names:
        other = seen.setdefault(fnv1a32(name), name)
        if other != name:
            raise NameCollisionError(f"the names {other!r} and {name!r} have the same 32-bit hash")


def number_text(value: int | float) -> str:
    """A number as durable-rules reads it exactly: finite, an integer within 2**53, a point before any exponent."""
    if type(value) is int:
        if -MAX_INT <= value <= MAX_INT:
            return str(value)
        raise UnencodableError("an integer beyond 2**53, which is not compared exactly")
    if isinstance(value, bool):
        raise UnencodableError("a boolean where a number was expected")
    if not math.isfinite(value) or abs(value) >= BIG:
        raise UnencodableError("a number that is not finite or at least 1e300")
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, power = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0e{power}"


def string_text(value: str) -> str:
    """A text as JSON, letters unescaped (the engine compares the bytes); refuses what is too long or no text."""
    try:
        size = len(value) if value.isascii() else len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise UnencodableError("a text with a lone surrogate") from None
    if size > MAX_TEXT_BYTES:
        raise UnencodableError(f"a text of {size} bytes; at most {MAX_TEXT_BYTES} are compared whole")
    if value == ABSENT_TEXT:
        raise UnencodableError("a text that imitates an absent one")
    return encode_basestring(value)


def json_text(value: object) -> str:
    """A definition as JSON, written with the care of facts: a constant is misread just as easily."""
    if isinstance(value, Mapping):
        return "{" + ",".join([f"{string_text(str(key))}:{json_text(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    raise UnencodableError(f"a {type(value).__name__} in a definition")


def fact_text(fields: Mapping[str, str]) -> str:
    """One fact from names and encoded values; refuses more fields than the engine holds."""
    if len(fields) > MAX_FIELDS:
        raise UnencodableError(f"{len(fields)} fields; at most {MAX_FIELDS} fit in one fact")
    return "{" + ",".join([f'"{name}":{text}' for name, text in fields.items()]) + "}"
