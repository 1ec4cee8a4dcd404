"""Options that several verbs share, and how problems of a site are printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from sweeprules.engine.errors import Problem

F = TypeVar("F", bound=Callable[..., Any])


def site_option(function: F) -> F:
    """`--site DIR`; without it SWEEPRULES_SITE, else the nearest sweeprules.yaml upward."""
    return click.option(
        "--site",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The site to use. Default: $SWEEPRULES_SITE, else the nearest folder upward with a sweeprules.yaml.",
    )(function)


def state_option(function: F) -> F:
    """`--state PATH`; without it SWEEPRULES_STATE, else the user's state folder."""
    return click.option(
        "--state",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Where sweeps are kept. Default: $SWEEPRULES_STATE, else ~/.local/state/sweeprules.",
    )(function)


def debug_option(function: F) -> F:
    """`--debug`: a traceback for an internal error. It is read from the command line before anything runs."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback for an internal error.")(
        function
    )


def unused_options(*names: str) -> Callable[[F], F]:
    """`--site` and `--state` for a verb that needs none of them: scripts give every verb the same options."""

    def add(function: F) -> F:
        for name in names:
            function = click.option(
                f"--{name}", type=click.Path(), metavar="PATH", expose_value=False,
                help=f"Taken by every command; this one reads no {name}.",
            )(function)  # fmt: skip
        return function

    return add


def output_option(*formats: str) -> Callable[[F], F]:
    """`--output FORMAT`, the first being the default."""
    return click.option(
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="The form of what is printed.",
    )


def print_problems(problems: Iterable[Problem], output: str = "text", *, err: bool = True) -> None:
    """All problems at once, by place: lines for people, or GitHub annotations; `err` sends them to stderr."""
    for problem in sorted(problems):
        if output == "github":
            click.echo(_annotation(problem), err=err)
        else:
            click.echo(_printable(f"{'warning: ' if problem.severity == 'warning' else ''}{problem}"), err=err)


def problem_row(problem: Problem) -> dict[str, str | int | None]:
    """A problem as JSON has it."""
    return {
        "file": problem.mark.file,
        "line": problem.mark.line,
        "column": problem.mark.column,
        "severity": problem.severity,
        "code": problem.code or None,
        "message": problem.message,
        "hint": problem.hint or None,
    }


def counted(number: int, word: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _printable(text: str) -> str:
    from sweeprules.reports.clean import one_line

    return one_line(text, 600)


def _annotation(problem: Problem) -> str:
    level = "warning" if problem.severity == "warning" else "error"
    message = problem.message + (f" ({problem.hint})" if problem.hint else "")

    def data(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def value(text: str) -> str:
        return data(text).replace(":", "%3A").replace(",", "%2C")

    mark = problem.mark
    return f"::{level} file={value(mark.file)},line={mark.line},col={mark.column}::{data(message)}"


def wants_github() -> bool:
    """True inside a GitHub workflow, where annotations are the default form."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def wants_colour(stream: Any = None) -> bool:
    """Colour only on a terminal that takes it and when NO_COLOR is not set."""
    stream = stream or sys.stdout
    return bool(stream.isatty()) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of the terminal; 100 when there is none."""
    if not sys.stdout.isatty():
        return 100
    try:
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return 100


def plain_text() -> bool:
    """Whether standard output is a terminal or file that can not hold characters beyond ASCII."""
    try:
        "▁".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def sentences(*parts: str) -> str:
    """The parts that say something, as sentences of one message."""
    return ". ".join(part for part in parts if part)
