"""Each schema is a schema, and each file that ships is valid under its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.schemas.shipped import ROOT, problems, read_yaml, schema

RECORDS = sorted((ROOT / "ops").glob("*/cluster.yaml"))
CONDITIONS = frozenset({"if", "then", "else"})
NAMES = ["facts", "catalogue", "cluster", "site"]


def _nodes(node: Any, skip: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """The mappings within a schema, leaving out what stands under the keys of `skip`."""
    if isinstance(node, dict):
        children = [child for key, child in node.items() if key not in skip]
    else:
        children = node if isinstance(node, list) else []
    found = [inner for child in children for inner in _nodes(child, skip)]
    return [node, *found] if isinstance(node, dict) else found


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_2020_12(name: str) -> None:
    loaded = schema(name)
    assert loaded["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(loaded)


@pytest.mark.parametrize("name", NAMES)
def test_references_lead_somewhere(name: str) -> None:
    loaded = schema(name)
    refs = {node["$ref"] for node in _nodes(loaded) if isinstance(node.get("$ref"), str)}
    assert refs
    assert refs <= {f"#/$defs/{key}" for key in loaded["$defs"]}


@pytest.mark.parametrize("name", ["catalogue", "cluster", "site"])
def test_every_property_has_hover_help(name: str) -> None:
    """In the place itself; a shared definition's own text is too general for a hover."""
    bare = [
        key
        for node in _nodes(schema(name), CONDITIONS)
        if node.get("type") == "object" and isinstance(node.get("properties"), dict)
        for key, inner in node["properties"].items()
        if not inner.get("description")
    ]
    assert bare == []


@pytest.mark.parametrize("name", ["catalogue", "cluster", "site"])
def test_every_object_is_closed(name: str) -> None:
    loose = [
        node.get("description")
        for node in _nodes(schema(name), CONDITIONS)
        if node.get("type") == "object" and "properties" in node
        if node.get("additionalProperties") is not False
        and not any("propertyNames" in branch["then"] for branch in node.get("allOf", []))
    ]
    assert loose == []


def test_all_five_clusters_are_on_record() -> None:
    assert [path.parent.name for path in RECORDS] == ["coreweave", "jupiter", "leonardo", "perlmutter", "tacc"]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_record_is_valid(path: Path) -> None:
    record = read_yaml(path)
    assert problems("cluster", record) == []
    assert record["cluster"] == path.parent.name


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_ops_page_has_a_heading_for_each_gotcha(path: Path) -> None:
    page = path.with_name("ops.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    tags = [gotcha["tag"] for gotcha in read_yaml(path)["gotchas"]]
    assert headings == tags
    assert "## Not validated" in page


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_validated_marks_name_fields_that_are_there(path: Path) -> None:
    record = read_yaml(path)
    missing = []
    for dotted in record["validated"]:
        node = record
        for part in dotted.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        if node is None:
            missing.append(dotted)
    assert missing == []


def test_only_clusters_in_use_can_be_contacted() -> None:
    enabled = {path.parent.name for path in RECORDS if read_yaml(path).get("enabled", True)}
    assert enabled == {"leonardo", "tacc"}
    assert "reach" not in read_yaml(ROOT / "ops" / "perlmutter" / "cluster.yaml")


def test_catalogue_is_valid() -> None:
    assert problems("catalogue", read_yaml(ROOT / "rules" / "catalogue.yaml")) == []


def test_site_file_is_valid() -> None:
    assert problems("site", read_yaml(ROOT / "sweeprules.yaml")) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (ROOT / "rules" / "catalogue.yaml", "catalogue"),
        (ROOT / "sweeprules.yaml", "site"),
        *((record, "cluster") for record in RECORDS),
    ],
    ids=lambda value: value.parent.name if isinstance(value, Path) else value,
)
def test_first_line_tells_an_editor_where_the_schema_is(path: Path, expected: str) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    relative = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / relative).resolve() == ROOT / "schemas" / f"{expected}.schema.json"
