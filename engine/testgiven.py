"""What a rule test gives: facts and relations in YAML, to a world in which everything else is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sweeprules.engine.catalogue import Catalogue, FieldDef, KindDef
from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.facts import (
    Absent,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    Value,
    World,
)
from sweeprules.engine.language import quantities
from sweeprules.engine.language.node import KIND_WORDS, Node
from sweeprules.engine.language.shape import listed, quote
from sweeprules.engine.testseries import expanded, is_compact

UNJUDGED = frozenset({"previous", "prior_link"})
"""Relations to what is over: rules read it and are not about it."""

_CLUSTER, _JOB = "test", "1"


@dataclass(frozen=True, slots=True)
class Given:
    """The world of a test, what it is about, and the decided fields that it fixes by hand: (subject, field)."""

    world: World
    about: Ref
    fixed: Mapping[str, FactValue]
    problems: tuple[Problem, ...]
    written: Mapping[str, Mark] = field(default_factory=dict)
    """The facts of what it is about that are written out, no default, and where."""
    places: frozenset[tuple[str, str]] = frozenset()
    """All facts that are written out, as (kind, name), and all relations, of which the kind is empty."""


@dataclass(slots=True)
class _Draft:
    facts: dict[str, FactValue] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    judged: bool = True
    written: Mapping[str, Mark] = field(default_factory=dict)


def read_given(
    node: Node, catalogue: Catalogue, defaults: Mapping[str, Mapping[str, FactValue]], decided: frozenset[str]
) -> Given:
    """The world that a `given` describes.

    Keys are kinds (`job`, `cluster`, `filesystem`) or relations of what the test is about, which is the job, else the
    first subject given. `defaults` are facts by kind that stand where the test gives none; `decided` the fields of a
    job that a policy decides.
    """
    return _Reader(catalogue, defaults, decided).read(node)


class _Reader:
    def __init__(
        self, catalogue: Catalogue, defaults: Mapping[str, Mapping[str, FactValue]], decided: frozenset[str]
    ) -> None:
        self._catalogue = catalogue
        self._defaults = defaults
        self._decided = decided
        self._drafts: dict[Ref, _Draft] = {}
        self._problems: list[Problem] = []
        self._related: set[str] = set()

    def read(self, node: Node) -> Given:
        kinds = {entry.key: self._catalogue.kind_of(entry.key) for entry in node.entries}
        named = [kind for kind in kinds.values() if kind]
        kind = "job" if "job" in named or not named else named[0]
        about = self._subject(kind, next((e.value for e in node.entries if kinds[e.key] == kind), None), "1")
        for entry in node.entries:
            other = kinds[entry.key]
            if other is None:
                self._relation(about, entry.key, entry.value, entry.mark)
            elif other != kind:
                self._attach(about, self._subject(other, entry.value, "1"))
        for other in sorted(self._defaults.keys() - {r.kind for r in self._drafts}):
            self._attach(about, self._subject(other, None, "1"))
        self._unread()
        fixed = {n: v for n, v in self._drafts[about].facts.items() if about.kind == "job" and n in self._decided}
        subjects = {r: Subject(r, d.facts, {}, d.relations, d.judged) for r, d in self._drafts.items()}
        places = {(ref.kind, name) for ref, draft in self._drafts.items() for name in draft.written}
        places |= {("", name) for name in self._related}
        written = self._drafts[about].written
        return Given(World(subjects), about, fixed, tuple(self._problems), written, frozenset(places))

    def _unread(self) -> None:
        """A relation that the test does not give was not read, except with defaults: nothing hangs on a quiet job."""
        for ref, draft in self._drafts.items():
            if ref.kind in self._defaults and draft.judged:
                if "steps" in self._catalogue.kinds[ref.kind].relations:
                    draft.relations.setdefault("steps", Relation())
                continue
            for relation in self._catalogue.kinds[ref.kind].relations.values():
                if relation.optional:
                    unread = Relation((), Completeness.UNKNOWN, Reason.NOT_READ)
                    draft.relations.setdefault(relation.name, unread)

    # ------------------------------------------------------------ subjects

    def _subject(self, kind: str, node: Node | None, number: str, judged: bool = True) -> Ref:
        if node is not None and node.kind not in ("map", "bad"):
            self._wrong(node, f"a map of the facts of a {kind}")
        entries = node.entries if node is not None else ()
        found = list(self._facts(self._catalogue.kinds[kind], node)) if node is not None else []
        read = {name: value for name, value, _ in found}
        facts = {**self._defaults.get(kind, {}), **read} if judged else read
        ref = self._named(kind, facts, number)
        draft = self._drafts[ref] = _Draft(facts, judged=judged, written={name: mark for name, _, mark in found})
        for name, value in _IDENTITY.get(kind, {}).items():
            draft.facts.setdefault(name, value)
        if kind == "job":
            draft.facts["key"] = ref.key
        for entry in entries:
            if self._is_relation(kind, entry.key, entry.value):
                self._relation(ref, entry.key, entry.value, entry.mark)
        return ref

    def _named(self, kind: str, facts: Mapping[str, FactValue], number: str) -> Ref:
        if kind == "job":
            cluster, job = facts.get("cluster", _CLUSTER), facts.get("job_id", number)
            key = f"{cluster}:{job}"
        elif kind == "cluster":
            key = str(facts.get("name", _CLUSTER))
        else:
            key = f"{kind}-{number}"
        ref = Ref(kind, key)
        tries = 1
        while ref in self._drafts:
            tries += 1
            ref = Ref(kind, f"{key}#{tries}")
        return ref

    def _attach(self, about: Ref, other: Ref) -> None:
        """Join two subjects that stand side by side by every single relation between their kinds."""
        for start, end in ((about, other), (other, about)):
            for relation in self._catalogue.kinds[start.kind].relations.values():
                if relation.to == end.kind and not relation.many and relation.name not in UNJUDGED | {"next_link"}:
                    self._drafts[start].relations.setdefault(relation.name, Relation((end,)))

    # ------------------------------------------------------------ relations

    def _is_relation(self, kind: str, name: str, value: Node) -> bool:
        definition = self._catalogue.kinds[kind]
        if name not in definition.relations:
            return False
        return name not in definition.fields or value.kind == "map"

    def _relation(self, owner: Ref, name: str, node: Node, mark: Mark) -> None:
        kind = self._catalogue.kinds[owner.kind]
        definition = kind.relations.get(name)
        if definition is None:
            known = [*self._catalogue.kinds, *kind.relations]
            self._problems.append(
                Problem(mark, f"{quote(name)} is no kind and no relation of {kind.name}", nearest(name, known))
            )
            return
        self._related.add(name)
        missing = self._missing(node)
        partial = node.get("partial")
        members = node.get("members") if partial is not None else node
        if members is not None and definition.to == "step" and is_compact(members):
            members = expanded(members, self._catalogue.kinds["step"], self._problems.append)
        if isinstance(missing, Unknown):
            relation = Relation((), Completeness.UNKNOWN, missing.reason)
        elif missing is not None or members is None:
            relation = Relation()
        else:
            items = members.items if members.kind == "list" else (members,)
            if len(items) > 1 and not definition.many:
                self._wrong(node, f"one {definition.to}, since {name} has one member")
            judged = name not in UNJUDGED
            refs = [self._subject(definition.to, item, f"{name}-{i + 1}", judged) for i, item in enumerate(items)]
            for ref in refs:
                self._back(owner, ref)
            relation = Relation(tuple(refs))
        if partial is not None:
            relation = Relation(relation.members, Completeness.PARTIAL, partial.text)
        self._drafts[owner].relations[name] = relation

    def _back(self, owner: Ref, member: Ref) -> None:
        """A step knows its job, a job its cluster: the way back is there without being written."""
        for relation in self._catalogue.kinds[member.kind].relations.values():
            back = relation.to == owner.kind and not relation.many and not relation.optional
            if back and owner.kind != member.kind:
                self._drafts[member].relations.setdefault(relation.name, Relation((owner,)))

    # ------------------------------------------------------------ facts

    def _facts(self, kind: KindDef, node: Node, prefix: str = "") -> Iterator[tuple[str, FactValue, Mark]]:
        for entry in node.entries:
            name = prefix + entry.key
            if not prefix and self._is_relation(kind.name, name, entry.value):
                continue
            definition = kind.fields.get(name) or pattern_field(kind, name)
            if definition is not None:
                yield name, self._value(definition, entry.value), entry.mark
            elif entry.value.kind == "map" and is_group(kind, name):
                yield from self._facts(kind, entry.value, f"{name}.")
            else:
                known = [*kind.fields, *kind.relations]
                self._problems.append(
                    Problem(entry.mark, f"{quote(name)} is no fact of {kind.name}", nearest(name, known))
                )

    def _missing(self, node: Node) -> Unknown | Absent | None:
        """What `{unknown: reason}` and `{absent: true}` stand for; None for anything else."""
        if node.kind != "map" or len(node.entries) != 1:
            return None
        key, value = node.entries[0].key, node.entries[0].value
        if key == "unknown":
            if value.text not in set(Reason) and not value.text.startswith("new-state:"):
                expected = f"expected {listed(sorted(Reason))}"
                self._problems.append(Problem(value.mark, f"{quote(value.text)} is no reason", expected))
            return Unknown(value.text)
        if key == "absent":
            return Absent("" if value.value is True else value.text)
        return None

    def _value(self, definition: FieldDef, node: Node) -> FactValue:
        missing = self._missing(node)
        if missing is not None:
            return missing
        value = parse(definition, node)
        if value is not None:
            return value
        return self._wrong(node, _wanted(definition))

    def _wrong(self, node: Node, wanted: str) -> Unknown:
        if node.kind != "bad":
            got = quote(node.text) if node.kind not in ("map", "list", "null") else KIND_WORDS[node.kind]
            self._problems.append(Problem(node.mark, f"expected {wanted}, got {got}"))
        return Unknown(Reason.MALFORMED)


_IDENTITY: dict[str, dict[str, FactValue]] = {
    "job": {"cluster": _CLUSTER, "job_id": _JOB},
    "cluster": {"name": _CLUSTER},
}


def is_group(kind: KindDef, name: str) -> bool:
    """Do dotted names of facts begin with this one?"""
    return name.partition(".")[0] in kind.pattern_fields or any(other.startswith(f"{name}.") for other in kind.fields)


def pattern_field(kind: KindDef, name: str) -> FieldDef | None:
    """What `lines.PATTERN.FIELD` holds; None for any other name."""
    head, _, rest = name.partition(".")
    pattern, _, what = rest.partition(".")
    types = kind.pattern_fields.get(head)
    if types is None or not pattern or not what:
        return None
    return FieldDef(name, types.get(what, "any"))


# ---------------------------------------------------------------- values


def parse(definition: FieldDef, node: Node) -> Value | None:
    """A value as a person writes it, by the type of its field; None where it does not fit."""
    if definition.type in ("list", "record-list"):
        return _list(definition, node)
    if definition.type == "map":
        return _record(node, dict.fromkeys(node.keys(), definition.item or "any"))
    if definition.type == "interval" and node.kind == "map":
        return _interval(node)
    return _scalar(definition.type, node, definition.words)


def _scalar(kind: str, node: Node, words: tuple[str, ...] = ()) -> Value | None:
    value = node.value
    if node.kind == "text" and isinstance(value, str):
        if kind in ("duration", "time", "bytes"):
            return {"duration": quantities.duration, "time": quantities.time, "bytes": quantities.size}[kind](value)
        return value if kind in ("text", "any") or (kind == "enum" and (not words or value in words)) else None
    if node.kind == "boolean" and isinstance(value, bool):
        return value if kind in ("boolean", "any") else None
    if node.kind not in ("integer", "number") or value is None or isinstance(value, str):
        return None
    whole = kind in ("integer", "interval", "bytes")
    return value if kind not in ("text", "enum", "boolean") and (node.kind == "integer" or not whole) else None


def _list(definition: FieldDef, node: Node) -> Value | None:
    if node.kind != "list":
        return None
    members: list[Value | None]
    if definition.type == "record-list":
        members = [_record(item, definition.fields) for item in node.items]
    else:
        members = [_scalar(definition.item or "any", item, definition.words) for item in node.items]
    found = [member for member in members if member is not None]
    return tuple(found) if len(found) == len(members) else None


def _record(node: Node, types: Mapping[str, str]) -> Value | None:
    if node.kind != "map":
        return None
    found: dict[str, Value] = {}
    for entry in node.entries:
        kind = types.get(entry.key)
        value = parse(FieldDef(entry.key, kind), entry.value) if kind is not None else None
        if value is None:
            return None
        found[entry.key] = value
    return found


def _interval(node: Node) -> Value | None:
    sure, possible = node.get("sure"), node.get("possible")
    low = sure.value if sure is not None else None
    high = possible.value if possible is not None else None
    if not isinstance(low, int) or (possible is not None and not isinstance(high, int)):
        return None
    return Interval(low, high if isinstance(high, int) else None)


def _wanted(definition: FieldDef) -> str:
    words = {
        "duration": quantities.DURATION_FORM,
        "time": quantities.TIME_FORM,
        "bytes": quantities.SIZE_FORM,
        "record-list": f"a list of maps of {listed(definition.fields or ['fields'])}",
        "interval": "an integer, or {sure: 2, possible: 4}",
    }
    if definition.type == "enum" and definition.words:
        return listed(definition.words)
    return words.get(definition.type, f"a {definition.type}")
