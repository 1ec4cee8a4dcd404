"""Since when a flag stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import Ref
from sweeprules.store.codec import CodecError, Json, dump, load
from sweeprules.store.history import Raised, carry, decode_since, encode_since

A, B, C = (Raised(Ref("job", f"leo:{n}"), "stale-log") for n in "123")
SETS = st.sets(st.sampled_from([A, B, C]))


def test_a_new_flag_stands_since_now() -> None:
    assert carry({}, [A], [], "s1") == {A: "s1"}


def test_a_flag_keeps_its_first_sweep() -> None:
    assert carry({A: "s1"}, [A], [], "s2") == {A: "s1"}


def test_a_sweep_that_said_false_ends_it() -> None:
    assert carry(carry({A: "s1"}, [], [], "s2"), [A], [], "s3") == {A: "s3"}


def test_a_sweep_that_could_not_tell_does_not_end_it() -> None:
    unsure = carry({A: "s1"}, [], [A], "s2")
    assert carry(unsure, [A], [], "s3") == {A: "s1"}


def test_a_sweep_that_could_not_tell_starts_nothing() -> None:
    assert carry({}, [], [A], "s1") == {}


@given(st.lists(st.tuples(SETS, SETS), max_size=6))
def test_since_is_the_start_of_the_unbroken_run(story: list[tuple[set[Raised], set[Raised]]]) -> None:
    since: dict[Raised, str] = {}
    for number, (raised, unsure) in enumerate(story):
        since = carry(since, raised, unsure - raised, str(number))
    for item in (A, B, C):
        first: str | None = None
        for number, (raised, unsure) in enumerate(story):
            if item in raised:
                first = first or str(number)
            elif item not in unsure:
                first = None
        assert since.get(item) == first


def test_the_history_travels_as_json() -> None:
    since = {B: "s2", A: "s1"}
    assert decode_since(load(dump(encode_since(since)))) == since
    assert dump(encode_since(since)) == dump(encode_since({A: "s1", B: "s2"}))


@pytest.mark.parametrize("document", [None, {}, [1], [["job", "k", "f"]], [["job", "k", "f", 1]]])
def test_a_history_that_was_not_written_here_is_refused(document: Json) -> None:
    with pytest.raises(CodecError):
        decode_since(document)
