"""Both evaluators on one world, and whether they agree."""

from __future__ import annotations

from sweeprules.engine.durable.checked import check, run_durable
from sweeprules.engine.durable.run import DurableTruths, Session
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.facts import World
from sweeprules.engine.language import ast


def agreed(policy: ast.Policy, world: World, session: Session) -> DurableTruths:
    """What durable-rules found, after it was compared with the native evaluator."""
    truths = evaluate(policy, world)
    result = check(policy, world, truths, session=session)
    assert result.status == "equal", result
    found = run_durable(policy, world, truths, session=session)
    assert isinstance(found, DurableTruths)
    return found
