"""`{field}` in a text argument is filled in as in `say`, and what is unknown in it blocks the action."""

from __future__ import annotations

import pytest

from sweeprules.engine.ruletests import run_rule_tests
from tests.engine.language.loading import catalogue, load

POLICY = load(
    """policy: 1
rules:
  - id: ask
    on: job
    when: {state: RUNNING}
    then: {action: ask-operator, args: {question: "{name} of {cluster.name} runs for {elapsed} on {partition}: ours?"}}
routes: {ask-operator: [{otherwise: ask-operator}]}
"""
)


@pytest.mark.parametrize(
    ("facts", "expect"),
    [
        (
            "{state: RUNNING, name: x, elapsed: 90m, partition: {absent: true}}, cluster: {name: tundra}",
            "{args: {ask-operator: {question: 'x of tundra runs for 1h30m on —: ours?'}}, blocked: []}",
        ),
        (
            "{state: RUNNING, name: x, elapsed: {unknown: read-failed}, partition: a}, cluster: {name: tundra}",
            "{args: {ask-operator: {question: {unknown: read-failed}}}, blocked: [ask-operator]}",
        ),
    ],
)
def test_a_text_argument_is_filled_in(facts: str, expect: str) -> None:
    text = f"tests:\n  - {{name: it, given: {{job: {facts}}}, expect: {expect}}}\n"
    run = run_rule_tests(POLICY, catalogue(), {"rules/t.test.yaml": text})
    assert run.problems == ()
    assert [one.differences for one in run.results] == [()]
