"""`sweeprules report`: a kept sweep, in any form, or its cassette."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import click

from sweeprules.cli.completing import sweep_ids
from sweeprules.cli.main import GOOD
from sweeprules.cli.options import debug_option, output_option, state_option, unused_options


@click.command("report")
@click.option(
    "--sweep", "sweep_id", metavar="ID", shell_complete=sweep_ids, help="Which kept sweep; default: the newest."
)
@click.option("--list", "listing", is_flag=True, help="List the kept sweeps, newest first.")
@output_option("text", "json", "markdown")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option("--cassette", type=click.Path(path_type=Path, dir_okay=False), help="Write the sweep's cassette instead.")
@state_option
@unused_options("site")
@debug_option
def command(
    sweep_id: str | None, listing: bool, output: str, out: Path | None, cassette: Path | None, state: Path | None
) -> int:
    """Print a kept sweep as it was reported, or write the cassette from which it can be judged again."""
    from sweeprules.store.db import Store, open_kept
    from sweeprules.store.errors import StoreError
    from sweeprules.store.state import state_path

    where = state_path(str(state) if state else None, os.environ)

    def work(store: Store) -> int:
        if listing:
            for info in store.sweeps():
                click.echo(f"{info.id} {'complete' if info.complete else 'INCOMPLETE'} engine {info.engine}")
            return GOOD
        chosen = sweep_id or _newest(store)
        if store.sweep(chosen) is None:
            kept = ", ".join(info.id for info in store.sweeps()[:3]) or "none"
            raise click.UsageError(f"no sweep {chosen!r} is kept; newest: {kept}")
        if cassette is not None:
            tape = store.cassette(chosen)
            if tape is None:
                raise click.UsageError(f"the cassette of {chosen} is no longer kept (keep.cassettes)")
            tape.write(cassette)
            return GOOD
        document = cast("Mapping[str, Any]", store.report(chosen))
        _print(document, output, out, _tally(store, where, document) if output == "text" else [])
        return GOOD

    try:
        store = open_kept(where, time.time())
        if store is None:
            raise click.UsageError(f"no sweep is kept in {where}; run `sweeprules run` first, or name one with --state")
        with store:
            return work(store)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _newest(store: Any) -> str:
    last = store.last()
    if last is None:
        raise click.UsageError("no sweep is kept yet; run `sweeprules run` first")
    return str(last.id)


def _tally(store: Any, state: Path, document: Mapping[str, Any]) -> list[str]:
    """The lines about exemptions of a kept sweep; none where its policy is not kept as this version reads it."""
    from sweeprules.cli.outcome import flags
    from sweeprules.reports.tally import tally, told
    from sweeprules.store.errors import StoreError
    from sweeprules.store.policies import read_policy

    info = store.sweep(document["sweep"]["id"])
    try:
        policy = read_policy(state, info.policy_sha256).policy
    except StoreError as error:
        click.echo(f"note: exemptions are not told of: {error}", err=True)
        return []
    if not told(policy) and not any(flag["exempt"] for flag in flags(document)):
        return []
    kept = store.world(info.id)
    return tally(policy, {ref: one.verdict for ref, one in kept.items() if one.verdict is not None}, info.now)


def _print(document: Mapping[str, Any], output: str, out: Path | None, tally: list[str]) -> None:
    from sweeprules.cli.printing import deliver, rendered
    from sweeprules.reports.markdown_report import TEMPLATE
    from sweeprules.store.builtin import TEMPLATES

    templates = {TEMPLATE: (TEMPLATES / TEMPLATE).read_text(encoding="utf-8")} if output == "markdown" else {}
    deliver(rendered(document, output, templates, to_file=out is not None, tally=tally), out)
