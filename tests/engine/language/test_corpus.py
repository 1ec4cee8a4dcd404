"""The corpus of broken policies: each file says in its first lines what has to be said of it, at which place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeprules.engine.errors import PolicyError
from sweeprules.engine.language.load import load_policy
from tests.engine.language.loading import catalogue, schema

CORPUS = Path(__file__).parents[1] / "bad"
FILES = sorted(CORPUS.glob("*.yaml"))


def expected(data: bytes) -> list[str]:
    """The `#! line:column: message` lines that a file begins with."""
    wide = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
    text = data.decode("utf-16") if wide else data.decode("utf-8", "replace").lstrip("\ufeff")
    return [line[3:] for line in text.splitlines() if line.startswith("#! ")]


def test_the_corpus_is_there() -> None:
    assert len(FILES) >= 125


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_mistake_is_told_at_its_place(path: Path) -> None:
    data = path.read_bytes()
    with pytest.raises(PolicyError) as caught:
        load_policy([{path.name: data}], catalogue(), schema=schema())
    told = [str(problem).removeprefix(f"{path.name}:") for problem in caught.value.problems]
    assert told == expected(data)
    assert told, "a broken file without an expectation tests nothing"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_are_short_and_for_people(path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy([{path.name: path.read_bytes()}], catalogue(), schema=schema())
    for problem in caught.value.problems:
        text = str(problem)
        assert "\n" not in text
        assert len(text) <= 300
        assert problem.mark.line >= 1
        assert problem.mark.column >= 1
        for leak in ("Traceback", "jsonschema", "$ref", "$defs", "is not valid under any", "None"):
            assert leak not in text


def test_all_files_of_a_layer_are_read_before_anything_is_said() -> None:
    picked = [p for p in FILES if p.stem in {"yaml-syntax-quote", "name-field", "shape-empty-all"}]
    assert len(picked) == 3
    with pytest.raises(PolicyError) as caught:
        load_policy([{path.name: path.read_bytes() for path in picked}], catalogue(), schema=schema())
    assert {problem.mark.file for problem in caught.value.problems} == {path.name for path in picked}
