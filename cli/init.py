"""`sweeprules init`: a new site."""

from __future__ import annotations

from pathlib import Path

import click

from sweeprules.cli.options import debug_option, unused_options


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path))
@unused_options("site", "state")
@debug_option
def command(directory: Path) -> None:
    """Make DIRECTORY a site that extends the shipped policy and changes nothing yet."""
    from sweeprules.store.errors import StoreError
    from sweeprules.store.scaffold import make_site

    try:
        made = make_site(directory)
    except StoreError as error:
        raise click.UsageError(str(error)) from None
    for path in made:
        click.echo(path)
    click.echo(
        f"next: describe a cluster under {directory}/ops/, then `sweeprules validate --site {directory}`", err=True
    )
