"""Gives the schemas of what people write the words of a site, so that an editor completes and explains them.

The schemas stay as open as they were: a word that is not there yet is no mistake in an editor, for a file may declare
it a line further down. `sweeprules validate` knows better.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sweeprules.engine.catalogue import Catalogue, FieldDef, KindDef
from sweeprules.engine.language.ast import Policy, Signal

Schema = dict[str, Any]

WRITTEN = ("rules", "rule-tests", "cluster", "site")
"""The schemas of files that people write."""


def with_words(name: str, schema: Mapping[str, Any], policy: Policy, catalogue: Catalogue) -> Schema:
    """A copy of the schema of this name with the words of the policy and the catalogue where they may stand."""
    made: Schema = copy.deepcopy(dict(schema))
    if name == "rules":
        _rules(made, policy, catalogue)
    elif name == "rule-tests":
        _rule_tests(made, policy, catalogue)
    return made


# ---------------------------------------------------------------- rules


def _rules(schema: Schema, policy: Policy, catalogue: Catalogue) -> None:
    defs = schema["$defs"]
    flags, actions = sorted(policy.flags), sorted(policy.actions)
    templates = sorted({*catalogue.templates, *(t for one in policy.actions.values() for t in one.templates)})
    raised = {one.name for rule in policy.rules.values() for one in rule.then if isinstance(one, Signal)}
    signals = sorted({*catalogue.signals, *raised})
    relations = sorted({one for kind in catalogue.kinds.values() for one in kind.relations})
    condition = defs["condition"]
    condition["properties"] |= dict(_conditions(policy, catalogue))
    _offer(condition["properties"], "flagged", flags)
    _offer(condition["properties"]["rule"]["properties"], "id", sorted(policy.rules))
    _offer(defs["flag_names"], "items", flags)
    for key, words in (("flag", flags), ("action", actions), ("signal", signals)):
        _offer(defs["consequence"]["properties"], key, words)
    _offer(defs["exemption"]["properties"], "as", flags)
    _offer(defs["route"]["properties"], "template", templates)
    _offer(defs["feature"]["properties"], "series", sorted(_steps(policy, catalogue)))
    _offer(defs["at_least"]["properties"]["of"], "items", signals)
    for part in ("of_members", "of_total", "pick"):
        _offer(defs[part]["properties"], "of", relations)
    defs["values"] = _or_words(defs["values"], [f"${one}" for one in sorted(policy.lists)])
    defs["right"] = _or_words(defs["right"], [f"${one}" for one in sorted(policy.params)])
    settable = {f.name: f for kind in catalogue.kinds.values() for f in kind.fields.values() if f.settable}
    defs["assignments"]["properties"] = {name: _described(spec, "the subject") for name, spec in settable.items()}
    for section, words in (("routes", actions), ("decide", sorted(policy.decide))):
        part = schema["properties"][section]
        part["properties"] = {name: dict(part["additionalProperties"]) for name in words}


def _conditions(policy: Policy, catalogue: Catalogue) -> Iterator[tuple[str, Schema]]:
    """Each FIELD that a condition may name, those one relation away among them, with its meaning as hover text."""
    for name, about in _named(policy, catalogue).items():
        kinds = sorted({kind.subject for kind, _ in about})
        yield name, _test(about[0][1], f"of {', '.join(kinds)}")
    for kind in catalogue.kinds.values():
        for relation in kind.relations.values():
            if not relation.many and relation.name not in kind.fields:
                to = catalogue.kinds[relation.to]
                for spec in to.fields.values():
                    yield f"{relation.name}.{spec.name}", _test(spec, f"of the {relation.name}, a {to.subject}")


def _named(policy: Policy, catalogue: Catalogue) -> dict[str, list[tuple[KindDef, FieldDef]]]:
    found: dict[str, list[tuple[KindDef, FieldDef]]] = {}
    for kind in catalogue.kinds.values():
        for spec in kind.fields.values():
            found.setdefault(spec.name, []).append((kind, spec))
    job, step = catalogue.kinds["job"], catalogue.kinds["step"]
    for name, pattern in policy.patterns.items():
        says = f"Lines that the pattern {name} ({pattern.kind}) meets."
        for part, kind_of in (("count", "interval"), ("time", "time"), *pattern.fields.items()):
            found[f"lines.{name}.{part}"] = [(job, FieldDef(part, kind_of, description=f"{says} Their {part}."))]
    for name, feature in policy.features.items():
        says = f"Feature of the policy: {feature.is_} over {feature.series}."
        found.setdefault(name, []).append((step, FieldDef(name, "number", description=says)))
    for name in policy.metrics:
        found.setdefault(name, []).append((step, FieldDef(name, "number", description="Metric of the policy.")))
    return found


def _test(spec: FieldDef, where: str) -> Schema:
    test: Schema = {"$ref": "#/$defs/test"}
    words: list[Any] = [True, False] if spec.type == "boolean" else list(spec.words)
    return {
        "description": _says(spec, where),
        "anyOf": [{"enum": words}, test] if words else [test],
    }


def _says(spec: FieldDef, where: str) -> str:
    unit = f" ({spec.unit})" if spec.unit else ""
    example = f" Example: {spec.example}" if spec.example is not None else ""
    return f"{spec.type}{unit} {where}. {spec.description}{example}"


def _described(spec: FieldDef, where: str) -> Schema:
    return {"description": _says(spec, where), "anyOf": [{"enum": list(spec.words)}, {}] if spec.words else [{}]}


def _steps(policy: Policy, catalogue: Catalogue) -> set[str]:
    return {*catalogue.kinds["step"].fields, *policy.metrics}


# ---------------------------------------------------------------- rule tests


def _rule_tests(schema: Schema, policy: Policy, catalogue: Catalogue) -> None:
    test = schema["$defs"]["test"]["properties"]
    given, expect = test["given"]["properties"], test["expect"]["properties"]
    kinds = catalogue.kinds
    for key in given:
        kind = kinds.get(key) or _led_to(catalogue, key)
        if kind is not None:
            given[key] = _given(given[key], kind, policy)
    for kind in kinds.values():
        facts = {"$ref": "#/$defs/facts", "description": f"Facts of a {kind.subject}."}
        given.setdefault(kind.name, _given(facts, kind, policy))
    flags = sorted(policy.flags)
    for key, words in (("flags", flags), ("not_flags", flags), ("exempt", flags)):
        expect[key] = _names(expect[key], words)
    for key in ("actions", "not_actions", "blocked"):
        expect[key] = _names(expect[key], sorted(policy.actions))
    expect["truth"]["properties"] = {
        rule.id: {"description": rule.why or f"The truth of {rule.id}.", "enum": [True, False, "unknown"]}
        for rule in policy.rules.values()
    }


def _led_to(catalogue: Catalogue, relation: str) -> KindDef | None:
    found = catalogue.kinds["job"].relations.get(relation)
    return catalogue.kinds[found.to] if found is not None else None


def _given(place: Schema, kind: KindDef, policy: Policy) -> Schema:
    fields = {spec.name: _described(spec, f"of a {kind.subject}") for spec in kind.fields.values()}
    if kind.name == "job":
        fields |= {f"lines.{name}.count": {"description": f"Lines of the pattern {name}."} for name in policy.patterns}
    shape = {key: worth for key, worth in place.items() if key == "$ref"}
    return {"description": place["description"], "allOf": [shape], "properties": fields}


def _names(place: Schema, words: list[str]) -> Schema:
    shape = {key: worth for key, worth in place.items() if key != "description"}
    items = {"type": "array", "items": {"anyOf": [{"enum": words}, {}]}}
    return {"description": place["description"], "allOf": [shape], "anyOf": [{"enum": words}, items, {}]}


# ---------------------------------------------------------------- parts of a schema


def _offer(parts: Schema, key: str, words: Iterable[str]) -> None:
    """Put words beside what a part allows already."""
    parts[key] = _or_words(parts[key], list(words))


def _or_words(part: Schema, words: list[str]) -> Schema:
    if not words:
        return part
    rest = {key: worth for key, worth in part.items() if key != "description"}
    return {"description": part.get("description", ""), "anyOf": [{"enum": words}, rest]}
