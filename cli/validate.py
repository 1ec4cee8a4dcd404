"""`sweeprules validate`: every mistake of a site, before a sweep meets one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.cadence import READ
from sweeprules.cli.options import counted, debug_option, print_problems, site_option, unused_options, wants_github
from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.language.ast import Policy
from sweeprules.store.site import SiteChoice, SiteLoad

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded


@dataclass(frozen=True, slots=True)
class Validated:
    """A site that was looked through: `policy` is None when its rules can not be used; problems are in order."""

    load: SiteLoad
    policy: Policy | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        """How many problems must be mended; the others are warnings."""
        return sum(problem.severity == "error" for problem in self.problems)


@click.command("validate")
@site_option
@unused_options("state")
@click.option("--output", type=click.Choice(["text", "json", "github"]), help="Default: text; github in its workflows.")
@click.option("--verbose", is_flag=True, help="Also print what the site holds, and what durable-rules computes of it.")
@debug_option
def command(site: Path | None, output: str | None, verbose: bool) -> None:
    """Check a whole site: settings, rules, cluster records, templates and rule tests.

    Every mistake is printed at once, with its place and what to do. Nothing is sent to a cluster. Exit status: 0 good
    (there may be warnings), 1 errors, 2 no site or a wrong option.
    """
    from sweeprules.cli.loading import choose_site
    from sweeprules.cli.main import FINDINGS, GOOD

    choice = choose_site(site)
    found = validated(choice)
    form = output or ("github" if wants_github() else "text")
    if form == "json":
        click.echo(json.dumps(document(choice, found), indent=1, ensure_ascii=False))
    else:
        print_problems(found.problems, form, err=False)
        _say(choice, found, verbose, to_stderr=form == "github")
    raise click.exceptions.Exit(FINDINGS if found.errors else GOOD)


def validated(choice: SiteChoice) -> Validated:
    """Look through the site; problems are at places relative to the working folder."""
    from sweeprules.cli.loading import SiteBrokenError, compile_load, read_site
    from sweeprules.cli.places import placed

    load = read_site(choice)
    problems = [*load.problems, *(p for of_one in load.record_problems.values() for p in of_one)]
    policy: Policy | None = None
    try:
        loaded = compile_load(choice, load)
        policy = loaded.policy
    except SiteBrokenError as broken:
        problems += [*broken.problems, *_unreadable_tests(load)]
    else:
        problems += _beside(loaded)
    return Validated(load, policy, tuple(placed(problems, choice.root, Path.cwd())))


def _unreadable_tests(load: SiteLoad) -> list[Problem]:
    """What is wrong with the tests whatever the policy is; those that no file could be read of are told already."""
    from sweeprules.engine.language.yamltext import scan

    unread = {problem.mark.file for problem in load.problems}
    return [p for file, text in load.tests.items() if file not in unread for p in scan(text, file).problems]


def _empty(load: SiteLoad, policy: Policy) -> list[Problem]:
    """What a site lacks to be of any use."""
    here = Mark("sweeprules.yaml", 1, 1)
    found = []
    if not policy.rules:
        message = "the site has no rule: nothing is ever flagged"
        found.append(Problem(here, message, "write extends: builtin", "warning"))
    if not load.site.records:
        found.append(Problem(here, "the site has no cluster", "describe one in ops/NAME/cluster.yaml", "warning"))
    return found


def _beside(loaded: Loaded) -> list[Problem]:
    """What only a good policy lets us see: tests and templates that name what there is not."""
    from sweeprules.cli.places import SHIPPED
    from sweeprules.cli.template_check import unused
    from sweeprules.cli.testsources import readers
    from sweeprules.engine.ruletests import rule_test_problems

    load, policy, catalogue = loaded.load, loaded.policy, loaded.catalogue
    routed = {route.template for routes in policy.routes.values() for route in routes if route.template}
    routed |= {name for action in policy.actions.values() for name in action.templates} | set(catalogue.templates)
    # The shipped tests say what the shipped rules do; a site may well disable a rule that they name.
    own = {name: text for name, text in load.tests.items() if not name.startswith(SHIPPED)}
    tests = rule_test_problems(policy, catalogue, own, readers(loaded))
    return [*tests, *unused(load, routed), *_empty(load, policy), *_lint(policy, catalogue)]


def _lint(policy: Policy, catalogue: Catalogue) -> list[Problem]:
    """The findings about what the site itself wrote; those about the shipped policy are not the site's to mend."""
    from sweeprules.cli.facts import RELEASE
    from sweeprules.engine.language.lint import lint

    found = lint(policy, catalogue, now=time.time(), used=READ, release=RELEASE)
    return [problem for problem in found if not problem.mark.file.startswith("builtin:")]


# ---------------------------------------------------------------- what it holds


def counts(policy: Policy, load: SiteLoad) -> Mapping[str, int]:
    """How much of everything the site holds, the shipped policy included."""
    return {
        "rules": len(policy.rules),
        "params": len(policy.params),
        "patterns": len(policy.patterns),
        "exemptions": len(policy.exemptions),
        "templates": len(load.templates),
        "rule_test_files": len(load.tests),
        "clusters": len(load.site.records),
    }


def durable_part(policy: Policy) -> dict[str, Any]:
    """How many leaf conditions durable-rules computes itself, and the rules that it leaves to the native evaluator."""
    from sweeprules.engine.durable.checked import leaf_report
    from sweeprules.engine.durable.program import program

    own, lowered = leaf_report(policy)
    left_out = {f"{key[0]} {key[1]}": why for key, why in sorted(program(policy).left_out.items())}
    return {"leaves": own + lowered, "computed": own, "lowered": lowered, "left_out": left_out}


def document(choice: SiteChoice, found: Validated) -> dict[str, Any]:
    """The JSON of `validate`."""
    from sweeprules.cli.options import problem_row

    policy = found.policy
    return {
        "schema_version": 1,
        "site": {"root": str(choice.root), "how": choice.how},
        "policy_sha256": policy.sha256 if policy else None,
        "errors": found.errors,
        "warnings": len(found.problems) - found.errors,
        "counts": dict(counts(policy, found.load)) if policy else None,
        "durable": durable_part(policy) if policy else None,
        "problems": [problem_row(problem) for problem in found.problems],
    }


def _say(choice: SiteChoice, found: Validated, verbose: bool, *, to_stderr: bool) -> None:
    policy = found.policy
    if verbose:
        click.echo(f"site: {choice.root} ({choice.how})", err=to_stderr)
        if policy is None:
            click.echo("the policy can not be used, so nothing of it is counted", err=to_stderr)
        else:
            for line in _verbose(policy, found.load):
                click.echo(line, err=to_stderr)
    click.echo(_summary(found), err=to_stderr)


def _verbose(policy: Policy, load: SiteLoad) -> list[str]:
    lines = [f"policy: {policy.sha256}"]
    lines += [f"{name.replace('_', ' ')}: {number}" for name, number in counts(policy, load).items()]
    durable = durable_part(policy)
    share = f" ({100 * durable['computed'] // durable['leaves']}%)" if durable["leaves"] else ""
    lines.append(
        f"leaf conditions: {durable['leaves']}, of which durable-rules computes {durable['computed']}{share} itself "
        f"and {durable['lowered']} reach it as fields"
    )
    lines += [f"reads only facts of a later release: {name}" for name in waiting(policy)]
    left_out = durable["left_out"].items()
    return lines + [f"judged by the native evaluator alone: {name}: {why}" for name, why in left_out]


def waiting(policy: Policy) -> list[str]:
    """The rules of the site's own that read facts, and none but those that no collector of this release gives."""
    from sweeprules.cli.facts import RELEASE
    from sweeprules.cli.loading import load_catalogue
    from sweeprules.engine.language.walk import conditions_of, parts, paths

    kinds = load_catalogue().kinds
    found = []
    for rule in policy.rules.values():
        read = [
            definition.feeds
            for condition in conditions_of(rule)
            for node in parts(condition)
            for path in paths(node)
            if path.kind in kinds and (definition := kinds[path.kind].fields.get(path.field)) is not None
        ]
        if read and min(read) > RELEASE and not rule.mark.file.startswith("builtin:"):
            found.append(f"{rule.id} ({rule.mark})")
    return found


def _summary(found: Validated) -> str:
    warnings = len(found.problems) - found.errors
    parts = [counted(n, word) for n, word in ((found.errors, "error"), (warnings, "warning")) if n]
    what = counted(len(found.load.site.records), "cluster")
    if found.policy is not None:
        what = f"{counted(len(found.policy.rules), 'rule')}, {what}"
    return f"{', '.join(parts) or 'good'}: {what}"
