"""What of a policy is asked before a sweep is judged: the bucket of each job, and whom to look at more closely."""

from __future__ import annotations

from sweeprules.engine.evaluate.plan import DECIDE_KIND, Node
from sweeprules.engine.language.ast import Policy

BUCKET = Node("field", "bucket", DECIDE_KIND)
FLAVOUR = Node("field", "flavour", DECIDE_KIND)
TAGS = Node("field", "tags", DECIDE_KIND)
KINDS = (BUCKET, FLAVOUR, TAGS)
"""What has to be known of a job before it is known where its results lie, what its log tells, and what is expected."""


def suspecting(policy: Policy) -> frozenset[Node]:
    """The rules that choose what is looked at more closely."""
    return frozenset(Node("rule", rule.id, rule.on) for rule in policy.rules.values() if rule.stage == "suspect")
