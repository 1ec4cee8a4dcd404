"""`sweeprules rules`: which rules there are, and where each value of the policy comes from."""

from __future__ import annotations

import fnmatch
import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from sweeprules.cli.completing import code_words, rule_ids
from sweeprules.cli.options import counted, debug_option, output_option, site_option, unused_options
from sweeprules.engine.errors import nearest
from sweeprules.engine.language.ast import Policy

Row = dict[str, Any]


@click.command("rules")
@site_option
@unused_options("state")
@click.option(
    "--rule", "wanted", multiple=True, metavar="ID", shell_complete=rule_ids,
    help="Only this rule, or those that a glob names.",
)  # fmt: skip
@click.option(
    "--code", metavar="SRnnn", shell_complete=code_words, help="Explain a code of `validate`, and nothing else."
)
@click.option("--effective", is_flag=True, help="Print the effective policy: each value, and where it comes from.")
@output_option("text", "json")
@debug_option
def command(site: Path | None, wanted: tuple[str, ...], code: str | None, effective: bool, output: str) -> None:
    """List the rules of a site: what each is about, what follows, where it stands and why.

    With --effective also params, lists, patterns, metrics, features, decisions, routes and exemptions, with the place
    of each value and of what it overrides. Exit status: 0, or 2 when the site is broken or no rule is of that name.
    """
    from sweeprules.cli.effective import effective_rows, overridden, rule_rows
    from sweeprules.cli.loading import SiteBrokenError, choose_site, compile_site, fail

    if code is not None:
        _explain_code(code, output)
        return
    try:
        loaded = compile_site(choose_site(site))
    except SiteBrokenError as broken:
        fail(broken)
        return
    root = Path(loaded.load.site.root)
    over = overridden(loaded.load.layers)
    rows = chosen(rule_rows(loaded.policy, over, root, Path.cwd()), wanted)
    sections = effective_rows(loaded.policy, over, root, Path.cwd()) if effective else {}
    if output == "json":
        found: dict[str, Any] = {"schema_version": 1, "policy_sha256": loaded.policy.sha256, "rules": rows, **sections}
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for line in _text(loaded.policy, rows, sections):
        click.echo(line)


def _explain_code(code: str, output: str) -> None:
    """Print what a finding means and what to do; a usage error for a code that there is not."""
    from sweeprules.engine.language.codes import CODES

    found = CODES.get(code.upper())
    if found is None:
        raise click.UsageError(f"no finding has the code {code!r}; there are {', '.join(CODES)}")
    if output == "json":
        click.echo(json.dumps(found._asdict(), indent=1, ensure_ascii=False))
        return
    click.echo(f"{found.code}: {found.title}")
    click.echo("")
    for line in textwrap.wrap(found.text, 96):
        click.echo(line)


def chosen(rows: list[dict[str, Any]], wanted: Iterable[str]) -> list[dict[str, Any]]:
    """The rows that any of the names or globs means, all without one; a usage error for one that means none."""
    wanted = tuple(wanted)
    ids = [row["id"] for row in rows]
    for name in wanted:
        if not fnmatch.filter(ids, name):
            hint = nearest(name, ids) or "`sweeprules rules` lists all"
            raise click.UsageError(f"no rule is called {name!r}; {hint}")
    return [row for row in rows if not wanted or any(fnmatch.fnmatchcase(row["id"], name) for name in wanted)]


def _text(policy: Policy, rows: list[dict[str, Any]], sections: Mapping[str, list[Row]]) -> Iterable[str]:
    if sections:
        yield f"policy {policy.sha256}"
        yield ""
    for row in rows:
        yield f"{row['id']}  ({row['on']}) {'→ ' + ', '.join(row['then']) if row['then'] else 'has a truth alone'}"
        yield f"    {_where(row)}"
        if row["why"]:
            yield f"    {row['why']}"
    yield ""
    yield counted(len(rows), "rule")
    for name, items in sections.items():
        if not items:
            continue
        yield ""
        yield f"{name} ({len(items)})"
        for item in items:
            yield f"  {item['name']}{': ' if item['says'] else ''}{item['says']}"
            yield f"      {_where(item)}{' — ' + item['why'] if item['why'] else ''}"
            for places, said in _apart(item):
                yield f"      {said}  ({places})"
            for more in item.get("for", ()):
                yield f"      for {more['match']}: {more['value']}  ({more['place']})"


def _apart(item: Row) -> Iterable[tuple[str, str]]:
    """The parts of a thing by their places, those on one line together; none where all are of the file of the whole."""
    found: dict[str, list[str]] = {}
    for part in item.get("parts", ()):
        found.setdefault(part["place"], []).append(part["says"])
    if any(where.rpartition(":")[0] != item["place"].rpartition(":")[0] for where in found):
        yield from ((where, ", ".join(said)) for where, said in found.items())


def _where(row: Row) -> str:
    return f"{row['place']}, overrides {row['overrides']}" if row["overrides"] else str(row["place"])
