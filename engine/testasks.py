"""Actions that a rule test asks for by its own word: their routes can be tried without the rules behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.language.ast import Act, Any, Compare, FieldRef, Path, Policy, Right, Rule, Test
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import quote

RULE = "given.asks"
"""The id of the rule that asks for them: it is always true, and it stands in no file."""


@dataclass(frozen=True, slots=True)
class Asks:
    """The names of the actions that are asked for, and where the test says so."""

    actions: tuple[str, ...]
    mark: Mark

    def under(self, policy: Policy, kind: str) -> Policy:
        """The policy in which every subject of a kind asks for these actions; `ids` are the id of the job itself."""
        own: dict[str, tuple[Right, ...]] = (
            {"ids": (FieldRef(Path((), "job_id", "job", "text")),)} if kind == "job" else {}
        )
        acts = tuple(
            Act(name, {arg: own[arg] for arg in policy.actions[name].args if arg in own}, self.mark)
            for name in self.actions
        )
        rule = Rule(RULE, kind, _always(kind, self.mark), acts, self.mark)
        return replace(policy, rules={**policy.rules, RULE: rule})


def _always(kind: str, mark: Mark) -> Any:
    """Whatever a subject holds, its key is either known or not."""
    key = Path((), "key", kind, "text")
    return Any(tuple(Test(key, Compare("known", wanted=wanted), mark, "asks") for wanted in (True, False)), mark)


def read_asks(node: Node | None, policy: Policy, problems: list[Problem]) -> Asks | None:
    """What `given: {asks: [ACTION, ...]}` names; None where there is no `asks`. Names of no action are problems."""
    if node is None:
        return None
    items = node.items if node.kind == "list" else (node,)
    if not items or node.kind == "null":
        problems.append(Problem(node.mark, "asks names nothing", "name an action"))
    for item in items if node.kind != "null" else ():
        if item.text not in policy.actions:
            wrong = f"{quote(item.text)} is no action"
            problems.append(Problem(item.mark, wrong, nearest(item.text, policy.actions)))
    return Asks(tuple(item.text for item in items if item.text in policy.actions), node.mark)
