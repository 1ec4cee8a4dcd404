"""The safe subset of durable-rules, written down once more: what may stand in a definition that is sent to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sweeprules.engine.durable.pack import Unit

COMPARISONS = {"$neq", "$lt", "$lte", "$gt", "$gte"}
GUARD = {"_one": {"x": "_one"}}
MOST_MATCHES = 60
MOST_CONDITIONS = 499
MOST_JOINS = 29


def assert_safe(unit: Unit) -> None:
    """Raise AssertionError for anything outside the subset."""
    matches: Counter[str] = Counter()
    conditions = 0
    for name, rule in unit.definition.items():
        assert set(rule) == {"all"}, f"{name} has more than `all`"
        patterns = rule["all"]
        assert len(patterns) in (1, 2)
        for place, pattern in enumerate(patterns):
            ((alias, condition),) = pattern.items()
            assert alias == ("m" if len(patterns) == 1 else "xy"[place])
            _condition(condition, joined=place == 1)
            tests = condition["$and"]
            matches[tests[0]["t"]] += 1
            conditions += len(tests)
        action = unit.actions.get(name)
        assert action is not None or name == "z" or name.startswith("any.")
    assert max(matches.values()) <= MOST_MATCHES
    assert conditions <= MOST_CONDITIONS
    types = {fact["t"] for action in unit.actions.values() for fact in action["facts"]}
    mentioned = set(matches)
    assert types <= mentioned, f"derived and read by no rule: {types - mentioned}"
    for kind, columns in (*unit.columns.items(), *unit.limits.items()):
        assert len(columns) <= 240
        assert all(field[0] == column.form and field[1:].isdigit() for field, column in columns), kind


def _condition(condition: Mapping[str, Any], joined: bool) -> None:
    assert set(condition) == {"$and"}
    tests = condition["$and"]
    assert set(tests[0]) == {"t"}
    assert isinstance(tests[0]["t"], str)
    joins = 0
    for test in tests:
        ((name, value),) = test.items()
        if name in COMPARISONS:
            ((field, value),) = value.items()
        else:
            assert not name.startswith("$"), name
            field = name
        assert field not in ("id", "sid")
        if isinstance(value, Mapping):
            ((alias, other),) = value.items()
            assert alias == "x"
            assert other not in ("id", "sid")
            joins += 1
        else:
            assert isinstance(value, bool | int | float | str)
    assert joined is bool(joins)
    assert joins <= MOST_JOINS
    assert not joined or tests[-1] == GUARD
