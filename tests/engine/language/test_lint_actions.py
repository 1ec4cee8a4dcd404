"""Two rules with one action, and flags that no rule raises: what is told, where, and the nearest that is not."""

from __future__ import annotations

import pytest

from sweeprules.engine.errors import Problem
from sweeprules.engine.language.lint import lint
from tests.engine.language.loading import catalogue, load, rule, rules

DIAGNOSE = "{{action: diagnose, args: {{error_class: {0}, path: .log.path, position: {1}}}}}"
SHIPPED = (
    rules(
        rule("{state: FAILED}", "{flag: failure}", id="fail.any"),
        rule(
            "{all: [{flagged: failure}, {first_error.position: {known: true}}]}",
            DIAGNOSE.format(".error_class", ".first_error.position"),
            id="fail.diagnose",
        ),
        rule("{queue: empty}", "{action: retry-later, args: {after: 1h}}", on="cluster", id="queue.retry"),
        rule("{state: TIMEOUT}", "{action: note-successor, args: {ids: [.job_id]}}", id="chain.note"),
    )
    + "decide: {error_class: [{otherwise: none-found}]}\n"
)


def told(site: str, code: str = "SR022") -> list[Problem]:
    found = lint(load({"builtin:rules/base.yaml": SHIPPED}, {"rules/own.yaml": f"policy: 1\n{site}"}), catalogue())
    return [one for one in found if one.code == code]


def test_an_action_that_a_shipped_rule_asks_for_otherwise() -> None:
    (one,) = told(rules(rule("{state: FAILED}", DIAGNOSE.format("tunnel", ".log.size"), id="our.tunnel")))
    assert one.mark.file == "rules/own.yaml"
    assert one.message == (
        "another rule asks for `diagnose` on the same job with unlike position: where both are true it is unknown, "
        "and `diagnose` is BLOCKED"
    )
    assert one.hint == (
        "fail.diagnose (builtin:rules/base.yaml:3:115) asks for it already; leave it to that one, or give the same "
        "arguments"
    )


@pytest.mark.parametrize(
    "own",
    [
        # The same: nothing is merged.
        rule("{state: FAILED}", DIAGNOSE.format(".error_class", ".first_error.position"), id="our.same"),
        # Texts are listed side by side.
        rule("{state: FAILED}", DIAGNOSE.format("tunnel", ".first_error.position"), id="our.text"),
        # The flag behind the shipped one is of failed jobs.
        rule("{state: RUNNING}", DIAGNOSE.format("tunnel", ".log.size"), id="our.other-state"),
        rule("{first_error.position: {known: false}}", DIAGNOSE.format("tunnel", ".log.size"), id="our.unread"),
        # Lists are joined.
        rule("{state: TIMEOUT}", "{action: note-successor, args: {ids: [.name]}}", id="our.list"),
        # Another kind of subject.
        rule("{state: FAILED}", "{action: retry-later, args: {after: 2h}}", id="our.other-kind"),
    ],
)
def test_what_goes_together(own: str) -> None:
    assert told(rules(own)) == []


def test_a_rule_that_replaces_the_shipped_one_has_nobody_beside_it() -> None:
    assert told(rules(rule("{state: FAILED}", DIAGNOSE.format("tunnel", ".log.size"), id="fail.diagnose"))) == []


def test_between_two_rules_of_one_layer_only_constants_are_told() -> None:
    def pair(one: str, two: str) -> list[Problem]:
        first = rule("{suspended: true}", DIAGNOSE.format("x", one), id="our.a")
        second = rule("{suspended: {known: true}}", DIAGNOSE.format("x", two), id="our.b")
        found = lint(load(rules(first, second)), catalogue())
        return [problem for problem in found if problem.code == "SR022"]

    assert [one.mark.line for one in pair("0", "1")] == [3]
    assert pair("0", ".log.size") == []


def test_a_flag_that_no_rule_raises() -> None:
    (one,) = told(rules(rule("{state: FAILED}", id="our.a", more="explains: [failure, sft-oom]")), "SR023")
    assert one.message == "explains of `our.a` names `sft-oom`, which no rule raises"
    (one,) = told(rules(rule("{state: FAILED}", id="our.a", more="replaces: [rl-nan]")), "SR023")
    assert one.message == "replaces of `our.a` names `rl-nan`, which no rule raises"
    exemption = "exemptions: [{id: e, when: {name: x}, flags: [stale-log, rl-collapse]}]\n"
    (one,) = told(rules(rule("{state: RUNNING}", id="our.a")) + exemption, "SR023")
    assert one.message == "the exemption `e` names `rl-collapse`, which no rule raises"


def test_flags_that_something_raises() -> None:
    builtin = sorted(catalogue().builtin)[0]
    more = f"explains: [failure, stale-log, {builtin}]"
    assert told(rules(rule("{state: FAILED}", id="our.a", more=more)), "SR023") == []


def test_a_flag_that_waits_for_a_later_release_may_be_named() -> None:
    policy = load(rules(rule("{state: FAILED}", id="our.a", more="explains: [sft-oom]")))
    stage = catalogue().flag_feeds["sft-oom"]
    found = {
        release: [one.code for one in lint(policy, catalogue(), release=release)] for release in (stage - 1, stage)
    }
    assert found == {stage - 1: [], stage: ["SR023"]}
