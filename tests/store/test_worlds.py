"""Worlds that are kept to be read again."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Interval,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
    World,
)
from sweeprules.store import worlds as worlds_module
from sweeprules.store.codec import CodecError
from sweeprules.store.worlds import VERSION, Worlds, pack, unpack

JOB, RUN = Ref("job", "a:1"), Ref("run", "a:1")
SCALARS = st.booleans() | st.integers() | st.floats() | st.text()
VALUES: st.SearchStrategy[FactValue] = (
    SCALARS
    | st.lists(SCALARS).map(tuple)
    | st.dictionaries(st.text(), SCALARS)
    | st.sampled_from([ABSENT, NOT_APPLICABLE, Unknown("cut", "at 3"), Interval(1, None), Interval(0, 4), 1, 1.0, True])
)
RELATIONS = st.builds(
    Relation, st.lists(st.sampled_from([JOB, RUN]), max_size=2).map(tuple), st.sampled_from(Completeness), st.text()
)
SUBJECTS = st.builds(
    Subject,
    st.builds(Ref, st.sampled_from(["job", "run", "step"]), st.text()),
    st.dictionaries(st.text(), VALUES, max_size=5),
    st.just({"state": Source("a/1.1", "squeue", "login01")}),
    st.dictionaries(st.sampled_from(["cluster", "links", "previous"]), RELATIONS),
    st.booleans(),
)


def gist(world: World) -> list[object]:
    """All but the sources. As text: 1, 1.0 and True are equal to Python, and NaN is not to itself."""
    return [
        (ref, repr(dict(one.facts)), dict(one.relations), one.judged, one.ref) for ref, one in world.subjects.items()
    ]


@given(st.lists(SUBJECTS, max_size=6))
def test_a_world_comes_back_as_it_was_but_for_the_sources(subjects: list[Subject]) -> None:
    world = World({one.ref: one for one in subjects})
    back = unpack(pack(world))
    assert gist(back) == gist(world)
    assert all(not one.sources for one in back.subjects.values())
    assert pack(back) == pack(world)


SMALL = World({JOB: Subject(JOB, {"state": "RUNNING"})})


@given(st.binary())
def test_what_nobody_wrote_is_an_error_and_nothing_else(data: bytes) -> None:
    for text in (data, pack(SMALL)[:-3] + data, pack(SMALL)[:20] + data):
        if text != pack(SMALL):
            with pytest.raises(CodecError):
                unpack(text)


def test_a_kept_world_is_found_again_and_a_damaged_one_is_made_again(tmp_path: Path) -> None:
    assert Worlds(tmp_path).get("key") is None
    made = Worlds(tmp_path).put("key", {"id": "s1"}, SMALL)
    found = Worlds(tmp_path).get("key")
    assert found is not None
    assert (found[0], gist(found[1])) == ({"id": "s1"}, gist(SMALL))
    assert gist(made) == gist(SMALL)
    (path,) = tmp_path.glob("*.world")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert Worlds(tmp_path).get("key") is None
    path.unlink()
    assert Worlds(tmp_path).get("key") is None


def test_what_leads_to_a_world_is_taken_only_as_it_was_written_for_its_key(tmp_path: Path) -> None:
    Worlds(tmp_path).put("key", {"now": 12}, SMALL)
    path = tmp_path / "key.seen"
    written = path.read_bytes()
    (tmp_path / "other.seen").write_bytes(written)
    assert Worlds(tmp_path).get("other") is None
    for wrong in (
        *(written[:-1], written.replace(b'"now":12', b'"now":13'), b"", b"[]", b"{}", b"\xff", b"[" * 100_000),
        b'{"head":{},"world":"a\\u0000b"}',
        b'{"head":{"now":NaN},"world":"a","seal":"b"}',
    ):
        path.write_bytes(wrong)
        assert Worlds(tmp_path).get("key") is None
    path.write_bytes(written)
    assert Worlds(tmp_path).get("key") is not None


def packed(document: object, *numbers: int) -> bytes:
    """What a foreign writer of the same form would make of a document and its numbers."""
    text = json.dumps(document).encode()
    start = pack(SMALL).index(b"\n") + 1
    body = len(text).to_bytes(8, "little") + text + b"".join(number.to_bytes(4, "little") for number in numbers)
    return pack(SMALL)[:start] + zlib.compress(body)


def form(**parts: object) -> dict[str, object]:
    whole = {"version": VERSION, "subjects": [["job", "a:1", True]], "shapes": [["state"], []]}
    return {**whole, "values": ["RUNNING"], "relations": [], **parts}


def test_the_form_holds_one_value_of_each_name_and_nothing_else() -> None:
    assert gist(unpack(packed(form(), 0, 1, 0))) == gist(SMALL)
    deep: object = "RUNNING"
    for _ in range(600):
        deep = [deep]
    for wrong in (
        *(packed(form(), 0, 1), packed(form(), 0, 1, 0, 0), packed(form(), 0, 9, 0), packed(form(), 0, 1, 9)),
        packed(form(version=VERSION + 1), 0, 1, 0),
        packed(form(subjects=[["job", 1, True]]), 0, 1, 0),
        packed(form(subjects=[["job", "a:1", 1]]), 0, 1, 0),
        packed(form(subjects=[["job", "a:1", True]] * 2), 0, 1, 0, 0, 1, 0),
        packed(form(shapes=[[7], []]), 0, 1, 0),
        packed(form(shapes=[["state", "state"], []]), 0, 1, 0, 0),
        packed(form(values=[None]), 0, 1, 0),
        packed(form(values=[deep]), 0, 1, 0),
        packed({}, 0),
        packed([], 0),
    ):
        with pytest.raises(CodecError):
            unpack(wrong)


def test_a_world_too_large_to_be_read_again_is_used_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds_module, "MAX_UNPACKED", 10)
    assert Worlds(tmp_path).put("key", {}, SMALL) is SMALL
    assert not [*tmp_path.iterdir()]


def test_two_keys_that_came_to_one_world_share_it(tmp_path: Path) -> None:
    worlds = Worlds(tmp_path)
    assert worlds.put("one", {}, SMALL) is worlds.put("two", {"id": "other"}, SMALL)
    assert len([*tmp_path.glob("*.world")]) == 1
    fresh = Worlds(tmp_path)
    first, second = fresh.get("one"), fresh.get("two")
    assert first is not None and second is not None
    assert first[1] is second[1]


def test_what_was_used_least_lately_is_forgotten_first(tmp_path: Path) -> None:
    worlds = Worlds(tmp_path)
    for number in range(4):
        ref = Ref("job", f"a:{number}")
        worlds.put(f"k{number}", {}, World({ref: Subject(ref, {"n": number})}))
        for path in tmp_path.iterdir():
            if path.stat().st_mtime > 1_000_000:
                os.utime(path, (number, number))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    worlds.prune(size * 3 // 5)
    assert [Worlds(tmp_path).get(f"k{number}") is not None for number in range(4)] == [False, False, True, True]


def test_where_nothing_can_be_kept_the_world_is_there_all_the_same(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    worlds = Worlds(blocked)
    assert gist(worlds.put("key", {}, SMALL)) == gist(SMALL)
    worlds.prune()
    assert worlds.get("key") is None
