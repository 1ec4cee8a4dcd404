"""The list of facts: complete in itself, closed, and able to say unknown and absent of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.schemas.shipped import problems, schema

TYPES = {
    "text": "a",
    "boolean": True,
    "integer": 1,
    "number": 1.5,
    "ratio": 0.5,
    "duration": 90,
    "bytes": 1024,
    "time": "2026-07-01T10:00:00Z",
    "list": ["a"],
    "interval": {"sure": 1, "possible": 3},
}
FACTS = schema("facts")
KINDS = {name: node for name, node in FACTS["$defs"].items() if "x-kind" in node}


def _fields() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for kind, node in KINDS.items():
        for name, field in node["properties"].items():
            yield kind, name, field


def _document(kind: str, name: str, value: object) -> dict[str, object]:
    return {"kind": kind, "key": "k", "facts": {name: value}}


def _example(field: dict[str, Any]) -> object:
    value = field["anyOf"][0]
    if "const" in value or "enum" in value:
        return value.get("const", value.get("enum", [None])[0])
    if field["x-type"] == "record-list":
        return [{name: TYPES[kind] for name, kind in field["x-fields"].items()}]
    if field["x-type"] == "map":
        return {"a": TYPES.get(field["x-item"], "anything")}
    return TYPES[field["x-type"]]


def test_kinds_are_those_of_the_catalogue() -> None:
    assert list(KINDS) == [
        "job", "step", "run", "cluster", "filesystem", "credential", "pool", "worktree", "tracker_row", "campaign",
        "sweep", "evidence",
    ]  # fmt: skip
    assert {kind: node["x-kind"] for kind, node in KINDS.items()} == {
        kind: {"path": kind, "subject": kind.replace("_", "-")} for kind in KINDS
    }


def test_each_field_says_what_it_is() -> None:
    lacking = [
        (kind, name)
        for kind, name, field in _fields()
        if not field["description"].endswith(".")
        or field["x-type"] not in {*TYPES, "enum", "map", "record-list"}
        or field["x-feeds"] not in range(1, 6)
        or field["anyOf"][1:] != [{"$ref": "#/$defs/unread"}]
    ]
    assert lacking == []


def test_types_carry_what_they_need() -> None:
    for kind, name, field in _fields():
        where = f"{kind}.{name}"
        expected = {"duration": "s", "bytes": "B"}.get(field["x-type"])
        assert expected is None or field["x-unit"].startswith(expected), where
        assert (field["x-type"] == "enum") == ("enum" in field["anyOf"][0]), where
        assert (field["x-type"] in {"list", "map"}) == ("x-item" in field), where
        assert (field["x-type"] == "record-list") == ("x-fields" in field), where
        if field["x-type"] == "ratio":
            assert field["x-range"] == [0, 1], where


def test_no_enum_holds_the_word_for_an_unknown_fact() -> None:
    words = {word.lower() for _, _, field in _fields() for word in field["anyOf"][0].get("enum", [])}
    assert words
    assert "unknown" not in words


def test_a_value_unknown_and_absent_are_accepted_everywhere() -> None:
    for kind, name, field in _fields():
        for value in (_example(field), {"unknown": "not-read"}, {"unknown": "new-state:FOO"}, {"absent": True}):
            assert problems("facts", _document(kind, name, value)) == [], (kind, name, value)


def test_each_has_an_example_that_is_right() -> None:
    for kind, name, field in _fields():
        (example,) = field["examples"]
        assert problems("facts", _document(kind, name, example)) == [], (kind, name, example)


def test_buckets_are_buckets() -> None:
    buckets = KINDS["job"]["properties"]["bucket"]["anyOf"][0]["enum"]
    for kind, name, field in _fields():
        found = field.get("x-buckets", buckets[:1])
        assert found and set(found) <= set(buckets), (kind, name)
        assert kind == "job" or "x-buckets" not in field


@pytest.mark.parametrize("value", [None, {"unknown": "no idea"}, {"unknown": ""}, {"absent": False}, {}])
def test_nothing_else_stands_in_for_a_value(value: object) -> None:
    for kind, name, field in _fields():
        if value == {} and field["x-type"] == "map":
            continue
        assert problems("facts", _document(kind, name, value)), (kind, name)


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_kind_is_closed(kind: str) -> None:
    assert len(problems("facts", _document(kind, "no_such_fact", 1))) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.exists", False),
        ("state", "UNKNOWN"),
        ("flavour", "unknown"),
        ("elapsed", -1),
        ("trial_pass_rate", 1.5),
        ("started", "2026-07-01 10:00:00"),
        ("started", 1780000000),
        ("step", "12"),
        ("step", True),
        ("tags", None),
        ("links", [{"job_id": "1", "extra": 1}]),
    ],
)
def test_wrong_values_are_refused(name: str, value: object) -> None:
    assert [path for path, _ in problems("facts", _document("job", name, value))] == [f"facts.{name}"]


@pytest.mark.parametrize("name", ["lines.nccl-timeout.count", "lines.nccl-timeout.time", "lines.errno-122.ms"])
def test_pattern_fields_of_a_job_are_open_by_name(name: str) -> None:
    assert problems("facts", _document("job", name, 3)) == []
    assert problems("facts", _document("run", name, 3))


@pytest.mark.parametrize("name", ["lines", "lines.a", "lines.a.count.more", "lines..count"])
def test_pattern_fields_have_three_parts(name: str) -> None:
    assert problems("facts", _document("job", name, 3))


def test_relations_lead_to_kinds() -> None:
    for kind, node in KINDS.items():
        relations = node["x-relations"]
        assert {"previous", "sweep", "evidence"} <= set(relations), kind
        assert relations["previous"]["to"] == kind
        for name, relation in relations.items():
            assert set(relation) == {"to", "many", "optional"}, (kind, name)
            assert relation["to"] in KINDS, (kind, name)


def test_only_the_named_relations_are_absent_without_a_member() -> None:
    optional = {n for node in KINDS.values() for n, relation in node["x-relations"].items() if relation["optional"]}
    assert optional == {"prior_link", "next_link", "previous", "campaign", "tracker_row"}


def test_a_name_is_a_fact_and_a_relation_only_where_that_is_meant() -> None:
    both = {(k, n) for k, node in KINDS.items() for n in node["x-relations"] if n in node["properties"]}
    assert both == {("job", "cluster")}


def test_settable_fields() -> None:
    settable = {f"{kind}.{name}" for kind, name, field in _fields() if field.get("x-settable")}
    decided = {"bucket", "bucket_sure", "flavour", "tags", "series"}
    judged = {"phase", "liveness", "progress", "error_class"}
    assert settable == {f"job.{name}" for name in decided | judged}
