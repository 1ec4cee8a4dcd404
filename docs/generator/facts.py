"""The page of facts: what rules can read of each kind of subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from docs.generator.markdown import code, codes, page, table
from sweeprules.cli.facts import RELEASE, fact_rows, relation_rows
from sweeprules.engine.catalogue import Catalogue, FieldDef, KindDef
from sweeprules.engine.language.compare import OPERATORS, operators_for
from sweeprules.engine.language.types import Type, worded

SOURCES = Path(__file__).with_name("sources.yaml")
INTRO = """Every fact is a value, *unknown* with a reason, or *absent*: asked for, and not there. The last two
columns say when it is which; where a column is empty, its source failing makes it unknown, and it is never absent. A
fact marked *later* is read by no collector of this release: in rules it is unknown. A fact marked *settable* is one
that a rule may `set`, `add` to or `decide`. `sweeprules facts` prints the same list. Which test may stand on which
type is at the end.

A path follows relations: `run.complete`, `cluster.queue`, `previous.step`. Units: durations are written `90s`, `30m`,
`6h`, `2d`; sizes `64GB`; times as RFC 3339; a share lies between 0 and 1."""
TYPES = (
    "text", "enum", "boolean", "integer", "number", "ratio", "interval", "duration", "time", "bytes", "list", "map",
    "record-list", "relation",
)  # fmt: skip
FORMS = {
    "text": "`RUNNING`, `'0:53'`",
    "enum": "one of the words listed",
    "boolean": "`true`, `false`",
    "integer": "`3`, `$param`",
    "number": "`0.5`, `$param`",
    "ratio": "`0.9`, `$param`: a share from 0 to 1",
    "interval": "`3`: at least so many are sure, at most so many possible",
    "duration": "`30m`, `$param`",
    "time": "`2026-11-30T00:00:00Z`, `.sweep.now`",
    "bytes": "`64GB`",
    "list": "`contains`, or a quantifier with `of:`",
    "map": "a quantifier with `of:`; members have `key` and `value`",
    "record-list": "a quantifier with `of:`; members have the fields listed",
    "relation": "a quantifier with `of:`, or a longer path",
}


def sources() -> dict[tuple[str, str], str]:
    """(kind, fact) -> what it is read from."""
    data: Mapping[str, Mapping[str, str]] = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    return {(kind, name): said for kind, by in data.items() for said, names in by.items() for name in names.split()}


def facts_page(catalogue: Catalogue, schema: Mapping[str, Any]) -> str:
    """All kinds with their facts and relations, and the tests by type."""
    said = sources()
    kinds = [line for kind in catalogue.kinds.values() for line in _kind(kind, schema, said)]
    return page("Facts", INTRO, _index(catalogue), kinds, _tests())


def _index(catalogue: Catalogue) -> Iterator[str]:
    yield "Kinds: " + " · ".join(f"[{kind.subject}](#{kind.subject})" for kind in catalogue.kinds.values())
    yield ""


def _kind(kind: KindDef, schema: Mapping[str, Any], said: Mapping[tuple[str, str], str]) -> Iterator[str]:
    yield f"## {kind.subject}"
    yield ""
    spelled = "" if kind.subject == kind.name else f" In a path it is written {code(kind.name)}."
    yield schema["$defs"][kind.name]["description"] + spelled
    yield ""
    properties = schema["$defs"][kind.name]["properties"]
    yield from table(
        ("Fact", "Type", "Meaning", "Read from", "Unknown when", "Absent when"),
        (_fact(kind, row, said, properties.get(row["name"], {})) for row in fact_rows(kind)),
    )
    if kind.relations:
        yield from table(("Relation", "Leads to", "Without a member"), _relations(kind))


def _fact(
    kind: KindDef, row: Mapping[str, Any], said: Mapping[tuple[str, str], str], schema: Mapping[str, Any]
) -> tuple[str, ...]:
    name, spec = row["name"], kind.fields.get(row["name"])
    meaning, unknown, absent = apart(row["description"])
    marks = "".join(f" *{mark}*" for mark, on in (("later", row["later"]), ("settable", row["settable"])) if on)
    buckets = f" Only of {', '.join(schema['x-buckets'])}." if "x-buckets" in schema else ""
    return (code(name) + marks, typed(row, spec), meaning + buckets, said.get((kind.name, name), ""), unknown, absent)


def typed(row: Mapping[str, Any], spec: FieldDef | None) -> str:
    """The type in words: with its unit, its range, its words, or the fields of a record."""
    item = f" of {row['item']}" if row["item"] else ""
    unit = f", {row['unit']}" if row["unit"] else ""
    text = f"{row['type']}{item}{unit}"
    low, high = spec.range if spec else (None, None)
    if low is not None:
        text += f", {low:g} or more" if high is None else f", {low:g} to {high:g}"
    if row["words"]:
        text += ": " + codes(row["words"])
    if spec and spec.fields:
        text += " with " + ", ".join(f"{code(name)} {kind}" for name, kind in spec.fields.items())
    return text


def apart(description: str) -> tuple[str, str, str]:
    """What a fact means, when it is unknown, and when it is absent."""
    parts = re.split(r"\s*\b(Unknown|Absent): ", description)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return parts[0], found.get("Unknown", ""), found.get("Absent", "")


def _relations(kind: KindDef) -> Iterator[tuple[str, ...]]:
    for row in relation_rows(kind):
        to = ("many " if row["many"] else "one ") + row["to"]
        yield (
            code(row["name"]),
            to,
            "absent" if row["optional"] else "unknown `not-read`" if not row["many"] else "empty",
        )


def _tests() -> Iterator[str]:
    yield "## Tests by type"
    yield ""
    yield f"A literal beside a field is `eq`. The release reads stage {RELEASE} of the catalogue."
    yield ""
    yield from table(
        ("Type", "In words", "Right side", "Tests"),
        ((code(one), worded(Type(one)), FORMS[one], codes(_on(one))) for one in TYPES),
    )


def _on(type_: str) -> tuple[str, ...]:
    found = operators_for(Type(type_))
    assert set(found) <= {*OPERATORS, "possible"}
    return found
