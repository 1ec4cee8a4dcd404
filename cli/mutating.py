"""What `sweeprules test --mutate` says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sweeprules.cli.options import counted

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.engine.mutation import Mutation, Tried
    from sweeprules.engine.ruletests import RuleTest

Where = Callable[[str], str]
"""A file of the site as the person would write it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How the tests took the changes; `missing` are kinds of which there had to be one and none was made."""

    mutation: Mutation
    missing: tuple[str, ...]

    @property
    def score(self) -> float:
        """Per cent of the changes that are no equivalents which a test noticed, rounded down to a tenth."""
        return math.floor(self.mutation.score * 1000) / 10


WORLDS = 10_000
"""In so many generated worlds a change that no test notices is compared with the policy before it is a survivor."""


def measure(loaded: Loaded, files: Mapping[str, str | bytes]) -> Measured:
    """How the tests of these files take changes to the site's own rules, and to shipped ones if one of them is shipped.

    Every test has to pass with the rules as they are. The worlds in which a survivor is compared with the policy start
    from all tests of the site, shipped ones too.
    """
    from sweeprules.cli.places import SHIPPED
    from sweeprules.cli.testsources import readers
    from sweeprules.engine.mutate import KINDS, there
    from sweeprules.engine.mutation import mutate
    from sweeprules.engine.ruletests import read_rule_tests
    from sweeprules.store import builtin

    shipped = any(name.startswith(SHIPPED) for name in files)
    policy = loaded.policy

    def measured(file: str) -> bool:
        return shipped or not file.startswith(SHIPPED)

    tests = read_rule_tests(policy, loaded.catalogue, files, readers(loaded))
    rest = {name: text for name, text in loaded.load.tests.items() if name not in files}

    def more() -> Sequence[RuleTest]:
        return read_rule_tests(policy, loaded.catalogue, rest, readers(loaded))

    found = mutate(policy, loaded.catalogue, tests, measured, WORLDS, more)
    own = [name for layer in loaded.load.layers for name in layer if measured(name)]
    # The shipped policy has something of every kind; another is asked only for what it has.
    ships = shipped or loaded.choice.root.resolve() == builtin.ROOT
    wanted = KINDS if ships else tuple(there(policy, own))
    return Measured(found, tuple(kind for kind in KINDS if kind in wanted and not found.made[kind]))


def lines(found: Measured | None, where: Where, verbose: bool = False) -> Iterator[str]:
    """The survivors, a line each, then how many of each kind were noticed and what kinds there were none of."""
    from sweeprules.reports.clean import one_line

    if found is None:
        yield "mutation: not tried; the tests have to pass with the rules as they are"
        return
    mutation = found.mutation
    for one in mutation.survivors:
        touched = f"touches {counted(one.touched, 'test')}, none notices" if one.touched else "touches no test"
        yield one_line(f"SURVIVED {_at(one, where)}: {one.mutant.text} ({touched})", 400)
    for one in mutation.equivalent if verbose else ():
        yield one_line(f"EQUIVALENT {_at(one, where)}: {one.mutant.text} (the same in {one.worlds} worlds)", 400)
    noticed, made = _noticed(mutation), mutation.made
    kinds = ", ".join(f"{kind} {noticed[kind]} of {made[kind]}" for kind in made if made[kind])
    none = [kind for kind in made if not made[kind] and kind not in found.missing]
    total = counted(len(mutation.tried), "change")
    yield f"mutation: {sum(noticed.values())} of {total} noticed{f' ({kinds})' if kinds else ''}"
    yield f"mutation: equivalent: {len(mutation.equivalent)}, survived: {len(mutation.survivors)}, score {found.score}%"
    if none:
        yield f"mutation: nothing to change of the kind {', '.join(none)}"
    for kind in found.missing:
        yield f"mutation: no change of the kind {kind} was made, so nothing is known of it: that is a failure"


def document(found: Measured, where: Where) -> dict[str, Any]:
    """The same as JSON."""
    mutation = found.mutation
    noticed = _noticed(mutation)
    return {
        "made": len(mutation.tried),
        "noticed": sum(noticed.values()),
        "score": found.score,
        "kinds": {kind: {"made": made, "noticed": noticed[kind]} for kind, made in mutation.made.items()},
        "missing": list(found.missing),
        "survivors": [_row(one, where) for one in mutation.survivors],
        "equivalent": [_row(one, where) | {"worlds": one.worlds} for one in mutation.equivalent],
    }


def _row(one: Tried, where: Where) -> dict[str, Any]:
    mark = one.mutant.mark
    return {
        "kind": one.mutant.kind,
        "text": one.mutant.text,
        "file": where(mark.file),
        "line": mark.line,
        "touched": one.touched,
    }


def _at(one: Tried, where: Where) -> str:
    return f"{where(one.mutant.mark.file)}:{one.mutant.mark.line}"


def _noticed(found: Mutation) -> dict[str, int]:
    return {kind: sum(one.mutant.kind == kind and bool(one.killed_by) for one in found.tried) for kind in found.made}
