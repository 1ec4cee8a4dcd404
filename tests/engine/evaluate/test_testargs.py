"""The arguments of an action in a rule test: what is expected, what differs, and names that can not be."""

from __future__ import annotations

import pytest

from tests.engine.evaluate.onetest import differences
from tests.engine.language.loading import load

POLICY = load("""
policy: 1
title: Test
params:
  after: {default: 15m, why: test}
rules:
  - {id: later, on: cluster, when: {queue: {unknown: true}}, then: {action: retry-later, args: {after: $after}}}
  - id: look
    on: cluster
    when: {queue: {unknown: true}}
    then: {action: recheck-login-node, args: {logins_tried: .logins_tried}}
""")
ASKED = "given: {cluster: {queue: {unknown: read-failed}, logins_tried: [login01, login02]}}"
UNREAD = "given: {cluster: {queue: {unknown: read-failed}}}"


@pytest.mark.parametrize(
    ("given", "args", "said"),
    [
        (ASKED, "{retry-later: {after: 15m}}", ()),
        (ASKED, "{retry-later: {after: 900}}", ()),
        (ASKED, "{recheck-login-node: {logins_tried: [login01, login02]}, retry-later: {after: 15m}}", ()),
        (UNREAD, "{recheck-login-node: {logins_tried: {unknown: not-read}}}", ()),
        (ASKED, "{retry-later: {after: 30m}}", ("args: expected 30m for after of retry-later, it is 15m",)),
        (
            ASKED,
            "{retry-later: {after: {absent: true}}}",
            ("args: expected absent for after of retry-later, it is 900",),
        ),
        (
            "given: {cluster: {queue: ok}}",
            "{retry-later: {after: 15m}}",
            ("args: expected after of retry-later, which is not asked for",),
        ),
    ],
)
def test_the_arguments_of_an_action_can_be_expected(given: str, args: str, said: tuple[str, ...]) -> None:
    assert differences(POLICY, given, "args", args) == (said, "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{}", "args names nothing"),
        ("{retry-late: {after: 15m}}", "`retry-late` is no action (did you mean retry-later?)"),
        ("{retry-later: {aftr: 15m}}", "`aftr` is no argument of retry-later (did you mean after?)"),
        ("{retry-later: {}}", "args names nothing of retry-later (its args are after)"),
        ("{retry-later: {after: {a: 1}}}", "after can not be compared with a map"),
        ("{retry-later: 15m}", "args names nothing of retry-later"),
    ],
)
def test_arguments_that_can_not_be_are_a_mistake(args: str, said: str) -> None:
    assert said in differences(POLICY, ASKED, "args", args)[1]
