"""Types and units of the language: what may be compared with what, in words for people."""

from __future__ import annotations

from dataclasses import dataclass

from sweeprules.engine.catalogue import FieldDef

NUMBERS = frozenset({"integer", "number", "ratio", "interval"})
QUANTITIES = NUMBERS | {"duration", "time", "bytes"}
COLLECTIONS = frozenset({"list", "map", "record-list", "relation"})
TEXTS = frozenset({"text", "enum"})
COUNTED = frozenset(
    {"points", "steps", "sweeps", "trials", "lines", "links", "jobs", "tokens", "rows", "attempts", "nodes"}
)
"""Units of params beside those that the facts have."""
_OWN_UNIT = {"s": "duration", "B": "bytes"}


@dataclass(frozen=True, slots=True)
class Type:
    """`base` is a type of the catalogue, `relation`, or `any` for what is only known at run time."""

    base: str
    unit: str = ""
    words: tuple[str, ...] = ()
    item: str = ""


ANY = Type("any")
BOOLEAN = Type("boolean")
COUNT = Type("integer")
TEXT = Type("text")
TIME = Type("time")
DURATION = Type("duration")
NUMBER = Type("number")
INTERVAL = Type("interval")


def of_field(spec: FieldDef, tags: tuple[str, ...] = ()) -> Type:
    """The type of a field; the list `tags` holds words of a closed list."""
    words = tags if spec.name == "tags" else spec.words
    unit = "" if spec.unit in _OWN_UNIT else spec.unit
    return Type(spec.type, unit, words, spec.item)


def of_name(name: str) -> Type:
    """The type that a catalogue's word names, for members and pattern fields."""
    return Type(name, item="text" if name == "list" else "")


def item_of(collection: Type) -> Type:
    """The type of one member of a list."""
    return Type(collection.item or "any", words=collection.words)


def worded(one: Type) -> str:
    """`a duration`, `a number of steps`, `true or false`."""
    if one.base in NUMBERS and one.unit:
        return f"a number in {one.unit}"
    return _NOUNS.get(one.base, one.base)


_NOUNS = {
    "integer": "a number",
    "number": "a number",
    "ratio": "a number",
    "interval": "a number",
    "duration": "a duration",
    "time": "a time",
    "bytes": "a size",
    "text": "a text",
    "enum": "a word",
    "boolean": "true or false",
    "list": "a list",
    "map": "a map",
    "record-list": "a list of records",
    "relation": "a relation",
}


def clash(left: Type, right: Type) -> str:
    """Why two values can not be compared; empty when they can."""
    if "any" in {left.base, right.base}:
        return ""
    if left.base in NUMBERS and right.base in NUMBERS:
        return f"{left.unit} can not be compared with {right.unit}" if _units_differ(left, right) else ""
    if left.base in TEXTS and right.base in TEXTS:
        apart = left.words and right.words and not set(left.words) & set(right.words)
        return "the two have no word in common" if apart else ""
    if left.base == right.base:
        return f"{left.unit or 's'} can not be compared with {right.unit or 's'}" if _units_differ(left, right) else ""
    return f"{worded(left)} can not be compared with {worded(right)}"


def _units_differ(left: Type, right: Type) -> bool:
    return bool(left.unit and right.unit and left.unit != right.unit)
