"""`sweeprules test`: the tests that stand beside the rules."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeprules.cli.completing import job_ids, sweep_ids
from sweeprules.cli.options import counted, debug_option, output_option, print_problems, site_option, state_option
from sweeprules.engine.errors import Problem, nearest
from sweeprules.engine.ruletests import RuleTestResult, RuleTestRun

if TYPE_CHECKING:
    from sweeprules.cli.loading import Loaded
    from sweeprules.cli.mutating import Measured
    from sweeprules.engine.coverage import Coverage


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of rule tests with places as the person would write them; `files` were read, `left` were not asked for.

    `places` maps a file's name in the site to where it is. `coverage` and `mutation` are there where they were asked
    for; `mutation` only when each test passes with the rules as they are.
    """

    run: RuleTestRun
    problems: tuple[Problem, ...]
    places: Mapping[str, str]
    left: int
    coverage: Coverage | None = None
    mutation: Measured | None = None
    least: float | None = None
    """Per cent that coverage and mutation have to reach; None: nothing may be left."""

    def count(self, status: str) -> int:
        """How many tests ended like this."""
        return sum(result.status == status for result in self.run.results)

    @property
    def good(self) -> bool:
        """True when no test failed, no file has a mistake, and what was measured is enough; there may be no test."""
        passed = not self.problems and all(result.status == "passed" for result in self.run.results)
        return passed and self._covered and self._noticed

    @property
    def _covered(self) -> bool:
        if self.coverage is None:
            return True
        return not self.coverage.gaps if self.least is None else self.coverage.percent >= self.least

    @property
    def _noticed(self) -> bool:
        if self.mutation is None:
            return True
        whole = not self.mutation.mutation.survivors if self.least is None else self.mutation.score >= self.least
        return whole and not self.mutation.missing

    def where(self, result: RuleTestResult) -> str:
        """File and line of a test."""
        return f"{self.places[result.mark.file]}:{result.mark.line}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tests, and what is wanted beside their results."""

    files: tuple[str, ...]
    everything: bool
    coverage: bool = False
    mutation: bool = False
    least: float | None = None
    verbose: bool = False


@click.command("test")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@site_option
@state_option
@click.option("--all", "everything", is_flag=True, help="Also run the shipped tests against the policy of this site.")
@click.option("--coverage", "cover", is_flag=True, help="Also say what of the rules no test shows.")
@click.option("--mutate", is_flag=True, help="Also change the rules in many small ways and say what no test notices.")
@click.option(
    "--fail-under", "least", type=click.FloatRange(0, 100), metavar="PERCENT", help="Be content with so much."
)
@click.option("--verbose", is_flag=True, help="With --mutate: also list the changes that change nothing.")
@click.option(
    "--from-sweep", "sweep", metavar="ID", shell_complete=sweep_ids,
    help="Print a test made from a kept sweep; needs --job.",
)  # fmt: skip
@click.option("--job", metavar="JOB", shell_complete=job_ids, help="The job of --from-sweep: an id or cluster:id.")
@output_option("text", "json", "junit")
@debug_option
def command(
    files: tuple[str, ...], site: Path | None, state: Path | None, everything: bool, cover: bool, mutate: bool,
    least: float | None, verbose: bool, sweep: str | None, job: str | None, output: str,
) -> None:  # fmt: skip
    """Run the rule tests of a site: those in rules/*.test.yaml, or in the files, folders or globs named.

    A site that extends the shipped policy runs its own tests; its overrides may well change what the shipped ones
    expect, so these run with --all or when they are named. Exit status: 0 good, 1 when a test fails, a test file has a
    mistake, --coverage finds a gap or --mutate a survivor, 2 when the site is broken or nothing matches. A site without
    a test is good, and the last line says that there is none.

    --coverage asks of each rule that some test has it true, false and unknown, and each of its conditions true and
    false; of each exemption that it was at work. Shipped rules are asked about when shipped tests run.

    --mutate changes one thing at a time (a threshold, operator, list entry, pattern, route and so on) and runs the
    tests that the change touches. A change with which they all still pass survived: no test protects what it changed;
    unless the changed rules come to the same in 10,000 generated worlds, then it is the policy in other words, and only
    counted. A kind of change of which none was made fails. --fail-under accepts gaps and survivors up to a share.

    --from-sweep runs no test of the site. It prints one: what rules read of JOB in a kept sweep, and what came of it.
    The exit status is 1 when that test would not pass with the rules as they are now.
    """
    from sweeprules.cli import from_sweep
    from sweeprules.cli.loading import SiteBrokenError, choose_site, compile_site, fail
    from sweeprules.cli.main import FINDINGS, GOOD

    asked = Asked(files, everything, cover, mutate, least, verbose)
    _check(asked, sweep, job, output)
    try:
        loaded = compile_site(choose_site(site))
    except SiteBrokenError as broken:
        fail(broken)
        return
    if sweep is not None and job is not None:
        text, wrong = from_sweep.written(loaded, state, sweep, job)
        from_sweep.show(text, wrong, output)
        good = not wrong
    else:
        good = _run(loaded, asked, output)
    raise click.exceptions.Exit(GOOD if good else FINDINGS)


def _check(asked: Asked, sweep: str | None, job: str | None, output: str) -> None:
    """Raises a usage error for options that do not go together."""
    if (sweep is None) != (job is None):
        raise click.UsageError("--from-sweep and --job go together: a sweep, and the job in it")
    if sweep is not None and asked != Asked((), False):
        raise click.UsageError("--from-sweep prints a test and runs none: leave out files and the other options")
    if (asked.least is not None or asked.verbose) and not (asked.coverage or asked.mutation):
        raise click.UsageError("--fail-under and --verbose are about --coverage and --mutate: ask for one of these")
    if output == "junit" and (asked.coverage or asked.mutation or sweep is not None):
        raise click.UsageError("only the results of tests have a form in junit; use --output text or json")


def _run(loaded: Loaded, asked: Asked, output: str) -> bool:
    """Run the tests that are meant and print how they went; True when all is good."""
    from sweeprules.cli import covering, mutating
    from sweeprules.cli.places import SHIPPED, place, placed
    from sweeprules.cli.testsources import readers
    from sweeprules.engine.ruletests import run_rule_tests

    root, here = loaded.choice.root, Path.cwd()
    tests = loaded.load.tests
    places = {name: place(name, root, here) for name in tests}
    own = [name for name in tests if asked.everything or not name.startswith(SHIPPED)]
    names = named(asked.files, places, root) if asked.files else own
    chosen = {name: tests[name] for name in names}
    run = run_rule_tests(loaded.policy, loaded.catalogue, chosen, readers(loaded))
    ran = Ran(run, tuple(placed(run.problems, root, here)), places, len(tests) - len(names), least=asked.least)
    good = ran.good
    ran = replace(
        ran,
        coverage=covering.measure(loaded, chosen) if asked.coverage else None,
        mutation=mutating.measure(loaded, chosen) if asked.mutation and good else None,
    )
    _print(ran, asked, output, lambda file: place(file, root, here))
    return ran.good


def named(wanted: Iterable[str], places: Mapping[str, str], root: Path) -> list[str]:
    """The test files that the arguments mean, by place, by name in the site, as a folder or as a glob.

    Raises a usage error for an argument that means none.
    """
    found: dict[str, None] = {}
    for word in wanted:
        plain = word.rstrip("/").removeprefix("./")
        full = str(Path(plain).expanduser().absolute())
        matches = [
            name
            for name, where in places.items()
            if plain in (name, where)
            or any(fnmatch.fnmatchcase(text, plain) for text in (name, where))
            or full in (str(root / name), *(str(folder) for folder in (root / name).parents if folder != root.parent))
        ]
        if not matches:
            hint = nearest(plain, [*places, *places.values()]) or "test files end in .test.yaml"
            raise click.UsageError(f"no test file of the site is meant by {word!r}; {hint}")
        found.update(dict.fromkeys(matches))
    return sorted(found)


# ---------------------------------------------------------------- what is printed


def _print(ran: Ran, asked: Asked, output: str, where: Callable[[str], str]) -> None:
    from sweeprules.cli import covering, mutating

    if output == "json":
        extra: dict[str, Any] = {}
        if ran.coverage is not None:
            extra["coverage"] = covering.document(ran.coverage, where)
        if asked.mutation:
            extra["mutation"] = None if ran.mutation is None else mutating.document(ran.mutation, where)
        click.echo(json.dumps(document(ran) | extra, indent=1, ensure_ascii=False))
    elif output == "junit":
        click.echo(junit(ran))
    else:
        _print_text(ran)
        for line in covering.lines(ran.coverage, where) if ran.coverage is not None else ():
            click.echo(line)
        for line in mutating.lines(ran.mutation, where, asked.verbose) if asked.mutation else ():
            click.echo(line)


def _print_text(ran: Ran) -> None:
    print_problems(ran.problems, err=False)
    for result in ran.run.results:
        if result.status == "failed":
            for line in failure(ran, result):
                click.echo(line)
    click.echo(summary(ran))


def failure(ran: Ran, result: RuleTestResult) -> list[str]:
    """A test that did not pass in lines: what is not as expected and where, each with the shortest account of it."""
    from sweeprules.reports.clean import one_line

    lines = [f"{_HEADS[result.status]} {ran.where(result)}: {result.name}"]
    if not result.misses:
        lines += [f"  {text}" for text in result.differences]
    for miss in result.misses:
        lines.append(f"  line {miss.mark.line}: {miss.text}")
        lines += [f"    {text}" for text in miss.because]
    return [one_line(line, 400) for line in lines]


_HEADS = {"passed": "PASSED", "failed": "FAILED", "error": "ERROR"}


def summary(ran: Ran) -> str:
    """The last line: how many tests ended how."""
    if not ran.run.results and not ran.problems:
        left = f"; with --all {counted(ran.left, 'shipped test file')} would run" if ran.left else ""
        return f"0 tests: the site has none of its own{left}"
    words = (("passed", "passed"), ("failed", "failed"), ("error", "could not be read"))
    parts = [f"{ran.count(status)} {said}" for status, said in words if status == "passed" or ran.count(status)]
    mistakes = f", {counted(len(ran.problems), 'mistake')} in the files" if ran.problems else ""
    return f"{counted(len(ran.run.results), 'test')}: {', '.join(parts)}{mistakes}"


def document(ran: Ran) -> dict[str, Any]:
    """The JSON of `test`."""
    from sweeprules.cli.options import problem_row

    return {
        "schema_version": 1,
        "passed": ran.count("passed"),
        "failed": ran.count("failed"),
        "errors": ran.count("error"),
        "tests": [
            {
                "name": result.name,
                "file": ran.places[result.mark.file],
                "line": result.mark.line,
                "status": result.status,
                "differences": list(result.differences),
                "why": [line for miss in result.misses for line in miss.because],
                "misses": [
                    {"text": miss.text, "line": miss.mark.line, "column": miss.mark.column, "why": list(miss.because)}
                    for miss in result.misses
                ],
            }
            for result in ran.run.results
        ],
        "problems": [problem_row(problem) for problem in ran.problems],
    }


def junit(ran: Ran) -> str:
    """The run as JUnit XML, one suite a file; a mistake that belongs to no test is a test case of its own."""
    # It is only written here, never parsed.
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    said = {text for result in ran.run.results if result.status == "error" for text in result.differences}
    apart = [problem for problem in ran.run.problems if str(problem) not in said]
    root = Element("testsuites", name="sweeprules test")
    for file in sorted({r.mark.file for r in ran.run.results} | {p.mark.file for p in apart}):
        results = [r for r in ran.run.results if r.mark.file == file]
        mistakes = [p for p in apart if p.mark.file == file]
        errors = len(mistakes) + sum(r.status == "error" for r in results)
        counts = {"tests": len(results) + len(mistakes), "failures": sum(r.status == "failed" for r in results)}
        suite = SubElement(root, "testsuite", name=ran.places[file], errors=str(errors))
        suite.attrib.update({name: str(number) for name, number in counts.items()})
        for result in results:
            case = SubElement(suite, "testcase", classname=ran.places[file], name=_xml(result.name))
            if result.status != "passed":
                kind = "failure" if result.status == "failed" else "error"
                child = SubElement(case, kind, message=_xml(result.differences[0] if result.differences else ""))
                child.text = "\n".join(_xml(line) for line in failure(ran, result))
        for problem in mistakes:
            case = SubElement(suite, "testcase", classname=ran.places[file], name=f"line {problem.mark.line}")
            SubElement(case, "error", message=_xml(str(problem)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, "unicode")


def _xml(text: str) -> str:
    """XML has no form for control characters, escaped or not."""
    from sweeprules.reports.clean import one_line

    return one_line(text, 1000)
