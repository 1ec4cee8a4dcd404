"""What `sweeprules test --coverage` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sweeprules.cli.options import counted

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.engine.coverage import Coverage
    from sweeprules.engine.errors import Mark

Where = Callable[[str], str]
"""A file of the site as the person would write it."""


def measure(loaded: Loaded, files: Mapping[str, str | bytes]) -> Coverage:
    """What the tests of these files show of the site's own rules, and of the shipped ones if one of them is shipped."""
    from sweeprules.cli.places import SHIPPED
    from sweeprules.cli.testsources import readers
    from sweeprules.engine.coverage import coverage
    from sweeprules.engine.ruletests import read_rule_tests

    shipped = any(name.startswith(SHIPPED) for name in files)
    tests = read_rule_tests(loaded.policy, loaded.catalogue, files, readers(loaded))
    return coverage(loaded.policy, loaded.catalogue, tests, lambda file: shipped or not file.startswith(SHIPPED))


def lines(found: Coverage, where: Where) -> Iterator[str]:
    """What no test shows, a line each, then how much is shown."""
    from sweeprules.reports.clean import one_line

    for part, point in found.gaps:
        yield one_line(f"UNCOVERED {_place(point.mark, where)}: {part.owner}: {point.text}", 400)
    whole = sum(not part.gaps for part in found.parts)
    points = counted(found.total, "point")
    yield f"coverage: {found.shown} of {points} shown, {whole} of {len(found.parts)} rules and exemptions whole"


def document(found: Coverage, where: Where) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "shown": found.shown,
        "total": found.total,
        "parts": [
            {
                "owner": part.owner,
                "file": where(part.mark.file),
                "line": part.mark.line,
                "shown": len(part.points) - len(part.gaps),
                "total": len(part.points),
                "gaps": [{"text": gap.text, "file": where(gap.mark.file), "line": gap.mark.line} for gap in part.gaps],
            }
            for part in found.parts
        ],
    }


def _place(mark: Mark, where: Where) -> str:
    return f"{where(mark.file)}:{mark.line}"
