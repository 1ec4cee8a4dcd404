"""What a rule test expects of a flag: its severity, whether it was settled, what explains it and what it says."""

from __future__ import annotations

import pytest

from tests.engine.evaluate.onetest import differences
from tests.engine.language.loading import load

POLICY = load("""
policy: 1
title: Test
rules:
  - {id: ended, on: job, when: {state: FAILED}, then: {flag: failure, say: "exit {exit}"}}
  - {id: full, on: job, when: {exit: "0:53"}, explains: [failure], then: {flag: edquot}}
  - {id: drained, on: cluster, when: {queue: empty}, then: {flag: false-drain-suspect, resolved: true}}
""")
FULL = 'given: {job: {state: FAILED, exit: "0:53"}}'
PLAIN = 'given: {job: {state: FAILED, exit: "1:0"}}'
DRAINED = "given: {cluster: {queue: empty}}"


@pytest.mark.parametrize(
    ("given", "raised", "said"),
    [
        (FULL, "{failure: {severity: critical, resolved: false, explained_by: edquot, says: 'exit 0:53'}}", ()),
        (PLAIN, "{failure: {not_explained_by: [edquot]}}", ()),
        (DRAINED, "{false-drain-suspect: {resolved: true, severity: info}}", ()),
        (PLAIN, "{failure: {explained_by: edquot}}", ("expected edquot to explain it, explained by nothing",)),
        (FULL, "{failure: {not_explained_by: edquot}}", ("edquot explains it, and must not",)),
        (PLAIN, "{failure: {severity: info}}", ("expected severity info, is critical",)),
        (PLAIN, "{failure: {says: 'exit 2'}}", ("expected it to say `exit 2`, it says `exit 1:0`",)),
        (DRAINED, "{false-drain-suspect: {resolved: false}}", ("expected it not resolved, is resolved",)),
        (PLAIN, "{edquot: {severity: critical}}", ("expected edquot, it is not there",)),
    ],
)
def test_a_flag_is_held_to_what_is_expected_of_it(given: str, raised: str, said: tuple[str, ...]) -> None:
    found, problems = differences(POLICY, given, "raised", raised)
    assert problems == ""
    assert [text.partition(": ")[2] for text in found] == list(said)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("{}", "raised names nothing"),
        ("{failur: {severity: info}}", "`failur` is no flag (did you mean failure?)"),
        ("{failure: {}}", "raised says nothing of failure"),
        ("{failure: {grave: info}}", "unknown key `grave`"),
        ("{failure: {severity: grave}}", "`grave` is no severity"),
        ("{failure: {resolved: 1}}", "expected true or false"),
        ("{failure: {explained_by: []}}", "no flag is named"),
        ("{failure: {explained_by: edqot}}", "`edqot` is no flag (did you mean edquot?)"),
        ("{failure: {says: ''}}", "says is empty"),
    ],
)
def test_what_can_not_be_expected_of_a_flag_is_a_mistake(raised: str, said: str) -> None:
    assert said in differences(POLICY, FULL, "raised", raised)[1]
