"""Runs one rule test of one key of `expect`."""

from __future__ import annotations

from sweeprules.engine.language.ast import Policy
from sweeprules.engine.ruletests import run_rule_tests
from tests.engine.language.loading import catalogue


def differences(policy: Policy, given: str, key: str, expected: str) -> tuple[tuple[str, ...], str]:
    """What differs from `expect: {key: expected}`, and the mistakes of the test a line each."""
    text = f"tests: [{{name: it, {given}, expect: {{{key}: {expected}}}}}]\n"
    run = run_rule_tests(policy, catalogue(), {"rules/t.test.yaml": text})
    return run.results[0].differences, "\n".join(str(problem) for problem in run.problems)
