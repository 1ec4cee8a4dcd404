"""A report in the form that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sweeprules.cli.options import wants_colour, width


def rendered(
    document: Mapping[str, Any],
    output: str,
    templates: Mapping[str, str],
    *,
    to_file: bool,
    tally: Sequence[str] = (),
) -> str:
    """The report as text, JSON or Markdown; a file never gets colour, and is 160 columns wide.

    `tally` are the lines about exemptions, which stand under the text: the JSON has no place for them.
    """
    if output == "json":
        from sweeprules.reports.clean import json_text

        return json_text(document)
    if output == "markdown":
        from sweeprules.reports.markdown_report import TEMPLATE
        from sweeprules.reports.markdown_report import render as markdown

        if TEMPLATE not in templates:
            raise click.UsageError(f"the site has no templates/{TEMPLATE}; add it, or say `extends: builtin`")
        return markdown(document, templates)
    from sweeprules.reports.text import render as text

    shown = text(document, width=160 if to_file else width(), colour=not to_file and wants_colour())
    return "\n".join([shown, *tally, ""]) if tally else shown


def deliver(text: str, out: Path | None) -> None:
    """Print it, or put it into a file, whole or not at all."""
    if out is None:
        _print(text)
        return
    from sweeprules.store.errors import StoreError
    from sweeprules.store.files import write_atomic

    try:
        write_atomic(out, text.encode("utf-8", "backslashreplace"))
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _print(text: str) -> None:
    """On standard output. A reader that went away takes nothing from the exit status; a full disk is said."""
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.ClickException(
            f"standard output: could not be written: {error.strerror} (`sweeprules report` prints a kept sweep again)"
        ) from None
