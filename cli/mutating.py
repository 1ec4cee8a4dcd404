"""What `sweeprules test --mutate` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sweeprules.cli.options import counted

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.engine.mutation import Mutation

Where = Callable[[str], str]
"""A file of the site as the person would write it."""


def measure(loaded: Loaded, files: Mapping[str, str | bytes]) -> Mutation:
    """How the tests of these files take changes to the site's own rules, and to shipped ones if one of them is shipped.

    Every test has to pass with the rules as they are.
    """
    from sweeprules.cli.places import SHIPPED
    from sweeprules.cli.testsources import readers
    from sweeprules.engine.mutation import mutate
    from sweeprules.engine.ruletests import read_rule_tests

    shipped = any(name.startswith(SHIPPED) for name in files)
    tests = read_rule_tests(loaded.policy, loaded.catalogue, files, readers(loaded))
    return mutate(loaded.policy, loaded.catalogue, tests, lambda file: shipped or not file.startswith(SHIPPED))


def lines(found: Mutation | None, where: Where) -> Iterator[str]:
    """The survivors, a line each, then how many of each kind were noticed and what kinds there were none of."""
    from sweeprules.reports.clean import one_line

    if found is None:
        yield "mutation: not tried; the tests have to pass with the rules as they are"
        return
    for one in found.survivors:
        touched = f"touches {counted(one.touched, 'test')}, none notices" if one.touched else "touches no test"
        place = f"{where(one.mutant.mark.file)}:{one.mutant.mark.line}"
        yield one_line(f"SURVIVED {place}: {one.mutant.text} ({touched})", 400)
    noticed, made = _noticed(found), found.made
    kinds = ", ".join(f"{kind} {noticed[kind]} of {made[kind]}" for kind in made if made[kind])
    none = [kind for kind in made if not made[kind]]
    total = counted(len(found.tried), "change")
    yield f"mutation: {sum(noticed.values())} of {total} noticed{f' ({kinds})' if kinds else ''}"
    if none:
        yield f"mutation: nothing to change of the kind {', '.join(none)}"


def document(found: Mutation, where: Where) -> dict[str, Any]:
    """The same as JSON."""
    noticed = _noticed(found)
    return {
        "made": len(found.tried),
        "noticed": sum(noticed.values()),
        "kinds": {kind: {"made": made, "noticed": noticed[kind]} for kind, made in found.made.items()},
        "survivors": [
            {
                "kind": one.mutant.kind,
                "text": one.mutant.text,
                "file": where(one.mutant.mark.file),
                "line": one.mutant.mark.line,
                "touched": one.touched,
            }
            for one in found.survivors
        ],
    }


def _noticed(found: Mutation) -> dict[str, int]:
    return {kind: sum(one.mutant.kind == kind and not one.survived for one in found.tried) for kind in found.made}
