"""A site, read and compiled: settings, records, policy, templates. Nothing is sent to a cluster before this is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import PolicyError, Problem
from sweeprules.engine.language.ast import Policy
from sweeprules.store.errors import StoreError
from sweeprules.store.site import SiteChoice, SiteLoad


@dataclass(frozen=True, slots=True)
class Loaded:
    """A site that can be swept. `warnings` are problems that stop nothing."""

    choice: SiteChoice
    load: SiteLoad
    catalogue: Catalogue
    policy: Policy
    warnings: tuple[Problem, ...]

    @property
    def types(self) -> dict[tuple[str, str], str]:
        """The catalogue's type of each (kind, field)."""
        return {(k.name, f.name): f.type for k in self.catalogue.kinds.values() for f in k.fields.values()}


class SiteBrokenError(Exception):
    """Raised with every problem of a site at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems")


def choose_site(option: Path | None) -> SiteChoice:
    """The site that the person means; a usage error when there is none."""
    from sweeprules.store.site import find_site

    try:
        return find_site(str(option) if option else None, os.environ, Path.cwd())
    except StoreError as error:
        raise click.UsageError(str(error)) from None


def load_catalogue() -> Catalogue:
    """The shipped catalogue of names."""
    from sweeprules.engine.language.yamltext import read
    from sweeprules.store.builtin import CATALOGUE, catalogue_text, schema

    return Catalogue.load(schema("facts"), read(catalogue_text(), f"rules/{CATALOGUE}"))


def read_site(choice: SiteChoice) -> SiteLoad:
    """The site's files as values, with their problems in them."""
    from sweeprules.collectors.transport.allow import CommandRefusedError, check_extra
    from sweeprules.collectors.transport.risk import secret_risk
    from sweeprules.store.site import load_site

    def refusal(argv: tuple[str, ...], bans: frozenset[str]) -> str | None:
        try:
            check_extra(argv, bans)
        except CommandRefusedError as refused:
            return str(refused)
        return None

    return load_site(choice.root, check_command=refusal, secret_risk=lambda argv: secret_risk(argv) is not None)


def compile_site(choice: SiteChoice) -> Loaded:
    """The whole site, ready for a sweep. Raises `SiteBrokenError` with every error of settings, rules and templates."""
    return compile_load(choice, read_site(choice))


def compile_load(choice: SiteChoice, load: SiteLoad) -> Loaded:
    """As `compile_site`, from files that were read already."""
    from sweeprules.cli.template_check import template_problems
    from sweeprules.engine.language.load import load_policy
    from sweeprules.store.builtin import schema

    catalogue = load_catalogue()
    errors = [p for p in load.problems if p.severity == "error"]
    warnings = [p for p in load.problems if p.severity != "error"]
    policy: Policy | None = None
    try:
        policy = load_policy(load.layers, catalogue, schema=schema("rules"), templates=template_names(load))
    except PolicyError as error:
        # Of a file that could not be read the loader saw nothing; what it says of nothing would only distract.
        unread = {problem.mark.file for problem in errors}
        errors += [problem for problem in error.problems if problem.mark.file not in unread]
    errors += template_problems(load, catalogue)
    if errors or policy is None:
        raise SiteBrokenError(errors)
    return Loaded(choice, load, catalogue, policy, tuple(warnings))


def template_names(load: SiteLoad) -> frozenset[str]:
    """The handoff templates of the site, as routes name them."""
    return frozenset(
        name.removeprefix("handoffs/").removesuffix(".md.j2")
        for name in load.templates
        if name.startswith("handoffs/") and name.endswith(".md.j2") and not name.startswith("handoffs/_")
    )


def fail(broken: SiteBrokenError) -> None:
    """Print a broken site's problems and leave with the status of a usage error."""
    from sweeprules.cli.main import USAGE
    from sweeprules.cli.options import print_problems

    print_problems(broken.problems)
    count = len(broken.problems)
    click.echo(f"{count} error{'s' if count > 1 else ''}; nothing was sent to a cluster", err=True)
    raise click.exceptions.Exit(USAGE)
