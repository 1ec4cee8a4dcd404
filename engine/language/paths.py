"""Resolves a dotted name to a field over relations."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import Path
from sweeprules.engine.language.scope import Names, Scope, View, member_view
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import COLLECTIONS, TEXT, Type, of_name

CONDITION_WORDS = ("all", "any", "not", "flagged", "rule", "at_least", "every", "some", "count", "sum")


class Found(NamedTuple):
    """A path and the type of what it leads to; `members` views what a collection holds."""

    path: Path
    type: Type
    members: View | None = None


def resolve(scope: Scope, text: str, mark: Mark, *, also: tuple[str, ...] = ()) -> Found | None:
    """The field that a name leads to; None after reporting why there is none.

    `also` are words that could have been meant in this place and are no fields.
    """
    return _Walk(scope, text, mark, also).field()


def resolve_members(scope: Scope, text: str, mark: Mark) -> Found | None:
    """The relation, list, map or list of records that `of` names; None after reporting why there is none."""
    walk = _Walk(scope, text, mark, ())
    found = walk.field(collection=True)
    if found is None:
        return None
    if found.type.base not in COLLECTIONS:
        scope.report(mark, f"{quote(text)} has no members; expected a relation, a list, a map or a list of records")
        return None
    return Found(found.path, found.type, _members(scope.names, found, walk.spec_fields))


def _members(names: Names, found: Found, record: dict[str, str]) -> View:
    kind = found.type
    if kind.base == "relation":
        return names.view(kind.item)
    if kind.base == "record-list":
        return member_view(dict(record))
    value = Type(kind.item or "any", words=kind.words)
    return member_view({"value": value} if kind.base == "list" else {"key": TEXT, "value": value})


class _Walk:
    """One walk along a dotted name."""

    def __init__(self, scope: Scope, text: str, mark: Mark, also: tuple[str, ...]) -> None:
        self._scope, self._text, self._mark, self._also = scope, text, mark, also
        self._relations: list[str] = []
        self.spec_fields: dict[str, str] = {}

    def field(self, *, collection: bool = False) -> Found | None:
        """Walks to the end."""
        start = self._start()
        if start is None:
            return None
        view, rest = start
        while True:
            if rest in view.fields and not (collection and self._leads_on(view, rest)):
                return self._at(view, rest, view.fields[rest])
            head, _, tail = rest.partition(".")
            if head in view.pattern_fields and head not in view.relations:
                return self._pattern_field(view, head, tail)
            relation = view.relations.get(head)
            if relation is None:
                self._lost(view, rest)
                return None
            if not tail:
                if collection:
                    return self._at(view, head, Type("relation", item=relation.to))
                hint = f"name a field behind it: {self._text}.FIELD"
                self._scope.report(self._mark, f"{quote(self._text)} is a relation", hint)
                return None
            if relation.many:
                hint = f"write some, every, count or sum: {{of: {head}, ...}}"
                self._scope.report(self._mark, f"`{head}` in {quote(self._text)} has many members", hint)
                return None
            self._relations.append(head)
            view, rest = self._scope.names.view(relation.to), tail

    def _leads_on(self, view: View, rest: str) -> bool:
        """True where a name is both a plain field and a relation, and the relation is asked for."""
        return rest in view.relations and view.fields[rest].base not in COLLECTIONS

    def _start(self) -> tuple[View, str] | None:
        if not self._text.startswith(".."):
            return self._scope.view, self._text
        if self._scope.outer is None:
            self._scope.report(self._mark, f"{quote(self._text)}: `..` is only known inside `where`", "write one dot")
            return None
        return self._scope.outer, self._text[2:]

    def _at(self, view: View, name: str, kind: Type) -> Found:
        outer: Literal["own", "outer"] = "outer" if self._text.startswith("..") else "own"
        if kind.base == "record-list":
            spec = self._scope.names.catalogue.kinds[view.kind].fields.get(name)
            self.spec_fields = dict(spec.fields) if spec else {}
        return Found(Path(tuple(self._relations), name, view.kind, kind.base, outer), kind)

    def _pattern_field(self, view: View, head: str, tail: str) -> Found | None:
        patterns = self._scope.names.patterns
        name, _, what = tail.partition(".")
        if name not in patterns:
            self._scope.unknown(self._mark, "pattern", name, patterns)
            return None
        fields = {**view.pattern_fields[head], **patterns[name].fields}
        if what not in fields:
            self._scope.unknown(self._mark, "field", what, fields, of=f" of pattern `{name}`")
            return None
        return self._at(view, f"{head}.{tail}", of_name(fields[what]))

    def _lost(self, view: View, rest: str) -> None:
        head = rest.partition(".")[0]
        if head in view.fields and view.fields[head].base in COLLECTIONS:
            self._scope.report(self._mark, f"nothing can follow `{head}`", f"write some: {{of: {head}, where: ...}}")
            return
        known = [*view.fields, *view.relations, *(self._also if not self._relations else ())]
        # Grouped fields are compared whole (`log.exist`), relations by their first word (`nextlink.state`).
        word = rest if any(name.startswith(f"{head}.") for name in view.fields) else head
        self._scope.unknown(self._mark, "field", word, known, of=f" of {view.kind}")
