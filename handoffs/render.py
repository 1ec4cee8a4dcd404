"""Fired actions as handoff documents, one for each subject and template, blocked where a proof is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import BaseLoader, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.environment import Environment
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sweeprules.engine.facts import FactValue, Ref, Unknown, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.site import ClusterRecord
from sweeprules.engine.truth import TRUE
from sweeprules.engine.verdicts import Action, Verdict
from sweeprules.handoffs.identity import cause_of, identity
from sweeprules.handoffs.prove import Case, Proof, prove

FOLDER = "handoffs/"


@dataclass(frozen=True, slots=True)
class Handoff:
    """One handoff: its row of the report and its text. `actions` are the names that it serves."""

    id: str
    template: str
    cause: str
    subject: Ref
    actions: tuple[str, ...]
    status: str
    blocked_by: tuple[str, ...]
    proofs: tuple[Proof, ...]
    text: str


class _Loader(BaseLoader):
    def __init__(self, templates: Mapping[str, str]) -> None:
        self.templates = templates

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        text = self.templates.get(template)
        if text is None:
            raise TemplateNotFound(template)
        return text, template, lambda: True


def environment(templates: Mapping[str, str], escape: Callable[[str], str]) -> ImmutableSandboxedEnvironment:
    """The one Jinja environment of handoffs: sandboxed, nothing undefined, every value escaped for Markdown."""
    return ImmutableSandboxedEnvironment(
        loader=_Loader(templates), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False, finalize=lambda v: escape(v) if isinstance(v, str) else v,
    )  # fmt: skip


def hand_off(
    world: World,
    verdicts: Mapping[Ref, Verdict],
    policy: Policy,
    records: Mapping[str, ClusterRecord],
    templates: Mapping[str, str],
    escape: Callable[[str], str],
    shown: Callable[[str, FactValue], str],
) -> tuple[list[Handoff], dict[Ref, Verdict]]:
    """Every handoff of a sweep, and the verdicts with the status of each action settled.

    An action whose proofs are not all true is blocked, and says which. An exempt action has no document. A template
    that fails is a `TemplateError` with the template's name.
    """
    jinja = environment(templates, escape)
    made: list[Handoff] = []
    settled = dict(verdicts)
    for ref, case, record in _cases(world, verdicts, records):
        actions, documents = _settle(case, policy)
        settled[ref] = replace(verdicts[ref], actions=tuple(actions))
        made += [_document(ref, name, group, proofs, case, record, jinja, shown) for name, group, proofs in documents]
    return made, settled


def settle(
    world: World, verdicts: Mapping[Ref, Verdict], policy: Policy, records: Mapping[str, ClusterRecord]
) -> dict[Ref, Verdict]:
    """The verdicts of `hand_off`, without its documents."""
    settled = dict(verdicts)
    for ref, case, _ in _cases(world, verdicts, records):
        settled[ref] = replace(verdicts[ref], actions=tuple(_settle(case, policy)[0]))
    return settled


def _cases(
    world: World, verdicts: Mapping[Ref, Verdict], records: Mapping[str, ClusterRecord]
) -> Iterator[tuple[Ref, Case, ClusterRecord | None]]:
    for ref in sorted(verdicts):
        subject = world.subjects.get(ref)
        if subject is None or not verdicts[ref].actions:
            continue
        record = records.get(_cluster_of(ref, subject.get("cluster")))
        yield ref, Case(subject, verdicts[ref], world, record.user if record else ""), record


def _cluster_of(ref: Ref, value: FactValue) -> str:
    if ref.kind == "cluster":
        return ref.key
    return value if isinstance(value, str) else ref.key.split(":", 1)[0]


_Group = tuple[str, list[Action], list[Proof]]


def _settle(case: Case, policy: Policy) -> tuple[list[Action], list[_Group]]:
    actions: list[Action] = []
    groups: dict[str, _Group] = {}
    for action in case.verdict.actions:
        about = replace(case, ids=_ids(action))
        proofs = [prove(name, about) for name in policy.actions[action.name].proofs]
        missing = tuple(f"{p.name} is {p.truth.word}" for p in proofs if p.truth is not TRUE)
        unread = tuple(
            f"argument {name} is unknown ({value.reason})"
            for name, value in action.args.items()
            if isinstance(value, Unknown)
        )
        blocked = tuple(dict.fromkeys((*action.blocked_by, *unread, *missing)))
        status = "exempt" if action.status == "exempt" else "blocked" if blocked else "open"
        action = replace(action, status=status, blocked_by=blocked)
        actions.append(action)
        if action.template is not None and status != "exempt":
            _, group, sheet = groups.setdefault(action.template, (action.template, [], []))
            group.append(action)
            sheet += [p for p in proofs if p.name not in {q.name for q in sheet}]
    return actions, list(groups.values())


def _ids(action: Action) -> tuple[str, ...]:
    """The jobs that an action names; none where they could not be read, which blocks it."""
    value = action.args.get("ids")
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, tuple) else ()


def _document(
    ref: Ref,
    name: str,
    actions: Sequence[Action],
    proofs: Sequence[Proof],
    case: Case,
    record: ClusterRecord | None,
    jinja: ImmutableSandboxedEnvironment,
    shown: Callable[[str, FactValue], str],
) -> Handoff:
    cause = cause_of(actions)
    blocked = tuple(dict.fromkeys(reason for a in actions for reason in a.blocked_by))
    number = identity(ref, name, cause)
    context: dict[str, Any] = {
        "id": number,
        "template": name,
        "subject": str(ref),
        "cluster": record.name if record else "",
        "facts": {k: shown(k, v) for k, v in {**case.subject.facts, **case.verdict.decided}.items()},
        "flags": [{"name": f.name, "severity": f.severity, "message": f.message} for f in case.verdict.flags],
        "actions": [
            {"name": a.name, "class": a.klass, "destructive": a.destructive, "status": a.status,
             "args": {k: shown(k, v) for k, v in a.args.items()}}
            for a in actions
        ],
        "proofs": [{"name": p.name, "truth": p.truth.word, "source": p.source} for p in proofs],
        "blocked_by": blocked,
        "gotchas": [
            {"tag": g.tag, "text": g.text, "validated": g.validated} for g in (record.gotchas if record else ())
        ],
    }  # fmt: skip
    try:
        text = jinja.get_template(f"{FOLDER}{name}.md.j2").render(context)
    except TemplateError as error:
        raise TemplateError(f"template {FOLDER}{name}.md.j2: {error}") from error
    return Handoff(
        number, name, cause, ref, tuple(a.name for a in actions), "blocked" if blocked else "open", blocked,
        tuple(proofs), text,
    )  # fmt: skip
