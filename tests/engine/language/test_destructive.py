"""No destructive action behind something unknown."""

from __future__ import annotations

import pytest

from tests.engine.language.loading import load, problems, rule, rules

KILL = "{action: cancel-pending, args: {ids: [.job_id]}}"
OTHER = rule("{state: RUNNING}", "{flag: bringup}", id="r.two")


def leaks(when: str, *others: str, then: str = KILL, more: str = "") -> list[str]:
    return problems(rules(rule(when, then, more=more), *others))


@pytest.mark.parametrize(
    "when",
    [
        "{state: PENDING}",
        "{all: [{log.exists: {absent: true}}, {step: {known: true}}]}",
        "{not: {step: {unknown: true}}}",
        "{not: {log.exists: {absent: true}}}",
        "{flagged: bringup}",
        "{not: {flagged: bringup}}",
        "{rule: {id: r.two, is: true}}",
        "{rule: {id: r.two, is: false}}",
        "{not: {rule: {id: r.two, is: unknown}}}",
        "{every: {of: siblings, is: {state: FAILED}, if_empty: true}}",
        "{count: {of: siblings, is: {gt: 0}}}",
    ],
)
def test_what_is_known_may_lead_to_it(when: str) -> None:
    assert leaks(when, OTHER) == []


@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("{state: {unknown: true}}", "holds of the unknown"),
        ("{step: {known: false}}", "holds of the unknown"),
        ("{not: {step: {known: true}}}", "holds of the unknown"),
        ("{not: {step: {unknown: false}}}", "holds of the unknown"),
        ("{any: [{state: PENDING}, {step: {unknown: true}}]}", "holds of the unknown"),
        ("{step: {default: 0, because: new, eq: 0}}", "`default`"),
        ("{not: {step: {default: 0, because: new, eq: 0}}}", "`default`"),
        ("{rule: {id: r.two, is: unknown}}", "unknown truth of rule `r.two`"),
        ("{not: {rule: {id: r.two, is: true}}}", "unknown truth of rule `r.two`"),
        ("{count: {of: siblings, is: {possible: {gt: 0}}}}", "`possible`"),
        ("{at_least: {of: [{state: PENDING}], evaluable: {lt: 1}}}", "`evaluable`"),
        ("{some: {of: siblings, is: {step: {unknown: true}}}}", "holds of the unknown"),
        ("{every: {of: siblings, where: {step: {known: true}}, is: {state: FAILED}}}", "holds of the unknown"),
    ],
)
def test_what_holds_of_the_unknown_may_not(when: str, what: str) -> None:
    told = leaks(when, OTHER)
    assert len(told) == 1
    assert what in told[0]
    assert "`cancel-pending` of rule `r.one`" in told[0]


def test_an_unknown_unless_may_not_be_passed_over() -> None:
    more = "unless: {suspended: true}"
    assert leaks("{state: PENDING}", more=more) == []
    assert "if_unknown: fire" in leaks("{state: PENDING}", more=f"{more}, if_unknown: fire")[0]


def test_the_denial_of_unless_counts() -> None:
    assert leaks("{state: PENDING}", more="unless: {step: {unknown: true}}") == []
    assert "holds of the unknown" in leaks("{state: PENDING}", more="unless: {step: {known: true}}")[0]


@pytest.mark.parametrize(
    ("then", "when"),
    [
        ("{flag: bringup}", "{flagged: bringup}"),
        ("{set: {phase: steady}}", "{phase: steady}"),
        ("{flag: bringup}", "{rule: {id: r.two, is: true}}"),
    ],
)
def test_it_is_followed_through_other_rules(then: str, when: str) -> None:
    told = leaks(when, rule("{step: {unknown: true}}", then, id="r.two"))
    assert len(told) == 1
    assert told[0].startswith("layer0.yaml:3:")


def test_it_is_followed_through_denials() -> None:
    known = rule("{step: {known: true}}", "{flag: bringup}", id="r.two")
    assert "holds of the unknown" in leaks("{not: {flagged: bringup}}", known)[0]
    assert leaks("{flagged: bringup}", known) == []


def test_it_is_followed_through_signals_and_steps() -> None:
    signal = rule("{grad_norm: {unknown: true}}", "{signal: grad}", on="step", id="s")
    quorum = rule("{at_least: {n: 1, of: [grad]}}", "{flag: rl-collapse}", on="step", id="q")
    assert "holds of the unknown" in leaks("{flagged: rl-collapse}", signal, quorum)[0]


def test_other_actions_may_rest_on_the_unknown() -> None:
    assert leaks("{state: {unknown: true}}", then="{action: report}") == []


def test_one_leg_of_an_action_that_destroys_is_enough() -> None:
    told = problems(
        rules(
            rule(
                "{leg: {unknown: true}}",
                "{action: advance-chain, args: {cell: .row_key, leg: .leg}}",
                on="tracker_row",
            )
        )
        + "routes: {advance-chain: [{otherwise: blocked, say: no leg}]}\n"
    )
    assert len(told) == 1


def test_a_cycle_of_flags_ends() -> None:
    one = rule("{any: [{state: PENDING}, {flagged: bringup}]}", "{flag: stale-log}", id="a")
    two = rule("{flagged: stale-log}", "{flag: bringup}", id="b")
    assert load(rules(rule("{flagged: bringup}", KILL), one, two)).rules
