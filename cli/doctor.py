"""`sweeprules doctor`: can this machine sweep this site, by hand and from cron?"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.options import debug_option, output_option, site_option, state_option
from sweeprules.cli.times import Duration

if TYPE_CHECKING:
    from sweeprules.cli.checks import Check
    from sweeprules.store.site import SiteChoice

WORDS = {"ok": "ok", "warning": "warn", "error": "FAIL", "skipped": "skip"}


@click.command("doctor")
@site_option
@state_option
@click.option("--as-cron", is_flag=True, help="Look again with the environment that cron gives, and tell what differs.")
@click.option("--deadline", type=Duration(), default="60s", show_default=True, help="Time for all checks together.")
@output_option("text", "json")
@debug_option
def command(site: Path | None, state: Path | None, as_cron: bool, deadline: float, output: str) -> None:
    """Check the clusters that a sweep would reach, the engine and the store.

    Each cluster is asked a few small questions that only read; one that is disabled or in a downtime is said and never
    contacted. With --as-cron the same is asked by a process that has nothing but HOME, LOGNAME, SHELL and cron's PATH.
    Exit status: 0 good (there may be warnings), 1 something fails, 2 no site or a wrong option.
    """
    from sweeprules.cli.as_cron import under_cron
    from sweeprules.cli.environment import settle_environment
    from sweeprules.cli.loading import choose_site
    from sweeprules.cli.main import FINDINGS, GOOD
    from sweeprules.store.state import state_path

    end = time.monotonic() + deadline
    choice = choose_site(site)
    environment = dict(os.environ)
    settle_environment()
    where = state_path(str(state) if state else None, os.environ)
    # Two rounds share the time that a person gave.
    found = checks(choice, where, time.monotonic() + deadline / 2 if as_cron else end)
    if as_cron:
        found = under_cron(choice, state, where, found, end, environment)
    if output == "json":
        # In ASCII: what a login printed may hold characters that a terminal obeys.
        click.echo(json.dumps(document(choice, found, as_cron), indent=1))
    else:
        for line in lines(found):
            click.echo(line)
    raise click.exceptions.Exit(FINDINGS if any(check.status == "error" for check in found) else GOOD)


def checks(choice: SiteChoice, state: Path, end: float) -> list[Check]:
    """Everything that is looked at, in order; `end` is in seconds of `time.monotonic()`."""
    from sweeprules.cli.checks import engine, python, site, store
    from sweeprules.cli.cluster_checks import clusters
    from sweeprules.cli.loading import read_site

    now = time.time()
    load = read_site(choice)
    of_site, policy = site(choice, load)
    return [python(), of_site, engine(policy, end), *store(state, now), *clusters(load, now, end)]


def lines(found: Sequence[Check]) -> list[str]:
    """The checks for people, and a last line that counts."""
    from sweeprules.reports.clean import one_line

    width = max((len(check.name) for check in found), default=0)
    told = []
    for check in found:
        told.append(one_line(f"{WORDS[check.status]:<5} {check.name:<{width}}  {check.says}", 600))
        if check.hint:
            told.append(one_line(f"{'':<{width + 8}}→ {check.hint}", 600))
    counts = [f"{sum(c.status == s for c in found)} {word}" for s, word in WORDS.items()]
    return [*told, ", ".join(counts)]


def document(choice: SiteChoice, found: Sequence[Check], as_cron: bool) -> dict[str, Any]:
    """The JSON of `doctor`."""
    return {
        "schema_version": 1,
        "site": {"root": str(choice.root), "how": choice.how},
        "as_cron": as_cron,
        "checks": [
            {"name": check.name, "status": check.status, "says": check.says, "hint": check.hint or None}
            for check in found
        ],
    }
