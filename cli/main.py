"""The command line: which verbs there are and how a mistake is said; a verb is a module, imported when it is used."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import click

VERBS = {
    "run": "Sweep the site's clusters once and print the report.",
    "explain": "Show why a flag of a job was raised, or was not.",
    "validate": "Check a whole site: policy, cluster records, templates, rule tests.",
    "test": "Run the rule tests of a site.",
    "replay": "Judge a recorded sweep again, offline.",
    "backtest": "Judge kept sweeps under two rule sets and list what differs.",
    "verdict": "Say whether a sweep was right about a job, for backtests.",
    "report": "Print a kept sweep in any format, or write its cassette.",
    "doctor": "Check each cluster, the engine and the store.",
    "init": "Make a new site that extends the shipped policy.",
    "schema": "Print the JSON Schema of a file that people write or the tool prints.",
    "facts": "List the facts that rules can read.",
    "rules": "List the rules, or the effective policy and where each value comes from.",
}

GOOD, FINDINGS, USAGE, INCOMPLETE, INTERNAL = 0, 1, 2, 3, 4
"""Exit statuses (contract, section `run`)."""


class Verbs(click.Group):
    """A group whose verbs are modules of `sweeprules.cli`, imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"sweeprules.cli.{_module(cmd_name)}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from sweeprules.engine.errors import nearest

            hint = nearest(args[0], VERBS)
            raise click.UsageError(f"{error.message}{' ' + hint if hint else ''}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _module(verb: str) -> str:
    return {"test": "rule_test"}.get(verb, verb)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sweeprules", prog_name="sweeprules")
def cli() -> None:
    """Sweep training clusters: turn every job into facts, let YAML rules decide, and say why.

    sweeprules only reads. What it could not read is unknown, and unknown is never drained, done, healthy or safe to
    delete.
    """


def _open_streams() -> None:
    """A stream that was closed before the start has no reader: what is said there goes nowhere."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _heed_signals() -> None:
    """Being told to end unwinds as an interrupt does, so that locks, files and child processes are left in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended)


def _ended(number: int, _frame: object) -> NoReturn:
    click.echo(f"ended by {signal.Signals(number).name}; nothing of this run was kept", err=True)
    sys.exit(128 + number)


def main() -> NoReturn:
    """Run the command line and exit with a status of the contract; no traceback unless `--debug` was given."""
    debug = "--debug" in sys.argv
    _open_streams()
    _heed_signals()
    try:
        status = cli.main(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else GOOD)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except click.exceptions.Abort:
        click.echo("interrupted; nothing of this run was kept", err=True)
        sys.exit(INTERNAL)
    except BrokenPipeError:
        # The reader of a pipe went away: not a fault of ours, and nothing more can be said on it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(GOOD)
    except Exception as error:
        if debug:
            raise
        from sweeprules.reports.clean import one_line

        click.echo(f"sweeprules: internal error: {type(error).__name__}: {one_line(str(error))}", err=True)
        click.echo("  this is a fault of sweeprules, not of the site; run again with --debug for the details", err=True)
        sys.exit(INTERNAL)
