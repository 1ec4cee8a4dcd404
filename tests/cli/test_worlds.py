"""What the pipeline reads of the policy while it joins subjects into one world."""

from __future__ import annotations

import pytest

from sweeprules.cli.cadence import ALIKE, READ
from sweeprules.cli.reads import sweeps_back
from sweeprules.cli.worlds import alike_elapsed
from sweeprules.engine.facts import FactValue, Unknown
from tests.engine.evaluate.site import policy
from tests.rules import shipped

PARAM = "{default: 0.1, for: [{bucket: sft, value: 0.2}, {cluster: leo, value: 0.3}, "
PARAM += "{cluster: leo, bucket: sft, value: 0}]}"


@pytest.mark.parametrize(
    ("cluster", "bucket", "value"),
    [
        ("tacc", "rl", 0.1),
        ("tacc", "sft", 0.2),
        ("leo", "rl", 0.3),
        ("leo", "sft", 0),
        ("leo", "", Unknown("not-read", "$alike_elapsed turns on a tag, bucket or cluster that is unknown")),
    ],
)
def test_how_alike_deaths_have_to_be_may_differ_by_cluster_and_bucket(
    cluster: str, bucket: str, value: FactValue
) -> None:
    p = policy(f"policy: 1\ntitle: t\nparams: {{{ALIKE}: {PARAM}}}\n")
    assert alike_elapsed(p, cluster, bucket) == value


def test_a_policy_that_does_not_say_it_leaves_it_unknown() -> None:
    found = alike_elapsed(policy("policy: 1\ntitle: t\n"), "leo", "rl")
    assert found == Unknown("not-read", "the policy has no parameter alike_elapsed")


@pytest.mark.parametrize(
    ("when", "back"),
    [
        ("{state: RUNNING}", 1),
        ("{previous.state: RUNNING}", 1),
        ("{not: {any: [{state: RUNNING}, {previous.previous.state: RUNNING}]}}", 2),
        ("{elapsed: {gt: .previous.previous.previous.elapsed}}", 3),
        ("{some: {of: siblings, is: {previous.previous.state: RUNNING}}}", 2),
        ("{all: [{previous.state: RUNNING}, {prior_link.previous.state: RUNNING}]}", 1),
    ],
)
def test_as_many_sweeps_are_looked_back_to_as_the_policy_names(when: str, back: int) -> None:
    text = f"policy: 1\ntitle: t\nrules:\n  - {{id: r, on: job, when: {when}, then: {{flag: stale-log}}}}\n"
    assert sweeps_back(policy(text)) == back


def test_the_shipped_policy_has_all_that_the_pipeline_reads() -> None:
    assert set(READ) <= set(shipped.policy().params)
    assert alike_elapsed(shipped.policy(), "leonardo", "rl") == 0.1
