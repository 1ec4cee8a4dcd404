"""`sweeprules test --from-sweep`: a rule test from what a kept sweep saw of a job."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.engine.facts import Ref
    from sweeprules.store.db import Store

FILE = "from-sweep.test.yaml"
"""How places in the written test are named."""


def written(loaded: Loaded, state: Path | None, sweep: str, job: str) -> tuple[str, list[str]]:
    """The test as a YAML file, and what is not as expected when it is run; a usage error when there is no such job.

    The facts and what to expect are those of the sweep; the test runs against the rules of the site as they are now.
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
            return _written(loaded, store, sweep, job)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _written(loaded: Loaded, store: Store, sweep: str, job: str) -> tuple[str, list[str]]:
    from sweeprules.engine.facts import Ref, Subject, World
    from sweeprules.engine.ruletests import with_metrics
    from sweeprules.engine.testwriting import reads, rule_test

    info = store.sweep(sweep)
    if info is None:
        newest = ", ".join(one.id for one in store.sweeps()[:3]) or "none"
        raise click.UsageError(f"no sweep {sweep!r} is kept; newest: {newest}")
    ref = _job(store, info.id, job)
    stored = store.around(ref, info.id, reads(loaded.policy).relations | {"cluster"})
    own = Ref("sweep", info.id)
    sweeping = Subject(own, {"id": info.id, "now": info.now, "complete": info.complete})
    world = World({**{other: item.subject for other, item in stored.items()}, own: sweeping})
    verdict = stored[ref].verdict
    if verdict is None:
        raise click.UsageError(f"job {ref.key} is an earlier link of a run in sweep {info.id}: no rule was about it")
    catalogue = with_metrics(loaded.catalogue, loaded.policy)
    text = rule_test(f"{ref.key} in sweep {info.id}", world, ref, verdict, loaded.policy, catalogue)
    return text, list(_differences(loaded, text))


def _differences(loaded: Loaded, text: str) -> Iterator[str]:
    from sweeprules.engine.ruletests import run_rule_tests

    run = run_rule_tests(loaded.policy, loaded.catalogue, {FILE: text})
    yield from (str(problem) for problem in run.problems)
    yield from (line for result in run.results if result.status == "failed" for line in result.differences)


def _job(store: Store, sweep: str, job: str) -> Ref:
    from sweeprules.engine.facts import Ref

    found = store.find_jobs(job, sweep)
    if not found.exact:
        near = f"; near: {', '.join(found.near)}" if found.near else ""
        raise click.UsageError(f"no job {job!r} in sweep {sweep}{near}")
    if len(found.exact) > 1:
        raise click.UsageError(f"{job!r} is more than one job: {', '.join(hit.key for hit in found.exact)}")
    return Ref("job", found.exact[0].key)


def show(text: str, wrong: list[str], output: str) -> None:
    """Print the test; what keeps it from passing goes to people on stderr."""
    from sweeprules.reports.clean import one_line

    if output == "json":
        from sweeprules.reports.clean import json_text

        click.echo(json_text({"schema_version": 1, "test": text, "differences": wrong}), nl=False)
        return
    click.echo(text, nl=False)
    if wrong:
        click.echo("this test does not pass: the rules have changed, or read what the sweep did not keep", err=True)
    for line in wrong:
        click.echo(one_line(f"    {line}", 400), err=True)
