"""A schema's errors in words, at their places."""

from __future__ import annotations

from typing import Any

import pytest

from sweeprules.engine.language.shape import LISTED, check_shape, listed, quote
from sweeprules.engine.language.yamltext import scan

OPEN: dict[str, Any] = {"type": "object", "additionalProperties": False}


def told(text: str, schema: dict[str, Any]) -> list[str]:
    node = scan(text, "f").node
    assert node is not None
    return [str(problem) for problem in check_shape(node, schema)]


def a(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a map whose key `a` has this one."""
    return {"properties": {"a": schema}}


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("{a: x}", a({"type": "integer"}), "f:1:5: expected an integer, got a text: `x`"),
        (
            "{a: 5}",
            {"properties": {"a": {"type": "string"}}},
            'f:1:5: expected a text, got an integer: `5` (quote it: "5")',
        ),
        (
            "{a: true}",
            {"properties": {"a": {"type": "string"}}},
            'f:1:5: expected a text, got `true` (quote it: "true")',
        ),
        (
            "{a: [1]}",
            {"properties": {"a": {"type": ["object", "string"]}}},
            "f:1:5: expected a map or a text, got a list",
        ),
        ("{a: }", a({"type": "string"}), "f:1:5: expected a text, got nothing"),
        (
            "{a: rlx}",
            {"properties": {"a": {"enum": ["rl", "sft"]}}},
            "f:1:5: `rlx` is not one of rl or sft (did you mean rl?)",
        ),
        ("{a: 2}", a({"const": 1}), "f:1:5: expected `1`, got an integer: `2`"),
        ("{a: 0}", a({"minimum": 1}), "f:1:5: `0` is out of range; expected at least 1"),
        ("{a: 1}", a({"exclusiveMaximum": 1}), "expected at most 1 (itself excluded)"),
        ("{a: []}", a({"minItems": 1}), "f:1:5: this list is empty (it needs at least one entry)"),
        ("{a: [1]}", a({"minItems": 2}), "f:1:5: this list is too short; at least 2 are needed"),
        ("{a: ''}", a({"minLength": 1}), "f:1:5: this text is empty"),
        ("{a: [1, 1]}", a({"uniqueItems": True}), "f:1:5: one entry stands twice in this list"),
        ("{a: [1, 2]}", a({"maxItems": 1}), "too many entries: at most 1 may stand here"),
        ("{}", {"required": ["a", "b"]}, "f:1:1: missing here: the keys `a` and `b`"),
        (
            "{a: x}",
            {"properties": {"a": {"pattern": "^[0-9]$", "x-expect": "a digit"}}},
            "expected a digit, got a text: `x`",
        ),
        ("{a: x}", a({"pattern": "^[0-9]$"}), "f:1:5: `x` does not fit here"),
        ("{a: x}", a({"not": {}}), "f:1:2: the key `a` does not fit here"),
        ("{b: 1, a: x}", {"not": {"required": ["a"]}}, "f:1:8: the key `a` does not fit here"),
        ("{a: x}", {"not": {"type": "object"}, "x-message": {"not": "no map"}}, "f:1:1: no map"),
        ("{a: x}", {"not": {"type": "object"}, "x-message": "no map"}, "f:1:1: no map"),
        ("{a: x}", {"not": {"type": "object"}}, "f:1:1: a map like this does not fit here"),
        (
            "{a: x}",
            {"propertyNames": {"not": {"const": "a"}, "x-expect": "no a"}},
            "f:1:2: the key `a` does not fit; expected no a",
        ),
        ("{a: x}", {"propertyNames": {"enum": ["b"]}}, "f:1:2: unknown key `a`; expected b"),
        ("{aa: x}", {"propertyNames": {"maxLength": 1}}, "f:1:2: the key `aa` does not fit"),
        ("{a: 1}", {"dependentRequired": {"a": ["b"]}}, "`b` is a dependency of `a`"),
    ],
)
def test_messages(text: str, schema: dict[str, Any], message: str) -> None:
    found = told(text, schema)
    assert len(found) == 1
    assert message in found[0]


def test_each_unknown_key_is_told_with_the_nearest() -> None:
    found = told("{gtt: 1, zz: 2, gt: 3}", OPEN | {"properties": {"gt": {}, "ge": {}}})
    assert found == [
        "f:1:2: unknown key `gtt`; expected gt or ge (did you mean gt?)",
        "f:1:10: unknown key `zz`; expected gt or ge",
    ]


def test_keys_that_fit_a_pattern_are_known() -> None:
    assert told("{x-a: 1}", OPEN | {"patternProperties": {"^x-": {}}}) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_an_alternative_speaks_for_the_branch_that_was_meant(keyword: str) -> None:
    branches = [{"type": "string"}, OPEN | {"properties": {"gt": {"type": "integer"}}}]
    assert told("{gt: x}", {keyword: branches}) == ["f:1:6: expected an integer, got a text: `x`"]
    assert told("{gtt: 1}", {keyword: branches}) == ["f:1:2: unknown key `gtt`; expected gt (did you mean gt?)"]
    assert told("[1]", {keyword: branches}) == ["f:1:1: expected a text or a map, got a list"]


def test_a_discriminator_lets_one_branch_speak() -> None:
    schema = {
        "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        "then": {"required": ["x"]},
        "else": {"required": ["y"]},
    }
    assert told("{kind: a}", schema) == ["f:1:1: missing here: the key `x`"]
    assert told("{kind: b}", schema) == ["f:1:1: missing here: the key `y`"]


def test_own_messages_replace_those_of_a_keyword() -> None:
    schema = {"minItems": 1, "x-message": {"minItems": "an empty list decides nothing"}}
    assert told("[]", schema) == ["f:1:1: an empty list decides nothing"]


def test_what_was_told_by_the_reader_is_not_told_again() -> None:
    assert told("{a: no}", {"properties": {"a": {"type": "boolean"}}}) == []


def test_values_are_shown_on_one_line_and_cut() -> None:
    text = quote("a\n" + "b" * 100)
    assert text.startswith("`a b")
    assert len(text) == 42
    assert quote("a\x1b[31m\x00") == "`a\\x1b[31m\\x00`"


def test_long_lists_are_shortened() -> None:
    assert listed("abc") == "a, b or c"
    assert listed(["a"]) == "a"
    assert listed(str(n) for n in range(LISTED + 3)).endswith("13 (and 3 more)")


def test_a_text_that_ends_at_a_comma_is_told_of_its_quotes() -> None:
    schema = {"properties": {"why": {}}, "additionalProperties": False}
    assert told("{why: one, then another}", schema) == [
        "f:1:12: unknown key `then another`; expected why (a text with a comma within { } needs quotes)"
    ]
