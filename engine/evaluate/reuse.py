"""What two policies compute alike: rules and fields whose truths and values need not be worked out a second time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass

from sweeprules.engine.errors import Mark
from sweeprules.engine.evaluate.plan import DECIDE_KIND, Index, Node, index, plan
from sweeprules.engine.language import ast
from sweeprules.engine.language.walk import within

_EVERYWHERE = ("patterns", "flags", "metrics")
"""Parts of a policy that any rule may read."""
_OWN_FACTS = ("policy_sha256", "engine")
"""Fields of the sweep that tell which policy judges, and what runs it: two policies never share what reads them."""


def alike(old: ast.Policy, new: ast.Policy) -> frozenset[Node]:
    """The rules and fields that come out the same under both policies, over one world and with the same holds.

    Those are the ones that say the same, with the same parameters, and build on nothing else but such. Where a rule
    was written counts for nothing. Policies with unlike patterns, flags or metrics share nothing.
    """
    if any(gist(getattr(old, part)) != gist(getattr(new, part)) for part in _EVERYWHERE):
        return frozenset()
    first, second = _texts(old), _texts(new)
    same = {node for node, text in second.items() if first.get(node) == text}
    while True:
        built = {node for node in same if all(other in same for other in second[node][1])}
        if built == same:
            return frozenset(same)
        same = built


def reading(policy: ast.Policy, goals: Iterable[Node]) -> str:
    """All that decides some rules and fields, as one text to be hashed: equal for two policies that decide them alike.

    What any rule may read (patterns, flags, metrics) is in it.
    """
    texts = _texts(policy)
    nodes = plan(policy, index(policy)).closure(goals)
    return repr([*(gist(getattr(policy, part)) for part in _EVERYWHERE), *((n, texts[n]) for n in sorted(nodes))])


def _texts(policy: ast.Policy) -> dict[Node, tuple[str, tuple[Node, ...]]]:
    """Each node with what it says itself, and what it reads."""
    idx = index(policy)
    return {
        node: (_text(policy, idx, node), tuple(needs)) for node, needs in plan(policy, idx).needs.items()
    }  # fmt: skip


def _text(policy: ast.Policy, idx: Index, node: Node) -> str:
    said = _said(policy, idx, node)
    text = gist(said)
    read = {part.name for part in within(said) if isinstance(part, ast.ParamRef)}
    used = {name: policy.params[name] for name in sorted(read)}
    asked = {name: gist((param.default, param.overrides)) for name, param in used.items()}
    # A text of its own for each policy: nothing is equal to it.
    own = f" {policy.sha256}" if any(repr(name) in text for name in _OWN_FACTS) else ""
    return f"{text} {asked}{own}"


def _said(policy: ast.Policy, idx: Index, node: Node) -> object:
    if node.what == "rule":
        return policy.rules[node.name]
    if (node.kind, node.name) in idx.features:
        return policy.features[node.name]
    name = "bucket" if node.name == "bucket_sure" else node.name
    chosen = policy.decide.get(name, ()) if node.kind == DECIDE_KIND else ()
    return chosen, idx.setters.get((node.kind, node.name), ())


def gist(value: object) -> str:
    """A value of the policy as a text in which places in files do not stand. Unlike values have unlike texts."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = (getattr(value, field.name) for field in fields(value))
        return f"{type(value).__name__}({','.join(gist(part) for part in parts if not isinstance(part, Mark))})"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{gist(key)}:{gist(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(gist, value)) + ")"
    if isinstance(value, frozenset):
        return "<" + ",".join(sorted(map(gist, value))) + ">"
    return repr(value)
