"""`sweeprules verdict`: a person's word on what a sweep said of a job."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweeprules.cli.completing import flag_names, job_ids, sweep_ids
from sweeprules.cli.options import debug_option, output_option, state_option, unused_options

if TYPE_CHECKING:
    from sweeprules.engine.facts import Ref
    from sweeprules.store.db import Store
    from sweeprules.store.kept import Stored
    from sweeprules.store.opinions import Opinion

_MAX_NOTE = 2_000


@click.command("verdict")
@click.argument("job", shell_complete=job_ids)
@click.argument("word", type=click.Choice(["right", "wrong"]), metavar="right|wrong")
@click.option(
    "--flag", metavar="NAME", shell_complete=flag_names,
    help="The word is on this flag alone, raised or not; default: each raised one.",
)  # fmt: skip
@click.option(
    "--sweep", "sweep_id", metavar="ID", shell_complete=sweep_ids,
    help="A kept sweep; default: the newest that holds the job.",
)  # fmt: skip
@click.option("--note", default="", metavar="TEXT", help="Why, for whoever reads it later.")
@output_option("text", "json")
@state_option
@unused_options("site")
@debug_option
def command(
    job: str, word: str, flag: str | None, sweep_id: str | None, note: str, output: str, state: Path | None
) -> None:
    """Say whether the sweep was right about JOB, an id or cluster:id; `backtest` measures rule sets by it.

    On a raised flag, wrong means a false alarm. On a flag that was not raised, wrong means that it was missed, and
    right that silence was right. A later word on the same flag, job and sweep replaces the earlier one.
    """
    from sweeprules.store.db import open_kept
    from sweeprules.store.errors import StoreError
    from sweeprules.store.state import state_path

    if len(note) > _MAX_NOTE:
        raise click.UsageError(f"--note has {len(note)} characters; at most {_MAX_NOTE} are kept")
    where = state_path(str(state) if state else None, os.environ)
    try:
        store = open_kept(where, time.time())
        if store is None:
            raise click.UsageError(f"no sweep is kept in {where}; run `sweeprules run` first, or name one with --state")
        with store:
            subject = _subject(store, job, sweep_id)
            if flag is not None:
                _check_flag(where, subject, flag)
            said = opinions(
                subject, word == "right", flag, time.time(), note.encode("utf-8", "replace").decode("utf-8")
            )
            store.give(said)
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    _print(said, output)


def _subject(store: Store, job: str, sweep_id: str | None) -> Stored:
    from sweeprules.engine.facts import Ref

    if sweep_id is not None and store.sweep(sweep_id) is None:
        kept = ", ".join(info.id for info in store.sweeps()[:3]) or "none"
        raise click.UsageError(f"no sweep {sweep_id!r} is kept; newest: {kept}")
    found = store.find_jobs(job, sweep_id)
    if len(found.exact) > 1:
        names = ", ".join(hit.key for hit in found.exact)
        raise click.UsageError(f"{job!r} is the id of several jobs: {names}; name one of these")
    if not found.exact:
        near = f"; near: {', '.join(found.near)}" if found.near else ""
        raise click.UsageError(f"no job {job!r} in {f'sweep {sweep_id}' if sweep_id else 'any kept sweep'}{near}")
    hit = found.exact[0]
    ref: Ref = Ref("job", hit.key)
    stored = store.stored([ref], hit.sweep).get(ref)
    if stored is None or stored.verdict is None:
        raise click.UsageError(f"sweep {hit.sweep} decided nothing about {hit.key}; name another with --sweep")
    return stored


def _check_flag(state: Path, stored: Stored, flag: str) -> None:
    """A usage error for a flag that the sweep's policy does not know: a slip would be counted as a missed flag."""
    from sweeprules.engine.errors import nearest
    from sweeprules.store.policies import read_policy

    known = read_policy(state, stored.sweep.policy_sha256).policy.flags
    if flag not in known:
        raise click.UsageError(f"no flag is called {flag!r}; {nearest(flag, known) or 'see `sweeprules rules`'}")


def opinions(stored: Stored, right: bool, flag: str | None, at: float, note: str) -> tuple[Opinion, ...]:
    """What the word means for each flag; a usage error when it names nothing that could be wrong.

    An exempt or resolved flag counts as not raised: nobody was alarmed by it.
    """
    from sweeprules.store.opinions import Opinion

    assert stored.verdict is not None
    raised = [one.name for one in stored.verdict.flags if not (one.exempt or one.resolved)]
    job = stored.subject.ref.key
    if flag is None and not raised and not right:
        raise click.UsageError(f"{job} has no flag in sweep {stored.sweep.id}; name the missed one with --flag")
    names = [flag] if flag is not None else sorted(set(raised)) or [""]
    return tuple(Opinion(job, stored.sweep.id, name, name in raised, right, at, note) for name in names)


def _print(said: tuple[Opinion, ...], output: str) -> None:
    if output == "json":
        from sweeprules.reports.clean import json_text
        from sweeprules.reports.words import instant

        rows = [
            {
                "job": one.job, "sweep": one.sweep, "flag": one.flag or None, "raised": one.raised,
                "right": one.right, "at": instant(one.at), "note": one.note,
            }
            for one in said
        ]  # fmt: skip
        click.echo(json_text({"schema_version": 1, "verdicts": rows}), nl=False)
        return
    from sweeprules.reports.clean import one_line

    for one in said:
        click.echo(one_line(f"{one.job} in sweep {one.sweep}: {_meaning(one)}"))


def _meaning(one: Opinion) -> str:
    if not one.flag:
        return "no flag was raised, rightly"
    if one.raised:
        return f"{one.flag} was raised, {'rightly' if one.right else 'a false alarm'}"
    return f"{one.flag} was not raised, {'rightly' if one.right else 'and was missed'}"
