"""`sweeprules replay`: a recorded sweep, judged again."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from sweeprules.cli.options import debug_option, output_option, unused_options
from sweeprules.cli.times import Duration

if TYPE_CHECKING:
    from sweeprules.cli.deciding import Engine
    from sweeprules.cli.loading import Loaded
    from sweeprules.store.cassette import Cassette
    from sweeprules.store.site import SiteChoice


@click.command("replay")
@click.argument("cassette", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--rules",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Judge with the site or rules folder DIR instead of the recorded policy.",
)
@click.option("--engine", type=click.Choice(["checked", "native", "durable"]), help="Default: the recorded one.")
@output_option("text", "json", "markdown")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option("--fail-on", type=click.Choice(["info", "warning", "critical"]), help="As for run.")
@click.option("--deadline", type=Duration(), default="20m", show_default=True, help="Time for judging.")
@unused_options("site", "state")
@debug_option
def command(
    cassette: Path,
    rules: Path | None,
    engine: str | None,
    output: str,
    out: Path | None,
    fail_on: str | None,
    deadline: float,
) -> int:
    """Judge the sweep recorded in CASSETTE again, offline: nothing is asked of a cluster and nothing is kept.

    With the recorded policy the report is the same, byte for byte. Exit status as for run.
    """
    from sweeprules.cli.loading import SiteBrokenError, fail
    from sweeprules.cli.outcome import exit_status
    from sweeprules.cli.printing import deliver, rendered
    from sweeprules.cli.remembered import check_remembered
    from sweeprules.cli.starting import replay_start, with_engine
    from sweeprules.cli.sweep import sweep
    from sweeprules.reports.tally import tally
    from sweeprules.store.cassette import read_cassette
    from sweeprules.store.errors import StoreError

    try:
        tape = read_cassette(cassette)
        with tempfile.TemporaryDirectory(prefix="sweeprules-") as folder:
            loaded = recorded_site(tape, Path(folder), rules)
            start = replay_start(loaded, tape, time.monotonic() + deadline)
            check_remembered(start.before, str(cassette))
            swept = sweep(with_engine(start, cast("Engine", engine)) if engine else start)
    except SiteBrokenError as broken:
        fail(broken)
        raise
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    if loaded.policy.sha256 != tape.policy_sha256 and rules is None:
        click.echo("note: this release reads the recorded policy otherwise than the one that swept", err=True)
    lines = tally(loaded.policy, swept.verdicts, start.now)
    text = rendered(swept.document, output, loaded.load.templates, to_file=out is not None, tally=lines)
    deliver(text, out)
    return exit_status(swept.document, fail_on)


def recorded_site(tape: Cassette, folder: Path, rules: Path | None) -> Loaded:
    """The recorded site, laid out in `folder` and compiled; with the rules of another folder where one is named.

    Raises `SiteBrokenError` and `StoreError`.
    """
    from sweeprules.cli.loading import compile_site

    return compile_site(laid_out(tape, folder, rules))


def laid_out(tape: Cassette, folder: Path, rules: Path | None) -> SiteChoice:
    """The recorded site as files in `folder`, with the rules of another where one is named. Raises `StoreError`."""
    from sweeprules.store.files import write_atomic
    from sweeprules.store.site import SiteChoice

    root = folder / (tape.site or "site")
    for name, text in tape.files.items():
        write_atomic(_inside(root, name), text.encode("utf-8"))
    _stand_in(root, tape.files)
    if rules is not None:
        source = rules_folder(rules)
        for path in sorted((root / "rules").rglob("*.yaml")):
            path.unlink()
        for path in sorted(source.rglob("*.yaml")):
            write_atomic(root / "rules" / path.relative_to(source), path.read_bytes())
    return SiteChoice(root, "--site")


def rules_folder(named: Path) -> Path:
    """Where the rules are: the folder `rules` of a site, else the folder itself."""
    return named / "rules" if (named / "rules").is_dir() else named


def _stand_in(root: Path, files: Mapping[str, str]) -> None:
    """An empty file for each recording that a record replays: its answers are among the cassette's own."""
    from sweeprules.engine.errors import PolicyError
    from sweeprules.engine.language.yamltext import read

    for name, text in files.items():
        if not name.endswith("/cluster.yaml"):
            continue
        try:
            reach = read(text, name).get("reach")
        except PolicyError:
            continue  # a broken record is said to be one when the site is compiled
        recording = reach.get("cassette") if reach is not None else None
        if recording is not None and isinstance(recording.value, str):
            path = _inside(root, f"{name.rpartition('/')[0]}/{recording.value}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def _inside(root: Path, name: str) -> Path:
    """A file of a cassette, which anyone may have written: it must not leave the folder."""
    path = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        from sweeprules.store.errors import StoreError

        raise StoreError(name, "is no file of a site", "the cassette is damaged; record it again")
    return path
