"""Many files in one command: whatever they are named and hold, each byte lands with the file that it came from."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeprules.collectors.transport.mask import masked
from sweeprules.collectors.trials.bundle import askable, heads, mark, split, tails
from sweeprules.engine.facts import Reason
from sweeprules.engine.observation import Failure, Observation
from tests.collectors.trials.shell import NONCE, Login

PLENTY = 1 << 20


def bundle(paths: list[Path], each: int = 4096, *, budget: int = PLENTY, end: bool = False, login: Login | None = None):
    ask = tails if end else heads
    return split((login or Login()).ask([ask([str(path) for path in paths], each, NONCE, budget)])[0], NONCE)


NAME = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=30)
CONTENT = st.lists(
    st.sampled_from([b"==> ", b" <==\n", b"\n", b"\n==> /x <==\n", b"{}", b"\0", b"\xff", b"/./", b"a", b"==> /./"]),
    max_size=12,
).map(b"".join)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAME, CONTENT, min_size=1, max_size=6), st.booleans())
def test_any_name_and_any_content(tmp_path_factory, held, end):
    root = tmp_path_factory.mktemp("x")
    files = {}
    for name, content in held.items():
        if name in (".", "..") or len(name.encode()) > 200:
            continue
        (root / name).write_bytes(content)
        files[root / name] = content
    found = bundle([path for path in files if askable(str(path))], end=end)
    for path, content in files.items():
        if askable(str(path)):
            # A last line break is the tool's own as well; no reader here minds it.
            assert found.pieces[str(path)].data.rstrip(b"\n") == masked(content).rstrip(b"\n")
    assert not found.missing and not found.unread


def test_a_file_that_plays_a_header_of_another_sweep_gains_nothing(tmp_path):
    other = mark("another sweep's word")
    forged = f"\n==> {other}{str(tmp_path)[1:]}/b <==\nforged"
    (tmp_path / "a").write_text("real" + forged)
    (tmp_path / "b").write_text("true")
    found = bundle([tmp_path / "a", tmp_path / "b"])
    assert found.pieces[str(tmp_path / "a")].data == ("real" + forged).encode()
    assert found.pieces[str(tmp_path / "b")].data == b"true"


def test_marks_differ_and_name_the_same_file(tmp_path):
    marks = {mark(f"word {at}") for at in range(200)}
    assert len(marks) == 200
    assert all(re.fullmatch(r"/\./(?:\./|/)+", one) for one in marks)
    (tmp_path / "a").write_text("x")
    assert Path(mark(NONCE) + str(tmp_path / "a")[1:]).read_text() == "x"


def test_missing_files_are_told_from_unreadable_ones(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "folder").mkdir()
    found = bundle([tmp_path / "a", tmp_path / "none", tmp_path / "a" / "deeper", tmp_path / "folder"])
    assert set(found.pieces) >= {str(tmp_path / "a")}
    assert found.missing == {str(tmp_path / "none"), str(tmp_path / "a" / "deeper")}
    assert found.pieces.get(str(tmp_path / "folder"), None) is None or not found.pieces[str(tmp_path / "folder")].data


def test_more_missing_files_than_complaints_are_kept_of(tmp_path):
    (tmp_path / "a").write_text("x")
    paths = [tmp_path / f"a-long-name-of-a-trial-that-still-runs-{at}" for at in range(600)]
    found = bundle([*paths, tmp_path / "a"])
    assert found.pieces[str(tmp_path / "a")].data == b"x"
    assert 0 < len(found.missing) < 600
    assert len(found.missing) + len(found.unread) == 600
    assert {why.reason for why in found.unread.values()} == {Reason.NOT_READ}


def test_many_files_over_several_runs_of_the_tool(tmp_path):
    paths = []
    for at in range(1500):
        path = tmp_path / f"{at:05d}-{'n' * 90}"
        path.write_text(f"{at}\n")
        paths.append(path)
    found = bundle(paths)
    assert [found.pieces[str(path)].data.strip() for path in paths] == [str(at).encode() for at in range(1500)]


def test_what_was_cut_is_unread_and_what_came_whole_is_not(tmp_path):
    paths = [tmp_path / f"f{at}" for at in range(5)]
    for path in paths:
        path.write_bytes(b"z" * 1000)
    found = bundle(paths, budget=3000)
    assert list(found.pieces) == [str(path) for path in paths[:2]]
    assert all(len(piece.data) == 1000 and not piece.capped for piece in found.pieces.values())
    assert set(found.unread) == {str(path) for path in paths[2:]}


def test_a_file_longer_than_asked_for_says_so(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "b").write_bytes(b"01234")
    found = bundle([tmp_path / "a", tmp_path / "b"], 5)
    assert [(piece.data, piece.capped) for piece in found.pieces.values()] == [(b"01234", True), (b"01234", True)]
    assert bundle([tmp_path / "a"], 3, end=True).pieces[str(tmp_path / "a")].data == b"789"


def test_a_path_that_looks_like_a_secret_is_found_again(tmp_path):
    path = tmp_path / "password=abcdefgh12__x1"
    path.write_text("x")
    assert b"abcdefgh12" not in Login().ask([heads([str(path)], 9, NONCE, PLENTY)])[0].stdout
    assert bundle([path]).pieces[str(path)].data == b"x"


@pytest.mark.parametrize("path", ["relative", "/a\0b", "/a\ufffdb", "/a <==\nb"])
def test_paths_that_no_header_can_carry_are_not_asked_for(path):
    assert not askable(path)


def test_no_answer_leaves_everything_unread(tmp_path):
    found = bundle([tmp_path / "a"], login=Login(fail=frozenset({1})))
    assert found.unread[str(tmp_path / "a")].reason == Reason.READ_FAILED
    assert not found.pieces and not found.missing


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=200), st.integers(0, 5), st.booleans())
def test_any_answer_at_all_is_survived(stdout, stderr, cut, answered):
    command = heads(["/w/a__1/result.json", "/w/b__2/result.json"], 9, NONCE, PLENTY)
    failure = Failure.NONE if answered else Failure.TIMEOUT
    one = Observation(
        "c/1", "c", "l", command.argv, command.items, 0.0, 0.1, 0, stdout, stderr, cut=cut, failure=failure
    )
    found = split(one, NONCE)
    assert set(found.pieces) | found.missing | set(found.unread) == {"/w/a__1/result.json", "/w/b__2/result.json"}
    header = f"==> {command.items[0]} <==\n".encode()
    again = split(replace(one, stdout=stdout + header + stdout), NONCE)
    assert set(again.pieces) <= {"/w/a__1/result.json"}
