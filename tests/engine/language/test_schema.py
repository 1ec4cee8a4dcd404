"""The schemas of policies and rule tests: complete, described, and in step with the catalogue and the loader."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sweeprules.engine.language.compare import OPERATORS
from sweeprules.engine.language.node import plain
from sweeprules.engine.language.paths import CONDITION_WORDS
from sweeprules.engine.language.shape import check_shape
from sweeprules.engine.language.yamltext import read
from tests.engine.language.loading import FULL, ROOT, catalogue

NAMES = ("rules", "rule-tests")


def schema(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    return document


def properties(node: object, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(node, Mapping):
        for name, inner in node.get("properties", {}).items() if isinstance(node.get("properties"), Mapping) else ():
            yield f"{path}.{name}", inner
        for key, inner in node.items():
            yield from properties(inner, f"{path}/{key}")
    elif isinstance(node, list):
        for inner in node:
            yield from properties(inner, path)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_property_says_what_it_is(name: str) -> None:
    document = schema(name)
    for path, inner in properties(document):
        if inner == {"$ref": "#/$defs/misplaced"} or "if" in path:
            continue
        target = document["$defs"][inner["$ref"].rpartition("/")[2]] if "$ref" in inner else {}
        assert inner.get("description") or target.get("description"), path


def test_the_kinds_are_those_of_the_catalogue() -> None:
    assert set(schema("rules")["$defs"]["kind"]["enum"]) == set(catalogue().kinds)


def test_the_operators_are_those_that_are_read() -> None:
    known = set(schema("rules")["$defs"]["test"]["properties"])
    assert known == {*OPERATORS, "possible", "fold", "default", "because", "calc", "least", "most"}


def test_the_words_of_conditions_are_those_that_are_read() -> None:
    assert set(schema("rules")["$defs"]["condition"]["properties"]) == set(CONDITION_WORDS)


def test_no_field_has_the_name_of_a_condition() -> None:
    for kind in catalogue().kinds.values():
        assert not set(CONDITION_WORDS) & {*kind.fields, *kind.relations}


def test_the_severities_and_levels_are_those_of_the_catalogue() -> None:
    defs = schema("rules")["$defs"]
    assert defs["new_flag"]["properties"]["severity"]["enum"] == catalogue().enums["severity"]
    assert defs["consequence"]["properties"]["severity"]["enum"] == catalogue().enums["severity"]


def test_the_example_fits_plain_json_schema_too() -> None:
    document = plain(read(FULL.read_text(), "full.yaml"))
    assert list(Draft202012Validator(schema("rules")).iter_errors(document)) == []


GOOD = """
tests:
  - name: a stale log is told
    defaults: quiet-job
    given:
      job: {state: RUNNING, log_age: 4h, log: {exists: true}, step: {unknown: not-read}, tags: [debug]}
      siblings: [{state: FAILED}, {state: {absent: true}}]
      next_link: {absent: true}
    expect: {flags: [stale-log], not_flags: [failure], truth: {live.stale-log: true}, health: flagged, bucket: rl}
  - name: nothing at all
    given: {cluster: {queue: ok}}
    expect: {flags: [], actions: []}
"""


def test_good_rule_tests_fit() -> None:
    assert check_shape(read(GOOD, "t"), schema("rule-tests")) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tests: []", "t:1:8: this list is empty (it needs at least one entry)"),
        ("test: [x]", "unknown key `test`; expected tests (did you mean tests?)"),
        ("tests: [{name: a, given: {job: {}}}]", "missing here: the key `expect`"),
        ("tests: [{name: a, given: {}, expect: {flags: []}}]", "this map is empty"),
        ("tests: [{name: a, given: {job: [x]}, expect: {flags: []}}]", "beside a cassette the job's key, got a list"),
        (
            "tests: [{name: a, given: {job: {}}, expect: {truth: {r: maybe}}}]",
            "`maybe` is not one of true, false",
        ),
        ("tests: [{name: a, given: {job: {}}, expect: {not_flags: []}}]", "this list is empty"),
        ("tests: [{name: a, given: {job: {}}, expects: {}}]", "unknown key `expects`"),
        (
            "tests: [{name: a, defaults: quiet, given: {job: {}}, expect: {flags: []}}]",
            "`quiet` is not one of",
        ),
    ],
)
def test_broken_rule_tests(text: str, told: str) -> None:
    assert told in "\n".join(str(problem) for problem in check_shape(read(text, "t"), schema("rule-tests")))
