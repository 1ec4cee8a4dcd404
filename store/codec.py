"""Facts and verdicts as JSON, so that reading gives back exactly what was written.

A value stands as itself; unknown is `{"unknown": REASON}`, absent `{"absent": true}`, an interval `{"sure": N,
"possible": M}` without `possible` when it has no upper end. Two more forms keep this exact: a mapping whose keys could
be taken for one of these forms is `{"map": {...}}`, and a float that JSON has no word for is `{"float": "nan"}`.
Times stay epoch seconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from sweeprules.engine.facts import (
    Absent,
    Completeness,
    FactValue,
    Interval,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
    Value,
)
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import Action, Flag, Verdict

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_FORMS = frozenset({"unknown", "absent", "sure", "map", "float"})
_TRUTHS = {truth.word: truth for truth in Truth}


class CodecError(ValueError):
    """Raised for a document that these functions did not write."""


def dump(document: Json) -> bytes:
    """One line of JSON in ASCII with sorted keys: the same document always gives the same bytes."""
    return json.dumps(document, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False).encode(
        "ascii"
    )


def load(data: bytes | str) -> Json:
    """A document from its bytes. Raises `CodecError`, also for a document nested too deep to be ours."""
    try:
        return cast(Json, json.loads(data))
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not a JSON document: {error}") from error


def encode_fact(value: FactValue) -> Json:
    """A fact as JSON; empty details and reasons are left out."""
    if isinstance(value, Unknown):
        known: dict[str, Json] = {"unknown": str(value.reason)}
        return {**known, "detail": value.detail} if value.detail else known
    if isinstance(value, Absent):
        gone: dict[str, Json] = {"absent": True}
        return {**gone, "reason": value.reason} if value.reason else gone
    return _encode_value(value)


def _encode_value(value: Value) -> Json:
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Interval):
        ends: dict[str, Json] = {"sure": value.sure}
        return ends if value.possible is None else {**ends, "possible": value.possible}
    if isinstance(value, Mapping):
        plain = {key: _encode_value(item) for key, item in value.items()}
        return {"map": plain} if _FORMS & plain.keys() else plain
    return [_encode_value(item) for item in value]


def encode_float(value: float) -> Json:
    """A float as JSON; one that is not finite as `{"float": ...}`."""
    return value if math.isfinite(value) else {"float": repr(value)}


def decode_fact(document: Json) -> FactValue:
    """The fact that `encode_fact` wrote. Raises `CodecError`."""
    if isinstance(document, dict):
        if "unknown" in document:
            return Unknown(_text(document, "unknown"), _text(document, "detail", ""))
        if "absent" in document:
            return Absent(_text(document, "reason", ""))
    return _decode_value(document)


def _decode_value(document: Json) -> Value:
    if isinstance(document, list):
        return tuple(_decode_value(item) for item in document)
    if isinstance(document, dict):
        return _decode_mapping(document)
    if document is None:
        raise CodecError("null stands for no fact")
    return document


def _decode_mapping(document: dict[str, Json]) -> Value:
    if "map" in document:
        return {key: _decode_value(item) for key, item in _mapping(document["map"], "map").items()}
    if "float" in document:
        return decode_float(document)
    if "sure" in document:
        sure, possible = document["sure"], document.get("possible")
        if not isinstance(sure, int) or not (possible is None or isinstance(possible, int)):
            raise CodecError("an interval has whole numbers for ends")
        return Interval(sure, possible)
    return {key: _decode_value(item) for key, item in document.items()}


def decode_float(document: Json) -> float:
    """The float that `encode_float` wrote. Raises `CodecError`."""
    if isinstance(document, dict):
        try:
            return float(_text(document, "float"))
        except ValueError as error:
            raise CodecError(str(error)) from error
    if isinstance(document, bool) or not isinstance(document, int | float):
        raise CodecError("a number was expected")
    return float(document)


def encode_subject(subject: Subject) -> Json:
    """A subject as JSON. Sources are listed once each: most facts of a job come from the same line."""
    table: dict[Source, int] = {}
    places: dict[str, Json] = {}
    for name, source in subject.sources.items():
        places[name] = table.setdefault(source, len(table))
    return {
        "kind": subject.ref.kind,
        "key": subject.ref.key,
        "facts": {name: encode_fact(value) for name, value in subject.facts.items()},
        "sources": [_encode_source(source) for source in table],
        "from": places,
        "relations": {name: encode_relation(relation) for name, relation in subject.relations.items()},
        "judged": subject.judged,
    }


def decode_subject(document: Json) -> Subject:
    """The subject that `encode_subject` wrote. Raises `CodecError`."""
    try:
        whole = _mapping(document, "a subject")
        table = [_decode_source(item) for item in _sequence(whole["sources"])]
        places = cast(dict[str, int], _mapping(whole["from"], "from"))
        return Subject(
            ref=Ref(_text(whole, "kind"), _text(whole, "key")),
            facts={name: decode_fact(value) for name, value in _mapping(whole["facts"], "facts").items()},
            sources={name: table[place] for name, place in places.items()},
            relations={name: decode_relation(item) for name, item in _mapping(whole["relations"], "relations").items()},
            judged=bool(whole["judged"]),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CodecError(f"not a subject: {error}") from error


def _encode_source(source: Source) -> Json:
    at = None if source.at is None else encode_float(source.at)
    return [source.observation, source.command, source.login, source.line, at, source.position]


def _decode_source(document: Json) -> Source:
    observation, command, login, line, at, position = cast(list[Any], _sequence(document))
    return Source(observation, command, login, line, None if at is None else decode_float(at), position)


def encode_relation(relation: Relation) -> Json:
    """A relation as JSON: its members, how whole it is, and why."""
    return [[[ref.kind, ref.key] for ref in relation.members], str(relation.completeness), relation.reason]


def decode_relation(document: Json) -> Relation:
    """The relation that `encode_relation` wrote. Raises `CodecError`, ValueError or TypeError."""
    members, completeness, why = cast(list[Any], _sequence(document))
    return Relation(tuple(Ref(kind, key) for kind, key in members), Completeness(completeness), str(why))


def encode_verdict(verdict: Verdict) -> Json:
    """A verdict as JSON, without the subject's name, which stands beside it."""
    return {
        "truths": {rule: truth.word for rule, truth in verdict.truths.items()},
        "decided": {name: encode_fact(value) for name, value in verdict.decided.items()},
        "flags": [encode_flag(flag) for flag in verdict.flags],
        "actions": [_encode_action(action) for action in verdict.actions],
        "health": verdict.health,
        "exempted": {name: truth.word for name, truth in verdict.exempted.items()},
    }


def decode_verdict(ref: Ref, document: Json) -> Verdict:
    """The verdict that `encode_verdict` wrote. Raises `CodecError`."""
    try:
        whole = _mapping(document, "a verdict")
        return Verdict(
            ref=ref,
            truths=_decode_truths(whole["truths"]),
            decided=decode_decided(document),
            flags=tuple(decode_flag(item) for item in _sequence(whole["flags"])),
            actions=tuple(_decode_action(item) for item in _sequence(whole["actions"])),
            health=_text(whole, "health"),
            exempted=_decode_truths(whole["exempted"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(f"not a verdict: {error}") from error


def decode_decided(document: Json) -> dict[str, FactValue]:
    """The decided fields of a verdict that `encode_verdict` wrote, and nothing else of it. Raises `CodecError`."""
    try:
        decided = _mapping(_mapping(document, "a verdict")["decided"], "decided")
        return {name: decode_fact(value) for name, value in decided.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(f"not a verdict: {error}") from error


def _decode_truths(document: Json) -> dict[str, Truth]:
    return {name: _TRUTHS[str(word)] for name, word in _mapping(document, "truths").items()}


def encode_flag(flag: Flag) -> Json:
    """A flag as JSON, every field by its name."""
    return {name: _listed(getattr(flag, name)) for name in Flag.__slots__}


def decode_flag(document: Json) -> Flag:
    """The flag that `encode_flag` wrote. Raises `CodecError`."""
    whole = cast(dict[str, Any], _mapping(document, "a flag"))
    try:
        return Flag(**{name: _tupled(value) for name, value in whole.items()})
    except TypeError as error:
        raise CodecError(f"not a flag: {error}") from error


def _encode_action(action: Action) -> Json:
    fields = {name: _listed(getattr(action, name)) for name in Action.__slots__ if name != "args"}
    return {**fields, "args": {name: encode_fact(value) for name, value in action.args.items()}}


def _decode_action(document: Json) -> Action:
    whole = cast(dict[str, Any], _mapping(document, "an action"))
    args = {name: decode_fact(value) for name, value in _mapping(whole["args"], "args").items()}
    return Action(**{**{name: _tupled(value) for name, value in whole.items()}, "args": args})


def _listed(value: Any) -> Json:
    return list(value) if isinstance(value, tuple) else cast(Json, value)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _mapping(document: Json, what: str) -> dict[str, Json]:
    if not isinstance(document, dict):
        raise CodecError(f"{what} should be a mapping")
    return document


def _sequence(document: Json) -> list[Json]:
    if not isinstance(document, list):
        raise CodecError("a list was expected")
    return document


def _text(document: dict[str, Json], name: str, default: str | None = None) -> str:
    value = document.get(name, default)
    if not isinstance(value, str):
        raise CodecError(f"{name} should be a text")
    return value


def encode_subjects(subjects: Iterable[Subject]) -> list[Json]:
    """Subjects in the order of their names, so that the same ones give the same document."""
    return [encode_subject(subject) for subject in sorted(subjects, key=lambda s: s.ref)]
