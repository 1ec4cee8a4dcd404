"""Twins: what is called the policy in other words never differs elsewhere, and what differs is found to."""

from __future__ import annotations

import pytest

from sweeprules.cli.testsources import LogReader
from sweeprules.engine.draws import Draws
from sweeprules.engine.equivalence import Twins
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.generated import Worlds
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.mutate import Mutant, mutants
from sweeprules.engine.mutated import changed
from sweeprules.engine.ruletests import RuleTest, read_rule_tests
from sweeprules.engine.testsources import Readers
from tests.engine.evaluate.site import catalogue, policy

POLICY = policy(
    r"""policy: 1
title: t
params:
  floor: {default: 30m, why: shortest silence}
  far: {default: 20m, why: never reached before the floor is}
lists: {ends: [FAILED, TIMEOUT]}
patterns:
  died: {literal: died, regex: 'has\s+died', kind: fault}
decide:
  bucket:
    - {when: {name: {prefix: rl-}}, is: rl}
    - {when: {name: {prefix: sft-}}, is: sft}
    - {when: {name: {contains: tune}}, is: sft}
    - {otherwise: catch-all}
rules:
  - id: stale
    on: job
    when: {all: [{state: RUNNING}, {log_age: {gt: $floor}}, {any: [{log_age: {gt: $far}}, {nodes: {known: true}}]}]}
    then: {flag: stale-log}
  - {id: one-died, on: job, when: {some: {of: siblings, is: {state: FAILED}, if_empty: false}}, then: {flag: failure}}
  - {id: ended, on: job, when: {any: [{state: {in: $ends}}, {state: TIMEOUT}]}, then: {flag: chain-restart-ok}}
  - {id: line, on: job, when: {lines.died.count: {gt: 0}}, then: {flag: edquot}}
  - {id: known, on: job, when: {all: [{state: {known: true}}, {state: RUNNING}]}, then: {flag: bringup}}
"""
)
TESTS = """tests:
  - name: silent
    given: {job: {name: rl-x, state: RUNNING, log_age: 31m, nodes: 2}}
    expect: {flags: [stale-log]}
  - name: a sibling failed
    given: {job: {name: sft-x, siblings: [{state: FAILED}]}}
    expect: {flags: [failure]}
  - name: ended
    given: {job: {name: a tune, state: TIMEOUT}}
    expect: {flags: [chain-restart-ok]}
  - name: a line
    given: {job: {name: x, state: FAILED}, log: [it has died, "so it ends"]}
    expect: {flags: [edquot]}
"""
FIRST, MORE = 600, 2000


@pytest.fixture(scope="module")
def tests() -> tuple[RuleTest, ...]:
    read = read_rule_tests(POLICY, catalogue(), {"t.test.yaml": TESTS}, Readers(LogReader()))
    assert len(read) == 4
    return read


@pytest.fixture(scope="module")
def verdicts(tests: tuple[RuleTest, ...]) -> dict[str, bool]:
    """Mutant -> is it the policy in other words?"""
    twins = Twins(POLICY, catalogue(), tests)
    return {one.text: twins.agree(one, FIRST) for one in mutants(POLICY)}


@pytest.mark.parametrize(
    "text",
    [
        "rule stale: `nodes: {known: true}` dropped",
        "rule known: `state: {known: true}` dropped",
        "rule ended: `state: TIMEOUT` dropped",
        "decide bucket, rl put after the next",
        "$far 20m made 10m",
    ],
)
def test_what_says_the_same_otherwise_is_a_twin(text: str, verdicts: dict[str, bool]) -> None:
    assert text in verdicts, sorted(verdicts)
    assert verdicts[text]


@pytest.mark.parametrize(
    "text",
    [
        "rule one-died: `some` made `every`",
        "$floor 30m made 1h",
        "$far 20m made 40m",
        "list ends: FAILED left out",
        "rule stale: `state: RUNNING` dropped",
        "rule known: `state: RUNNING` dropped",
        "pattern died: left out",
        "rule stale: flag stale-log left out",
    ],
)
def test_what_differs_somewhere_is_no_twin(text: str, verdicts: dict[str, bool]) -> None:
    assert text in verdicts, sorted(verdicts)
    assert not verdicts[text]


def outcome(policy_: Policy, world: World, held: Held) -> object:
    """All that a sweep would tell, with the truths of the rules that only have one."""
    return {
        ref: (one.flags, one.actions, dict(one.decided), one.health)
        for ref, one in judge(policy_, world, catalogue(), held=held).items()
    }


def differs(one: Mutant, tests: tuple[RuleTest, ...], seed: int) -> bool:
    """Is a mutant another policy in one of other worlds, judged one by one and whole?"""
    worlds = Worlds(POLICY, catalogue(), [(test.given.world, test.held) for test in tests])
    aim = worlds.aim(one.policy, changed(POLICY, one.policy))
    draws = Draws(str(seed))
    made = (worlds.one(draws, aim) for _ in range(MORE))
    return any(outcome(POLICY, world, held) != outcome(one.policy, world, held) for world, held in made)


def test_a_twin_never_differs_in_other_worlds(tests: tuple[RuleTest, ...], verdicts: dict[str, bool]) -> None:
    twins = [one for one in mutants(POLICY) if verdicts[one.text] and one.kind != "pattern"]
    assert len(twins) >= 5
    assert [one.text for one in twins if differs(one, tests, seed=20)] == []


def test_the_check_of_twins_sees_what_differs(tests: tuple[RuleTest, ...], verdicts: dict[str, bool]) -> None:
    others = [one for one in mutants(POLICY) if not verdicts[one.text] and one.kind in ("threshold", "list")]
    assert others
    assert [one.text for one in others if not differs(one, tests, seed=21)] == []


def test_it_says_the_same_each_time(tests: tuple[RuleTest, ...], verdicts: dict[str, bool]) -> None:
    twins = Twins(POLICY, catalogue(), tests)
    again = {one.text: twins.agree(one, FIRST) for one in mutants(POLICY) if one.kind in ("threshold", "decision")}
    assert again.items() <= verdicts.items()


def test_without_a_test_there_is_no_world_and_so_no_twin() -> None:
    assert not any(Twins(POLICY, catalogue(), ()).agree(one, 10) for one in mutants(POLICY))


ROUTED = policy(
    """policy: 1
title: t
decide:
  bucket: [{when: {name: {prefix: rl-}}, is: rl}, {when: {name: {prefix: sft-}}, is: sft}, {otherwise: catch-all}]
routes:
  ask-operator: [{otherwise: ask-operator}]
  clean-up:
    - {when: {bucket: rl}, template: rl-standard-job-cleanup}
    - {when: {bucket: sft}, template: sft-job-cleanup}
    - {when: {name: {contains: chunk}}, template: datagen-job-cleanup}
    - {otherwise: blocked, say: "no cleanup is chosen"}
"""
)
ASKED = """tests:
  - name: a page for RL
    given: {asks: [clean-up], job: {name: rl-x}}
    expect: {templates: {clean-up: rl-standard-job-cleanup}}
  - name: the only page
    given: {asks: [ask-operator], job: {name: x}}
    expect: {templates: {ask-operator: ask-operator}}
"""


def test_routes_of_an_action_that_no_rule_asks_for_are_tried_where_a_test_asks() -> None:
    asking = read_rule_tests(ROUTED, catalogue(), {"t.test.yaml": ASKED})
    twins = Twins(ROUTED, catalogue(), asking)
    found = {one.text.removeprefix("route "): twins.agree(one, FIRST) for one in mutants(ROUTED) if one.kind == "route"}
    assert {text for text, same in found.items() if same} == {
        "ask-operator to ask-operator left out",
        "clean-up to rl-standard-job-cleanup put after the next",
    }
    assert {text for text, same in found.items() if not same} == {
        "clean-up to rl-standard-job-cleanup left out",
        "clean-up to sft-job-cleanup left out",
        "clean-up to sft-job-cleanup put after the next",
        "clean-up to datagen-job-cleanup left out",
        "clean-up to datagen-job-cleanup put after the next",
    }
    unasked = Twins(ROUTED, catalogue(), asking[:1])
    assert not any(unasked.agree(one, 10) for one in mutants(ROUTED) if "ask-operator" in one.text)


RECKONED = policy(
    """policy: 1
title: t
params:
  floor: {default: 15m, why: shortest silence}
  factor: {default: 3, why: missed outputs}
rules:
  - id: stale
    on: job
    when:
      all:
        - {state: RUNNING}
        - {suspended: false}
        - {user: {in: [alice, bob]}}
        - {name: {prefix: rl-}}
        - {log_age: {gt: {calc: "max($floor, $factor * .cadence)"}}}
    then: {flag: stale-log}
  - {id: drain, on: cluster, when: {queue: {unknown: true}}, then: {flag: queue-unknown}}
"""
)
OWN = """tests:
  - {name: %s, given: {%s}, expect: {flags: []}}
"""
FAR = {
    "about a cluster": OWN % ("x", "cluster: {queue: empty}"),
    "about a job that waits": OWN % ("x", "job: {name: eval-x, state: PENDING}"),
}
LATE = """tests:
  - name: late
    given: {job: {name: rl-x, user: alice, suspended: false, state: RUNNING, log_age: 91m, cadence: 30m}}
    expect: {flags: [stale-log]}
"""


RECKONED_IN_VAIN = policy(
    """policy: 1
title: t
params:
  floor: {default: 15m, why: below the other}
  other: {default: 20m, why: above it}
  factor: {default: 3, why: missed outputs}
rules:
  - id: stale
    on: job
    when: {all: [{state: RUNNING}, {log_age: {gt: {calc: "max($floor, $other, $factor * .cadence)"}}}]}
    then: {flag: stale-log}
"""
)


def limits(*files: str, of: Policy = RECKONED) -> dict[str, bool]:
    """Change of a parameter -> is it called the policy in other words, by worlds that start from these tests?"""
    named = {f"{i}.test.yaml": text for i, text in enumerate(files)}
    twins = Twins(of, catalogue(), read_rule_tests(of, catalogue(), named))
    return {one.text: twins.agree(one, FIRST) for one in mutants(of) if one.kind == "threshold"}


@pytest.mark.parametrize("own", FAR.values(), ids=FAR)
def test_a_reckoned_limit_that_no_world_comes_near_is_not_proved_to_be_another_word_for_it(own: str) -> None:
    found = limits(own)
    assert len(found) >= 4
    assert not any(found.values()), found


@pytest.mark.parametrize("own", FAR.values(), ids=FAR)
def test_each_parameter_of_a_reckoned_limit_decides_where_another_test_comes_near(own: str) -> None:
    found = limits(own, LATE)
    assert len(found) == 4
    assert not any(found.values()), found


def test_a_parameter_that_never_reaches_the_limit_is_another_word_for_it() -> None:
    """Where the first is always the larger one, the second says nothing: that is proved by worlds near the limit."""
    found = limits(LATE, of=RECKONED_IN_VAIN)
    assert {text for text, same in found.items() if same} == {"$floor 15m made 7m30s"}
