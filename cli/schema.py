"""`sweeprules schema`: the JSON Schema of a file."""

from __future__ import annotations

import click

from sweeprules.cli.options import debug_option, sentences, unused_options
from sweeprules.engine.errors import nearest


@click.command("schema")
@click.argument("name", required=False)
@unused_options("site", "state")
@debug_option
def command(name: str | None) -> None:
    """Print the JSON Schema NAME, or list the schemas.

    NAME is one of those listed: rules, rule-tests, cluster, site, facts, catalogue for what people write; report,
    explain and backtest for what the tool prints. An editor with a YAML language server completes and explains from
    them.
    """
    from sweeprules.store.builtin import schema_names, schema_text

    names = schema_names()
    if name is None:
        for known in names:
            click.echo(known)
        return
    if name not in names:
        raise click.UsageError(
            sentences(f"no schema is called {name!r}; there are {', '.join(names)}", nearest(name, names))
        )
    click.echo(schema_text(name), nl=False)
