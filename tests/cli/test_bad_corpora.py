"""The broken files of the other tests, through the command line: words with a place and status 1, never a traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Sweeprules

TESTS = Path(__file__).resolve().parents[1]
POLICIES = sorted((TESTS / "engine/bad").glob("*.yaml"))
RECORDS = sorted((TESTS / "store/bad/cluster").glob("*.yaml"))
SETTINGS = sorted((TESTS / "store/bad/site").glob("*.yaml"))
PLACE = re.compile(r"(warning: )?(?P<file>[\w./-]+):\d+:\d+: \S")


def lines(text: str) -> list[str]:
    return text.splitlines()[:-1]


def check(site: Path, sweeprules: Sweeprules, file: str, broken: Path) -> None:
    (site / file).write_bytes(broken.read_bytes())
    found = sweeprules("validate")
    assert found.exit == 1
    places = [PLACE.match(line) for line in lines(found.out)]
    assert all(places)
    assert file in {place["file"] for place in places if place}
    assert re.match(r"[1-9]\d* errors?", found.out.splitlines()[-1])


@pytest.mark.parametrize("broken", POLICIES[::2], ids=lambda path: path.stem)
def test_policies(site: Path, sweeprules: Sweeprules, broken: Path) -> None:
    (site / "rules/own.test.yaml").unlink()
    check(site, sweeprules, "rules/own.yaml", broken)


@pytest.mark.parametrize("broken", RECORDS[::5], ids=lambda path: path.stem)
def test_records(site: Path, sweeprules: Sweeprules, broken: Path) -> None:
    check(site, sweeprules, "ops/leonardo/cluster.yaml", broken)


@pytest.mark.parametrize("broken", SETTINGS[::3], ids=lambda path: path.stem)
def test_settings(site: Path, sweeprules: Sweeprules, broken: Path) -> None:
    check(site, sweeprules, "sweeprules.yaml", broken)


@pytest.mark.parametrize("verb", ["rules", "test"])
def test_other_verbs_refuse_a_broken_policy(site: Path, sweeprules: Sweeprules, verb: str) -> None:
    (site / "rules/own.yaml").write_bytes(POLICIES[0].read_bytes())
    found = sweeprules(verb)
    assert found.exit == 2
    assert "rules/own.yaml:" in found.err
    assert found.out == ""


def test_the_corpora_are_there() -> None:
    assert len(POLICIES) + len(RECORDS) + len(SETTINGS) >= 100
