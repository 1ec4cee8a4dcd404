"""What a path and a right side are worth on a subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sweeprules.engine.evaluate.calc import calculate
from sweeprules.engine.evaluate.compare import OpenList, is_number
from sweeprules.engine.evaluate.params import Place, param_value
from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Absent,
    Completeness,
    FactValue,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language.ast import Arith, Calc, Const, FieldRef, ParamRef, Path, Pick, Policy, Right

OPTIONAL = frozenset({"prior_link", "next_link", "previous", "campaign", "tracker_row"})
"""Relations that are absent where nobody joined a member; any other is then unknown."""

Record = Mapping[str, FactValue]
Thing = Subject | Record
"""What a condition is about: a subject, or a member of a list, a map or a list of records."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The thing a condition is about, and the one around it inside a `where`."""

    own: Thing
    outer: Scope | None = None

    @property
    def subject(self) -> Subject | None:
        """The nearest subject outwards."""
        scope: Scope | None = self
        while scope is not None:
            if isinstance(scope.own, Subject):
                return scope.own
            scope = scope.outer
        return None


@dataclass(frozen=True, slots=True)
class Members:
    """Members of a relation or list; `whole` is False where there may be more, for `reason`."""

    things: tuple[Thing, ...]
    whole: bool = True
    reason: str = ""


class Decided(Protocol):
    """Fields that rules have decided so far."""

    def field(self, ref: Ref, name: str) -> FactValue | None:
        """The decided value; None for a field that no rule decides, or of a subject that is not judged."""


class Lens:
    """Reads values of a world as rules see them: decided fields stand before the facts that were read."""

    def __init__(self, policy: Policy, world: World, decided: Decided) -> None:
        self.policy = policy
        self.world = world
        self._decided = decided
        self._unread: dict[Ref, Subject] = {}
        sweeps = [s for s in world.subjects.values() if s.ref.kind == "sweep" and s.judged]
        self._sweep: Subject | None = sweeps[0] if len(sweeps) == 1 else None

    def fact(self, thing: Thing, name: str) -> FactValue:
        """One field of a thing; `NOT_READ` when nobody read it."""
        if not isinstance(thing, Subject):
            return thing.get(name, NOT_READ)
        value = self._decided.field(thing.ref, name)
        return thing.get(name) if value is None else value

    def hop(self, thing: Thing, name: str) -> Subject | Unknown | Absent:
        """The one member of a relation; everything has `sweep`."""
        relation = thing.relations.get(name) if isinstance(thing, Subject) else None
        if relation is None:
            if name == "sweep" and self._sweep is not None:
                return self._sweep
            return ABSENT if name in OPTIONAL else NOT_READ
        if len(relation.members) == 1:
            return self._subject(relation.members[0])
        if relation.completeness is not Completeness.WHOLE:
            return Unknown(relation.reason or Reason.NOT_READ)
        return Unknown(Reason.CONFLICT, f"{name} has several members") if relation.members else ABSENT

    def _subject(self, ref: Ref) -> Subject:
        subject = self.world.subjects.get(ref) or self._unread.get(ref)
        if subject is None:
            subject = self._unread[ref] = Subject(ref, {}, judged=False)
        return subject

    def holder(self, relations: tuple[str, ...], thing: Thing) -> Thing | Unknown | Absent:
        """What stands at the end of a chain of relations."""
        for name in relations:
            member = self.hop(thing, name)
            if not isinstance(member, Subject):
                return member
            thing = member
        return thing

    def value(self, path: Path, scope: Scope) -> FactValue:
        """The value of a path; a hop to nothing gives that hop's absence or reason."""
        start = scope
        if path.scope == "outer" and scope.outer is not None:
            start = scope.outer
        holder = self.holder(path.relations, start.own)
        if isinstance(holder, Unknown | Absent):
            return holder
        return self.fact(holder, path.field)

    def members(self, path: Path, thing: Thing) -> Members | Unknown | Absent:
        """The members that `path` (its relations followed from `thing`) leads to.

        A list's members are records of `value`, a map's of `key` and `value`.
        """
        holder = self.holder(path.relations, thing)
        if isinstance(holder, Unknown | Absent):
            return holder
        return self.members_of(holder, path)

    def members_of(self, holder: Thing, path: Path) -> Members | Unknown | Absent:
        """The members of the relation or list that `path` names on its holder."""
        if path.type == "relation":
            relation = holder.relations.get(path.field) if isinstance(holder, Subject) else None
            return self._related(path.field, relation)
        return _listed(self.fact(holder, path.field))

    def _related(self, name: str, relation: Relation | None) -> Members | Unknown | Absent:
        if relation is None:
            if name == "sweep" and self._sweep is not None:
                return Members((self._sweep,))
            return Members(()) if name in OPTIONAL else NOT_READ
        if relation.completeness is Completeness.UNKNOWN:
            return Unknown(relation.reason or Reason.NOT_READ)
        things = tuple(self._subject(ref) for ref in relation.members)
        whole = relation.completeness is Completeness.WHOLE
        return Members(things, whole, "" if whole else relation.reason or Reason.CUT)

    def right(self, right: Right | Arith, scope: Scope) -> FactValue:
        """The value of a right side."""
        if isinstance(right, Const):
            return right.value
        if isinstance(right, ParamRef):
            return self._param(right, scope)
        if isinstance(right, FieldRef):
            return self.value(right.path, scope)
        if isinstance(right, Calc):
            return self.right(right.root, scope)
        if isinstance(right, Arith):
            return calculate(right.op, [self.right(arg, scope) for arg in right.args])
        return self._pick(right, scope)

    def _param(self, ref: ParamRef, scope: Scope) -> FactValue:
        param = self.policy.params[ref.name]
        if not param.overrides:
            return param.default
        return param_value(param, self._place(scope.subject))

    def _place(self, subject: Subject | None) -> Place:
        """Which job, tags, cluster and bucket the overrides of a parameter are matched with."""
        if subject is None:
            return Place((), ABSENT, NOT_READ, ABSENT)
        kind = subject.ref.kind
        if kind == "cluster":
            return Place((), ABSENT, subject.ref.key, ABSENT)
        if kind in _ABOUT_A_JOB:
            job = self.hop(subject, _ABOUT_A_JOB[kind])
            if not isinstance(job, Subject):
                return Place(NOT_READ, NOT_READ, NOT_READ, NOT_READ)
            subject = job
        elif kind != "job":
            cluster = self.hop(subject, "cluster")
            return Place((), ABSENT, cluster.ref.key if isinstance(cluster, Subject) else self._named(subject), ABSENT)
        names = (subject.ref.key, self.fact(subject, "job_id"), self.fact(subject, "name"))
        return Place(names, self.fact(subject, "tags"), self._named(subject), self.fact(subject, "bucket"))

    def _named(self, subject: Subject) -> FactValue:
        return self.fact(subject, "cluster")

    def _pick(self, pick: Pick, scope: Scope) -> FactValue:
        members = self.members(pick.of, scope.own)
        if isinstance(members, Unknown | Absent):
            return members
        if not members.whole:
            return Unknown(members.reason)
        values = [self.value(pick.field, Scope(thing, scope)) for thing in members.things]
        for value in values:
            if isinstance(value, Unknown):
                return value
        there = [v for v in values if not isinstance(v, Absent)]
        texts = [v for v in there if isinstance(v, str)]
        numbers = [v for v in there if isinstance(v, int | float) and is_number(v)]
        if len(texts) != len(there) and len(numbers) != len(there):
            return Unknown(Reason.MALFORMED, f"{pick.which} of unlike values")
        if not there:
            return ABSENT
        if texts:
            return min(texts) if pick.which == "least" else max(texts)
        return min(numbers) if pick.which == "least" else max(numbers)


# A step's overrides are those of its job, a run's those of the link that is its row.
_ABOUT_A_JOB = {"step": "job", "run": "row"}


def _listed(value: FactValue) -> Members | Unknown | Absent:
    if isinstance(value, Unknown | Absent):
        return value
    if isinstance(value, tuple):
        records = tuple(item if isinstance(item, Mapping) else {"value": item} for item in value)
        partial = isinstance(value, OpenList)
        return Members(records, not partial, Reason.NOT_READ if partial else "")
    if isinstance(value, Mapping):
        return Members(tuple({"key": k, "value": v} for k, v in value.items()))
    return Unknown(Reason.MALFORMED, "no list")
