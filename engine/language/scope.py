"""What a piece of policy may name where it stands, and where its mistakes are collected."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sweeprules.engine.catalogue import Catalogue, KindDef, RelationDef
from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.language.ast import ActionDef, Feature, FlagDef, Metric, Param, Pattern
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.language.types import Type, of_field, of_name

STEP = "step"
MEMBER = "member"
"""The kind of a member of a list, a map or a list of records."""

NEW_WORDS = {"flag": "flags", "signal": "signals", "action": "actions", "list": "lists", "param": "params"}
"""What a policy may declare anew -> the section where it does."""


@dataclass(frozen=True, slots=True)
class View:
    """The subject that conditions are about: its fields, and the relations that paths may follow from it."""

    kind: str
    fields: Mapping[str, Type]
    relations: Mapping[str, RelationDef]
    pattern_fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Names:
    """Every name that the layers of a policy declare, on top of the catalogue; filled before rules are read."""

    catalogue: Catalogue
    templates: frozenset[str]
    params: dict[str, Param] = field(default_factory=dict)
    param_types: dict[str, Type] = field(default_factory=dict)
    lists: dict[str, Node] = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    flags: dict[str, FlagDef] = field(default_factory=dict)
    actions: dict[str, ActionDef] = field(default_factory=dict)
    signals: set[str] = field(default_factory=set)
    rule_kinds: dict[str, str] = field(default_factory=dict)
    raised: dict[str, set[str]] = field(default_factory=dict)
    """Flag -> the kinds of the rules that raise it."""
    signalled: dict[str, set[str]] = field(default_factory=dict)
    """Signal -> the kinds of the rules that give it."""
    decided: set[str] = field(default_factory=set)
    metrics: dict[str, Metric] = field(default_factory=dict)
    features: dict[str, Feature] = field(default_factory=dict)
    feature_names: set[str] = field(default_factory=set)
    """All that are declared, those among them that could not be read."""
    step_fields: dict[str, Type] = field(default_factory=dict)
    """The fields that the policy gives a step: its metrics and features."""
    views: dict[str, View] = field(default_factory=dict)

    def view(self, kind: str) -> View:
        """The view on a kind of the catalogue, with what the policy adds to it."""
        if kind not in self.views:
            self.views[kind] = _view_of(self.catalogue.kinds[kind], self.catalogue.tags)
            if kind == STEP:
                fields = {**self.views[kind].fields, **self.step_fields}
                self.views[kind] = dataclasses.replace(self.views[kind], fields=fields)
        return self.views[kind]

    def add_step_field(self, name: str, kind: Type) -> None:
        """One more field of a step."""
        self.step_fields[name] = kind
        self.views.pop(STEP, None)


def _view_of(kind: KindDef, tags: tuple[str, ...]) -> View:
    fields = {name: of_field(spec, tags) for name, spec in kind.fields.items()}
    return View(kind.name, fields, kind.relations, kind.pattern_fields)


def member_view(fields: Mapping[str, str | Type]) -> View:
    """The view on a member with these fields."""
    typed = {name: one if isinstance(one, Type) else of_name(one) for name, one in fields.items()}
    return View(MEMBER, typed, {})


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a condition or a right side stands. `outer` is the subject around a `where`."""

    names: Names
    problems: list[Problem]
    view: View
    outer: View | None = None

    def inside(self, member: View) -> Scope:
        """The scope of a `where` over members of this kind."""
        return Scope(self.names, self.problems, member, self.view)

    def report(self, mark: Mark, message: str, hint: str = "") -> None:
        """Adds a mistake."""
        self.problems.append(Problem(mark, message, hint))

    def unknown(self, mark: Mark, what: str, word: str, known: Iterable[str], *, of: str = "") -> None:
        """Adds `unknown WHAT WORD`, with the nearest known name."""
        names = sorted(known)
        hint = nearest(word, names)
        if not hint and "expected" not in of:
            hint = f"expected {listed(names)}" if 0 < len(names) <= 8 else "" if names else f"no {what} is declared"
        if not hint and what in NEW_WORDS:
            hint = f"a new {what} is declared under {NEW_WORDS[what]}:"
        self.report(mark, f"unknown {what} {quote(word)}{of}", hint)
