"""A scenario file: one situation, its variants, and what each sweep of it has to say.

    about: S09, a silent wedge              one line for people
    now: 2026-07-11T09:00:00Z               the clock of the first sweep (default); `real` for this machine's
    site: {...}                             more for sweeprules.yaml
    rules: {NAME: {...}}                    policies of the site, a file each
    clusters: {NAME: {...}}                 see `world`
    run: [ARG, ...]                         more arguments of `sweeprules run`
    expect: {...}                           see `expect`
    then: [{after: 3h, clusters: ..., run: ..., expect: ...}]    later sweeps: each is laid over what stood before it
    cases: {NAME: {...}}                    variants, laid over the whole; with cases the bare scenario is not run

Laying over merges mappings key by key; lists and values are replaced; null removes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

DEFAULT_NOW = "2026-07-11T09:00:00Z"
_TOP = {"about", "now", "site", "rules", "clusters", "run", "expect", "then", "cases"}
_STEP = {"after", "site", "rules", "clusters", "run", "expect"}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Step:
    """One sweep: seconds since the first one, the world then, more arguments, and what is expected."""

    offset: float
    clusters: Mapping[str, Any]
    site: Mapping[str, Any]
    rules: Mapping[str, Any]
    run: tuple[str, ...]
    expect: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One situation. `now` is the epoch of its first sweep, None when it runs on this machine's clock."""

    name: str
    about: str
    now: float | None
    steps: tuple[Step, ...]


def load(folder: Path) -> list[Scenario]:
    """Every scenario below `folder`, in file and case order."""
    return [scenario for path in sorted(folder.glob("*.yaml")) for scenario in read(path)]


def read(path: Path) -> Iterator[Scenario]:
    """The scenarios of one file, named `FILE` or `FILE-CASE`."""
    document = yaml.safe_load(path.read_text("utf-8"))
    _known(document, _TOP, path.name)
    cases = document.pop("cases", None) or {"": {}}
    for name, over in cases.items():
        _known(over or {}, _TOP - {"cases"}, f"{path.name}: {name}")
        yield _scenario(f"{path.stem}-{name}" if name else path.stem, merged(document, over or {}))


def _scenario(name: str, document: dict[str, Any]) -> Scenario:
    told = document.get("now", DEFAULT_NOW)
    now = None if told == "real" else moment(told)
    world = {part: document.get(part, {}) for part in ("clusters", "site", "rules")}
    run = document.get("run", [])
    steps = [_step(0.0, world, run, document.get("expect", {}))]
    for later in document.get("then", []):
        _known(later, _STEP, f"{name}: then")
        world = merged(world, {key: later[key] for key in ("clusters", "site", "rules") if key in later})
        offset = steps[-1].offset + span(later.get("after", "0s"))
        steps.append(_step(offset, world, later.get("run", run), later.get("expect", {})))
    return Scenario(name, document.get("about", ""), now, tuple(steps))


def _step(offset: float, world: Mapping[str, Any], run: list[str], expect: Mapping[str, Any]) -> Step:
    return Step(offset, world["clusters"], world["site"], world["rules"], tuple(run), expect)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _known(document: Mapping[str, Any], keys: set[str], where: str) -> None:
    unknown = set(document) - keys
    if unknown:
        raise ValueError(
            f"{where}: {', '.join(sorted(map(str, unknown)))} is not known; there is {', '.join(sorted(keys))}"
        )


def span(text: str | int | float) -> float:
    """Seconds of `6h30m` or `-2h`; a plain number is seconds."""
    if isinstance(text, int | float):
        return float(text)
    if text.startswith("-"):
        return -span(text[1:])
    parts = _SPAN.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"not a time span: {text!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def moment(text: str | datetime | int | float, now: float | None = None) -> float:
    """Epoch seconds of a time, or of `-9h` before `now` and `+2h` after it."""
    if isinstance(text, int | float):
        return float(text)
    if isinstance(text, datetime):
        return (text if text.tzinfo else text.replace(tzinfo=UTC)).timestamp()
    if text[0] in "+-" and now is not None:
        return now + (1 if text[0] == "+" else -1) * span(text[1:])
    return datetime.fromisoformat(text).timestamp()
