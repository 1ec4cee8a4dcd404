"""The shipped rules load, pass their own tests, and none is without a test for each truth that it can have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sweeprules.cli.testsources import LogReader
from sweeprules.engine.language import ast
from sweeprules.engine.language.yamltext import read
from sweeprules.engine.ruletests import RuleTest, read_test, run_rule_tests
from sweeprules.engine.testfailure import why
from sweeprules.engine.testsources import Readers
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.rules.shipped import catalogue, layer, policy, rule_tests

READERS = Readers(LogReader())
HEADER = "# yaml-language-server: $schema=../schemas/rules.schema.json"


def _tests() -> Iterator[RuleTest]:
    for name, text in rule_tests().items():
        listed = read(text, name).get("tests")
        assert listed is not None
        for node in listed.items:
            test, problems = read_test(node, policy(), catalogue(), READERS)
            assert problems == []
            assert test is not None
            yield test


def test_each_policy_file_names_its_schema_and_has_tests_beside_it() -> None:
    assert [name for name, text in layer().items() if text.partition("\n")[0] != HEADER] == []
    # A rule test gives steps, not the keys under which they are printed: the readers of metrics hold those.
    beside = {name.replace(".yaml", ".test.yaml") for name in layer()} - {"rules/metrics.test.yaml"}
    assert beside - set(rule_tests()) == set()


@pytest.mark.parametrize("name", sorted(rule_tests()))
def test_rule_tests_pass(name: str) -> None:
    run = run_rule_tests(policy(), catalogue(), {name: rule_tests()[name]}, READERS)
    assert run.problems == ()
    failed = [
        "\n".join([f"{r.mark} {r.name}", *r.differences, *(line for proof in r.proofs for line in why(proof))])
        for r in run.results
        if r.status != "passed"
    ]
    assert not failed, "\n\n".join(failed)


def _can_be_unknown(condition: ast.Condition | ast.Signalled) -> bool:
    """False where every leaf asks for knowledge itself, or for a named truth: that is always answered."""
    if isinstance(condition, ast.All | ast.Any):
        return any(_can_be_unknown(item) for item in condition.items)
    if isinstance(condition, ast.Not):
        return _can_be_unknown(condition.item)
    if isinstance(condition, ast.Test):
        return condition.compare.op not in ("known", "unknown")
    return not isinstance(condition, ast.RuleIs)


@pytest.mark.parametrize("truth", [TRUE, FALSE, UNKNOWN], ids=lambda truth: truth.word)
def test_each_rule_has_a_test_that_expects_each_truth(truth: Truth) -> None:
    expected = {
        rule for test in _tests() for expect in test.expects.values() for rule, t in expect.truth.items() if t is truth
    }
    needed = {r.id for r in policy().rules.values() if truth is not UNKNOWN or _can_be_unknown(r.when)}
    assert sorted(needed - expected) == []


def test_each_bucket_flavour_and_tag_is_reached_by_a_test() -> None:
    decided = [expect.decided for test in _tests() for expect in test.expects.values()]
    enums = catalogue().enums
    assert {d["bucket"] for d in decided if "bucket" in d} == set(enums["bucket"])
    flavours = {d["flavour"] for d in decided if isinstance(d.get("flavour"), str)}
    assert flavours == {word for words in enums["flavour"].values() for word in words}
    tags = {tag for d in decided if isinstance(found := d.get("tags"), tuple) for tag in found}
    assert tags == set(enums["tags"])


def test_each_raised_flag_is_expected_by_a_test_and_denied_by_another() -> None:
    raised = {e.flag for rule in policy().rules.values() for e in rule.then if isinstance(e, ast.Raise)}
    expects = [expect for test in _tests() for expect in test.expects.values()]
    assert raised - {flag for expect in expects for flag in expect.flags or ()} == set()
    silent = {flag for expect in expects for flag in expect.not_flags}
    assert raised - silent == set()


def test_each_threshold_says_why() -> None:
    assert [name for name, param in policy().params.items() if not param.why] == []


def test_each_fault_pattern_shows_one_class_of_error() -> None:
    lists = {name: members for name, members in policy().lists.items() if name.endswith("_lines")}
    classed = [str(member) for members in lists.values() for member in members]
    faults = [name for name, pattern in policy().patterns.items() if pattern.kind == "fault"]
    assert sorted(classed) == sorted(faults)


def test_the_faults_of_a_wedge_are_fault_patterns() -> None:
    faults = {name for name, pattern in policy().patterns.items() if pattern.kind == "fault"}
    assert set(policy().lists["wedge_faults"]) <= faults
