"""Broken rule tests: each file says in its first lines what has to be said of it, at which place."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from sweeprules.cli.testsources import LogReader
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.ruletests import RuleTestRun, rule_test_problems, run_rule_tests
from sweeprules.engine.testsources import Readers, Recorded
from tests.engine.evaluate.site import catalogue, policy

CORPUS = Path(__file__).parent / "badtests"
FILES = sorted(CORPUS.glob("*.test.yaml"))


@cache
def rules() -> Policy:
    return policy((CORPUS / "policy.yaml").read_text())


def _recorded(test_file: str, name: str, policy: Policy) -> Recorded:
    """A sweep that saw one job."""
    ref = Ref("job", "here:7")
    return Recorded(World({ref: Subject(ref, {"key": "here:7", "state": "FAILED"})}), {})


def ran(name: str, data: bytes) -> RuleTestRun:
    return run_rule_tests(rules(), catalogue(), {name: data}, Readers(LogReader(), _recorded))


def told(path: Path) -> list[str]:
    found = ran(path.name, path.read_bytes())
    return [str(problem).removeprefix(f"{path.name}:") for problem in found.problems]


def test_the_corpus_is_there() -> None:
    assert len(FILES) >= 45


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".test.yaml"))
def test_each_mistake_is_told_at_its_place_with_what_to_do(path: Path) -> None:
    expected = [line[3:] for line in path.read_text().splitlines() if line.startswith("#! ")]
    assert expected, "a broken file without an expectation tests nothing"
    assert told(path) == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".test.yaml"))
def test_none_passes_and_each_way_of_reading_says_the_same(path: Path) -> None:
    found = ran(path.name, path.read_bytes())
    assert not found.passed
    assert [result.status for result in found.results] == ["error"]
    only_read = rule_test_problems(
        rules(), catalogue(), {path.name: path.read_bytes()}, Readers(LogReader(), _recorded)
    )
    assert only_read == found.problems
