"""Values for the columns: paths, limits, arithmetic, picks and the members of relations.

This is a second reading of the language, written apart from the native evaluator, so that an error in one of them shows
as a difference. Both follow the same rulings: through an optional relation without a member a path is absent, through
any other unread one it is unknown; an absent operand makes a calculation absent, an unknown one unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sweeprules.engine.evaluate.compare import OpenList
from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Absent,
    Completeness,
    FactValue,
    Interval,
    Reason,
    Ref,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.language.ast import Arith, Calc, Const, FieldRef, Override, ParamRef, Path, Pick, Policy, Right

OPTIONAL = ("prior_link", "next_link", "previous", "campaign", "tracker_row")
Item = Subject | Mapping[str, FactValue]
Decided = Callable[[Ref, str], FactValue | None]
_CALC = Unknown(Reason.CALC)
_LEVELS = (("job",), ("tag",), ("bucket", "cluster"), ("cluster",), ("bucket",))


@dataclass(frozen=True, slots=True)
class Here:
    """What a condition is about, and what encloses it inside a `where`."""

    item: Item
    around: Here | None = None


@dataclass(frozen=True, slots=True)
class Many:
    """Members that were found; `open` when there may be more."""

    items: tuple[Item, ...]
    open: bool = False


class Values:
    """Reads one world under one policy; `decided` gives the fields that rules have set so far, None for others."""

    def __init__(self, policy: Policy, world: World, decided: Decided) -> None:
        self.policy = policy
        self.world = world
        self._decided = decided
        sweeps = [s.ref for s in world.subjects.values() if s.judged and s.ref.kind == "sweep"]
        self._sweep = sweeps[0] if len(sweeps) == 1 else None

    # ------------------------------------------------------------ paths

    def fact(self, item: Item, name: str) -> FactValue:
        """One field of one item."""
        if isinstance(item, Subject):
            decided = self._decided(item.ref, name)
            return item.get(name) if decided is None else decided
        return item.get(name, NOT_READ)

    def step(self, item: Item, relation: str) -> Subject | Unknown | Absent:
        """The single member of a relation."""
        found = item.relations.get(relation) if isinstance(item, Subject) else None
        if found is None:
            if relation == "sweep" and self._sweep is not None:
                return self._at(self._sweep)
            return ABSENT if relation in OPTIONAL else NOT_READ
        match found.members:
            case (ref,):
                return self._at(ref)
            case _ if found.completeness is not Completeness.WHOLE:
                return Unknown(found.reason or Reason.NOT_READ)
            case ():
                return ABSENT
        return Unknown(Reason.CONFLICT)

    def _at(self, ref: Ref) -> Subject:
        return self.world.subjects.get(ref) or Subject(ref, {}, judged=False)

    def follow(self, relations: tuple[str, ...], item: Item) -> Item | Unknown | Absent:
        """The item at the end of a chain of relations."""
        for relation in relations:
            reached = self.step(item, relation)
            if isinstance(reached, Unknown | Absent):
                return reached
            item = reached
        return item

    def path(self, path: Path, here: Here) -> FactValue:
        """The value of a path."""
        base = here.around if path.scope == "outer" and here.around is not None else here
        end = self.follow(path.relations, base.item) if path.relations else base.item
        return end if isinstance(end, Unknown | Absent) else self.fact(end, path.field)

    def many(self, path: Path, item: Item) -> Many | Unknown | Absent:
        """The members of a relation or of a list, reached from an item."""
        end = self.follow(path.relations, item)
        if isinstance(end, Unknown | Absent):
            return end
        return self._related(end, path.field) if path.type == "relation" else _listed(self.fact(end, path.field))

    def _related(self, item: Item, name: str) -> Many | Unknown:
        found = item.relations.get(name) if isinstance(item, Subject) else None
        if found is None:
            if name == "sweep" and self._sweep is not None:
                return Many((self._at(self._sweep),))
            return Many(()) if name in OPTIONAL else NOT_READ
        if found.completeness is Completeness.UNKNOWN:
            return Unknown(found.reason or Reason.NOT_READ)
        return Many(tuple(map(self._at, found.members)), found.completeness is not Completeness.WHOLE)

    # ------------------------------------------------------------ right sides

    def right(self, right: Right | Arith, here: Here) -> FactValue:
        """The value of a right side."""
        match right:
            case Const():
                return right.value
            case ParamRef():
                return self.limit(right.name, here)
            case FieldRef():
                return self.path(right.path, here)
            case Calc():
                return self.right(right.root, here)
            case Arith():
                return calc(right.op, [self.right(arg, here) for arg in right.args])
            case Pick():
                return self._pick(right, here)

    def limit(self, name: str, here: Here) -> FactValue:
        """The value of a parameter for the subject at hand: by job, tag, bucket with cluster, cluster, bucket, default.

        Unknown when two rows of one level differ, or when a row that might match would change it.
        """
        param = self.policy.params[name]
        if not param.overrides:
            return param.default
        place = self._place(here)
        value, doubtful = param.default, []
        for level in _LEVELS:
            fits = [(row.value, _fits(row, place)) for row in param.overrides if _level(row) == level]
            doubtful += [other for other, fit in fits if fit is None]
            sure = [other for other, fit in fits if fit]
            if sure:
                value = sure[0]
                if any(other != value for other in sure):
                    return Unknown(Reason.CONFLICT)
                break
        return value if all(other == value for other in doubtful) else NOT_READ

    def _place(self, here: Here) -> dict[str, FactValue | tuple[FactValue, ...]]:
        """Per key of an override: what this subject has there. `job` is a tuple of names."""
        around: Here | None = here
        while around is not None and not isinstance(around.item, Subject):
            around = around.around
        if around is None or not isinstance(around.item, Subject):
            return {"job": (), "tag": ABSENT, "cluster": NOT_READ, "bucket": ABSENT}
        subject = around.item
        via = {"step": "job", "run": "row"}.get(subject.ref.kind)
        if via is not None:
            reached = self.step(subject, via)
            if not isinstance(reached, Subject):
                return {"job": NOT_READ, "tag": NOT_READ, "cluster": NOT_READ, "bucket": NOT_READ}
            subject = reached
        elif subject.ref.kind != "job":
            return {"job": (), "tag": ABSENT, "cluster": self._cluster(subject), "bucket": ABSENT}
        read = {name: self.fact(subject, name) for name in ("job_id", "name", "tags", "cluster", "bucket")}
        names: tuple[FactValue, ...] = (subject.ref.key, read["job_id"], read["name"])
        return {"job": names, "tag": read["tags"], "cluster": read["cluster"], "bucket": read["bucket"]}

    def _cluster(self, subject: Subject) -> FactValue:
        if subject.ref.kind == "cluster":
            return subject.ref.key
        reached = self.step(subject, "cluster")
        return reached.ref.key if isinstance(reached, Subject) else self.fact(subject, "cluster")

    def _pick(self, pick: Pick, here: Here) -> FactValue:
        found = self.many(pick.of, here.item)
        if isinstance(found, Unknown | Absent):
            return found
        if found.open:
            return NOT_READ
        values = [self.path(pick.field, Here(item, here)) for item in found.items]
        if any(isinstance(value, Unknown) for value in values):
            return NOT_READ
        there = [value for value in values if not isinstance(value, Absent)]
        if not there:
            return ABSENT
        extreme = min if pick.which == "least" else max
        texts = [value for value in there if isinstance(value, str)]
        numbers = list(_numbers(there))
        if len(texts) == len(there):
            return extreme(texts)
        return extreme(numbers) if len(numbers) == len(there) else Unknown(Reason.MALFORMED)


def _listed(value: FactValue) -> Many | Unknown | Absent:
    match value:
        case Unknown() | Absent():
            return value
        case tuple():
            items = tuple(v if isinstance(v, Mapping) else {"value": v} for v in value)
            return Many(items, isinstance(value, OpenList))
        case Mapping():
            return Many(tuple({"key": k, "value": v} for k, v in value.items()))
    return Unknown(Reason.MALFORMED)


def _level(row: Override) -> tuple[str, ...]:
    return next(level for level in _LEVELS if all(key in row.match for key in level))


def _fits(row: Override, place: Mapping[str, FactValue | tuple[FactValue, ...]]) -> bool | None:
    """Whether an override is for this place; None when that can not be told."""
    answers = [_same_name(place[key], wanted, key) for key, wanted in row.match.items()]
    return False if False in answers else None if None in answers else True


def _same_name(there: FactValue | tuple[FactValue, ...], wanted: str, key: str) -> bool | None:
    if isinstance(there, Unknown):
        return None
    if key in ("job", "tag"):
        names = there if isinstance(there, tuple) else ()
        if wanted in names:
            return True
        doubtful = isinstance(there, OpenList) or any(isinstance(name, Unknown) for name in names)
        return None if doubtful else False
    return there == wanted


def _numbers(values: Sequence[FactValue]) -> Iterator[int | float]:
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value


def calc(op: str, args: list[FactValue]) -> FactValue:
    """One operation of arithmetic; `calc` for no finite result, `malformed` for an operand that is no number."""
    if any(isinstance(arg, Absent) for arg in args):
        return ABSENT
    for arg in args:
        if isinstance(arg, Unknown):
            return arg
    if any(isinstance(arg, Interval) for arg in args):
        return _sum_of_counts(args) if op == "+" else _CALC
    numbers = list(_numbers(args))
    if len(numbers) != len(args):
        return Unknown(Reason.MALFORMED)
    if not all(map(_finite, numbers)):
        return _CALC
    try:
        result = _apply(op, numbers)
    except (ZeroDivisionError, OverflowError):
        return _CALC
    return result if _finite(result) else _CALC


def _finite(value: int | float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _apply(op: str, numbers: list[int | float]) -> int | float:
    match op, numbers:
        case "+", [left, right]:
            return left + right
        case "-", [left, right]:
            return left - right
        case "*", [left, right]:
            return left * right
        case "/", [left, right]:
            return left / right
        case "neg", [only]:
            return -only
        case "abs", [only]:
            return abs(only)
        case "min", _:
            return sorted(numbers)[0]
        case "max", _:
            return sorted(numbers)[-1]
        case "round_half_up", [only]:
            return math.floor(Fraction(only) + Fraction(1, 2))
    raise ValueError(f"no such operation: {op}")


def _sum_of_counts(args: list[FactValue]) -> FactValue:
    sure, possible = 0, 0
    closed = True
    for arg in args:
        if isinstance(arg, Interval):
            sure += arg.sure
            closed = closed and arg.possible is not None
            possible += arg.possible or 0
        elif isinstance(arg, int) and not isinstance(arg, bool):
            sure, possible = sure + arg, possible + arg
        else:
            return _CALC
    return Interval(sure, possible if closed else None)


def total(values: list[FactValue]) -> FactValue:
    """The sum of a list of known values; nothing adds up to 0."""
    for value in values:
        if isinstance(value, Unknown):
            return value
    if any(isinstance(value, Interval) for value in values):
        return _sum_of_counts(values)
    numbers = list(_numbers(values))
    if len(numbers) != len(values):
        return Unknown(Reason.MALFORMED)
    try:
        result: int | float = 0
        for number in numbers:
            result = result + number
    except OverflowError:
        return _CALC
    return result if _finite(result) else _CALC
