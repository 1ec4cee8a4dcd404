"""What templates can read: the names that each kind of template is given, and what is inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sweeprules.engine.catalogue import Catalogue, KindDef

Shape = Any
"""None is anything; a mapping is a map of exactly these names; a list holds one shape, that of every member; a tuple
holds the shape of each place. A name `lines.*` of a map stands for all that begin with `lines.`."""

ANY: Shape = None
TEXT: Mapping[str, Shape] = {}
"""A text, a number or a truth: nothing is inside."""


def handoff_names(catalogue: Catalogue, template: str) -> Mapping[str, Shape]:
    """What a template in handoffs/ is given; `facts` are those of the kinds of subject that it is about.

    A template that the catalogue does not know may be about any kind.
    """
    about = [catalogue.kinds[kind] for kind in catalogue.templates.get(template, ())] or list(catalogue.kinds.values())
    return {
        "id": TEXT,
        "template": TEXT,
        "subject": TEXT,
        "cluster": TEXT,
        "facts": dict.fromkeys((name for kind in about for name in _facts(kind)), TEXT),
        "flags": [dict.fromkeys(("name", "severity", "message"), TEXT)],
        "actions": [{**dict.fromkeys(("name", "class", "destructive", "status"), TEXT), "args": ANY}],
        "proofs": [dict.fromkeys(("name", "truth", "source"), TEXT)],
        "blocked_by": [TEXT],
        "gotchas": [dict.fromkeys(("tag", "text", "validated"), TEXT)],
    }


def _facts(kind: KindDef) -> Iterator[str]:
    yield from kind.fields
    yield from (f"{word}.*" for word in kind.pattern_fields)


def report_names(schema: Mapping[str, Any]) -> Mapping[str, Shape]:
    """What the template of the report is given; `schema` is that of the report."""
    report = _of_schema(schema, schema)
    inside = report if isinstance(report, Mapping) else {}
    jobs = inside.get("jobs")
    job = jobs[0] if isinstance(jobs, list) else {}
    handoffs = inside.get("handoffs")
    handoff = handoffs[0] if isinstance(handoffs, list) else ANY
    flag, action = (job.get(name, [ANY])[0] for name in ("flags", "actions"))
    return {
        "report": report,
        "flags": [(flag, TEXT)],
        "actions": [(action, TEXT, handoff)],
        "marks": dict.fromkeys(("info", "warning", "critical"), TEXT),
    }


def _of_schema(part: Mapping[str, Any], root: Mapping[str, Any]) -> Shape:
    """The shape of a part of a JSON schema; whatever is not closed is anything."""
    if "$ref" in part:
        target: Any = root
        for step in str(part["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        return _of_schema(target, root)
    if part.get("type") == "object" and part.get("additionalProperties") is False:
        return {name: _of_schema(inner, root) for name, inner in part.get("properties", {}).items()}
    if part.get("type") == "array" and isinstance(part.get("items"), Mapping):
        return [_of_schema(part["items"], root)]
    return ANY


def has(shape: Shape, name: str) -> bool:
    """Whether something stands under a name, as far as that is known."""
    return shape is ANY or (isinstance(shape, Mapping) and not {name, f"{name.partition('.')[0]}.*"}.isdisjoint(shape))


def inside(shape: Shape, name: str) -> Shape:
    """What stands under a name; anything where that is not known."""
    return shape.get(name, ANY) if isinstance(shape, Mapping) else ANY


def member(shape: Shape) -> Shape:
    """What one member of a list is."""
    return shape[0] if isinstance(shape, list) and shape else ANY
