"""`test --mutate`: what is said of changes that no test notices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.cli import mutating
from sweeprules.cli.loading import compile_site
from sweeprules.engine import mutate, mutation
from sweeprules.store.site import SiteChoice
from tests.cli.conftest import TESTS, Sweeprules


@pytest.fixture(autouse=True)
def fewer_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of them for rules as small as these."""
    monkeypatch.setattr(mutating, "WORLDS", 300)


FAILING = "  - {name: wrong, given: {job: {state: RUNNING, elapsed: 1h}}, expect: {truth: {own.long: true}}}\n"
REST = """  - {name: two hours, given: {job: {cluster: a, state: RUNNING, elapsed: 2h}}, expect: {flags: []}}
  - {name: more, given: {job: {cluster: a, state: RUNNING, elapsed: 121m}}, expect: {truth: {own.long: true}}}
  - {name: there, given: {job: {cluster: leonardo, state: RUNNING, elapsed: 3h}}, expect: {flags: []}}
  - {name: waiting, given: {job: {cluster: a, state: PENDING, elapsed: 3h}}, expect: {flags: []}}
  - {name: done, given: {job: {cluster: a, state: COMPLETED, elapsed: 1h}}, expect: {truth: {own.fine: true}}}
"""


def test_survivors_are_findings(site: Path, sweeprules: Sweeprules) -> None:
    found = sweeprules("test", "--mutate")
    assert found.exit == 1
    assert (
        "SURVIVED rules/own.yaml:15: rule own.fine: `state: COMPLETED`: eq made ne (touches 2 tests, none notices)"
        in found.out
    )
    assert "SURVIVED rules/own.yaml:4: $long 2h made 4h (touches no test)\n" in found.out
    assert ", score " in found.out
    assert (
        "mutation: nothing to change of the kind negation, list, decision, setting, feature, exemption, " in found.out
    )


def test_all_noticed(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + REST)
    found = sweeprules("test", "--mutate")
    assert found.exit == 0, found.out
    assert "mutation: 12 of 12 changes noticed (threshold 4 of 4, operator 5 of 5, condition 2 of 2, " in found.out
    assert "mutation: equivalent: 0, survived: 0, score 100.0%\n" in found.out
    assert "SURVIVED" not in found.out


def test_json(site: Path, sweeprules: Sweeprules) -> None:
    whole = json.loads(sweeprules("test", "--mutate", "--coverage", "--output", "json").out)
    found = whole["mutation"]
    assert whole["coverage"]["parts"]
    assert found["made"] - found["noticed"] - len(found["equivalent"]) == len(found["survivors"]) > 0
    assert found["missing"] == []
    assert 0 < found["score"] < 100
    assert sum(kind["made"] for kind in found["kinds"].values()) == found["made"]
    assert {row["file"] for row in found["survivors"]} == {"rules/own.yaml"}


def test_nothing_is_tried_on_tests_that_fail(site: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + FAILING)
    found = sweeprules("test", "--mutate")
    assert found.exit == 1
    assert found.out.endswith("mutation: not tried; the tests have to pass with the rules as they are\n")
    assert json.loads(sweeprules("test", "--mutate", "--output", "json").out)["mutation"] is None


def test_no_junit_of_mutants(site: Path, sweeprules: Sweeprules) -> None:
    assert sweeprules("test", "--mutate", "--output", "junit").exit == 2


def test_a_share_may_be_enough(site: Path, sweeprules: Sweeprules) -> None:
    assert sweeprules("test", "--mutate", "--fail-under", "1").exit == 0
    assert sweeprules("test", "--mutate", "--fail-under", "99.9").exit == 1
    assert sweeprules("test", "--coverage", "--fail-under", "1").exit == 0
    assert sweeprules("test", "--coverage", "--fail-under", "100").exit == 1
    assert sweeprules("test", "--fail-under", "1").exit == 2
    assert sweeprules("test", "--mutate", "--fail-under", "101").exit == 2


SAME = """  - id: own.same
    on: job
    when: {any: [{all: [{state: FAILED}, {elapsed: {gt: $long}}]}, {state: FAILED}]}
    then: {flag: failure}
"""
SHOWN = """  - {name: failed, given: {job: {state: FAILED, elapsed: 1h}}, expect: {flags: [failure]}}
  - {name: failed late, given: {job: {state: FAILED, elapsed: 9h}}, expect: {flags: [failure]}}
"""


def test_what_is_the_policy_in_other_words_is_counted_apart(site: Path, sweeprules: Sweeprules) -> None:
    with (site / "rules/own.yaml").open("a") as file:
        file.write(SAME)
    (site / "rules/own.test.yaml").write_text(TESTS + REST + SHOWN)
    found = sweeprules("test", "--mutate", "--verbose")
    assert "EQUIVALENT rules/own.yaml:18: rule own.same: " in found.out
    assert "(the same in 300 worlds)" in found.out
    assert "mutation: equivalent: 0," not in found.out
    assert "EQUIVALENT" not in sweeprules("test", "--mutate").out


def test_a_kind_of_which_none_was_made_fails(
    site: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "rules/own.test.yaml").write_text(TESTS + REST)
    made = list(mutate.mutants(compile_site(SiteChoice(site, "--site")).policy))
    monkeypatch.setattr(mutation, "mutants", lambda _: [one for one in made if one.kind != "threshold"])
    found = sweeprules("test", "--mutate")
    assert found.exit == 1
    assert (
        "mutation: no change of the kind threshold was made, so nothing is known of it: that is a failure" in found.out
    )
