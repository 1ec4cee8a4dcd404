"""`sweeprules run`: one sweep."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from sweeprules.cli.completing import cluster_names
from sweeprules.cli.main import GOOD, INTERNAL
from sweeprules.cli.options import debug_option, output_option, sentences, site_option, state_option
from sweeprules.cli.times import Duration, Moment, Since

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.cli.sweep import Start, Swept
    from sweeprules.store.db import Store


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked of one run. `end` is in seconds of `time.monotonic()`, other times are epoch seconds."""

    state: Path
    chosen: frozenset[str] | None
    output: str
    out: Path | None
    end: float
    since: float | str
    now: float | None
    engine: str
    fail_on: str | None
    cassette: Path | None
    quiet: bool


@click.command("run")
@site_option
@state_option
@click.option(
    "--cluster", "globs", multiple=True, metavar="GLOB", shell_complete=cluster_names,
    help="Only these clusters; may be given again.",
)  # fmt: skip
@output_option("text", "json", "markdown")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option("--deadline", type=Duration(), default="20m", show_default=True, help="Time for the whole sweep.")
@click.option(
    "--since",
    type=Since(),
    default="last-sweep",
    show_default=True,
    help="How far back ended jobs are looked for: last-sweep (first: 24h), 3h, or a time.",
)
@click.option("--now", type=Moment(), help="The sweep's clock. Ages still use the clusters' own clocks.")
@click.option(
    "--engine",
    type=click.Choice(["checked", "native", "durable"]),
    default="checked",
    show_default=True,
    help="checked: the native evaluator, checked by durable-rules.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["info", "warning", "critical"]),
    help="Exit 1 when a flag of this severity or above counts.",
)
@click.option("--cassette", type=click.Path(path_type=Path, dir_okay=False), help="Also write the sweep's cassette.")
@click.option("--quiet", is_flag=True, help="For cron: print only when something changed, is flagged or failed.")
@debug_option
def command(
    site: Path | None,
    state: Path | None,
    globs: tuple[str, ...],
    output: str,
    out: Path | None,
    deadline: float,
    since: float | str,
    now: float | None,
    engine: str,
    fail_on: str | None,
    cassette: Path | None,
    quiet: bool,
) -> int:
    """Sweep the site's clusters once: read, judge, print. Nothing is ever changed on a cluster.

    Exit status, the first that applies: 4 internal error, or the evaluators differ; 2 usage, or a broken rule, schema
    or template (nothing is sent); 3 incomplete; 1 flags at or above --fail-on; 0.
    """
    from sweeprules.cli.environment import settle_environment
    from sweeprules.cli.loading import SiteBrokenError, choose_site, compile_site, fail
    from sweeprules.store.errors import StoreError
    from sweeprules.store.lock import Held, take_lock
    from sweeprules.store.state import make_state, state_path

    end = time.monotonic() + deadline
    settle_environment()
    try:
        loaded = compile_site(choose_site(site))
    except SiteBrokenError as broken:
        fail(broken)
        raise
    chosen = _chosen(globs, [record.name for record in loaded.load.site.records])
    where = state_path(str(state) if state else None, os.environ)
    try:
        make_state(where)
        lock = take_lock(where, time.time())
        if isinstance(lock, Held):
            click.echo(f"another sweep is running (process {lock.pid}, {lock.path}); this one does nothing", err=True)
            return GOOD
        with lock:
            return _run(loaded, Request(where, chosen, output, out, end, since, now, engine, fail_on, cassette, quiet))
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _chosen(globs: Sequence[str], names: Sequence[str]) -> frozenset[str] | None:
    """The clusters that the globs name; None for all. A glob that names none is a usage error with what there is."""
    if not globs:
        return None
    from sweeprules.engine.errors import nearest

    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            there = ", ".join(names) or "none"
            raise click.UsageError(
                sentences(f"--cluster {glob!r} names no cluster; there are {there}", nearest(glob, names))
            )
    return frozenset(name for name in names if any(fnmatchcase(name, glob) for glob in globs))


def _run(loaded: Loaded, request: Request) -> int:
    from sweeprules.cli.keeping import cassette_of, save_reproducer
    from sweeprules.cli.outcome import exit_status, worth_a_mail
    from sweeprules.cli.printing import deliver
    from sweeprules.cli.reads import sweeps_back
    from sweeprules.cli.remembered import check_remembered
    from sweeprules.cli.starting import start_of
    from sweeprules.cli.sweep import sweep
    from sweeprules.store.db import open_store

    with open_store(request.state, time.time()) as store:
        before = _last_report(store)
        point = store.starting_point(sweeps_back(loaded.policy))
        check_remembered(point, str(store.path))
        start, notes = start_of(loaded, request, point, secrets.token_hex(6))
        swept = sweep(start)
        lost = _keep(store, request.state, start, swept)
    if request.cassette is not None:
        cassette_of(start, swept).write(request.cassette)
    reproducer = save_reproducer(request.state, start, swept)
    status = exit_status(swept.document, request.fail_on)
    if not request.quiet or worth_a_mail(swept.document, before, status):
        _say(notes, swept, reproducer)
        deliver(_report(loaded, request, start, swept), request.out)
    elif request.out is not None:
        deliver(_report(loaded, request, start, swept), request.out)
    if lost:
        click.echo(f"Error: {lost}; this sweep is not kept", err=True)
        return INTERNAL
    return status


def _report(loaded: Loaded, request: Request, start: Start, swept: Swept) -> str:
    from sweeprules.cli.printing import rendered
    from sweeprules.reports.tally import tally

    lines = tally(loaded.policy, swept.verdicts, start.now)
    to_file = request.out is not None
    return rendered(swept.document, request.output, loaded.load.templates, to_file=to_file, tally=lines)


def _keep(store: Store, state: Path, start: Start, swept: Swept) -> str:
    """Keeps the sweep; why it could not be, after clusters were read: then its report is printed all the same."""
    from sweeprules.cli.keeping import keep, keep_world
    from sweeprules.store.errors import StoreError

    try:
        keep(store, state, start, swept)
        keep_world(store, state, start, swept)
    except StoreError as error:
        return str(error)
    return ""


def _last_report(store: Store) -> dict[str, object] | None:
    last = store.last()
    return cast("dict[str, object]", store.report(last.id)) if last is not None else None


def _say(notes: Sequence[str], swept: Swept, reproducer: Path | None) -> None:
    for note in (*notes, *swept.notes):
        click.echo(f"note: {note}", err=True)
    if reproducer is not None:
        click.echo(f"the evaluators differ; a reproducer is at {reproducer}", err=True)
