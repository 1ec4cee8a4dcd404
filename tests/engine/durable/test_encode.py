"""What goes to durable-rules is read there as it is meant, or does not go there."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.durable.columns import Reader
from sweeprules.engine.durable.encode import (
    BIG,
    MAX_FIELDS,
    MAX_INT,
    NameCollisionError,
    UnencodableError,
    check_names,
    fnv1a32,
    json_text,
    number_text,
    string_text,
)
from sweeprules.engine.durable.facts import Row, _fields, batch_text
from sweeprules.engine.facts import Ref
from tests.engine.durable import make


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=BIG / 2, min_value=-BIG / 2))
def test_a_float_is_read_back_exactly_and_has_a_point_before_its_exponent(value: float) -> None:
    text = number_text(value)
    assert json.loads(text) == value
    assert isinstance(json.loads(text), float)
    assert "." in text.partition("e")[0]


@given(st.integers(-MAX_INT, MAX_INT))
def test_an_integer_is_read_back_exactly(value: int) -> None:
    assert json.loads(number_text(value)) == value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, MAX_INT + 1, -(2**63) - 1, 2**70, True])
def test_a_number_that_would_be_misread_is_refused(value: float) -> None:
    with pytest.raises(UnencodableError):
        number_text(value)


@given(st.text(max_size=50))
def test_a_text_is_read_back_exactly_or_refused(value: str) -> None:
    try:
        text = string_text(value)
    except UnencodableError:
        with pytest.raises(UnicodeEncodeError):
            value.encode()
        return
    assert json.loads(text) == value


@pytest.mark.parametrize("value", ["x" * 60_001, "é" * 30_001, "\ud800", "a\udfffb", "\x01absent"])
def test_a_text_that_would_be_misread_is_refused(value: str) -> None:
    with pytest.raises(UnencodableError):
        string_text(value)


def test_constants_of_a_definition_are_written_with_the_same_care() -> None:
    assert json_text({"a": [1e-05, 1e16, True, 3, "é"]}) == '{"a":[1.0e-05,1.0e+16,true,3,"é"]}'
    with pytest.raises(UnencodableError):
        json_text({"a": None})


def test_names_with_one_hash_are_found() -> None:
    # Two texts of one FNV-1a hash, from the notes on lost facts.
    assert fnv1a32("iris:49524997") == fnv1a32("iris:482069")
    check_names(["n1", "n2", "n1"])
    with pytest.raises(NameCollisionError, match="iris"):
        check_names(["iris:49524997", "n1", "iris:482069"])


def test_a_batch_ends_with_the_sentinel_and_holds_no_text_of_a_cluster_as_a_name_or_id() -> None:
    rows = [Row(Ref("job", '"}],[{"x'), "job", ',"n0":1', ',"p0":1', (("q1", 2),))] * 2
    facts = json.loads(batch_text(rows, "7", "a."))
    assert [fact["t"] for fact in facts] == ["l_job", "q1", "s_job", "q1", "s_job", "z"]
    assert {fact["sid"] for fact in facts} == {"7"}
    assert len({fact["id"] for fact in facts}) == len(facts)
    assert "null" not in batch_text(rows, "7", "")


def test_more_fields_than_a_fact_holds_are_refused() -> None:
    readers = tuple(Reader(lambda s: 1, ((f"n{i}", number_text),)) for i in range(MAX_FIELDS))  # type: ignore[arg-type]
    with pytest.raises(UnencodableError, match="fields"):
        _fields(readers, make.job("a"))
