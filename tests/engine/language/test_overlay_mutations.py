"""Whatever becomes of a site's changes, they are read or refused with places; and none at all change nothing."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings

from sweeprules.engine.errors import PolicyError
from sweeprules.engine.language.lint import lint
from sweeprules.engine.language.load import load_policy
from tests.engine.language.edits import Edit, edited, edits
from tests.engine.language.loading import FULL, catalogue, load, schema

SHIPPED = {"full.yaml": FULL.read_text()}
SITE = """\
policy: 1
params:
  grace: {default: 20m}
  stale_floor: {for: [{cluster: leo, value: 2h}, {cluster: tacc, bucket: sft, value: 3h}]}
  ten_points: {default: 12}
lists:
  live: {add: [TIMEOUT], remove: [PENDING]}
  codes: {add: [9]}
metrics:
  z_clip: {add: [policy/zc]}
  kl: {add: [policy/kl2]}
features:
  grad_ratio: {series: kl, is: slope, window: $ten_points}
patterns:
  errno-122: {literal: Errno 122, kind: benign}
rules:
  - {id: fail.edquot, disabled: true, because: loud}
  - {id: rl.grad-high, disabled: true, because: loud}
  - {id: cap.rl, on: cluster, when: {rl_running: {ge: $many}}, for: 3 sweeps, then: {flag: rl-cap}}
exemptions:
  - {id: the-spike-is-the-experiment, disabled: true, because: over}
routes:
  agent-log:
    - {otherwise: blocked, say: not here}
"""
TOKENS = re.findall(r"[\w-]+|[^\w\s]|\s+", SITE)
PIECES = [*"{}[]:,$.\"'!#\n", "  ", "- ", "null", "true", "false", "5", "30m", "x", "add", "remove", "for", "disabled"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits(TOKENS, PIECES, 3))
def test_tokens_of_a_site(made: list[Edit]) -> None:
    try:
        policy = load_policy([SHIPPED, {"site.yaml": edited(TOKENS, made)}], catalogue(), schema=schema())
    except PolicyError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.mark.file in {"full.yaml", "site.yaml"}
            assert problem.mark.line >= 1
            assert "\n" not in str(problem)
    else:
        for finding in lint(policy, catalogue(), now=2e9):
            assert finding.code
            assert finding.mark.file in {"full.yaml", "site.yaml"}


def test_the_site_loads_and_changes_what_it_says() -> None:
    policy = load(SHIPPED, {"site.yaml": SITE})
    assert policy.params["grace"].default == 1200
    assert len(policy.params["stale_floor"].overrides) == 4
    assert (policy.params["ten_points"].default, policy.params["ten_points"].unit) == (12, "points")
    assert policy.lists["live"] == ("RUNNING", "TIMEOUT")
    assert policy.metrics["z_clip"].aliases[-1] == "policy/zc"
    assert policy.features["grad_ratio"].is_ == "slope"
    assert policy.exemptions == ()
    assert policy.rules["fail.edquot"].then == ()
    assert "rl.grad-high" not in policy.rules
    assert {one.name for one in policy.overlays if one.disabled} == {
        "fail.edquot", "rl.grad-high", "the-spike-is-the-experiment",
    }  # fmt: skip
    assert {one.code for one in lint(policy, catalogue()) if one.mark.file == "site.yaml"} == {"SR017"}


def test_a_site_that_says_nothing_changes_nothing() -> None:
    alone = load(SHIPPED)
    assert load(SHIPPED, {"site.yaml": "policy: 1\n"}).sha256 == alone.sha256
    same = "policy: 1\nparams: {grace: {default: 15m}}\nlists: {live: {add: [RUNNING]}}\n"
    assert load(SHIPPED, {"site.yaml": same}).sha256 == alone.sha256
    assert alone.overlays == ()
