"""The page of shipped patterns: what each line means, and one that is found, from the rule tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from docs.generator.markdown import code, page, table
from sweeprules.collectors.logs.scan import match_line, prepare
from sweeprules.engine.language.ast import Pattern, Policy

INTRO = """What lines of a log the shipped policy knows, by their kind. A rule reads them as `lines.NAME.count`,
`lines.NAME.time` and `lines.NAME.FIELD`; what each kind is used for is told in [rules.md](../rules.md#patterns). The
lines are those of the shipped rule tests, the first that the pattern meets. A line of kind benign is what a retry looks
like: it names an error and goes on. It counts in `benign_lines`, never in `fault_lines`, and *Never means* says what it
must not be taken for."""
KINDS = {
    "fault": "Faults",
    "benign": "Benign lines, retries among them",
    "progress": "Progress",
    "rung": "Rungs of a bring-up",
    "metric": "Lines of numbers",
    "marker": "Markers",
}
LONGEST = 200


def patterns_page(policy: Policy, tests: Mapping[str, str]) -> str:
    """All patterns by kind; `tests` are the files of the shipped rule tests by name."""
    lines = [line for name in sorted(tests) for line in logged(yaml.safe_load(tests[name]))]
    parts = [_kind(title, kind, policy, lines) for kind, title in KINDS.items()]
    return page("Shipped patterns", INTRO, *parts)


def logged(data: Any) -> Iterator[str]:
    """Each line of each log that a file of rule tests gives."""
    for test in data["tests"]:
        log = test["given"].get("log", ())
        for text in (log,) if isinstance(log, str) else log:
            yield from str(text).splitlines()


def _kind(title: str, kind: str, policy: Policy, lines: Sequence[str]) -> Iterator[str]:
    found = [one for _, one in sorted(policy.patterns.items()) if one.kind == kind]
    if not found:
        return
    yield f"## {title}"
    yield ""
    yield from table(("Pattern", "Fields", "A line that it meets", "Never means"), (_row(one, lines) for one in found))


def _row(pattern: Pattern, lines: Sequence[str]) -> tuple[str, ...]:
    fields = ", ".join(f"{code(name)} {kind}" for name, kind in pattern.fields.items())
    line = example(pattern, lines)
    cut = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return code(pattern.name), fields, code(cut) if cut else "", pattern.never_means


def example(pattern: Pattern, lines: Sequence[str]) -> str:
    """The first line that a pattern meets, without blanks around it; empty where no test has one."""
    (matcher,) = prepare({pattern.name: pattern})
    return next((line.strip() for line in lines if match_line(matcher, line) is not None), "")
