"""The closed list of names that a policy may use: kinds, fields, relations, flags, actions, proofs, templates, words.

It is read from two data files, `schemas/facts.schema.json` and `rules/catalogue.yaml`; nothing of it stands in code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sweeprules.engine.language.ast import ActionDef, FlagDef
from sweeprules.engine.language.node import Node, plain


@dataclass(frozen=True, slots=True)
class FieldDef:
    """One field of a kind.

    `type` is text, enum, boolean, integer, number, ratio, interval, duration, time, bytes, list, map or record-list;
    `words` are those of an enum, `item` the type in a list or map, `fields` the types in a record. `feeds` is the stage
    of the product whose collector fills it. `buckets` are those whose jobs may have it, empty for all; `example` is a
    likely value as JSON has it.
    """

    name: str
    type: str
    unit: str = ""
    words: tuple[str, ...] = ()
    item: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    settable: bool = False
    range: tuple[float | None, float | None] = (None, None)
    feeds: int = 1
    description: str = ""
    buckets: tuple[str, ...] = ()
    example: Any = None


@dataclass(frozen=True, slots=True)
class RelationDef:
    """A relation of a kind: what it leads to, whether to many, and whether a missing member is absent or unknown."""

    name: str
    to: str
    many: bool
    optional: bool


@dataclass(frozen=True, slots=True)
class KindDef:
    """A kind of subject. `name` is its word in paths, `subject` the word in reports.

    `pattern_fields` maps the first word of generated fields to their types: `lines.NAME.count` and the like.
    """

    name: str
    subject: str
    fields: Mapping[str, FieldDef]
    relations: Mapping[str, RelationDef]
    pattern_fields: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All names. `through` gives, for a flag, the kinds whose rules raise it on the job that they belong to.

    `builtin` flags are raised by the tool alone, `exempt` ones only by an exemption; `resolvable` ones may be raised as
    resolved. `sha256` is over both files, descriptions left out.
    """

    kinds: Mapping[str, KindDef]
    flags: Mapping[str, FlagDef]
    through: Mapping[str, tuple[str, ...]]
    builtin: frozenset[str]
    exempt: frozenset[str]
    resolvable: frozenset[str]
    signals: frozenset[str]
    actions: Mapping[str, ActionDef]
    proofs: frozenset[str]
    templates: Mapping[str, tuple[str, ...]]
    """Template -> the kinds that it is about."""
    tags: tuple[str, ...]
    units: frozenset[str]
    enums: Mapping[str, Any]
    sha256: str
    flag_feeds: Mapping[str, int] = field(default_factory=dict)
    """Flag -> the stage of the product whose facts lead to it."""

    @classmethod
    def load(cls, facts_schema: Mapping[str, Any], catalogue: Node | Mapping[str, Any]) -> Catalogue:
        """The catalogue of the two files, both of which must fit their schemas."""
        data: Any = plain(catalogue) if isinstance(catalogue, Node) else catalogue
        kinds = {kind.name: kind for kind in _kinds(facts_schema)}
        words = {kind.subject: kind.name for kind in kinds.values()}
        flags: Mapping[str, Any] = data["flags"]
        return cls(
            kinds=kinds,
            flags={name: _flag(name, flags, words) for name in flags},
            through={name: _kinds_of(body.get("through", []), words) for name, body in flags.items()},
            builtin=_marked(flags, "builtin"),
            exempt=_marked(flags, "exempt"),
            resolvable=frozenset(
                name for name, body in flags.items() if "resolved" in body.get("severity_when", {}).values()
            ),
            signals=frozenset(data["signals"]),
            actions={name: _action(name, body) for name, body in data["actions"].items()},
            proofs=frozenset(data["proofs"]),
            templates={name: _kinds_of(body["subject"], words) for name, body in data["templates"].items()},
            tags=tuple(data["enums"]["tags"]),
            units=frozenset(spec.unit for kind in kinds.values() for spec in kind.fields.values() if spec.unit),
            enums=data["enums"],
            sha256=_digest({"facts": facts_schema, "catalogue": data}),
            flag_feeds={name: int(body.get("feeds", 1)) for name, body in flags.items()},
        )

    def kind_of(self, word: str) -> str | None:
        """The kind that a word of a policy means, in either spelling (`tracker_row`, `tracker-row`)."""
        return word if word in self.kinds else next((k.name for k in self.kinds.values() if k.subject == word), None)


def _kinds(schema: Mapping[str, Any]) -> Iterator[KindDef]:
    for body in schema["$defs"].values():
        if "x-kind" not in body:
            continue
        yield KindDef(
            name=body["x-kind"]["path"],
            subject=body["x-kind"]["subject"],
            fields={name: _field(name, spec) for name, spec in body["properties"].items()},
            relations={
                name: RelationDef(name, spec["to"], spec["many"], spec["optional"])
                for name, spec in body.get("x-relations", {}).items()
            },
            pattern_fields=body.get("x-pattern-fields", {}),
        )


def _field(name: str, spec: Mapping[str, Any]) -> FieldDef:
    low, high = spec.get("x-range", (None, None))
    return FieldDef(
        name=name,
        type=spec["x-type"],
        unit=spec.get("x-unit", ""),
        words=tuple(word for branch in spec.get("anyOf", ()) for word in branch.get("enum", ())),
        item=spec.get("x-item", ""),
        fields=spec.get("x-fields", {}),
        settable=bool(spec.get("x-settable", False)),
        range=(low, high),
        feeds=int(spec.get("x-feeds", 1)),
        description=spec.get("description", ""),
        buckets=tuple(spec.get("x-buckets", ())),
        example=next(iter(spec.get("examples", ())), None),
    )


def _flag(name: str, flags: Mapping[str, Any], words: Mapping[str, str]) -> FlagDef:
    body = flags[name]
    symptoms = dict.fromkeys(body.get("explains", ()))
    symptoms.update(dict.fromkeys(other for other, spec in flags.items() if name in spec.get("explained_by", ())))
    return FlagDef(
        name=name,
        subjects=_kinds_of(body["subject"], words),
        severity=body["severity"],
        severities=tuple(dict.fromkeys((body["severity"], *body.get("severity_when", {})))),
        exemptible=body["exemptible"],
        explains=tuple(symptoms),
        why=body["why"],
    )


def _action(name: str, body: Mapping[str, Any]) -> ActionDef:
    return ActionDef(
        name=name,
        klass=body["class"],
        destructive=body["destructive"] is not False,
        proofs=tuple(body["proofs"]),
        templates=tuple(body["templates"]),
        args=tuple(body["args"]),
    )


def _kinds_of(subjects: list[str], words: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(words.get(word, word) for word in subjects)


def _marked(flags: Mapping[str, Any], mark: str) -> frozenset[str]:
    return frozenset(name for name, body in flags.items() if body.get(mark))


def _digest(data: object) -> str:
    text = json.dumps(_bare(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _bare(data: object) -> object:
    """The data without what only people read."""
    if isinstance(data, Mapping):
        said = {"description", "title", "$comment"}
        return {
            key: _bare(value)
            for key, value in data.items()
            if not (key in said and isinstance(value, str)) and not (key == "examples" and isinstance(value, list))
        }
    return [_bare(item) for item in data] if isinstance(data, list | tuple) else data
