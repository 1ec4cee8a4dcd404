"""What a column needs to be finished before it can be computed: rules' truths and fields that rules decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sweeprules.engine.durable.dnf import (
    Blocked,
    Carried,
    Column,
    Counted,
    Evaluable,
    Field,
    Held,
    Holds,
    Key,
    Lowered,
    RightSide,
    RuleTruth,
)
from sweeprules.engine.language.ast import (
    All,
    Any,
    Arith,
    AtLeast,
    Calc,
    Compare,
    Condition,
    Const,
    Feature,
    FieldRef,
    Flagged,
    Not,
    ParamRef,
    Path,
    Pick,
    Policy,
    Quantified,
    Right,
    Rule,
    RuleIs,
    Signalled,
    Test,
)

Source = Path | ParamRef | Flagged | RuleIs | Signalled
"""What a condition reads at its leaves."""


def sources(condition: Condition | Signalled) -> Iterator[Source]:
    """Everything that a condition reads, inside quantifiers too."""
    match condition:
        case All() | Any():
            for item in condition.items:
                yield from sources(item)
        case Not():
            yield from sources(condition.item)
        case Test():
            yield condition.path
            yield from _compared(condition.compare)
        case AtLeast():
            for operand in condition.of:
                yield from sources(operand)
            yield from () if condition.n is None else of_right(condition.n)
            yield from _compared(condition.evaluable)
        case Quantified():
            yield condition.of
            yield from () if condition.summed is None else (condition.summed,)
            for inner in (condition.where, condition.holds):
                yield from () if inner is None else sources(inner)
            yield from _compared(condition.compare)
        case _:
            yield condition


def needed(rule: Rule, name: str) -> Path:
    """Where a field that a rule `needs` stands: on its subject, or on the job that this belongs to (`job.bucket`)."""
    own, _, rest = name.partition(".")
    return Path(("job",), rest, "job", "any") if own == "job" and rest else Path((), name, rule.on, "any")


def _compared(compare: Compare | None) -> Iterator[Source]:
    for right in () if compare is None else compare.rights:
        yield from of_right(right)


def of_right(right: Right | Arith) -> Iterator[Source]:
    """Everything that a right side reads."""
    match right:
        case Const():
            return
        case ParamRef():
            yield right
        case FieldRef():
            yield right.path
        case Calc():
            yield from of_right(right.root)
        case Arith():
            for arg in right.args:
                yield from of_right(arg)
        case Pick():
            yield from (right.of, right.field)


def of_column(column: Column) -> Iterator[Source | Key]:
    """Everything that a column reads; a node where it is about one."""
    match column.origin:
        case Field(path=path):
            yield path
        case RightSide(right=right):
            yield from of_right(right)
        case Counted(of=condition) | Lowered(condition=condition):
            yield from sources(condition)
        case Holds(node=node):
            yield node
        case Held(hold=hold):
            for side in (hold.sweeps, hold.seconds):
                yield from () if side is None else of_right(side)
        case Evaluable(of=quorum) | Blocked(of=quorum):
            yield from sources(quorum)
        case RuleTruth(rule=rule) | Carried(rule=rule):
            yield from (("rule", rule, "true"), ("rule", rule, "false"))


_OVERRIDDEN: Mapping[str, str] = {"bucket": "bucket", "tag": "tags"}


def of_feature(feature: Feature) -> Iterator[Source]:
    """Everything that a feature reads beside its series."""
    sides = (feature.window, feature.min_points, feature.floor, *(feature.where.rights if feature.where else ()))
    for side in sides:
        yield from () if side is None else of_right(side)


def fields_of(policy: Policy, source: Source) -> Iterator[tuple[str, str]]:
    """The (kind, field) pairs that a source turns on."""
    if isinstance(source, Path):
        yield source.kind, source.field
    elif isinstance(source, ParamRef):
        keys = {key for row in policy.params[source.name].overrides for key in row.match}
        yield from (("job", name) for key, name in _OVERRIDDEN.items() if key in keys)
