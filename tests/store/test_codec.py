"""What is written as JSON comes back as it was."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, NOT_READ, FactValue, Interval, Ref, Source, Subject, Unknown
from sweeprules.engine.verdicts import Verdict
from sweeprules.store import codec
from sweeprules.store.codec import CodecError
from tests.store.strategies import FACTS, SUBJECTS, VERDICTS


def through(document: codec.Json) -> codec.Json:
    """The document as it comes back from disk."""
    return codec.load(codec.dump(document))


def exact(value: object) -> str:
    """A spelling in which 1, 1.0, True, lists and tuples all differ."""
    if isinstance(value, Mapping):
        return repr(sorted((name, exact(item)) for name, item in value.items()))
    if isinstance(value, tuple):
        return f"tuple{[exact(item) for item in value]}"
    if isinstance(value, Unknown):
        return f"unknown {value.reason!s} {value.detail!r}"
    return repr(value)


@given(FACTS)
def test_a_fact_comes_back_with_its_type(fact: FactValue) -> None:
    assert exact(codec.decode_fact(through(codec.encode_fact(fact)))) == exact(fact)


@given(SUBJECTS)
def test_a_subject_comes_back(subject: Subject) -> None:
    assert codec.decode_subject(through(codec.encode_subject(subject))) == subject


@given(VERDICTS)
def test_a_verdict_comes_back(verdict: Verdict) -> None:
    assert codec.decode_verdict(verdict.ref, through(codec.encode_verdict(verdict))) == verdict


@pytest.mark.parametrize(
    ("fact", "document"),
    [
        (NOT_READ, {"unknown": "not-read"}),
        (Unknown("cut", "the rest was dropped"), {"unknown": "cut", "detail": "the rest was dropped"}),
        (ABSENT, {"absent": True}),
        (NOT_APPLICABLE, {"absent": True, "reason": "not-applicable"}),
        (Interval(2, 5), {"sure": 2, "possible": 5}),
        (Interval(2, None), {"sure": 2}),
        ((1, "a"), [1, "a"]),
        ({"absent": True}, {"map": {"absent": True}}),
        (0, 0),
        ("", ""),
    ],
)
def test_the_form_on_disk(fact: FactValue, document: codec.Json) -> None:
    assert codec.encode_fact(fact) == document


def test_a_mapping_is_never_taken_for_an_unknown() -> None:
    looks_unknown: FactValue = {"unknown": "not-read"}
    assert codec.decode_fact(through(codec.encode_fact(looks_unknown))) == looks_unknown


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_has_no_word_for(number: float) -> None:
    line = codec.dump(codec.encode_fact(number))
    assert json.loads(line, parse_constant=pytest.fail) == {"float": repr(number)}
    assert exact(codec.decode_fact(codec.load(line))) == exact(number)


def test_one_source_of_many_facts_is_kept_once() -> None:
    source = Source("leo/1.1", "squeue --me", "login01", "4711|RUNNING", 12.5, 3)
    subject = Subject(Ref("job", "leo:1"), {"a": 1, "b": 2}, {"a": source, "b": source})
    document = codec.encode_subject(subject)
    assert isinstance(document, dict)
    assert isinstance(sources := document["sources"], list)
    assert len(sources) == 1


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"kind": "job", "key": 1, "facts": {}, "sources": [], "from": {}, "relations": {}, "judged": True},
        {"kind": "job", "key": "k", "facts": {"a": None}, "sources": [], "from": {}, "relations": {}, "judged": True},
        {"kind": "job", "key": "k", "facts": {}, "sources": [], "from": {"a": 3}, "relations": {}, "judged": True},
        {"kind": "job", "key": "k", "facts": {}, "sources": [[1]], "from": {}, "relations": {}, "judged": True},
        {
            "kind": "job",
            "key": "k",
            "facts": {"a": {"sure": "x"}},
            "sources": [],
            "from": {},
            "relations": {},
            "judged": 1,
        },
        {
            "kind": "job",
            "key": "k",
            "facts": {"a": {"unknown": 3}},
            "sources": [],
            "from": {},
            "relations": {},
            "judged": 1,
        },
    ],
)
def test_what_was_not_written_here_is_refused(document: codec.Json) -> None:
    with pytest.raises(CodecError):
        codec.decode_subject(document)


@pytest.mark.parametrize("document", [None, [], {}, {"truths": {"a": "maybe"}}, {"truths": {}, "decided": {}}])
def test_a_verdict_that_was_not_written_here_is_refused(document: codec.Json) -> None:
    with pytest.raises(CodecError):
        codec.decode_verdict(Ref("job", "a:1"), document)


@pytest.mark.parametrize("text", ["", "{", "nope", "[" * 100_000, '"\\ud8'])
def test_broken_json_is_one_clear_error(text: str) -> None:
    with pytest.raises(CodecError, match="not a JSON document"):
        codec.load(text)


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=5))
def test_equal_documents_have_equal_bytes(document: dict[str, int]) -> None:
    turned = dict(reversed(document.items()))
    assert codec.dump(dict(document)) == codec.dump(dict(turned))
