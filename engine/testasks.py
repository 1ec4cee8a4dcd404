"""Flags that a rule test raises and actions that it asks for itself: what follows is tried without their rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.language.ast import Act, Any, Compare, FieldRef, Path, Policy, Raise, Right, Rule, Test
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import quote

RULE = "given.by-hand"
"""The id of the rule that does both: it is always true, and it stands in no file."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """The names of the flags and of the actions, and where the test says so. The flags are the cause of the actions."""

    flags: tuple[str, ...]
    actions: tuple[str, ...]
    mark: Mark

    def under(self, policy: Policy, kind: str) -> Policy:
        """The policy in which this holds of every subject of a kind; `ids` are the id of the job itself."""
        own: dict[str, tuple[Right, ...]] = (
            {"ids": (FieldRef(Path((), "job_id", "job", "text")),)} if kind == "job" else {}
        )
        raised = [Raise(name, policy.flags[name].severity, False, "", self.mark) for name in self.flags]
        asked = [
            Act(name, {arg: own[arg] for arg in policy.actions[name].args if arg in own}, self.mark)
            for name in self.actions
        ]
        rule = Rule(RULE, kind, _always(kind, self.mark), (*raised, *asked), self.mark)
        return replace(policy, rules={**policy.rules, RULE: rule})


def _always(kind: str, mark: Mark) -> Any:
    """Whatever a subject holds, its key is either known or not."""
    key = Path((), "key", kind, "text")
    return Any(tuple(Test(key, Compare("known", wanted=wanted), mark, "by hand") for wanted in (True, False)), mark)


def read_by_hand(raises: Node | None, asks: Node | None, policy: Policy, problems: list[Problem]) -> ByHand | None:
    """What `given: {raises: [FLAG, ...], asks: [ACTION, ...]}` names; None where neither is written.

    Names of no flag and of no action are added to the problems.
    """
    marks = [node.mark for node in (raises, asks) if node is not None]
    flags = tuple(_names(raises, "raises", "flag", policy.flags, problems))
    actions = tuple(_names(asks, "asks", "action", policy.actions, problems))
    return ByHand(flags, actions, marks[0]) if marks else None


def _names(node: Node | None, key: str, word: str, known: Collection[str], problems: list[Problem]) -> Iterator[str]:
    if node is None:
        return
    items = node.items if node.kind in ("list", "null") else (node,)
    if not items:
        problems.append(Problem(node.mark, f"{key} names nothing", f"name {'an' if word == 'action' else 'a'} {word}"))
    for item in items:
        if item.text in known:
            yield item.text
        else:
            problems.append(Problem(item.mark, f"{quote(item.text)} is no {word}", nearest(item.text, known)))
