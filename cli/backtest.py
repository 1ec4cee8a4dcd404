"""`sweeprules backtest`: kept sweeps judged under two rule sets, and what differs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.main import FINDINGS
from sweeprules.cli.options import counted, debug_option, output_option, state_option, unused_options
from sweeprules.cli.times import LAST_SWEEP, Since

if TYPE_CHECKING:
    from sweeprules.cli.rule_sets import RuleSet
    from sweeprules.cli.trial import Tried
    from sweeprules.store.db import Store
    from sweeprules.store.worlds import Worlds

Gate = tuple[str, str]


class GateType(click.ParamType[Any]):
    """`lost:critical` and the like, as a pair."""

    name = "change:severity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Gate:
        from sweeprules.reports.comparing import CHANGES, LEVELS

        if isinstance(value, tuple):
            return value[0], value[1]
        change, _, level = str(value).partition(":")
        if change not in CHANGES or level not in LEVELS:
            changes, levels = ", ".join(CHANGES), ", ".join(LEVELS)
            self.fail(f"{value!r} is no gate; write lost:critical ({changes}; {levels})", param, ctx)
        return change, level


class RulesType(click.ParamType[Any]):
    """A site or rules folder as a rule set; `-` for what each cassette recorded."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from sweeprules.cli.replay import rules_folder
        from sweeprules.cli.rule_sets import RECORDED, RuleSet

        if value == RECORDED:
            return RuleSet(None)
        path = Path(value)
        if not path.is_dir():
            self.fail(
                f"{value!r} is not a folder; name a site or a rules folder, or - for the recorded policy", param, ctx
            )
        if next(rules_folder(path).rglob("*.yaml"), None) is None and not (path / "sweeprules.yaml").is_file():
            self.fail(f"{value!r} holds no .yaml file; name a site or a rules folder", param, ctx)
        return RuleSet(path)


@click.command("backtest")
@click.option(
    "--rules",
    nargs=2,
    required=True,
    metavar="OLD NEW",
    type=RulesType(),
    help="Two sites or rules folders; - is the policy that each sweep recorded.",
)
@click.option(
    "--since",
    type=Since(),
    default="30d",
    show_default=True,
    metavar="30d|TIME",
    help="Kept sweeps from then on; a duration counts back from the newest of them.",
)
@click.option(
    "--cassette",
    "cassettes",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Judge this cassette and no kept sweep; may be repeated, oldest first.",
)
@click.option(
    "--fail-on",
    "gates",
    type=GateType(),
    multiple=True,
    help="Exit 1 when a flag is lost, gained or moved at this severity or above; may be repeated.",
)
@output_option("text", "json")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the comparison to this file.")
@state_option
@unused_options("site")
@debug_option
def command(
    rules: tuple[RuleSet, RuleSet],
    since: float | str,
    cassettes: tuple[Path, ...],
    gates: tuple[Gate, ...],
    output: str,
    out: Path | None,
    state: Path | None,
) -> None:
    """Judge the kept sweeps under the rules OLD and NEW, and list the flags and actions gained, lost and moved.

    Nothing is asked of a cluster and no sweep is kept. What was read of each cassette is remembered in the folder
    `worlds` of the state, so that the next backtest is quick; it may be deleted. The native evaluator judges. Where
    people gave verdicts (`sweeprules verdict`), each flag's precision and recall stand beside. Exit status: 0 good, 1
    when --fail-on stops, 2 usage, broken rules, or no cassette that could be judged.
    """
    from sweeprules.cli.loading import SiteBrokenError, fail
    from sweeprules.cli.printing import deliver
    from sweeprules.store.errors import StoreError

    if since == LAST_SWEEP:
        raise click.UsageError("--since takes a duration such as 30d, or a time with a zone")
    old, new = rules
    if old.folder is None and new.folder is None:
        raise click.UsageError("--rules compares two rule sets; name a site or a rules folder for one of them")
    try:
        document = _document(old, new, _paths(state, cassettes, float(since)), state, gates)
    except SiteBrokenError as broken:
        fail(broken)
        raise
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    deliver(_rendered(document, output), out)
    if document["findings"]:
        raise click.exceptions.Exit(FINDINGS)


def _rendered(document: Mapping[str, Any], output: str) -> str:
    if output == "json":
        from sweeprules.reports.clean import json_text

        return json_text(document)
    from sweeprules.reports.compared_text import render

    return render(document)


def _kept(state: Path | None) -> Store | None:
    from sweeprules.store.db import open_kept
    from sweeprules.store.state import state_path

    return open_kept(state_path(str(state) if state else None, os.environ), time.time())


def _paths(state: Path | None, named: Sequence[Path], since: float) -> list[Path]:
    """The cassettes to judge, oldest first. A negative `since` counts back from the newest kept sweep."""
    if named:
        return list(named)
    store = _kept(state)
    if store is None:
        raise click.UsageError("no sweep is kept there; run `sweeprules run` first, or name one with --state")
    with store:
        sweeps = store.sweeps()
        newest = max((info.now for info in sweeps), default=0.0)
        start = newest + since if since < 0 else since
        found = [store.cassette_path(info.id) for info in reversed(sweeps) if info.now >= start]
    paths = [path for path in found if path is not None]
    if not paths:
        count = counted(len(sweeps), "sweep")
        raise click.UsageError(
            f"no cassette is kept in that window ({count} kept); widen --since, or see keep.cassettes"
        )
    return paths


def _document(
    old: RuleSet, new: RuleSet, paths: Sequence[Path], state: Path | None, gates: Sequence[Gate]
) -> dict[str, Any]:
    from sweeprules.cli.trial import try_all
    from sweeprules.reports.comparing import build, findings
    from sweeprules.reports.words import instant

    tried: Tried = try_all(old, new, paths, _worlds(state))
    if not tried.times:
        reasons = "; ".join(f"{name}: {why}" for name, why in tried.failed.items())
        raise click.ClickException(f"none of {counted(len(paths), 'cassette')} could be judged: {reasons}")
    return {
        "schema_version": 1,
        "window": {
            "cassettes": len(paths),
            "judged": len(tried.times),
            "first": instant(min(tried.times)),
            "last": instant(max(tried.times)),
        },
        "not_judged": [{"cassette": name, "because": why} for name, why in tried.failed.items()],
        "old": {"rules": old.name, "policy_sha256": old.policies},
        "new": {"rules": new.name, "policy_sha256": new.policies},
        **build(tried.comparison, _expected(state)),
        "findings": findings(tried.comparison, gates),
    }


def _worlds(state: Path | None) -> Worlds | None:
    """Where the worlds of earlier backtests are kept; None where there is no state: a backtest makes none."""
    from sweeprules.store.state import state_path
    from sweeprules.store.worlds import FOLDER, Worlds

    path = state_path(str(state) if state else None, os.environ)
    return Worlds(path / FOLDER) if path.is_dir() else None


def _expected(state: Path | None) -> Iterator[Any]:
    """What people want raised, oldest word first; nothing where no sweep is kept."""
    from sweeprules.reports.comparing import Expected

    store = _kept(state)
    if store is None:
        return
    with store:
        for one in store.opinions():
            yield Expected(one.job, one.flag, one.expected)
