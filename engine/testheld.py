"""What rules with `for:` had been before the sweep of a rule test: `held: {RULE: 1 sweep}` or `held: {RULE: 3h}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.holds import HoldState, Key
from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Policy, Rule
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.shape import quote
from sweeprules.engine.testdefaults import NOW
from sweeprules.engine.testgiven import Given

_SWEEPS = re.compile(r"(\d{1,4}) sweeps?\Z")


def read_held(
    node: Node | None, policy: Policy, about: Callable[[str], Ref | None], now: float, problems: list[Problem]
) -> dict[Key, HoldState]:
    """The states that `held` gives; `about` is the subject of a kind in the test, `now` the clock of its sweep."""
    if node is not None and (node.kind != "map" or not node.entries):
        problems.append(Problem(node.mark, "held names nothing", "write held: {RULE: 1 sweep}"))
    return dict(_states(node, policy, about, now, problems)) if node is not None else {}


def _states(
    node: Node, policy: Policy, about: Callable[[str], Ref | None], now: float, problems: list[Problem]
) -> Iterator[tuple[Key, HoldState]]:
    for entry in node.entries:
        rule = policy.rules.get(entry.key)
        if rule is None:
            problems.append(Problem(entry.mark, f"{quote(entry.key)} is no rule", nearest(entry.key, policy.rules)))
            continue
        if rule.hold is None:
            problems.append(
                Problem(entry.mark, f"rule {rule.id} has no `for:`", f"{rule.mark} does not hold over sweeps")
            )
            continue
        ref = about(rule.on)
        if ref is None:
            message = f"rule {rule.id} is about a {rule.on}, and the test gives none"
            problems.append(Problem(entry.mark, message, f"give a {rule.on}"))
            continue
        state = _state(rule, entry.value, now)
        if state is not None:
            yield (rule.id, ref), state
        else:
            counts = rule.hold.sweeps is not None
            form = "a number of sweeps such as 1 sweep" if counts else quantities.DURATION_FORM
            problems.append(Problem(entry.value.mark, f"expected {form}, got {quote(entry.value.text)}"))


def _state(rule: Rule, node: Node, now: float) -> HoldState | None:
    assert rule.hold is not None
    sweeps, seconds = _SWEEPS.match(node.text), quantities.duration(node.text)
    if rule.hold.sweeps is not None:
        looks = int(sweeps.group(1)) if sweeps else 0
        return HoldState(looks, "before", now, now, "1" * looks) if looks else None
    return None if seconds is None else HoldState(1, "before", now - seconds, now, "1")


def timed(given: Given) -> Given:
    """The same with a clock: how long something was held can not be told without one."""
    subjects = dict(given.world.subjects)
    sweep = next((ref for ref in subjects if ref.kind == "sweep"), Ref("sweep", "sweep-1"))
    facts = subjects[sweep].facts if sweep in subjects else {}
    subjects[sweep] = replace(subjects.get(sweep, Subject(sweep, {})), facts={"now": NOW, **facts})
    return replace(given, world=World(subjects))


def clock(given: Given) -> float:
    """The time of the sweep that a test gives."""
    values = [s.get("now") for ref, s in given.world.subjects.items() if ref.kind == "sweep"]
    return next((value for value in values if isinstance(value, int | float)), NOW)
