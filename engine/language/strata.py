"""In which order rules are judged: each after what it builds on, cycles through negation refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.edges import DECIDE, Edge, edges


class Order(NamedTuple):
    """The strata, and the cycles that keep some rules out of any order."""

    strata: tuple[tuple[str, ...], ...]
    problems: tuple[Problem, ...]


def stratify(policy: Policy) -> Order:
    """The strata of a policy; in each, what others build on comes first, and nothing is built on a denial in it."""
    graph = {name: tuple(found) for name, found in edges(policy).items()}
    components = list(_components(graph))
    number = {name: index for index, members in enumerate(components) for name in members}
    problems = tuple(
        problem
        for index, members in enumerate(components)
        if (problem := _cycle(policy, graph, members, number, index)) is not None
    )
    level: dict[int, int] = {}
    # A component comes after all that it reaches, so each level is final when it is read.
    for index, members in enumerate(components):
        reached = [(number[e.to], e.strict) for name in members for e in graph[name] if number[e.to] != index]
        level[index] = max((level[to] + strict for to, strict in reached), default=0)
    strata: dict[int, list[str]] = {}
    for index, members in enumerate(components):
        strata.setdefault(level[index], []).extend(members)
    return Order(tuple(tuple(strata[one]) for one in sorted(strata)), problems)


def _cycle(
    policy: Policy, graph: Mapping[str, tuple[Edge, ...]], members: list[str], number: Mapping[str, int], index: int
) -> Problem | None:
    """The mistake of a component that holds a strict edge: the way round, with the place of each rule."""
    inside = sorted(
        (edge.mark, name, edge) for name in members for edge in graph[name] if edge.strict and number[edge.to] == index
    )
    if not inside:
        return None
    mark, name, edge = inside[0]
    way = [name, *_path(graph, edge.to, name)]
    steps = " -> ".join(f"{one} ({_place(_mark_of(policy, one), mark)})" for one in way[:6])
    more = f" -> ... ({len(way) - 6} more)" if len(way) > 6 else ""
    return Problem(mark, f"a cycle through {edge.through}: {steps}{more}", "a rule can not depend on its own denial")


def _place(mark: Mark, beside: Mark) -> str:
    return f"line {mark.line}" if mark.file == beside.file else f"{mark.file}:{mark.line}"


def _path(graph: Mapping[str, tuple[Edge, ...]], start: str, goal: str) -> list[str]:
    """The shortest way from one node to another; both are in one component."""
    before: dict[str, str] = {start: start}
    queue = [start]
    for name in queue:
        for edge in graph[name]:
            if edge.to not in before:
                before[edge.to] = name
                queue.append(edge.to)
    way = [goal]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def _mark_of(policy: Policy, name: str) -> Mark:
    if name.startswith(DECIDE):
        return policy.decide[name.removeprefix(DECIDE)][0].mark
    return policy.rules[name].mark


def _components(graph: Mapping[str, tuple[Edge, ...]]) -> Iterator[list[str]]:
    """Strongly connected components, each after all that it reaches (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    held: set[str] = set()
    trail: list[str] = []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted({edge.to for edge in graph[root]})))]
        _enter(root, index, low, held, trail)
        while work:
            name, rest = work[-1]
            to = next(rest, None)
            if to is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    yield _leave(name, held, trail)
            elif to not in index:
                _enter(to, index, low, held, trail)
                work.append((to, iter(sorted({edge.to for edge in graph[to]}))))
            elif to in held:
                low[name] = min(low[name], index[to])


def _enter(name: str, index: dict[str, int], low: dict[str, int], held: set[str], trail: list[str]) -> None:
    index[name] = low[name] = len(index)
    held.add(name)
    trail.append(name)


def _leave(name: str, held: set[str], trail: list[str]) -> list[str]:
    found: list[str] = []
    while not found or found[-1] != name:
        found.append(trail.pop())
        held.discard(found[-1])
    return sorted(found)
