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


# ---------------------------------------------------------------- ways around, each closed

DECIDE = "decide:\n  bucket: [{{when: {0}, is: rl}}, {{otherwise: catch-all}}]\n"
FLAVOUR = "decide:\n  flavour: [{{when: {0}, is: agentic}}, {{when: {{state: RUNNING}}, is: standard}}]\n"
LIST = "{every: {of: tags, is: {value: debug}, if_empty: true}}"


def around(when: str, beside: str = "", *others: str, then: str = KILL, more: str = "", on: str = "job") -> list[str]:
    return problems(rules(rule(when, then, more=more, on=on), *others) + beside)


@pytest.mark.parametrize(
    ("when", "beside"),
    [
        ("{bucket: rl}", DECIDE.format("{name: {unknown: true}}")),
        ("{bucket: catch-all}", DECIDE.format("{name: {known: true}}")),
        ("{bucket: rl}", DECIDE.format("{name: {default: rl, because: x, eq: rl}}")),
        ("{flavour: agentic}", FLAVOUR.format("{run_tag: {known: false}}")),
        ("{not: {flavour: agentic}}", FLAVOUR.format("{run_tag: {known: true}}")),
        ("{all: [{flavour: agentic}, {bucket: rl}]}", FLAVOUR.format("{run_tag: {unknown: true}}")),
        ("{name: {eq: .flavour}}", FLAVOUR.format("{run_tag: {unknown: true}}")),
        (
            "{elapsed: {gt: $p}}",
            "params: {p: {default: 1h, for: [{bucket: rl, value: 2h}]}}\n" + DECIDE.format("{name: {unknown: true}}"),
        ),
        (
            "{elapsed: {gt: {calc: '$p + .log_age'}}}",
            "params: {p: {default: 1h, for: [{bucket: rl, value: 2h}]}}\n" + DECIDE.format("{name: {unknown: true}}"),
        ),
    ],
)
def test_it_is_followed_through_what_is_decided(when: str, beside: str) -> None:
    told = around(when, beside)
    assert told, when
    assert "destroys something" in told[0]


@pytest.mark.parametrize(
    ("behind", "then", "when"),
    [
        ("{step: {known: true}}", "{set: {phase: steady}}", "{phase: {absent: true}}"),
        ("{step: {known: true}}", "{set: {phase: steady}}", "{not: {phase: steady}}"),
        ("{step: {unknown: true}}", "{add: {tags: debug}}", "{tags: {contains: debug}}"),
        ("{step: {unknown: true}}", "{add: {tags: debug}}", "{count: {of: tags, is: {gt: 0}}}"),
        ("{step: {unknown: true}}", "{add: {tags: debug}}", LIST),
        ("{step: {unknown: true}}", "{set: {series: a}}", "{name: {eq: .series}}"),
        ("{step: {unknown: true}}", "{set: {series: a}}", "{name: {in: [a]}}, needs: [series]"),
    ],
)
def test_it_is_followed_through_fields_that_rules_set(behind: str, then: str, when: str) -> None:
    told = around(when, "", rule(behind, then, id="r.two"))
    assert len(told) == 1, told
    assert "holds of the unknown" in told[0]


def test_it_is_followed_through_what_a_field_is_set_from() -> None:
    first = rule("{step: {unknown: true}}", "{set: {phase: steady}}", id="r.three")
    second = rule("{state: PENDING}", "{set: {series: .phase}}", id="r.two")
    assert "holds of the unknown" in around("{series: steady}", "", second, first)[0]


@pytest.mark.parametrize(
    "args",
    [
        "{ids: {collect: job_id, of: run.links, where: {state: {unknown: true}}}}",
        "{ids: {collect: job_id, of: run.links, where: {not: {state: {known: true}}}}}",
        "{ids: {collect: job_id, of: siblings, where: {at_least: {of: [{state: PENDING}], evaluable: {lt: 1}}}}}",
        "{ids: {collect: job_id, of: siblings, where: {step: {default: 0, because: x, eq: 0}}}}",
    ],
)
def test_nothing_is_collected_because_it_is_unknown(args: str) -> None:
    told = around("{state: PENDING}", then=f"{{action: cancel-pending, args: {args}}}")
    assert len(told) == 1, told


def test_what_is_collected_may_be_what_is_known() -> None:
    args = "{ids: {collect: job_id, of: run.links, where: {state: PENDING}}}"
    assert around("{state: COMPLETED}", then=f"{{action: cancel-pending, args: {args}}}") == []


QUORUM = "{{at_least: {{n: {0}, of: [{{state: PENDING}}, {{suspended: true}}]{1}}}}}"


@pytest.mark.parametrize(
    ("n", "more", "beside", "closed"),
    [
        ("1", "", "", True),
        ("$n", "", "params: {n: {default: 1}}\n", True),
        ("$n", "", "params: {n: {default: 0}}\n", False),
        ("$n", "", "params: {n: {default: 1, for: [{cluster: leo, value: 0}]}}\n", False),
        (".nodes", "", "", False),
        ("1", ", ignoring: [warming-up]", "", False),
    ],
)
def test_a_quorum_needs_something_that_is_true(n: str, more: str, beside: str, closed: bool) -> None:
    assert (around(QUORUM.format(n, more), beside) == []) is closed


ROUTES = "routes:\n  cancel-salvage:\n    - {{when: {0}, template: rl-agentic-job-cleanup}}\n"
ROUTES += "    - {{when: {1}, template: rl-standard-job-cleanup}}\n    - {{otherwise: blocked, say: x}}\n"
SALVAGE = "{action: cancel-salvage, args: {ids: [.job_id], step: .step}}"


@pytest.mark.parametrize(
    ("first", "second", "closed"),
    [
        ("{state: RUNNING}", "{state: PENDING}", True),
        ("{state: RUNNING}", "{job_id: {known: true}}", True),
        ("{step: {unknown: true}}", "{state: PENDING}", False),
        ("{step: {known: true}}", "{state: PENDING}", False),
        ("{state: RUNNING}", "{step: {default: 0, because: x, eq: 0}}", False),
    ],
)
def test_no_route_is_taken_because_something_is_unknown(first: str, second: str, closed: bool) -> None:
    told = around("{state: PENDING}", ROUTES.format(first, second), then=SALVAGE)
    assert (told == []) is closed, told


BUCKETS = "decide:\n  bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]\n"


@pytest.mark.parametrize(
    ("when", "closed"),
    [
        # On the job itself an unsure bucket blocks the action when it is judged.
        ("{bucket: rl}", True),
        ("{prior_link.bucket: rl}", False),
        ("{all: [{prior_link.bucket: rl}, {prior_link.bucket_sure: true}]}", True),
        ("{all: [{prior_link.bucket: rl}, {bucket_sure: true}]}", False),
        ("{any: [{prior_link.bucket: rl}, {prior_link.bucket_sure: true}]}", False),
        ("{some: {of: siblings, is: {bucket: rl}}}", False),
        ("{some: {of: siblings, is: {all: [{bucket: rl}, {bucket_sure: true}]}}}", True),
        ("{some: {of: siblings, is: {bucket_sure: false}}}", False),
        ("{some: {of: siblings, is: {not: {bucket_sure: true}}}}", False),
        ("{some: {of: siblings, is: {name: {eq: ..bucket}}}}", True),
        # It may have been unsure in the last sweep too.
        ("{previous.bucket: rl}", False),
        ("{all: [{previous.bucket: rl}, {previous.bucket_sure: true}]}", True),
        ("{previous.state: PENDING}", True),
    ],
)
def test_an_unsure_bucket_of_another_job_leads_nowhere(when: str, closed: bool) -> None:
    assert (around(when, BUCKETS) == []) is closed


def test_an_unsure_bucket_is_followed_to_what_is_decided_from_it() -> None:
    flavour = BUCKETS + "  flavour: [{when: {bucket: rl}, is: agentic}]\n"
    assert around("{flavour: agentic}", flavour) == []
    assert len(around("{some: {of: siblings, is: {flavour: agentic}}}", flavour)) == 1


def test_a_flag_of_another_job_is_followed_to_its_bucket() -> None:
    flag = rule("{bucket: rl}", "{flag: bringup}", id="r.two")
    assert around("{flagged: bringup}", BUCKETS, flag) == []
    assert len(around("{some: {of: siblings, is: {flagged: bringup}}}", BUCKETS, flag)) == 1


WIDE = "params: {{w: {{default: 9, unit: points, for: [{{bucket: rl, value: 5}}]}}, "
WIDE += "h: {{default: 3h, for: [{{bucket: rl, value: 5h}}]}}}}\n{0}"
FEATURE = "features: {{f: {{series: kl, is: slope, window: $w}}}}\n"


def test_it_is_followed_to_the_width_of_a_feature_and_the_length_of_a_hold() -> None:
    unknown = DECIDE.format("{name: {unknown: true}}")
    step = rule("{f: {gt: 0}}", "{flag: rl-collapse}", on="step", id="r.two")
    beside = (WIDE + FEATURE).format(unknown)
    assert "destroys something" in around("{flagged: rl-collapse}", beside, step)[0]
    held = WIDE.format(unknown)
    assert "destroys something" in around("{state: PENDING}", held, more="for: $h")[0]
    assert around("{state: PENDING}", WIDE.format(BUCKETS), more="for: $h") == []


def test_a_step_and_its_job_are_one_subject() -> None:
    step = rule("{all: [{job.bucket: rl}, {kl: {gt: 0}}]}", "{flag: rl-collapse}", on="step", id="r.two")
    assert around("{flagged: rl-collapse}", BUCKETS, step) == []
