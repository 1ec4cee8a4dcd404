"""`sweeprules explain`: why a flag fired, or did not, from what a sweep kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.completing import job_ids, rule_ids, sweep_ids
from sweeprules.cli.main import GOOD
from sweeprules.cli.options import debug_option, output_option, plain_text, state_option, unused_options, width

if TYPE_CHECKING:
    from sweeprules.store.db import Store


@click.command("explain")
@click.argument("job", shell_complete=job_ids)
@click.option("--rule", metavar="ID", shell_complete=rule_ids, help="Only this rule, with its whole condition tree.")
@click.option("--full", is_flag=True, help="Every rule and every fact, not one screen.")
@click.option(
    "--sweep", "sweep_id", metavar="ID", shell_complete=sweep_ids,
    help="A kept sweep; default: the newest that holds the job.",
)  # fmt: skip
@output_option("text", "json")
@state_option
@unused_options("site")
@debug_option
def command(job: str, rule: str | None, full: bool, sweep_id: str | None, output: str, state: Path | None) -> int:
    """Show why flags of JOB were raised, and what kept the others from it.

    JOB is an id or cluster:id, of any link of a run; an id on two clusters shows both. Nothing is asked of a cluster:
    everything comes from what the sweep kept.
    """
    from sweeprules.store.db import open_kept
    from sweeprules.store.errors import StoreError
    from sweeprules.store.state import state_path

    where = state_path(str(state) if state else None, os.environ)
    try:
        store = open_kept(where, time.time())
        if store is None:
            raise click.UsageError(f"no sweep is kept in {where}; run `sweeprules run` first, or name one with --state")
        with store:
            return _explain(store, where, job, rule, full, sweep_id, output)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _explain(
    store: Store, state: Path, job: str, rule: str | None, full: bool, sweep_id: str | None, output: str
) -> int:
    from sweeprules.cli.explaining import documents

    if sweep_id is not None and store.sweep(sweep_id) is None:
        raise click.UsageError(f"no sweep {sweep_id!r} is kept; newest: {_newest(store)}")
    found = store.find_jobs(job, sweep_id)
    if not found.exact:
        near = f"; near: {', '.join(found.near)}" if found.near else ""
        scope = f"sweep {sweep_id}" if sweep_id else "any kept sweep"
        raise click.UsageError(f"no job {job!r} in {scope}{near}")
    shown = documents(store, state, found.exact, rule, whole=full or output == "json")
    if output == "json":
        from sweeprules.reports.clean import json_text
        from sweeprules.reports.explaining import build

        made: list[dict[str, Any]] = [build(one) for one in shown]
        click.echo(json_text(made[0] if len(made) == 1 else made), nl=False)
        return GOOD
    from sweeprules.reports.explaining import render

    click.echo(
        "\n".join(render(one, full=full, rule=rule, width=width(), plain=plain_text()) for one in shown), nl=False
    )
    return GOOD


def _newest(store: Store) -> str:
    kept = store.sweeps()
    return ", ".join(info.id for info in kept[:3]) or "none"
