"""`sweeprules schema`: the JSON Schema of a file, for people and for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.completing import schema_words
from sweeprules.cli.options import counted, debug_option, sentences, site_option, unused_options
from sweeprules.engine.errors import nearest

if TYPE_CHECKING:
    from sweeprules.engine.catalogue import Catalogue
    from sweeprules.engine.language.ast import Policy


@click.command("schema")
@click.argument("name", required=False, shell_complete=schema_words)
@click.option("--words", is_flag=True, help="With the site's own words in it, for an editor.")
@click.option(
    "--write", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Write the schemas of what people write, with the site's words, to DIR.",
)  # fmt: skip
@site_option
@unused_options("state")
@debug_option
def command(name: str | None, words: bool, folder: Path | None, site: Path | None) -> None:
    """Print the JSON Schema NAME, or list the schemas.

    NAME is one of those listed: rules, rule-tests, cluster, site, facts, catalogue for what people write; report,
    explain and backtest for what the tool prints.

    An editor with a YAML language server completes and explains from them. `--write schemas` in a site puts them where
    the first line of a policy looks: `# yaml-language-server: $schema=../schemas/rules.schema.json`. They hold the
    names of facts, flags, actions, rules and parameters as the site has them now; write them again when those change.
    """
    from sweeprules.store.builtin import schema_names, schema_text

    if folder is not None:
        if name is not None:
            raise click.UsageError("--write writes all schemas of what people write; leave NAME out")
        _write(folder, site)
        return
    names = schema_names()
    if name is None:
        for known in names:
            click.echo(known)
        return
    if name not in names:
        raise click.UsageError(
            sentences(f"no schema is called {name!r}; there are {', '.join(names)}", nearest(name, names))
        )
    click.echo(_as_text(_with_words(name, *_vocabulary(site))) if words else schema_text(name), nl=False)


def _write(folder: Path, site: Path | None) -> None:
    from sweeprules.cli.editor_words import WRITTEN
    from sweeprules.store.errors import reason
    from sweeprules.store.files import write_atomic

    policy, catalogue = _vocabulary(site)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in WRITTEN:
            write_atomic(folder / f"{name}.schema.json", _as_text(_with_words(name, policy, catalogue)).encode())
    except OSError as error:
        raise click.ClickException(f"{folder}: the schemas could not be written: {reason(error)}") from None
    click.echo(f"{counted(len(WRITTEN), 'schema')} in {folder}: {', '.join(WRITTEN)}")


def _vocabulary(site: Path | None) -> tuple[Policy, Catalogue]:
    """The words of the site; while its own policy is broken those that it extends: that is when an editor is open."""
    from sweeprules.cli.loading import SiteBrokenError, choose_site, compile_load, fail, load_catalogue, read_site
    from sweeprules.engine.language.load import load_policy
    from sweeprules.store.builtin import schema

    choice = choose_site(site)
    load = read_site(choice)
    try:
        loaded = compile_load(choice, load)
    except SiteBrokenError as broken:
        if len(load.layers) == 1:
            fail(broken)
        count = counted(len(broken.problems), "problem")
        click.echo(f"the site has {count} (`sweeprules validate`); the words are those of the shipped policy", err=True)
        catalogue = load_catalogue()
        templates = frozenset(catalogue.templates)
        return load_policy(load.layers[:1], catalogue, schema=schema("rules"), templates=templates), catalogue
    return loaded.policy, loaded.catalogue


def _with_words(name: str, policy: Policy, catalogue: Catalogue) -> dict[str, Any]:
    from sweeprules.cli.editor_words import with_words
    from sweeprules.store.builtin import schema

    return with_words(name, schema(name), policy, catalogue)


def _as_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
