"""`sweeprules.yaml`: from text to a site's settings, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.language.node import Node, plain
from sweeprules.engine.language.shape import check_shape
from sweeprules.engine.language.yamltext import scan
from sweeprules.engine.site import Series
from sweeprules.store import builtin, units
from sweeprules.store.tree import read_file

FILE = "sweeprules.yaml"
_KEPT_SWEEPS = 90 * 86400.0
_KEPT_CASSETTES = 30 * 86400.0
_MAX_KEPT = 3660 * 86400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What `sweeprules.yaml` says, as far as it could be read; `problems` say what could not.

    `extends` is true in a broken file too: without the shipped policy every name in the site's rules would be
    reported as unknown, and hide the one mistake that there is.
    """

    extends: bool = True
    series: tuple[Series, ...] = ()
    exempt_targets: tuple[str, ...] = ()
    benchmarks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    keep_sweeps: float = _KEPT_SWEEPS
    keep_cassettes: float = _KEPT_CASSETTES
    experiment_log: str = ""
    problems: tuple[Problem, ...] = ()
    text: str = ""


def read_settings(root: Path) -> Settings:
    """The settings of the site in `root`; a mistake in them is a value, never an exception."""
    data = read_file(root / FILE, FILE)
    if isinstance(data, Problem):
        return Settings(problems=(data,))
    found = scan(data, FILE)
    problems = [*found.problems]
    if found.node is not None and not (found.node.kind == "null" and not problems):
        problems += [*_hide_secrets(found.node, check_shape(found.node, builtin.schema("site"))), *_meaning(found.node)]
    text = data.decode("utf-8", "replace")
    if found.node is None or problems:
        return Settings(problems=tuple(sorted(set(problems))), text=text)
    raw = cast(dict[str, Any], plain(found.node) or {})
    keep = {name: units.duration(value) for name, value in raw.get("keep", {}).items()}
    return Settings(
        extends=raw.get("extends") == "builtin",
        series=tuple(_series(item) for item in raw.get("series", [])),
        exempt_targets=tuple(raw.get("exempt_targets", [])),
        benchmarks=raw.get("benchmarks", {}),
        keep_sweeps=keep.get("sweeps") or _KEPT_SWEEPS,
        keep_cassettes=keep.get("cassettes") or _KEPT_CASSETTES,
        experiment_log=raw.get("experiment_log", ""),
        text=text,
    )


def _series(raw: Mapping[str, Any]) -> Series:
    return Series(raw["name"], (raw["match"]["name"]["glob"],), raw.get("status", "active"), raw.get("db_registration"))


def _hide_secrets(node: Node, problems: list[Problem]) -> Iterator[Problem]:
    """The problems, without the values that people were about to give away: what is printed ends up in logs."""
    hub = node.get("hub")
    secrets = [hub.get("token")] if hub else []
    secrets += [receiver.get("url") for receiver in _items(node, "notify")]
    marks = {secret.mark for secret in secrets if secret is not None}
    for problem in problems:
        if problem.mark in marks:
            message = "a secret never stands in this file; expected the name of an environment variable, as env:NAME"
            yield Problem(problem.mark, message, "remove it here, and take it for known by others if it was shared")
        else:
            yield problem


def _meaning(node: Node) -> Iterator[Problem]:
    names = list(_named(node, "series"))
    yield from _twice(names, "series")
    yield from _twice(list(_named(node, "pools")), "pool")
    known = [str(name.value) for name in names]
    for tracker in _items(node, "trackers"):
        series = tracker.get("series")
        if series is not None and series.kind == "text" and str(series.value) not in known:
            hint = nearest(str(series.value), known) or "declare it under `series`"
            yield Problem(series.mark, f"there is no series `{series.value}`", hint)
    keep = node.get("keep")
    for entry in keep.entries if keep is not None else ():
        seconds = units.duration(str(entry.value.value)) if entry.value.kind == "text" else None
        if seconds is not None and not 0 < seconds <= _MAX_KEPT:
            yield Problem(entry.value.mark, f"`{entry.value.text}` is out of range", "more than 0s and at most 3660d")


def _items(node: Node, name: str) -> tuple[Node, ...]:
    found = node.get(name)
    return found.items if found is not None else ()


def _named(node: Node, name: str) -> Iterator[Node]:
    for item in _items(node, name):
        value = item.get("name")
        if value is not None and value.kind == "text":
            yield value


def _twice(names: list[Node], what: str) -> Iterator[Problem]:
    first: dict[object, Node] = {}
    for name in names:
        earlier = first.setdefault(name.value, name)
        if earlier is not name:
            hint = f"the first one is on line {earlier.mark.line}"
            yield Problem(name.mark, f"there are two of the {what} `{name.value}`", hint)
