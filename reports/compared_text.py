"""A comparison of two rule sets, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sweeprules.reports.clean import one_line
from sweeprules.reports.words import MARKS

Data = Mapping[str, Any]
_SIGNS = {"gained": "+", "lost": "-", "moved": "~"}


def render(document: Data) -> str:
    """The whole comparison as lines, each safe for a terminal."""
    return "\n".join(one_line(line, 300) for line in _lines(document)) + "\n"


def _lines(document: Data) -> Iterator[str]:
    yield from _head(document)
    for subject in document["subjects"]:
        yield ""
        kind = "" if subject["kind"] == "job" else f"{subject['kind']} "
        yield f"{kind}{subject['key']} {subject['name'] or ''}".rstrip()
        for flag in subject["flags"]:
            yield f"  {_SIGNS[flag['change']]} {flag['change']:6} {_flag(flag)}"
        for action in subject["actions"]:
            sides = _sides(action, "status")
            yield f"  {_SIGNS[action['change']]} {action['change']:6} action {action['name']}: {sides}"
    yield from _rules(document["rules"])
    yield from _quality(document["flags"])
    if document["findings"]:
        yield ""
        for one in document["findings"]:
            yield f"stopped by {one['gate']}: {one['flag']} on {one['kind']} {one['key']}"


def _head(document: Data) -> Iterator[str]:
    window = document["window"]
    yield f"{window['judged']} of {window['cassettes']} cassettes judged, {window['first']} to {window['last']}"
    for word in ("old", "new"):
        hashes = ", ".join(sha[:8] for sha in document[word]["policy_sha256"])
        yield f"  {word} {document[word]['rules']}: policy {hashes}"
    for one in document["not_judged"]:
        yield f"  not judged: {one['cassette']}: {one['because']}"
    for kind in ("flags", "actions"):
        total = document["totals"][kind]
        yield f"{kind}: {total['gained']} gained, {total['lost']} lost, {total['moved']} moved"


def _flag(flag: Data) -> str:
    sides = [flag[word] for word in ("old", "new") if flag[word] is not None]
    exempt = "" if flag["counts"] else " (exempt or resolved)"
    return f"{MARKS[sides[-1]['severity']]} {flag['name']}{exempt}: {_sides(flag, 'severity')}"


def _sides(change: Data, level: str) -> str:
    return " → ".join(_side(change[word], level) for word in ("old", "new"))


def _side(side: Data | None, level: str) -> str:
    if side is None:
        return "none"
    count = side["sweeps"]
    when = f"in {side['first']}" if count == 1 else f"in {count} sweeps, {side['first']} to {side['last']}"
    return f"{side[level]} by {side['rule']} {when}"


def _rules(rules: list[Data]) -> Iterator[str]:
    differ = [
        row for row in rules
        if row["only_old"] or row["only_new"] or row["old_unknown"] != row["new_unknown"]
    ]  # fmt: skip
    if not differ:
        return
    yield ""
    yield "Rules that differ (subjects on which each was true; unknown)"
    for row in differ:
        yield (
            f"  {row['rule']}: {row['old']} → {row['new']} (only old {row['only_old']}, only new {row['only_new']}); "
            f"unknown {row['old_unknown']} → {row['new_unknown']}"
        )


def _quality(flags: list[Data]) -> Iterator[str]:
    if not flags:
        return
    yield ""
    yield "Flags that people judged (precision, recall)"
    for row in flags:
        old, new = row["old"], row["new"]
        yield (
            f"  {row['flag']}: {_share(old['precision'])}, {_share(old['recall'])} → "
            f"{_share(new['precision'])}, {_share(new['recall'])} on {row['judged']} judged, {row['wanted']} wanted"
        )


def _share(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.0f}%"
