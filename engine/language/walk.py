"""Goes through all that a policy's conditions are made of, once and in the order of writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import (
    Act,
    Add,
    All,
    Any,
    Arith,
    AtLeast,
    Calc,
    Collect,
    Compare,
    Condition,
    Consequence,
    FieldRef,
    Not,
    Path,
    Pick,
    Policy,
    Quantified,
    Right,
    Rule,
    Set,
    Signalled,
    Test,
)

Part = Condition | Signalled


def within(part: object) -> Iterator[object]:
    """Every value of the language in a part of a policy, which may be tuples and mappings of them; no places."""
    open_ = [part]
    while open_:
        node = open_.pop()
        if isinstance(node, Mapping):
            open_.extend(reversed(tuple(node.values())))
        elif isinstance(node, tuple):
            open_.extend(reversed(node))
        elif is_dataclass(node) and not isinstance(node, type | Mark):
            yield node
            open_.extend(getattr(node, spec.name) for spec in reversed(fields(node)))


def parts(node: Part) -> Iterator[Part]:
    """A condition and every condition and signal below it."""
    yield node
    for inner in children(node):
        yield from parts(inner)


def children(node: Part) -> tuple[Part, ...]:
    """What stands directly below a condition."""
    if isinstance(node, All | Any):
        return node.items
    if isinstance(node, Not):
        return (node.item,)
    if isinstance(node, AtLeast):
        return node.of
    if isinstance(node, Quantified):
        return tuple(part for part in (node.where, node.holds) if part is not None)
    return ()


def conditions_of(rule: Rule) -> Iterator[Condition]:
    """The conditions of a rule: `when`, `unless`, and those that select what its actions collect."""
    yield rule.when
    if rule.unless is not None:
        yield rule.unless
    for one in rule.then:
        if isinstance(one, Act):
            for arg in one.args.values():
                if isinstance(arg, Collect) and arg.where is not None:
                    yield arg.where


def outside_rules(policy: Policy) -> Iterator[Condition]:
    """The conditions of decisions, exemptions and routes."""
    for choices in policy.decide.values():
        yield from (choice.when for choice in choices if choice.when is not None)
    for routes in policy.routes.values():
        yield from (route.when for route in routes if route.when is not None)
    yield from (one.when for one in policy.exemptions)


def compares(node: Part) -> Iterator[Compare]:
    """The tests that stand directly in a condition."""
    if isinstance(node, Test | Quantified):
        if node.compare is not None:
            yield node.compare
    elif isinstance(node, AtLeast) and node.evaluable is not None:
        yield node.evaluable


def rights(node: Part) -> Iterator[Right | Arith]:
    """The right sides that stand directly in a condition, and all that they are calculated from."""
    for test in compares(node):
        for right in test.rights:
            yield from terms(right)
    if isinstance(node, AtLeast) and node.n is not None:
        yield from terms(node.n)


def terms(right: Right | Arith) -> Iterator[Right | Arith]:
    """A right side and every operand in it."""
    yield right
    if isinstance(right, Calc):
        yield from terms(right.root)
    elif isinstance(right, Arith):
        for arg in right.args:
            yield from terms(arg)


def rights_of(then: Consequence) -> Iterator[Right | Arith]:
    """The right sides of a consequence, and all that they are calculated from."""
    if isinstance(then, Set | Add):
        yield from terms(then.right)
    elif isinstance(then, Act):
        for arg in then.args.values():
            for one in arg if isinstance(arg, tuple) else () if isinstance(arg, Collect) else (arg,):
                yield from terms(one)


def paths_of(right: Right | Arith) -> tuple[Path, ...]:
    """The paths that stand directly in a right side."""
    if isinstance(right, FieldRef):
        return (right.path,)
    return (right.of, right.field) if isinstance(right, Pick) else ()


def paths(node: Part) -> Iterator[Path]:
    """The paths that stand directly in a condition, left and right."""
    if isinstance(node, Test):
        yield node.path
    elif isinstance(node, Quantified):
        yield node.of
        if node.summed is not None:
            yield node.summed
    for right in rights(node):
        yield from paths_of(right)
