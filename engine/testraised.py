"""What a rule test expects of a flag beside its name: how grave it is, what explains it and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.verdicts import Flag

_KEYS = ("severity", "resolved", "explained_by", "not_explained_by", "says")
_SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class Raised:
    """What is expected of one flag; None or empty: not written."""

    severity: str = ""
    resolved: bool | None = None
    explained_by: tuple[str, ...] = ()
    not_explained_by: tuple[str, ...] = ()
    says: str = ""


def read_raised(node: Node | None, policy: Policy, problems: list[Problem]) -> Mapping[str, Raised]:
    """What is expected by flag; names that do not exist are added to the problems."""
    if node is None:
        return {}
    if not node.entries:
        problems.append(Problem(node.mark, "raised names nothing", "name a flag and what it must be"))
    found: dict[str, Raised] = {}
    for entry in node.entries:
        if entry.key not in policy.flags:
            problems.append(Problem(entry.mark, f"{quote(entry.key)} is no flag", nearest(entry.key, policy.flags)))
            continue
        mistakes = list(_mistakes(entry.key, entry.value, policy))
        problems += mistakes
        if not mistakes:
            found[entry.key] = _one(entry.value)
    return found


def _one(node: Node) -> Raised:
    resolved, says = node.get("resolved"), node.get("says")
    severity = node.get("severity")
    return Raised(
        severity="" if severity is None else severity.text,
        resolved=None if resolved is None else resolved.value is True,
        explained_by=_names(node.get("explained_by")),
        not_explained_by=_names(node.get("not_explained_by")),
        says="" if says is None else says.text,
    )


def _names(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    return tuple(item.text for item in node.items) if node.kind == "list" else (node.text,)


def _mistakes(flag: str, node: Node, policy: Policy) -> Iterator[Problem]:
    if not node.entries:
        yield Problem(node.mark, f"raised says nothing of {flag}", f"write {listed(_KEYS)}")
    for entry in node.entries:
        if entry.key not in _KEYS:
            yield Problem(entry.mark, f"unknown key {quote(entry.key)}, expected {listed(_KEYS)}")
        elif entry.key == "severity" and entry.value.text not in _SEVERITIES:
            yield Problem(entry.value.mark, f"{quote(entry.value.text)} is no severity, expected {listed(_SEVERITIES)}")
        elif entry.key == "resolved" and not isinstance(entry.value.value, bool):
            yield Problem(entry.value.mark, "expected true or false")
        elif entry.key in ("explained_by", "not_explained_by"):
            yield from _causes(entry.value, policy)
        elif entry.key == "says" and not entry.value.text:
            yield Problem(entry.value.mark, "says is empty", "write a part of the message")


def _causes(node: Node, policy: Policy) -> Iterator[Problem]:
    if not _names(node):
        yield Problem(node.mark, "no flag is named", "name a flag")
    for name in _names(node):
        if name.partition("@")[0] not in policy.flags:
            yield Problem(node.mark, f"{quote(name)} is no flag", nearest(name, policy.flags))


def unlike(name: str, wanted: Raised, flag: Flag | None) -> Iterator[str]:
    """All that a flag is not of what is expected, a line each."""
    if flag is None:
        yield f"raised: expected {name}, it is not there"
        return
    if wanted.severity and wanted.severity != flag.severity:
        yield f"raised {name}: expected severity {wanted.severity}, is {flag.severity}"
    if wanted.resolved is not None and wanted.resolved is not flag.resolved:
        yield f"raised {name}: expected it {_resolved(wanted.resolved)}, is {_resolved(flag.resolved)}"
    shown = listed(flag.explained_by) if flag.explained_by else "nothing"
    for cause in wanted.explained_by:
        if cause not in flag.explained_by:
            yield f"raised {name}: expected {cause} to explain it, explained by {shown}"
    for cause in wanted.not_explained_by:
        if cause in flag.explained_by:
            yield f"raised {name}: {cause} explains it, and must not"
    if wanted.says and wanted.says not in flag.message:
        yield f"raised {name}: expected it to say {quote(wanted.says)}, it says {quote(flag.message)}"


def _resolved(value: bool) -> str:
    return "resolved" if value else "not resolved"
