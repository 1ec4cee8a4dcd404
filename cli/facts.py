"""`sweeprules facts`: what rules can read."""

from __future__ import annotations

import json
from typing import Any

import click

from sweeprules.cli.options import debug_option, output_option
from sweeprules.engine.errors import nearest


@click.command("facts")
@click.option("--kind", metavar="KIND", help="Only this kind of subject: job, run, cluster, ...")
@output_option("text", "json")
@debug_option
def command(kind: str | None, output: str) -> None:
    """List the facts that rules can read: kind, name, type, unit and meaning.

    A fact is a value, unknown with a reason, or absent. Those marked `later` are read by no collector of this release:
    in rules they are unknown.
    """
    from sweeprules.cli.loading import load_catalogue

    catalogue = load_catalogue()
    if kind is not None and catalogue.kind_of(kind) is None:
        names = [k.subject for k in catalogue.kinds.values()]
        raise click.UsageError(f"no subject is called {kind!r}; there are {', '.join(names)}. {nearest(kind, names)}")
    kinds = [k for k in catalogue.kinds.values() if kind is None or k.name == catalogue.kind_of(kind)]
    rows: list[dict[str, Any]] = [
        {
            "kind": k.name,
            "name": f.name,
            "type": f.type,
            "unit": f.unit or None,
            "words": list(f.words) or None,
            "later": f.feeds > RELEASE,
            "settable": f.settable,
            "description": f.description,
        }
        for k in kinds
        for f in k.fields.values()
    ]
    if output == "json":
        click.echo(json.dumps({"facts": rows}, indent=1, ensure_ascii=False))
        return
    for row in rows:
        unit = f" ({row['unit']})" if row["unit"] else ""
        later = " [later]" if row["later"] else ""
        click.echo(f"{row['kind']}.{row['name']}: {row['type']}{unit}{later}")
        click.echo(f"    {row['description']}")
        if row["words"]:
            click.echo(f"    one of {', '.join(row['words'])}")


RELEASE = 1
"""The stage of the catalogue (`feeds`) whose collectors this release has."""
