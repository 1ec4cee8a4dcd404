"""JSON of others, read without trust: any bytes give a value or say why not, and no field is taken for granted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, tzinfo

from sweeprules.collectors.metrics.points import Json
from sweeprules.engine.facts import Reason, Unknown

# Where a secret is expected the mask takes a bare `null` for one, and leaves stars that are no JSON.
_STARS = re.compile(rb"(:\s*)(?:\[masked\**\]|\*{1,7})(?=\s*[,}\r\n])")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def parse(data: bytes) -> Json | Unknown:
    """The document in `data`, `malformed` when it is cut short, half written or no JSON at all."""
    found = _loads(data)
    if isinstance(found, Unknown) and b"*" in data:
        return _loads(_STARS.sub(rb"\1null", data))
    return found


def parse_object(data: bytes) -> dict[str, Json] | Unknown:
    """As `parse`, for a document that has to be an object."""
    found = parse(data)
    if isinstance(found, dict | Unknown):
        return found
    return Unknown(Reason.MALFORMED, f"a JSON object was expected, not {type(found).__name__}")


def _loads(data: bytes) -> Json | Unknown:
    try:
        found: Json = json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except RecursionError:
        return Unknown(Reason.MALFORMED, "the JSON is nested too deep")
    except ValueError as error:
        return Unknown(Reason.MALFORMED, f"no whole JSON: {error}"[:120] if data.strip() else "the file is empty")
    return found


def member(value: Json, *names: str) -> Json:
    """What stands at a path of names; None where a part of it is missing or is no object."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def number(value: Json) -> float | None:
    """A finite number, also one that is written as a string; None for anything else (true and false too)."""
    if isinstance(value, str) and len(value) < 64 and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def count(value: Json) -> int | None:
    """A whole number from zero on; None for anything else."""
    plain = number(value)
    return int(plain) if plain is not None and plain >= 0 and plain == int(plain) else None


def text(value: Json, most: int = 200) -> str:
    """A string as one printable line of at most `most` characters; empty for anything else."""
    if not isinstance(value, str):
        return ""
    short = value[:most]
    if not short.isprintable():
        short = "".join(char if char.isprintable() else "?" for char in short)
    return short.strip()


def objects(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; nothing where there is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def table(value: Json) -> Mapping[str, Json]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def moment(value: Json, zone: tzinfo) -> float | None:
    """A printed time as epoch seconds; one without an offset is in `zone`. None when it is no time."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return None
